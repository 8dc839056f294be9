package session_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/enginetest/golden"
	"github.com/mallardmem/mallard/engine/session"
	"github.com/mallardmem/mallard/engine/setup"
)

// TestFixtures imports every fixture and compares the conversations; a second import adds nothing.
func TestFixtures(t *testing.T) {
	for _, path := range fixtures(t) {
		t.Run(filepath.Base(filepath.Dir(path))+"/"+filepath.Base(path), func(t *testing.T) {
			e := open(t)
			imported(t, e, path)
			got := dump(t, e)
			golden.Check(t, strings.TrimSuffix(path, ".jsonl")+".golden", got)
			if again := imported(t, e, path); again.Messages+again.Parts+again.Summaries > 0 {
				t.Errorf("a second import added: %+v", again)
			}
			if diff := cmp.Diff(got, dump(t, e)); diff != "" {
				t.Errorf("a second import changed:\n%s", diff)
			}
		})
	}
}

// TestPurged: lines that go on with what was purged are left out, and the rest of the transcript, and others, are read.
func TestPurged(t *testing.T) {
	e := open(t)
	folder := t.TempDir()
	answer := func(id, parent, word string) string {
		return strings.Replace(said(id, parent, word), `"type":"user"`, `"type":"assistant"`, 1)
	}
	path := write(t, filepath.Join(folder, "s.jsonl"), strings.Replace(answer("a1", "", "one"), `{"role":"user"`, `{"id":"m","role":"assistant"`, 1))
	imported(t, e, path)
	if _, err := e.PurgeConversation(t.Context(), "claude:s", ""); err != nil {
		t.Fatal(err)
	}
	add(t, path, strings.Replace(answer("a2", "a1", "two"), `{"role":"user"`, `{"id":"m","role":"assistant"`, 1))
	if report := imported(t, e, path); report.Messages+report.Parts != 0 || report.Files[0].Lines != 1 {
		t.Errorf("%+v", report)
	}
	add(t, path, said("u1", "a2", "three"))
	if report := imported(t, e, path); report.Messages != 1 {
		t.Errorf("%+v", report)
	}
}

// TestGatedAgent: a sub-agent that the options keep out takes nothing of its session with it.
func TestGatedAgent(t *testing.T) {
	for gate, want := range map[string]int{"claude:agent:*": 2, "claude:s": 0} {
		e := enginetest.OpenAt(t, ":memory:", engine.Options{Conversation: setup.Conversation{IgnoreSessions: []string{gate}}})
		side := strings.Replace(said("x1", "", "look about"), `"type"`, `"isSidechain":true,"agentId":"77","type"`, 1)
		path := write(t, filepath.Join(t.TempDir(), "s.jsonl"), said("u1", "", "x")+side+said("u2", "u1", "y"))
		report := imported(t, e, path)
		if report.Messages != want || !strings.Contains(report.Files[0].Excluded, "excluded") {
			t.Errorf("%s: %+v", gate, report)
		}
		if report := imported(t, e, path); report.Files[0].Unchanged != (want > 0) {
			t.Errorf("%s, again: %+v", gate, report)
		}
	}
}

// TestTimes reads the ways that plain files tell the time.
func TestTimes(t *testing.T) {
	for _, c := range []struct{ written, want string }{
		{`"2026-03-01T09:00:00+02:00"`, "2026-03-01T07:00:00Z"},
		{`"2026-03-01 09:00:00"`, "2026-03-01T09:00:00Z"},
		{`1772355600123`, "2026-03-01T09:00:00.123Z"},
		{`1772355600`, "2026-03-01T09:00:00Z"},
		{`1772355600.25`, "2026-03-01T09:00:00.25Z"},
	} {
		e := open(t)
		imported(t, e, write(t, filepath.Join(t.TempDir(), "t.jsonl"), `{"role":"user","content":"x","session":"t","time":`+c.written+"}\n"))
		all, err := e.Messages(t.Context(), conversation.MessagesRequest{Conversation: "plain:t"})
		if err != nil || len(all) != 1 || all[0].SaidAt.Format(time.RFC3339Nano) != c.want {
			t.Errorf("%s: %+v, %v; want %s", c.written, all, err, c.want)
		}
	}
}

// TestBadTimes: a line whose time can't be read is left out with its number, and those after it keep their keys.
func TestBadTimes(t *testing.T) {
	const good = `{"role":"user","content":"x","session":"t"}` + "\n"
	for _, c := range []struct{ fields, says string }{
		{`"time":"gestern"`, `time is "gestern"; allowed: RFC 3339`},
		{`"timestamp":"0001-02-03T00:00:00Z"`, "timestamp is"},
		{`"time":1e300`, "time is 1e300"},
		{`"created_at":true`, "created_at is true"},
		{`"time":"2026-03-01T09:00:00Z","created_at":"gestern"`, ""},
		{`"time":null,"timestamp":"","created_at":1772355600`, ""},
	} {
		e := open(t)
		report := imported(t, e, write(t, filepath.Join(t.TempDir(), "t.jsonl"), good+`{"role":"user","content":"x","session":"t",`+c.fields+"}\n"+good))
		f := report.Files[0]
		switch {
		case c.says == "" && (len(f.Skipped) != 0 || f.Messages != 3):
			t.Errorf("%s: %+v", c.fields, f)
		case c.says != "" && (len(f.Skipped) != 1 || f.Skipped[0].Line != 2 || !strings.Contains(f.Skipped[0].Reason, c.says) || f.Messages != 2):
			t.Errorf("%s: %+v, want %q", c.fields, f, c.says)
		}
	}
}

