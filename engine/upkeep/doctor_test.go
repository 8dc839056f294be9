package upkeep_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/upkeep"
)

// cured breaks a file by a statement, lets Doctor repair it and gives what it says. The copy it makes is the broken file.
func cured(t *testing.T, whole []byte, statement string, o engine.Options) *upkeep.Diagnosis {
	t.Helper()
	d, _ := curedTo(t, whole, statement, o, true)
	return d
}

// looked reports whether of so many files, one for each way to break it, this one's copy is looked at: every fourth is, if the test is not long.
func looked(n int) bool { return n%4 == 0 || enginetest.Long("doctor") }

// curedTo is cured, and gives the lineage that the file then has. The copy is looked at if that is asked for.
func curedTo(t *testing.T, whole []byte, statement string, o engine.Options, look bool) (*upkeep.Diagnosis, [][]any) {
	t.Helper()
	path, backup := enginetest.NewFile(t), filepath.Join(t.TempDir(), "backup.db")
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	enginetest.Tamper(t, path, statement)
	e := enginetest.OpenFile(t, path, o)
	defer enginetest.CloseFile(t, e)
	count := "SELECT count(*) FROM messages UNION ALL SELECT count(*) FROM memories"
	before := fmt.Sprint(enginetest.Rows(t, e, count))
	d, err := e.Doctor(t.Context(), upkeep.DoctorRequest{Apply: true, Backup: backup})
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	if after := fmt.Sprint(enginetest.Rows(t, e, count)); after != before {
		t.Errorf("%s: rows before %s, after %s", statement, before, after)
	}
	for _, r := range d.Repairs {
		if r.Error != "" {
			t.Errorf("%s: %+v", statement, r)
		}
	}
	if look {
		unapplied(t, e, backup, statement, d)
	}
	return d, enginetest.Rows(t, e, lineage)
}

// unapplied wants of Doctor, where it repairs nothing, what it said of a file before it repaired that. The file as it was is the copy, or if none was made the
// file itself.
func unapplied(t *testing.T, e *engine.Engine, backup, statement string, d *upkeep.Diagnosis) {
	t.Helper()
	if d.Backup != "" {
		e = enginetest.OpenFile(t, backup, engine.Options{ReadOnly: true})
		defer enginetest.CloseFile(t, e)
	}
	seen, err := e.Doctor(t.Context(), upkeep.DoctorRequest{})
	if err != nil || len(seen.Findings) == 0 || seen.Backup != "" || len(seen.Repairs)+len(seen.Left) > 0 {
		t.Errorf("%s: without apply: %+v, %v", statement, seen, err)
	}
	if diff := cmp.Diff(tally(d), tally(seen)); diff != "" {
		t.Errorf("%s: the copy has other faults than the file had (-file +copy):\n%s", statement, diff)
	}
}

func left(d *upkeep.Diagnosis) []string {
	names := []string{}
	for _, f := range enginetest.Unpurged(d.Left) {
		names = append(names, f.Fault)
	}
	return names
}

// tally counts the faults that were found.
func tally(d *upkeep.Diagnosis) map[string]int {
	faults := map[string]int{}
	for _, f := range d.Findings {
		if !f.Harmless {
			faults[f.Fault] += f.Count
		}
	}
	return faults
}

// found reports whether a fault is among what Doctor found, and names a subject that begins so.
func found(d *upkeep.Diagnosis, fault, subject string) bool {
	return slices.ContainsFunc(d.Findings, func(f upkeep.Finding) bool {
		return f.Fault == fault && slices.ContainsFunc(f.Subjects, func(s string) bool { return strings.HasPrefix(s, subject) })
	})
}

// alike is what ways to break a file have in common for which Doctor does the same and leaves the same: that it makes the whole index anew, or nothing. All
// other faults are put right each in a way of its own.
func alike(fault, left string) [2]string {
	kind := fault
	if says := upkeep.ExplanationOf(fault).Says; strings.HasPrefix(says, "the index is made anew") || strings.HasPrefix(says, "nothing") {
		kind = says
	}
	return [2]string{kind, strings.ReplaceAll(left, fault, "it")}
}

// doctoredTalk are the statements of ofTalk that TestDoctorRepairsTalk tries: if it is not long, one of those is enough that are alike.
func doctoredTalk(t *testing.T) map[string]bool {
	t.Helper()
	doctored, tried := map[string]bool{}, map[[2]string]bool{}
	for _, test := range ofTalk(t) {
		kind := alike(test.fault, test.left)
		if !tried[kind] || enginetest.Long("doctor") {
			doctored[test.statement] = true
		}
		tried[kind] = true
	}
	return doctored
}

