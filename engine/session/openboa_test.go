package session_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine/session"
)

// copied is a copy of a folder.
func copied(t *testing.T, folder string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	return to
}

func boaSaid(id, at, said, processed string) string {
	return `{"kind":"session.event.appended","sessionId":"S","event":{"id":"` + id + `","type":"user.message","createdAt":"2026-04-10T00:00:` + at + `.000Z","processedAt":` + processed + `,"message":"` + said + `"}}` + "\n"
}

func boaDone(id string) string {
	return `{"kind":"session.event.processed","sessionId":"S","eventId":"` + id + `","processedAt":"2026-04-10T00:01:00.000Z"}` + "\n"
}

// TestOpenboaProcessed: an event that is not processed is withheld, until a line says that it is; and a file that is read again says the same.
func TestOpenboaProcessed(t *testing.T) {
	e := open(t)
	path := filepath.Join(t.TempDir(), "events.jsonl")
	withheld := func() (all []string) {
		for _, r := range rows(t, e, "SELECT text FROM main.messages WHERE withheld ORDER BY seq") {
			all = append(all, r[0])
		}
		return all
	}
	add(t, path, boaSaid("E1", "00", "one", "null")+boaSaid("E2", "01", "two", "null")+boaSaid("E3", "02", "three", `"2026-04-10T00:00:03.000Z"`))
	imported(t, e, path)
	if diff := cmp.Diff([]string{"one", "two"}, withheld()); diff != "" {
		t.Error(diff)
	}
	add(t, path, boaDone("E1"))
	if f := imported(t, e, path).Files[0]; f.Marked != 1 || f.Messages != 1 {
		t.Errorf("%+v", f)
	}
	if diff := cmp.Diff([]string{"two"}, withheld()); diff != "" {
		t.Error(diff)
	}
	add(t, path, boaDone("E2"))
	moved := filepath.Join(t.TempDir(), "events.jsonl") // the cursor does not know this one
	if f := imported(t, e, write(t, moved, read(t, path))).Files[0]; f.Marked != 1 || f.Messages != 1 || f.Known != 4 {
		t.Errorf("%+v", f)
	}
	if all := withheld(); len(all) != 0 {
		t.Errorf("%q", all)
	}
}

// TestOpenboaVector6: the same event twice is one message, a torn last line is left, and a broken line before it is an error, of which nothing is stored.
func TestOpenboaVector6(t *testing.T) {
	e := open(t)
	path := filepath.Join(t.TempDir(), "events.jsonl")
	add(t, path, boaSaid("E1", "00", "one", "null")+boaSaid("E1", "00", "one", "null")+boaSaid("E2", "01", "two", "null")[:50])
	if f := imported(t, e, path).Files[0]; f.Messages != 1 || f.Known != 1 || f.Pending != 50 {
		t.Errorf("%+v", f)
	}
	before := read(t, path)
	add(t, path, "\n"+boaSaid("E3", "02", "three", "null"))
	for range 2 {
		report, err := session.Import(t.Context(), e, session.ImportRequest{Paths: []string{path}})
		if err != nil || report.Failed != 1 || !strings.Contains(report.Files[0].Error, "line 3: no JSON") || report.Messages != 0 {
			t.Errorf("%+v, %v", report, err)
		}
	}
	write(t, path, before[:strings.LastIndex(before, "\n")+1]+boaSaid("E2", "01", "two", "null")+boaSaid("E3", "02", "three", "null"))
	if f := imported(t, e, path).Files[0]; f.Messages != 2 {
		t.Errorf("mended: %+v", f)
	}
}