// TestAnotherHost: a file of another host than the one asked for is refused, also when it was read before.
func TestAnotherHost(t *testing.T) {
	e := open(t)
	path := write(t, filepath.Join(t.TempDir(), "t.jsonl"), `{"role":"user","content":"x"}`+"\n")
	for range 2 {
		report, err := session.Import(t.Context(), e, session.ImportRequest{Paths: []string{path}, Host: session.Codex})
		if err != nil || report.Failed != 1 || !strings.Contains(report.Files[0].Error, "not a transcript of codex: it is one of plain") {
			t.Errorf("%+v, %v", report, err)
		}
		imported(t, e, path)
	}
}

// TestList reads a file that is one JSON array, which grows by being written anew.
func TestList(t *testing.T) {
	e := open(t)
	path := filepath.Join(t.TempDir(), "talk.json")
	const one, two, three = `{"role":"user","content":"a \"]}, {\\"}`, `{"role":"assistant","content":[{"type":"text","text":"b"}]}`, `{"role":"user","content":"c"}`
	for i, step := range []struct {
		content                 string
		added, skipped, pending int
	}{
		{"\ufeff[", 0, 0, 4},
		{"[\n  " + one + ",\n  " + two[:20], 1, 0, 20},
		{"[\n  " + one + ",\n  " + two + "\n]\n", 1, 0, 0},
		{"[" + one + ", 5, \"x\"," + two + "," + three + "]", 1, 2, 0},
	} {
		report := imported(t, e, write(t, path, step.content))
		if report.Messages != step.added || report.Skipped != step.skipped || report.Files[0].Pending != int64(step.pending) {
			t.Errorf("step %d: %+v; want %+v", i, report, step)
		}
	}
	if report := imported(t, e, path); !report.Files[0].Unchanged {
		t.Errorf("again: %+v", report)
	}
	said := rows(t, e, "SELECT text FROM main.messages ORDER BY seq")
	if diff := cmp.Diff([][]string{{`a "]}, {\`}, {"b"}, {"c"}}, said); diff != "" {
		t.Error(diff)
	}
}

// TestIdsAgain: an id that several lines of a plain file have takes none of them away.
func TestIdsAgain(t *testing.T) {
	e := open(t)
	path := filepath.Join(t.TempDir(), "t.jsonl")
	content := ""
	for i, said := range []string{"one", "two", "one", "three"} {
		content += `{"role":"user","id":"ines","content":"` + said + `"}` + "\n"
		imported(t, e, write(t, path, content))
		if n := len(rows(t, e, "SELECT id FROM main.messages")); n != []int{1, 2, 2, 3}[i] {
			t.Errorf("line %d: %d messages", i+1, n)
		}
	}
}

// TestCodexEventsFirst: what an event told before the item came is not shown twice.
func TestCodexEventsFirst(t *testing.T) {
	e := open(t)
	path := filepath.Join(t.TempDir(), "rollout.jsonl")
	add(t, path, `{"timestamp":"2026-02-06T10:00:00Z","type":"session_meta","payload":{"id":"c","cwd":"/w"}}`+"\n"+
		`{"timestamp":"2026-02-06T10:00:01Z","type":"event_msg","payload":{"type":"user_message","message":"fix it"}}`+"\n")
	imported(t, e, path)
	if n := inContext(t, e); n != 1 {
		t.Errorf("%d are shown; want the event", n)
	}
	add(t, path, `{"timestamp":"2026-02-06T10:00:02Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"fix it"}]}}`+"\n")
	imported(t, e, path)
	if n := inContext(t, e); n != 1 {
		t.Errorf("%d are shown; want the item\n%s", n, dump(t, e))
	}
}

// TestTitleAmongOthers: the titles of other files' sessions do not hide a session's own.
func TestTitleAmongOthers(t *testing.T) {
	e := open(t)
	title := func(said, leaf string) string {
		return `{"type":"summary","summary":"` + said + `","leafUuid":"` + leaf + `"}` + "\n"
	}
	imported(t, e, write(t, filepath.Join(t.TempDir(), "s.jsonl"), title("old", "u1")+title("of cranes", "u1")+title("of another", "u9")+said("u1", "", "x")))
	if c, err := e.Conversation(t.Context(), "claude:s", ""); err != nil || c.Title != "of cranes" {
		t.Errorf("%+v, %v", c, err)
	}
}