// TestDoctorRepairsTalk breaks a file in ways that Check finds, and has Doctor find and repair it; if it is not long, in some ways at once (together).
func TestDoctorRepairsTalk(t *testing.T) {
	if testing.Short() {
		t.Skip("short: a file for every fault")
	}
	t.Parallel()
	whole, names := enginetest.TalkFile(t)
	path := enginetest.NewFile(t)
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	e := enginetest.OpenFile(t, path, engine.Options{ReadOnly: true})
	before := enginetest.Rows(t, e, lineage)
	enginetest.CloseFile(t, e)
	doctored := doctoredTalk(t)
	ways := slices.DeleteFunc(ofTalk(t), func(way sabotage) bool { return !doctored[way.statement] })
	// wrong says what is not as it should be after a file was broken in some ways at once, and repaired.
	wrong := func(group []sabotage, look bool) (all []string) {
		broken := strings.Join(statements(group, names), "; ")
		d, after := curedTo(t, whole, broken, engine.Options{}, look)
		rest := left(d)
		for _, way := range group {
			if !found(d, way.fault, names.Replace(way.subject)) {
				all = append(all, fmt.Sprintf("%s: %+v: want %q of %s", broken, d.Findings, way.fault, way.subject))
			}
		}
		diff, want := cmp.Diff(before, after), group[0].left
		switch {
		case want == asBefore && (diff != "" || len(rest) > 0):
			all = append(all, fmt.Sprintf("%s: left is %q; (-before +after):\n%s", broken, rest, diff))
		case want == "" && len(rest) > 0 || want != "" && want != asBefore && !slices.Contains(rest, want):
			all = append(all, fmt.Sprintf("%s: left is %q, want %q", broken, rest, want))
		}
		return all
	}
	for n, group := range together(ways) {
		all := wrong(group, looked(n))
		if len(all) > 0 && len(group) > 1 { // one may be in another's way
			all = nil
			for _, way := range group {
				all = append(all, wrong([]sabotage{way}, false)...)
			}
		}
		for _, what := range all {
			t.Error(what)
		}
	}
}

// staysBroken is what Doctor can't repair of what some statements of ofMemories break.
var staysBroken = map[string][]string{
	"DELETE FROM messages":                      {"messages are not numbered 1 to 2", "conversation goes on elsewhere than after its last message"},
	"DELETE FROM conversations":                 {"message of no conversation"},
	"UPDATE messages SET seq = 3 WHERE seq = 1": {"messages are not numbered 1 to 3"},
	"UPDATE messages SET seq = 1":               {"messages are not numbered 1 to 1", "conversation goes on elsewhere than after its last message", "context items that overlap"},
	"UPDATE memories SET superseded_by = (SELECT max(id) FROM memories) WHERE id = '{id}'": {"superseded by a memory that does not say so"},
	"UPDATE models SET chosen = false":                                                            {"more than one chosen model, or none"},
	"INSERT INTO models SELECT 2, 'other', dims, 'other', true, created_at FROM models":           {"more than one chosen model, or none"},
	"INSERT INTO retractions VALUES ('ret_1', 'memory', '{id}', 'why', NULL, '2026-01-01', NULL)": {"retracted source that can be recalled"},
	"CREATE MACRO lower(x) AS 'shadowed'":                                                         {"macro that is not Mallard's"},
	"CREATE MACRO recent(n) AS TABLE SELECT * FROM memories LIMIT n":                              {"macro that is not Mallard's"},
}

// doctoredMemories are the statements of ofMemories that TestDoctorRepairsMemories tries: if it is not long, one of those is enough that are alike.
func doctoredMemories(t *testing.T) map[string]bool {
	t.Helper()
	doctored, tried := map[string]bool{}, map[[2]string]bool{}
	for _, test := range ofMemories(t) {
		kind := alike(test.fault, strings.Join(staysBroken[test.statement], ", "))
		if !tried[kind] || enginetest.Long("doctor") {
			doctored[test.statement] = true
		}
		tried[kind] = true
	}
	return doctored
}

