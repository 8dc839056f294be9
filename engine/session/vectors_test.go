package session_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/session"
	"github.com/mallardmem/mallard/engine/setup"
)

// turns are plain lines of so many turns, user and assistant in turn, with texts of 40 characters, which are 10 tokens.
func turns(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, `{"role":%q,"content":"%-40d","time":"2026-03-01T09:%02d:%02dZ","session":"v"}`+"\n", []string{"user", "assistant"}[i%2], i, i/60, i%60)
	}
	return b.String()
}

// inContext is how many messages the context of a conversation has.
func inContext(t *testing.T, e *engine.Engine) int {
	t.Helper()
	return len(rows(t, e, "SELECT ref FROM main.context_items"))
}

// TestBootstrapVectors are V1 to V10 of the acceptance vectors, as they are to be.
func TestBootstrapVectors(t *testing.T) {
	type step struct {
		content               string
		added, skipped, shown int
	}
	for _, c := range []struct {
		name   string
		budget int
		stored []string // before the file is there
		steps  []step
	}{
		{"V1 V2 V3 a file, again, and one more", 0, nil, []step{{turns(0, 2), 2, 0, 2}, {turns(0, 2), 0, 0, 2}, {turns(0, 3), 1, 0, 3}}},
		{"V4 garbage between", 0, nil, []step{{turns(0, 2), 2, 0, 2}, {turns(0, 2) + "garbage\n" + turns(2, 3), 1, 1, 3}}},
		{"V5 everything is stored, the newest are shown", 25, nil, []step{{turns(0, 6), 6, 0, 2}, {turns(0, 8), 2, 0, 4}}},
		{"V6 always the newest", 5, nil, []step{{turns(0, 1), 1, 0, 1}}},
		{"V7 what is stored already", 0, []string{turns(0, 2)}, []step{{turns(0, 4), 2, 0, 4}}},
		{"V8 something else is stored", 0, []string{turns(26, 27)}, []step{{turns(0, 2), 2, 0, 3}}},
		{"V9 51 new ones", 0, []string{turns(0, 1)}, []step{{turns(0, 52), 51, 0, 52}}},
		{"V10 50 new ones", 0, []string{turns(0, 1)}, []step{{turns(0, 51), 50, 0, 51}}},
		{"the same line twice", 0, nil, []step{{turns(0, 1) + turns(0, 1), 2, 0, 2}, {turns(0, 1) + turns(0, 1), 0, 0, 2}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := enginetest.Open(t, engine.Options{Conversation: setup.Conversation{BootstrapMaxTokens: c.budget}})
			folder := t.TempDir()
			for i, content := range c.stored {
				imported(t, e, write(t, filepath.Join(folder, fmt.Sprintf("before%d.jsonl", i)), content))
			}
			for i, s := range c.steps {
				report := imported(t, e, write(t, filepath.Join(folder, "v.jsonl"), s.content))
				if shown := inContext(t, e); report.Messages != s.added || report.Skipped != s.skipped || shown != s.shown {
					t.Errorf("step %d: %d added, %d skipped, %d shown; want %+v", i, report.Messages, report.Skipped, shown, s)
				}
			}
		})
	}
}

// TestBootstrapKeepsPairs: what a first import leaves out of the context takes no call from its result.
func TestBootstrapKeepsPairs(t *testing.T) {
	call := `{"role":"assistant","content":null,"tool_calls":[{"id":"a","function":{"name":"read","arguments":"{}"}},{"id":"b","function":{"name":"read","arguments":"{}"}}]}` + "\n"
	results := `{"role":"tool","tool_call_id":"a","content":"` + strings.Repeat("long ", 40) + `"}` + "\n" + `{"role":"tool","tool_call_id":"b","content":"ok"}` + "\n"
	for _, c := range []struct {
		name, content string
		shown         int
	}{
		{"the results go with the call", turns(0, 1) + call + results + turns(1, 2), 1},
		{"where nothing else is left, the call stays with the results", turns(0, 1) + call + results, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := enginetest.Open(t, engine.Options{Conversation: setup.Conversation{BootstrapMaxTokens: 12}})
			imported(t, e, write(t, filepath.Join(t.TempDir(), "v.jsonl"), strings.ReplaceAll(c.content, `,"session":"v"`, "")))
			if shown := inContext(t, e); shown != c.shown {
				t.Errorf("%d messages are shown; want %d\n%s", shown, c.shown, dump(t, e))
			}
		})
	}
}