// TestOpenboaOrder: events stand in the order of their times; of one time, of their lines.
func TestOpenboaOrder(t *testing.T) {
	e := open(t)
	imported(t, e, write(t, filepath.Join(t.TempDir(), "events.jsonl"), boaSaid("E1", "05", "last", "null")+boaSaid("E2", "01", "b", "null")+boaSaid("E3", "01", "c", "null")+boaSaid("E4", "00", "a", "null")))
	var got []string
	for _, r := range rows(t, e, "SELECT text FROM main.messages ORDER BY seq") {
		got = append(got, r[0])
	}
	if diff := cmp.Diff([]string{"a", "b", "c", "last"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestOpenboaNotes: what is no talk is a note of at most 180 characters; a record without one is an event.
func TestOpenboaNotes(t *testing.T) {
	e := open(t)
	imported(t, e, filepath.Join("testdata", "openboa", "events.jsonl"))
	notes := rows(t, e, "SELECT role, text FROM main.messages WHERE source_kind = 'event' ORDER BY seq")
	for _, n := range notes {
		if utf8.RuneCountInString(n[1]) > 180 {
			t.Errorf("%d characters: %s", utf8.RuneCountInString(n[1]), n[1])
		}
	}
	want := [][]string{
		{"user", "outcome wanted: pass the lock: before it closes at six"}, {"user", "allowed the tool book: go on"}, {"user", "interrupted: empty"},
		{"assistant", "child session for tides: look up the tides"}, {"assistant", "child session came to rest (done): high water at four"}, {"assistant", "status from running to idle: nothing queued"},
	}
	if len(notes) != 8 {
		t.Fatalf("%d notes: %q", len(notes), notes)
	}
	if diff := cmp.Diff(want, notes[:6]); diff != "" {
		t.Error(diff)
	}
	if !strings.HasSuffix(notes[6][1], "...") || notes[7][1] != "wake wake ended in success: done" {
		t.Errorf("%q", notes[6:])
	}
	if calls := rows(t, e, "SELECT call_id, tool FROM main.parts WHERE type IN ('tool_call', 'tool_result') ORDER BY seq, ordinal"); len(calls) != 4 {
		t.Errorf("%q", calls)
	}
}

// TestOpenboaRedacted: what was redacted is gone, from what was stored before and from what is read now, in every revision.
func TestOpenboaRedacted(t *testing.T) {
	ledger := read(t, filepath.Join("testdata", "openboa", "chat-ledger.jsonl"))
	const redacted = `{"kind":"message.redacted","messageId":"m1","revision":3,"conversationId":"room","body":"[redacted]","createdAt":"2026-05-01T10:03:00.000Z"}` + "\n"
	for _, c := range []struct {
		name   string
		pieces []string
		purged int
	}{{"at once", []string{ledger + redacted}, 0}, {"later", []string{ledger, redacted}, 2}} {
		t.Run(c.name, func(t *testing.T) {
			e := open(t)
			path := filepath.Join(t.TempDir(), "chat-ledger.jsonl")
			var last session.FileReport
			for _, piece := range c.pieces {
				add(t, path, piece)
				last = imported(t, e, path).Files[0]
			}
			if last.Redacted != c.purged {
				t.Errorf("%+v", last)
			}
			for _, table := range []string{"messages", "parts"} {
				if left := rows(t, e, "SELECT * FROM main."+table+" WHERE text LIKE '%berth f%' AND text NOT LIKE 'Noted%' OR (raw IS NOT NULL AND position('is free' IN raw::VARCHAR) > 0)"); len(left) > 0 {
					t.Errorf("%s has it still: %q", table, left)
				}
			}
			if all := heard(t, e, "openboa:chat:room"); !strings.Contains(strings.Join(all, "\n"), "Noted: berth five.") {
				t.Errorf("%q", all)
			}
		})
	}
}

// TestOpenboaLegacy: a turn of the older log and the same in a session that openboa brought over are one.
func TestOpenboaLegacy(t *testing.T) {
	e := open(t)
	imported(t, e, filepath.Join("testdata", "openboa", "turns.jsonl"))
	moved := strings.ReplaceAll(boaSaid("legacy:ck1:user", "00", "who keeps the light?", `"2026-03-01T08:00:00.000Z"`), `"sessionId":"S"`, `"sessionId":"old"`)
	if f := imported(t, e, write(t, filepath.Join(t.TempDir(), "events.jsonl"), moved)).Files[0]; f.Messages != 0 || f.Known != 1 {
		t.Errorf("%+v", f)
	}
	want := []string{"user legacy:ck1:user who keeps the light?", "assistant legacy:ck1:agent Marta does.", "user legacy:ck2:user since when?"}
	if diff := cmp.Diff(want, heard(t, e, "openboa:old")); diff != "" {
		t.Error(diff)
	}
}

// TestOpenboaLearnings: a learning is a memory; the same one again is none, whatever the letters' case.
func TestOpenboaLearnings(t *testing.T) {
	e := open(t)
	folder := filepath.Join(t.TempDir(), "learn")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	learned := func(kind, title, detail, more string) string {
		return `{"kind":"runtime.learning.captured","id":"l","agentId":"pi","createdAt":"2026-04-01T00:00:00.000Z","sessionId":"S","learning":{"kind":"` + kind + `","title":"` + title + `","detail":"` + detail + `"` + more + `}}` + "\n"
	}
	path := filepath.Join(folder, "lessons.jsonl")
	add(t, path, learned("lesson", "Ask the keeper", "before the lock closes", `,"dedupeKey":"k1","promoteToMemory":true`)+learned("lesson", "Other words", "of the same", `,"dedupeKey":"k1"`)+
		learned("error", "Wrong berth", "it was four", "")+learned("ERROR", "wrong BERTH", "It was four", "")+"oops\n"+learned("lesson", "", "", "")+learned("lesson", "torn", "x", "")[:30])
	report, err := session.Import(t.Context(), e, session.ImportRequest{Paths: []string{folder}, Host: session.Openboa})
	if err != nil || report.Memories != 2 || report.Known != 2 || report.Skipped != 1 || report.Files[0].Skipped[0].Line != 5 || report.Files[0].Pending != 30 || report.Files[0].LeftOut["a learning that says nothing"] != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	want := [][]string{{"Ask the keeper: before the lock closes", "pattern", "agent:pi", "reflection", "S"}, {"Wrong berth: it was four", "case", "agent:pi", "reflection", "S"}}
	if diff := cmp.Diff(want, rows(t, e, "SELECT text, category, scope, source, source_session FROM main.memories ORDER BY text")); diff != "" {
		t.Error(diff)
	}
	add(t, path, learned("lesson", "torn", "x", "")[30:])
	if report := imported(t, e, path); report.Memories != 1 {
		t.Errorf("%+v", report)
	}
	if report := imported(t, e, path); report.Memories != 0 || !report.Files[0].Unchanged {
		t.Errorf("%+v", report)
	}
}

// TestOddRows: values of other types than expected, nulls, bytes that are no text, and a line of twenty megabytes make nothing else unreadable.
func TestOddRows(t *testing.T) {
	huge := strings.Repeat("word ", 4<<20)
	takobot := `{"session_id":7,"session_key":"odd","type":"session"}` + "\n" + `{"created_at":7e300,"role":"user","text":"one","type":"message"}` + "\n" + `[1,2]` + "\n" + `null` + "\n" +
		`{"created_at":{"at":1},"role":["user"],"text":"two","type":"message"}` + "\n" + `{"created_at":null,"role":"user","text":"a\u0000b \ud800","type":"message"}` + "\n" +
		`{"created_at":"2026-01-01T12:00:00+00:00","role":"user","text":"` + huge + `","type":"message"}` + "\n" + `{"role":"user","text":"last","type":"message"}` + "\n"
	openboa := `{"kind":"session.event.appended","sessionId":"odd","event":{"id":7,"type":"user.message","createdAt":true,"processedAt":"x","message":"no id"}}` + "\n" +
		`{"kind":"session.event.appended","sessionId":"odd","event":"not an object"}` + "\n" + `{"kind":"session.event.appended","sessionId":["odd"],"event":{"id":"a","type":null,"message":{}}}` + "\n" +
		`{"kind":"session.event.appended","sessionId":"odd","event":{"id":"b","type":"agent.tool_use","toolName":7,"input":"{broken","output":[{"type":"text","text":"x"},7]}}` + "\n" +
		`{"kind":"session.event.processed","sessionId":"odd","eventId":{"id":"b"}}` + "\n" + `{"kind":"message.posted","messageId":"m","revision":"two","author":"nobody","body":{"a":1}}` + "\n" +
		`{"kind":"turn.completed","checkpoint":"none","requestMessage":5,"responseMessage":"` + huge + `"}` + "\n" +
		`{"kind":"session.event.appended","sessionId":"odd","event":{"id":"c","type":"user.message","message":"last"}}` + "\n"
	for host, c := range map[session.Host]struct {
		content string
		skipped int
	}{session.Takobot: {takobot, 2}, session.Openboa: {openboa, 0}} {
		e := open(t)
		path := write(t, filepath.Join(t.TempDir(), "odd.jsonl"), c.content)
		f := imported(t, e, path).Files[0]
		if f.Host != host || len(f.Skipped) != c.skipped || f.Pending != 0 {
			t.Errorf("%s: %+v", host, f)
		}
		if n := rows(t, e, "SELECT count(*) FROM main.messages WHERE text = 'last'"); n[0][0] != "1" {
			t.Errorf("%s: %q", host, n)
		}
		if f := imported(t, e, path).Files[0]; !f.Unchanged {
			t.Errorf("%s, again: %+v", host, f)
		}
	}
}
