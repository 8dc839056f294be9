package session_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/mallardmem/mallard/engine/session"
)

// said is a line of a session of Claude Code.
func said(id, parent, words string) string {
	return fmt.Sprintf(`{"type":"user","uuid":%q,"parentUuid":%q,"sessionId":"s","timestamp":"2026-01-02T03:04:05Z","cwd":"/w","message":{"role":"user","content":%q}}`+"\n", id, parent, words)
}

// TestFoldersWithoutPermission: one folder that may not be read hides no other.
func TestFoldersWithoutPermission(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("the superuser may read everything")
	}
	folder := t.TempDir()
	closed := filepath.Join(folder, "a-closed")
	if err := os.Mkdir(closed, 0o300); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(closed, 0o700)
	write(t, filepath.Join(folder, "s.jsonl"), said("u1", "", "x"))
	report, err := session.Import(t.Context(), open(t), session.ImportRequest{Paths: []string{folder}})
	if err != nil || report.Messages != 1 || report.Failed != 1 || !strings.Contains(report.Files[0].Error+report.Files[1].Error, "permission denied") {
		t.Errorf("%+v, %v", report, err)
	}
	e := open(t)
	w := watch(t, e, folder)
	w.until("claude:s", 1)
}

// TestPipe: a pipe with the name of a transcript is not waited for.
func TestPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "s.jsonl")
	if err := exec.Command("mkfifo", pipe).Run(); err != nil {
		t.Skip(err)
	}
	for _, path := range []string{pipe, filepath.Dir(pipe)} {
		report, err := session.Import(t.Context(), open(t), session.ImportRequest{Paths: []string{path}})
		if err != nil || !strings.Contains(report.Files[0].Error+report.Files[0].Ignored, "no regular file") {
			t.Errorf("%+v, %v", report, err)
		}
	}
}

// TestLinks: a folder and a file are found behind links, and followed there.
func TestLinks(t *testing.T) {
	real, linked := t.TempDir(), t.TempDir()
	path := write(t, filepath.Join(real, "s.jsonl"), said("u1", "", "x"))
	for name, target := range map[string]string{"folder": real, "file.jsonl": path, "nowhere.jsonl": filepath.Join(real, "nosuch")} {
		if err := os.Symlink(target, filepath.Join(linked, name)); err != nil {
			t.Skip(err)
		}
	}
	for _, name := range []string{"folder", "file.jsonl", "."} {
		if report := imported(t, open(t), filepath.Join(linked, name)); report.Messages != 1 {
			t.Errorf("%s: %+v", name, report)
		}
	}
	for i, name := range []string{"folder", "file.jsonl"} {
		e := open(t)
		w := watch(t, e, filepath.Join(linked, name))
		w.until("claude:s", i+1)
		add(t, path, said(fmt.Sprint("u", i+2), fmt.Sprint("u", i+1), "more"))
		w.until("claude:s", i+2)
		w.stop()
	}
}

// TestRewritten: a file that another took the place of is read again, also where it has the same length and begins the same.
func TestRewritten(t *testing.T) {
	e := open(t)
	path := filepath.Join(t.TempDir(), "s.jsonl")
	imported(t, e, write(t, path, said("u1", "", "x")+said("u2", "u1", "one")))
	if report := imported(t, e, path); !report.Files[0].Unchanged {
		t.Errorf("nothing happened: %+v", report)
	}
	write(t, path, said("u1", "", "x")+said("u3", "u1", "two"))
	if err := os.Chtimes(path, time.Time{}, time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if report := imported(t, e, path); report.Messages != 1 || report.Known != 1 {
		t.Errorf("of the same length: %+v", report)
	}
	write(t, path, said("u1", "", "x")+"\n"+said("u4", "u1", "tw")+said("u5", "u4", "three")) // where the last line ended, one ends now
	if report := imported(t, e, path); report.Messages != 2 {
		t.Errorf("longer: %+v\n%s", report, dump(t, e))
	}
}

// TestDamage: what a crash and other programs leave in a file takes no line away.
func TestDamage(t *testing.T) {
	for _, c := range []struct {
		name, content   string
		messages, fault int
	}{
		{"NULs before a line", said("u1", "", "x") + strings.Repeat("\x00", 100) + said("u2", "u1", "y"), 2, 0},
		{"NULs at the end", said("u1", "", "x") + strings.Repeat("\x00", 100) + "\n", 1, 0},
		{"CRLF", strings.ReplaceAll(said("u1", "", "x")+said("u2", "u1", "y"), "\n", "\r\n"), 2, 0},
		{"a byte order mark", "\ufeff" + said("u1", "", "x"), 1, 0},
		{"no UTF-8", strings.Replace(said("u1", "", "WORD"), "WORD", "x\xff\xfey", 1), 1, 0},
		{"a NUL in a text", said("u1", "", `x`) + strings.Replace(said("u2", "u1", "WORD"), "WORD", `a\u0000b`, 1), 2, 0},
		{"deep", said("u1", "", "x") + strings.Repeat("[", 20_000) + "\n" + said("u2", "u1", "y"), 2, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := open(t)
			path := filepath.Join(t.TempDir(), "s.jsonl")
			for _, end := range []int{len(c.content) / 2, len(c.content) - 1, len(c.content)} {
				imported(t, e, write(t, path, c.content[:end]))
			}
			v, err := e.Conversation(t.Context(), "claude:s", "")
			all, listed := e.Cursors(t.Context())
			if err != nil || listed != nil || v.Messages != c.messages || all[0].Skipped != int64(c.fault) {
				t.Errorf("%+v, %v; %+v, %v", v, err, all, listed)
			}
			if report := imported(t, e, path); !report.Files[0].Unchanged {
				t.Errorf("again: %+v", report)
			}
		})
	}
}

