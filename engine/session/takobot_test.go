package session_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/session"
)

// takobotFolder are the sessions of testdata, copied.
func takobotFolder(t *testing.T) string {
	t.Helper()
	return copied(t, filepath.Join("testdata", "takobot", "folder"))
}

// heard gives what a conversation has of messages that are no events: role, text and key, in order.
func heard(t *testing.T, e *engine.Engine, key string) (all []string) {
	t.Helper()
	for _, r := range rows(t, e, `SELECT m.role || ' ' || coalesce(m.caller_key, '') || ' ' || m.text FROM main.messages AS m JOIN main.conversations AS c ON c.id = m.conversation_id
		WHERE c.session_key = '`+key+`' AND m.set_aside IS DISTINCT FROM 'event' ORDER BY m.seq`) {
		all = append(all, r[0])
	}
	return all
}

// TestTakobotPromise1: an index and one file for each session; every session of a key goes on in one conversation, also one that the index forgot.
func TestTakobotPromise1(t *testing.T) {
	e := open(t)
	folder := takobotFolder(t)
	report, err := session.Import(t.Context(), e, session.ImportRequest{Paths: []string{folder}, Host: session.Takobot})
	if err != nil || report.Messages != 7 || report.Events != 3 || report.Skipped != 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	want := []string{"user tako:20260201090000-aaaaaaaa-11111111:2 before the index was lost", "user tako:20260202090000-aaaaaaaa-22222222:2 after it"}
	if diff := cmp.Diff(want, heard(t, e, "takobot:terminal:main")); diff != "" {
		t.Error(diff)
	}
	again, err := session.Import(t.Context(), e, session.ImportRequest{Paths: []string{folder}})
	if err != nil || again.Messages != 0 || !again.Files[0].Unchanged {
		t.Errorf("again: %+v, %v", again, err)
	}
}

// TestTakobotIndexOnly: a transcript that lost its header is read when it is said whose it is, and the index names its conversation.
func TestTakobotIndexOnly(t *testing.T) {
	e := open(t)
	folder := takobotFolder(t)
	path := filepath.Join(folder, "sessions", "20260203090000-bbbbbbbb-33333333.jsonl")
	_, rest, _ := strings.Cut(read(t, path), "\n")
	write(t, path, "{half a head\n"+rest)
	report, err := session.Import(t.Context(), e, session.ImportRequest{Paths: []string{path}, Host: session.Takobot})
	if err != nil || report.Messages != 2 || report.Skipped != 1 || report.Files[0].Skipped[0].Line != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	want := []string{"user tako:20260203090000-bbbbbbbb-33333333:2 may I moor at berth four?", "assistant tako:20260203090000-bbbbbbbb-33333333:3 Yes, until noon."}
	if diff := cmp.Diff(want, heard(t, e, "takobot:xmtp:00ff")); diff != "" {
		t.Error(diff)
	}
}

// TestTakobotPromise2: rows of role, text and time, known by their lines, white space joined; what a host says because its model failed is marked.
func TestTakobotPromise2(t *testing.T) {
	e := open(t)
	imported(t, e, filepath.Join("testdata", "takobot", "20260101120000-1a2b3c4d-9f8e7d6c.jsonl"))
	const id = "tako:20260101120000-1a2b3c4d-9f8e7d6c:"
	want := []string{"user " + id + "2 which crane did the gale break?", "assistant " + id + "3 The one on the north quay.", "assistant " + id + "4 It will be mended by Friday.",
		"user " + id + "5 a b c", "assistant " + id + "6 Inference is unavailable right now. Last inference error: timeout. Detailed command logs: /var/log/tako.log",
		"system " + id + "7 The harbour closes at six.", "user " + id + "13 fog — again?"}
	if diff := cmp.Diff(want, heard(t, e, "takobot:terminal:main")); diff != "" {
		t.Error(diff)
	}
	fallback := rows(t, e, "SELECT caller_key FROM main.messages WHERE fallback")
	if diff := cmp.Diff([][]string{{id + "6"}}, fallback); diff != "" {
		t.Error(diff)
	}
	if at := rows(t, e, "SELECT strftime(said_at, '%Y-%m-%dT%H:%M:%S') FROM main.messages WHERE caller_key = '"+id+"7'"); at[0][0] != "2026-01-01T12:02:00" {
		t.Errorf("said at %s", at)
	}
}

// TestTakobotPromise3: each key is a conversation of its own, and what was read is there after the file was closed and opened; a line in the midst that was lost is reported, and one
// that is only half there is left for the next time.
func TestTakobotPromise3(t *testing.T) {
	e := open(t)
	path := filepath.Join(t.TempDir(), "s.jsonl")
	const head = `{"created_at":"2026-01-01T12:00:00+00:00","session_id":"s","session_key":"xmtp:aa","type":"session"}` + "\n"
	row := func(text string) string {
		return `{"created_at":"2026-01-01T12:00:01+00:00","role":"user","text":"` + text + `","type":"message"}` + "\n"
	}
	add(t, path, head+row("one")+"\xff\xfe lost\n"+row("two")+row("three")[:40])
	if f := imported(t, e, path).Files[0]; f.Messages != 3 || len(f.Skipped) != 1 || f.Skipped[0].Line != 3 || f.Pending != 40 {
		t.Errorf("%+v", f)
	}
	add(t, path, row("three")[40:])
	if f := imported(t, e, path).Files[0]; f.Messages != 1 || f.Pending != 0 {
		t.Errorf("%+v", f)
	}
	imported(t, e, takobotFolder(t))
	if diff := cmp.Diff([]string{"user tako:s:2 one", "user tako:s:4 two", "user tako:s:5 three"}, heard(t, e, "takobot:xmtp:aa")); diff != "" {
		t.Error(diff)
	}
	if all := heard(t, e, "takobot:xmtp:00ff"); len(all) != 2 {
		t.Errorf("%q", all)
	}
}

// TestTakobotFallback: only an assistant's reply of the host's words is one.
func TestTakobotFallback(t *testing.T) {
	for said, want := range map[string]int{
		"INFERENCE IS UNAVAILABLE today": 1, "I am replying in fallback mode.": 1, "Diagnostic status only: all well": 1, "last inference error: x; detailed command logs: y": 1,
		"last inference error: x": 0, "the inference was unavailable": 0,
	} {
		for _, role := range []string{"assistant", "user"} {
			e := open(t)
			imported(t, e, write(t, filepath.Join(t.TempDir(), "s.jsonl"), `{"session_id":"s","session_key":"k","type":"session"}`+"\n"+`{"role":"`+role+`","text":"`+said+`","type":"message"}`+"\n"))
			if got := len(rows(t, e, "SELECT id FROM main.messages WHERE fallback")); got != want && role == "assistant" || got != 0 && role == "user" {
				t.Errorf("%s %q: %d", role, said, got)
			}
		}
	}
}
