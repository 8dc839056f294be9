package session_test

import (
	"context"
	"fmt"
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

// TestWatchPlaces: a folder that goes and comes back is followed again, and what was written to a file right before its name went over to
// another one is read.
func TestWatchPlaces(t *testing.T) {
	e := open(t)
	above := t.TempDir()
	folder := filepath.Join(above, "sessions")
	path := filepath.Join(folder, "talk.jsonl")
	line := func(said string) string { return `{"role":"user","content":"` + said + `","session":"s"}` + "\n" }
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	w := watch(t, e, folder)
	add(t, path, line("one"))
	w.until("plain:s", 1)
	add(t, path, line("two"))
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	add(t, path, line("three"))
	w.until("plain:s", 3)
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond)
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond)
	add(t, path, line("three")+line("four"))
	w.until("plain:s", 4)
	if err := os.Rename(folder, folder+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	add(t, path, line("five"))
	w.until("plain:s", 5)
}

// TestWatchTwice: two that follow the same files store nothing twice.
func TestWatchTwice(t *testing.T) {
	e := open(t)
	folder := t.TempDir()
	first, second := watch(t, e, folder), watch(t, e, folder)
	lines := strings.SplitAfter(read(t, filepath.Join("testdata", "claude", "answer.jsonl")), "\n")
	for _, l := range lines {
		add(t, filepath.Join(folder, "s-answer.jsonl"), l)
		time.Sleep(15 * time.Millisecond)
	}
	first.until("claude:s-answer", 5)
	second.until("claude:s-answer", 5)
	first.stop()
	second.stop()
	if diff := cmp.Diff(read(t, filepath.Join("testdata", "claude", "answer.golden")), dump(t, e)); diff != "" {
		t.Errorf("followed twice it becomes something else (-imported +followed):\n%s", diff)
	}
}

// TestWatchMany follows more files than it keeps open.
func TestWatchMany(t *testing.T) {
	e := open(t)
	folder := t.TempDir()
	name := func(i int) string { return filepath.Join(folder, fmt.Sprintf("%03d.jsonl", i)) }
	line := func(said string, i int) string {
		return fmt.Sprintf(`{"role":"user","content":%q,"session":"s%d"}`+"\n", said, i)
	}
	const many = 70
	for i := range many {
		write(t, name(i), line("one", i))
	}
	w := watch(t, e, folder)
	for i := range 3 {
		add(t, name(i), line("two", i))
		w.until(fmt.Sprintf("plain:s%d", i), 2)
	}
	w.until(fmt.Sprintf("plain:s%d", many-1), 1)
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	n := 0
	for _, fd := range open {
		if to, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && strings.HasPrefix(to, folder) {
			n++
		}
	}
	if n == 0 || n >= many {
		t.Errorf("%d files are open", n)
	}
}