func TestDoctorRepairsMemories(t *testing.T) {
	if testing.Short() {
		t.Skip("short: a file for every fault")
	}
	t.Parallel()
	whole, names := stockedFile(t)
	o := engine.Options{Embedder: enginetest.Words{}}
	doctored := doctoredMemories(t)
	for n, test := range ofMemories(t) {
		if !doctored[test.statement] {
			continue
		}
		with := o
		if test.fault == "more than one chosen model, or none" {
			with.Embedder = nil // it would have to choose
		}
		want := staysBroken[test.statement]
		if want == nil {
			want = []string{}
		}
		d, _ := curedTo(t, whole, names.Replace(test.statement), with, looked(n))
		if !found(d, test.fault, names.Replace(test.subject)) {
			t.Errorf("%s: %+v: want %q of %s", test.statement, d.Findings, test.fault, test.subject)
		}
		if diff := cmp.Diff(want, left(d)); diff != "" {
			t.Errorf("%s: left (-want +got):\n%s", test.statement, diff)
		}
	}
}

func TestDoctorRequests(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{})
	enginetest.Stock(t, e)
	if _, err := e.Doctor(t.Context(), upkeep.DoctorRequest{Apply: true}); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("without a backup: %v", err)
	}
	backup := filepath.Join(t.TempDir(), "backup.db")
	d, err := e.Doctor(t.Context(), upkeep.DoctorRequest{Apply: true, Backup: backup})
	if err != nil || d.Backup != "" || len(enginetest.Unpurged(d.Findings)) != 0 {
		t.Errorf("a healthy file: %+v, %v", d, err)
	}
	if _, err := os.Stat(backup); err == nil {
		t.Error("a healthy file was copied")
	}
}

// TestDoctorAsksTheModelAgain: fallback summaries are no fault, and are made anew where there is a model.
func TestDoctorAsksTheModelAgain(t *testing.T) {
	enginetest.Alone(t)
	whole, names := enginetest.TalkFile(t)
	fallback := names.Replace("UPDATE summaries SET fallback = true WHERE id IN ('{low}', '{leaf}')")
	without := cured(t, whole, fallback, engine.Options{})
	if len(without.Left) != 1 || without.Left[0].Count != 2 || without.Left[0].Repairable || without.Backup != "" {
		t.Errorf("without a model: %+v", without)
	}
	llm := &enginetest.LLM{Answer: func(context.Context, string, string, int) (string, error) { return "in short", nil }}
	if d := cured(t, whole, fallback, engine.Options{LLM: llm}); len(d.Left) != 0 || len(llm.Calls()) != 2 {
		t.Errorf("with a model, asked %d times: %+v", len(llm.Calls()), d)
	}
	silent := &enginetest.LLM{Answer: func(context.Context, string, string, int) (string, error) { return "", enginetest.Refused{} }}
	d, err := doctored(t, whole, fallback, engine.Options{LLM: silent})
	if err != nil || len(d.Left) != 1 || len(d.Repairs) != 1 || d.Repairs[0].Error == "" {
		t.Errorf("with a model that refuses: %+v, %v", d, err)
	}
}

// doctored breaks a file by a statement and lets Doctor do what it can.
func doctored(t *testing.T, whole []byte, statement string, o engine.Options) (*upkeep.Diagnosis, error) {
	t.Helper()
	path := enginetest.NewFile(t)
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	enginetest.Tamper(t, path, statement)
	return enginetest.OpenFile(t, path, o).Doctor(t.Context(), upkeep.DoctorRequest{Apply: true, Backup: filepath.Join(t.TempDir(), "backup.db")})
}

// TestDoctorSweeps: what a broken-off write left in the folder is no fault, and is deleted.
func TestDoctorSweeps(t *testing.T) {
	enginetest.Alone(t)
	path := enginetest.NewFile(t)
	e := enginetest.OpenFile(t, path, engine.Options{})
	enginetest.Stock(t, e)
	orphan := filepath.Join(path+".files", "orphan")
	if err := errors.Join(os.Mkdir(path+".files", 0o700), os.WriteFile(orphan, []byte("x"), 0o600)); err != nil {
		t.Fatal(err)
	}
	enginetest.Check(t, e)
	d, err := e.Doctor(t.Context(), upkeep.DoctorRequest{})
	if err != nil {
		t.Fatal(err)
	}
	found := enginetest.Unpurged(d.Findings)
	if len(found) != 1 || !found[0].Harmless || !found[0].Repairable || found[0].Subjects[0] != orphan {
		t.Fatalf("%+v", found)
	}
	d, err = e.Doctor(t.Context(), upkeep.DoctorRequest{Apply: true, Backup: filepath.Join(t.TempDir(), "backup.db")})
	if err != nil || len(left(d)) != 0 {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := os.Stat(orphan); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}