// TestCompressed reads a rollout that Codex put away, as the one that it was.
func TestCompressed(t *testing.T) {
	content := read(t, filepath.Join("testdata", "codex", "session.jsonl"))
	pack := func(s string) string {
		w, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		return string(w.EncodeAll([]byte(s), nil))
	}
	e := open(t)
	folder := t.TempDir()
	half := strings.Index(content[len(content)/2:], "\n") + len(content)/2 + 1
	path := filepath.Join(folder, "session.jsonl")
	imported(t, e, write(t, path, content[:half]))
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	write(t, path+".zst", pack(content[:half])+pack(content[half:])) // it may be made of pieces
	if report := imported(t, e, folder); report.Known == 0 || report.Messages == 0 || report.Files[0].Host != session.Codex {
		t.Errorf("%+v", report)
	}
	if got, want := dump(t, e), read(t, filepath.Join("testdata", "codex", "session.golden")); got != want {
		t.Errorf("it became something else:\n%s", got)
	}
	if report := imported(t, e, folder); !report.Files[0].Unchanged {
		t.Errorf("again: %+v", report)
	}
	write(t, path+".zst", pack(content)[:100])
	report, err := session.Import(t.Context(), e, session.ImportRequest{Paths: []string{folder}})
	if err != nil || report.Failed != 1 || !strings.Contains(report.Files[0].Error, "decompress") {
		t.Errorf("a broken one: %+v, %v", report, err)
	}
	if left, err := filepath.Glob(filepath.Join(os.TempDir(), "transcript-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestOutputsElsewhere: an output that the host put into a file of its own is read from there, and from nowhere else.
func TestOutputsElsewhere(t *testing.T) {
	folder := t.TempDir()
	outputs := filepath.Join(folder, "s", "tool-results")
	if err := os.MkdirAll(outputs, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(outputs, "toolu_1.txt"), "all of it, with sk-"+strings.Repeat("a1B2", 8))
	write(t, filepath.Join(outputs, "mcp.json"), `[{"type":"text","text":"from a server"}]`)
	secret := write(t, filepath.Join(t.TempDir(), "secret.txt"), "not for any transcript")
	if err := os.Symlink(secret, filepath.Join(outputs, "link.txt")); err != nil {
		t.Skip(err)
	}
	var content strings.Builder
	for i, c := range []string{
		"<persisted-output>\nOutput too large (79KB). Full output saved to: /root/.claude/projects/-w/s/tool-results/toolu_1.txt\n\nPreview (first 2KB):\nall of\n</persisted-output>",
		`Error: result (94,391 characters) exceeds maximum allowed tokens. Output has been saved to C:\\Users\\A B\\.claude\\projects\\-w\\s\\tool-results\\mcp.json.`,
		"<persisted-output>\nFull output saved to: /w/s/tool-results/gone.txt\n\nPreview: kept\n</persisted-output>",
		"<persisted-output>\nFull output saved to: /w/s/tool-results/link.txt\n\nPreview: kept\n</persisted-output>",
		"<persisted-output>\nFull output saved to: /w/../tool-results/../secret.txt\n\nPreview: kept\n</persisted-output>",
		"a tool that says: kept\n" + strings.Repeat("Full output saved to: /w/s/tool-results/toolu_1.txt\n", 2),
	} {
		fmt.Fprintf(&content, `{"type":"user","uuid":"r%d","sessionId":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":"%s"}]}}`+"\n",
			i, i, strings.ReplaceAll(c, "\n", `\n`))
	}
	e := open(t)
	path := write(t, filepath.Join(folder, "s.jsonl"), content.String())
	if _, err := session.Import(context.Background(), e, session.ImportRequest{Paths: []string{path}, Redact: true}); err != nil {
		t.Fatal(err)
	}
	got := rows(t, e, "SELECT output FROM main.parts ORDER BY seq")
	for i, want := range []string{"all of it, with [redacted]", "from a server", "kept", "kept", "kept", "kept"} {
		if len(got) != 6 || !strings.Contains(got[i][0], want) || strings.Contains(got[i][0], "not for any") {
			t.Errorf("%d of %d: %q; want %q", i, len(got), got[i], want)
		}
	}
}
