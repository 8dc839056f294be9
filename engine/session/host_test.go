package session_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine/session"
)

func TestDetect(t *testing.T) {
	for _, path := range files(t) {
		content := read(t, path)
		got, err := session.Detect(t.Context(), strings.NewReader(content), int64(len(content)))
		if want := session.Host(filepath.Base(filepath.Dir(path))); got != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", path, got, err, want)
		}
	}
	for _, c := range []struct {
		name, content string
		host          session.Host
		says          string // the error; empty: there is none
	}{
		{"nothing yet", "", "", ""},
		{"half a line", `{"type":"session","id":`, "", ""},
		{"codex exec", `{"type":"thread.started","thread_id":"x"}` + "\n", "", "codex exec --json"},
		{"codex exec, later", `{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"hi"}}` + "\n", "", "codex exec --json"},
		{"codex exec, older", `{"model":"m","provider":"p"}` + "\n" + `{"id":"0","msg":{"type":"task_started"}}` + "\n", "", "codex exec --json"},
		{"prose", strings.Repeat("a line of prose\n", 100), "", "no JSON object"},
		{"prose without an end", "buy milk", "", "does not begin as JSON"},
		{"a list that begins", " [", "", ""},
		{"other JSON", `{"a":1}` + "\n" + `{"b":2}` + "\n", "", "none of its 2 lines"},
		{"much other JSON", strings.Repeat(`{"a":1}`+"\n", 1000), "", "nothing in its first lines"},
		{"byte order mark", "\ufeff" + `{"role":"user","content":"x"}` + "\n", session.Plain, ""},
		{"a fault first", "oops\n" + `{"role":"user","content":"x"}` + "\n", session.Plain, ""},
	} {
		got, err := session.Detect(t.Context(), strings.NewReader(c.content), int64(len(c.content)))
		switch {
		case got != c.host:
			t.Errorf("%s: %q; want %q", c.name, got, c.host)
		case c.says == "" && err != nil, c.says != "" && (!errors.Is(err, session.ErrNotTranscript) || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s: error %v; want %q", c.name, err, c.says)
		}
	}
}

// TestFind looks for the folders of every host, in the user's home and where the environment says.
func TestFind(t *testing.T) {
	home, moved := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("CLAUDE_CONFIG_DIR", "")
	t.Setenv("CODEX_HOME", "")
	for _, host := range []session.Host{session.Claude, session.Codex, session.OpenClaw} {
		if _, err := session.Find(host); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s in an empty home: %v", host, err)
		}
	}
	for _, folder := range []string{home + "/.claude/projects", home + "/.codex/sessions", home + "/.codex/archived_sessions",
		home + "/.openclaw/agents/main/sessions", home + "/.openclaw/agents/ops/sessions", moved + "/projects", moved + "/sessions"} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	want := func(host session.Host, folders ...string) {
		t.Helper()
		got, err := session.Find(host)
		if diff := cmp.Diff(folders, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", host, err, diff)
		}
	}
	want(session.Claude, home+"/.claude/projects")
	want(session.Codex, home+"/.codex/sessions", home+"/.codex/archived_sessions")
	want(session.OpenClaw, home+"/.openclaw/agents/main/sessions", home+"/.openclaw/agents/ops/sessions")
	t.Setenv("CLAUDE_CONFIG_DIR", moved)
	t.Setenv("CODEX_HOME", moved)
	want(session.Claude, moved+"/projects")
	want(session.Codex, moved+"/sessions")
	if _, err := session.Find(session.Plain); err == nil {
		t.Error("plain files have no folder")
	}
}
