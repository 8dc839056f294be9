package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/mallardmem/mallard/embed/static"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/share"
)

// shareFile FILE READY is hold, and shares the file.
func shareFile() {
	_, err := engine.Open(context.Background(), os.Args[1], engine.Options{Embedder: static.New(), Related: relatedWords}, share.Serve)
	exitOn(errors.Join(err, os.WriteFile(os.Args[2], nil, 0o600)))
	time.Sleep(time.Hour)
}

// call runs a program of the test binary and gives what it says, with its exit code.
func call(t *testing.T, folder string, args ...string) (out string, code int) {
	t.Helper()
	cmd := program(t, folder, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return stdout.String() + "---\n" + stderr.String(), cmd.ProcessState.ExitCode()
}

func program(t *testing.T, folder string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args[1:]...)
	cmd.Args[0] = args[0] // by which the binary knows what to be
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "MEMCTL_DB="+filepath.Join(folder, "memory.db"), "MEMCTL_CONFIG=", "XDG_CONFIG_HOME="+folder)
	return cmd
}

// timing is what a clock tells of a recall.
var timing = regexp.MustCompile(`"duration_ns": \d+|\d+\.\d ms|(?m:  +(\d+\.\d|MS)$)`)

// TestThroughHolder: every command that reads says the same through the process that has the file as it does with the file to itself.
func TestThroughHolder(t *testing.T) {
	if testing.Short() {
		t.Skip("short: a process for every question, twice")
	}
	folder := t.TempDir()
	for _, args := range [][]string{
		{"remember", "Ines drinks green tea", "--scope", "user:ines", "--importance", "0.9"},
		{"remember", "The crane at berth four <b>&amp; \u2028 is down", "--scope", "project:harbor", "--category", "case"},
		{"remember", "Scout keeps the keys of the crane", "--scope", "agent:scout"},
		{"append", "standup", "The crane at berth four is down again", "--speaker", "Teo", "--time", "2026-03-24T09:10:00Z"},
		{"append", "standup", "We had a power cut at the reefer stacks", "--speaker", "Ines", "--time", "2026-06-17T09:00:00Z"},
	} {
		if out, code := call(t, folder, append([]string{"memctl"}, args...)...); code != 0 {
			t.Fatalf("memctl %s: %s", strings.Join(args, " "), out)
		}
	}
	id, code := call(t, folder, "memctl", "sql", "select id from report.memories order by scope limit 1", "--csv")
	if code != 0 {
		t.Fatal(id)
	}
	id = strings.Fields(id)[1]
	now := "--as-of=2027-01-01"
	commands := [][]string{
		{"recall", "crane", now}, {"recall", "what did Ines report in June?", "--kind", "message", now, "--explain"}, {"recall", "crane", now, "--trace"},
		{"recall", "crane", now, "--prompt"}, {"recall", "crane", now, "--why-not", id}, {"recall", "crane", now, "--agent", "scout"},
		{"recall", "crane", now, "--scope", "user:nobody"}, {"recall", "crane", "--scope", "nosuch"}, {"recall", "crane", now, "--model", "none"},
		{"recall", "crane", "--mode", "vector", "--model", "none"}, {"recall", "crane", "--mode", "nosuch"}, {"recall", "crane", now, "--lift", "session", "--kind", "message"},
		{"recall", "crane", "--limit", "5000"}, {"recall", "surgeon", now, "--mode", "lexical", "--level", "full"},
		{"list"}, {"list", "--scope", "user:ines"}, {"list", "--agent", "scout"}, {"list", "--since", "2030-01-01"}, {"list", "--limit", "1", "--offset", "1"},
		{"get", id}, {"get", id[len(id)-8:]}, {"get", "nosuch1"}, {"get", id, "--agent", "other"}, {"history", id}, {"history", id, "--agent", "other"}, {"list", "--known-at", "2020-01-01"},
		{"search", "crane"}, {"search", "crane", "--model", "none"}, {"search", "crane", "--match", "semantic", "--model", "none"}, {"search", "--match", "exact", "berth four", "--agent", "scout"},
		{"search", "--recent", "--limit", "1"}, {"search", "--tally", "speaker"}, {"search", "--match", "nosuch", "x"}, {"gaps"}, {"gaps", "nosuch"}, {"gaps", "--limit", "5000"},
		{"conversation", "grep", "crane"}, {"conversation", "grep", "--regex", "cr[a-n]+e", "standup"}, {"conversation", "grep", "crane", "nosuch"},
		{"conversation", "grep", "crane", "--agent", "scout"}, {"stats"}, {"stats", "--agent", "scout"}, {"scopes", "show"},
		{"sql", "select * from report.memories order by id"}, {"sql", "select current_database(), count(*) as n from messages"},
		{"sql", "select 1", "--csv"}, {"sql", "select nosuch from memories"}, {"sql", "drop table memories"}, {"sql", "select * from range(10)", "--limit", "3"},
		{"snapshot", "memory.db"}, {"snapshot", ""}, {"snapshot", "nosuch/copy.db"},
	}
	run := func(args []string) (string, int) {
		out, code := call(t, folder, append([]string{"memctl", "--wait", "0"}, args...)...)
		return timing.ReplaceAllString(out, "TIME"), code
	}
	type said struct {
		out  string
		code int
	}
	direct := map[string]said{}
	// both gives each command as text and as JSON; if it is not long that is the first of each verb, and the others in turn as one of the two.
	both := func(each func(args []string, key string)) {
		met := map[string]bool{}
		for n, args := range commands {
			whole := !met[args[0]] || enginetest.Long("doors")
			met[args[0]] = true
			if whole || n%2 == 0 {
				each(args, strings.Join(args, " "))
			}
			if whole || n%2 > 0 {
				each(append(args[:len(args):len(args)], "--json"), strings.Join(args, " ")+" --json")
			}
		}
	}
	both(func(args []string, key string) {
		out, code := run(args)
		direct[key] = said{out, code}
	})
	holder := program(t, folder, "share", "memory.db", "ready")
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	defer holder.Wait()
	defer holder.Process.Kill()
	for start := time.Now(); !exists(filepath.Join(folder, "ready")); time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > time.Minute {
			t.Fatal("the holder does not begin")
		}
	}
	if out, code := run([]string{"check"}); code != 1 || !strings.Contains(out, "file is in use") {
		t.Fatalf("the file is not held: %s", out)
	}
	both(func(args []string, key string) {
		out, code := run(args)
		if want := direct[key]; !sameAnswer(out, want.out) || code != want.code {
			t.Errorf("memctl %s ends with %d and says\n%s\nwith the file to itself %d and\n%s", key, code, out, want.code, want.out)
		}
	})
	if left, err := filepath.Glob(filepath.Join(folder, "memory.db.sql-*")); err != nil || len(left) > 0 {
		t.Errorf("sql has left %v, %v", left, err)
	}
}

// sameAnswer reports whether two outputs say the same. The holder has a resident index, so that numbers differ in the last digits.
func sameAnswer(a, b string) bool {
	if a == b {
		return true
	}
	var x, y any
	for text, into := range map[string]*any{a: &x, b: &y} {
		document, notes, _ := strings.Cut(strings.ReplaceAll(text, "TIME", `"time": 0`), "---\n")
		if notes != "" || json.Unmarshal([]byte(document), into) != nil {
			return false
		}
	}
	return cmp.Equal(x, y, cmpopts.EquateApprox(0, 1e-6), cmpopts.IgnoreMapEntries(func(key string, _ any) bool { return key == "resident" }))
}
