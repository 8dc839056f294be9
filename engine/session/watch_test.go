package session_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/session"
)

// watching runs Watch on paths until the test ends, and hands out what it reports.
type watching struct {
	t       *testing.T
	e       *engine.Engine
	reports chan session.FileReport
	stop    func()
}

func watch(t *testing.T, e *engine.Engine, paths ...string) *watching {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &watching{t: t, e: e, reports: make(chan session.FileReport, 1000)}
	ready, done := make(chan bool), make(chan error, 1)
	go func() {
		done <- session.Watch(ctx, e, session.WatchRequest{Paths: paths, Debounce: 20 * time.Millisecond,
			Report: func(f session.FileReport) { w.reports <- f }, Ready: func() { close(ready) }})
	}()
	w.stop = func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		done <- nil
	}
	t.Cleanup(w.stop)
	select {
	case <-ready:
	case err := <-done:
		t.Fatalf("watch ended: %v", err)
	}
	return w
}

// until waits for a conversation to have so many messages.
func (w *watching) until(conversation string, messages int) {
	w.t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		c, err := w.e.Conversation(context.Background(), conversation, "")
		if err == nil && c.Messages == messages {
			return
		}
		select {
		case f := <-w.reports:
			if f.Error != "" {
				w.t.Fatalf("%s: %s", f.Path, f.Error)
			}
		case <-time.After(10 * time.Millisecond):
		case <-deadline:
			w.t.Fatalf("conversation %s never had %d messages: %+v, %v", conversation, messages, c, err)
		}
	}
}

func add(t *testing.T, path, content string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(content); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestWatch follows a session from before its folder is there, through half a line, a stop and a start, to its end.
func TestWatch(t *testing.T) {
	lines := strings.SplitAfter(read(t, filepath.Join("testdata", "claude", "answer.jsonl")), "\n")
	e := open(t)
	folder := filepath.Join(t.TempDir(), "projects", "-w-yard")
	path := filepath.Join(folder, "s-answer.jsonl")
	w := watch(t, e, filepath.Dir(folder))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	add(t, path, lines[0]+lines[1])
	w.until("claude:s-answer", 2)
	add(t, path, lines[2][:40])
	time.Sleep(60 * time.Millisecond)
	add(t, path, lines[2][40:]+lines[3]+lines[4])
	w.until("claude:s-answer", 3)
	w.stop()
	add(t, path, lines[5])
	w = watch(t, e, filepath.Dir(folder))
	w.until("claude:s-answer", 4)
	add(t, path, lines[6])
	w.until("claude:s-answer", 5)
	w.stop()
	if diff := cmp.Diff(read(t, filepath.Join("testdata", "claude", "answer.golden")), dump(t, e)); diff != "" {
		t.Errorf("followed it becomes something else (-imported +followed):\n%s", diff)
	}
}

// TestWatchBranches follows a session whose user edits what was said.
func TestWatchBranches(t *testing.T) {
	lines := strings.SplitAfter(read(t, filepath.Join("testdata", "claude", "branches.jsonl")), "\n")
	e := open(t)
	path := filepath.Join(t.TempDir(), "s-branch.jsonl")
	w := watch(t, e, path)
	for i, l := range lines[:6] {
		add(t, path, l)
		w.until("claude:s-branch", i+1)
	}
	w.stop()
	if diff := cmp.Diff(read(t, filepath.Join("testdata", "claude", "branches.golden")), dump(t, e)); diff != "" {
		t.Errorf("followed it becomes something else (-imported +followed):\n%s", diff)
	}
}

// TestWatchRotation follows a name under which other files come: one that was cut, one that is new.
func TestWatchRotation(t *testing.T) {
	e := open(t)
	path := filepath.Join(t.TempDir(), "talk.jsonl")
	w := watch(t, e, path)
	one := `{"role":"user","content":"one","session":"s"}` + "\n"
	two := `{"role":"user","content":"two","session":"s"}` + "\n"
	add(t, path, one+two)
	w.until("plain:s", 2)
	write(t, path, one) // cut
	add(t, path, `{"role":"user","content":"three","session":"s"}`+"\n")
	w.until("plain:s", 3)
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	add(t, path, `{"role":"user","content":"four","session":"s"}`+"\n")
	w.until("plain:s", 4)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	add(t, path, `{"role":"user","content":"four","session":"s"}`+"\n"+`{"role":"user","content":"five","session":"s"}`+"\n")
	w.until("plain:s", 5)
}

// TestWatchStops: a context that ended is no error, also at once, and what is wrong is said.
func TestWatchStops(t *testing.T) {
	e := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := session.Watch(ctx, e, session.WatchRequest{Paths: []string{t.TempDir()}}); err != nil {
		t.Error(err)
	}
	for name, r := range map[string]session.WatchRequest{"nothing": {}, "host": {Host: "nobody", Paths: []string{"."}}, "debounce": {Debounce: -1, Paths: []string{"."}}} {
		if err := session.Watch(t.Context(), e, r); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