// TestInterrupted cancels a first import after its first batch: done again, it becomes what it would have been.
func TestInterrupted(t *testing.T) {
	content := turns(0, 2100)
	want := open(t)
	path := write(t, filepath.Join(t.TempDir(), "v.jsonl"), content)
	imported(t, want, path)
	e := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := session.Import(ctx, e, session.ImportRequest{Paths: []string{path}, Progress: func(done, _ int64) {
		if done > 0 {
			cancel()
		}
	}})
	if n := len(rows(t, e, "SELECT id FROM messages")); !errors.Is(err, context.Canceled) || n == 0 || n == 2100 {
		t.Fatalf("%d messages are stored, %v", n, err)
	}
	if report := imported(t, e, path); report.Messages+report.Known != 2100 || report.Known == 0 {
		t.Errorf("%+v", report)
	}
	if dump(t, want) != dump(t, e) {
		t.Errorf("it became something else, with %d messages in the context instead of %d", inContext(t, e), inContext(t, want))
	}
}

// TestPlainCopies: a copy of a plain file, also one that went on, is the same dialogue; equal words at other times are not.
func TestPlainCopies(t *testing.T) {
	e := open(t)
	content := strings.ReplaceAll(turns(0, 4), `,"session":"v"`, "")
	for _, c := range []struct {
		name, content string
		added         int
	}{
		{"first", content, 4},
		{"copy", content, 0},
		{"shorter", strings.Join(strings.SplitAfter(content, "\n")[:2], ""), 0},
		{"longer", content + `{"role":"user","content":"more","time":"2026-03-01T10:00:00Z"}` + "\n", 1},
		{"another day", strings.ReplaceAll(content, "2026-03-01", "2026-03-02"), 4},
		{"never", strings.ReplaceAll(content, `"time"`, `"when"`), 4},
	} {
		if report := imported(t, e, write(t, filepath.Join(t.TempDir(), c.name+".jsonl"), c.content)); report.Messages != c.added {
			t.Errorf("%s: %d added; want %d", c.name, report.Messages, c.added)
		}
	}
}

// TestLongLine reads a line of 5 MB, or 20 if it is long, which is not whole at first.
func TestLongLine(t *testing.T) {
	if testing.Short() {
		t.Skip("short: nothing in it runs beside anything")
	}
	e, size := open(t), 5<<20
	if enginetest.Long("growth") {
		size = 20 << 20
	}
	path := filepath.Join(t.TempDir(), "s.jsonl")
	long := `{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"` +
		strings.Repeat("crane and quay ", size/15) + `"}]}}` + "\n"
	if report := imported(t, e, write(t, path, long[:len(long)/2])); report.Messages != 0 || report.Files[0].Pending != int64(len(long)/2) {
		t.Errorf("half of it: %+v", report)
	}
	if report := imported(t, e, write(t, path, long)); report.Messages != 1 {
		t.Errorf("all of it: %+v", report)
	}
	kept := rows(t, e, "SELECT p.bytes, octet_length(p.content), sha256(p.content) FROM main.messages AS m JOIN main.payloads AS p ON p.sha256 = m.raw_sha256")
	line := strings.TrimSuffix(long, "\n")
	if size := fmt.Sprint(len(line)); len(kept) != 1 || kept[0][0] != size || kept[0][1] != size || kept[0][2] != fmt.Sprintf("%x", sha256.Sum256([]byte(line))) {
		t.Errorf("the line is not kept: %v", kept)
	}
}

// TestImportFaults: what is wrong with one file is said, and the others go on.
func TestImportFaults(t *testing.T) {
	e := open(t)
	folder := t.TempDir()
	good := write(t, filepath.Join(folder, "good.jsonl"), turns(0, 2))
	bad := write(t, filepath.Join(folder, "bad.jsonl"), `{"type":"thread.started","thread_id":"x"}`+"\n")
	report, err := session.Import(t.Context(), e, session.ImportRequest{Paths: []string{bad, good}})
	if err != nil || report.Messages != 2 || report.Failed != 1 || !strings.Contains(report.Files[0].Error+report.Files[1].Error, "codex exec --json") {
		t.Errorf("%+v, %v", report, err)
	}
	if report, err := session.Import(t.Context(), e, session.ImportRequest{Paths: []string{folder}}); err != nil || report.Failed != 0 || report.Files[0].Ignored+report.Files[1].Ignored == "" {
		t.Errorf("in a folder it is passed over: %+v, %v", report, err)
	}
	if report, err := session.Import(t.Context(), e, session.ImportRequest{Paths: []string{good}, Host: session.Claude}); err != nil || report.Failed != 1 || !strings.Contains(report.Files[0].Error, "not a transcript of claude: it is one of plain") {
		t.Errorf("%+v, %v", report, err)
	}
	if _, err := session.Import(t.Context(), e, session.ImportRequest{Paths: []string{filepath.Join(folder, "nosuch")}}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	for name, r := range map[string]session.ImportRequest{"nothing": {}, "host": {Host: "nobody", Paths: []string{good}}} {
		if _, err := session.Import(t.Context(), e, r); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := session.Import(ctx, e, session.ImportRequest{Paths: []string{good}}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestImportScopes: the working directory names the scope, the request may name another, and gates hold.
func TestImportScopes(t *testing.T) {
	line := func(session, cwd string) string {
		return fmt.Sprintf(`{"type":"user","uuid":"u-%s","sessionId":%q,"cwd":%q,"message":{"role":"user","content":"x"}}`+"\n", session, session, cwd)
	}
	for _, c := range []struct {
		name, content, asked, agent, scope, says string
	}{
		{"folder", line("a", "/w/yard"), "", "", "project:/w/yard", ""},
		{"none", line("b", ""), "", "", "global", ""},
		{"far away", line("c", "/"+strings.Repeat("deep/", 200)+"yard"), "", "", "custom:yard", ""},
		{"asked", line("d", "/w"), "user:ines", "", "user:ines", ""},
		{"denied", line("e", "/w"), "", "scout", "", "scope denied"},
		{"bad", line("f", "/w"), "nonsense", "", "", "bad scope"},
		{"ignored", line("g", "/w"), "", "", "", "session excluded"},
		{"of an agent", `{"type":"session","version":3,"id":"h","timestamp":"2026-02-08T12:00:00Z"}` + "\n" +
			`{"type":"message","id":"1","parentId":null,"timestamp":"2026-02-08T12:00:01Z","message":{"role":"user","content":"x"}}` + "\n", "", "", "agent:main", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := enginetest.Open(t, engine.Options{Conversation: setup.Conversation{IgnoreSessions: []string{"claude:g"}}})
			folder := t.TempDir()
			write(t, filepath.Join(folder, "sessions.json"), `{"agent:main:chat:1":{"sessionId":"h"}}`)
			report, err := session.Import(t.Context(), e, session.ImportRequest{Paths: []string{write(t, filepath.Join(folder, "s.jsonl"), c.content)}, Scope: c.asked, Agent: c.agent})
			if err != nil {
				t.Fatal(err)
			}
			if said := report.Files[0].Error + report.Files[0].Excluded; !strings.Contains(said, c.says) || c.says == "" && said != "" {
				t.Errorf("said %q; want %q", said, c.says)
			}
			all, err := e.Conversations(t.Context(), "")
			if err != nil || (len(all) == 1) != (c.scope != "") || len(all) == 1 && all[0].Scope != c.scope {
				t.Errorf("%+v, %v; want scope %q", all, err, c.scope)
			}
		})
	}
}

// TestSessionKey: the dialogue of a key goes on in one conversation when the host begins another session of it.
func TestSessionKey(t *testing.T) {
	e := open(t)
	folder := t.TempDir()
	index := func(id string) {
		write(t, filepath.Join(folder, "sessions.json"), `{"agent:main:main":{"sessionId":"`+id+`"}}`)
	}
	talk := func(id, said string) {
		write(t, filepath.Join(folder, id+".jsonl"), `{"type":"session","version":3,"id":"`+id+`","timestamp":"2026-02-08T12:00:00Z","cwd":"/w"}`+"\n"+
			`{"type":"message","id":"1","parentId":null,"timestamp":"2026-02-08T12:00:01Z","message":{"role":"user","content":"`+said+`"}}`+"\n")
	}
	index("one")
	talk("one", "good morning")
	imported(t, e, folder)
	index("two")
	talk("two", "good evening")
	imported(t, e, folder)
	c, err := e.Conversation(t.Context(), "agent:main:main", "")
	if err != nil || c.Messages != 4 || c.SessionID != "two" {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := e.ResetSession(t.Context(), conversation.ArchiveRequest{SessionKey: "agent:main:main"}); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, "two.jsonl"), read(t, filepath.Join(folder, "two.jsonl"))+
		`{"type":"message","id":"2","parentId":"1","timestamp":"2026-02-08T12:00:02Z","message":{"role":"user","content":"after the reset"}}`+"\n")
	if report := imported(t, e, folder); report.Messages != 1 {
		t.Errorf("%+v", report)
	}
	if c, err := e.Conversation(t.Context(), "agent:main:main", ""); err != nil || c.Messages != 1 || !c.Active {
		t.Errorf("after the reset: %+v, %v", c, err)
	}
}
