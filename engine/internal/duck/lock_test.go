package duck_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
)

// TestSecondHandle: one handle has a file alone, by whatever name the second one comes.
func TestSecondHandle(t *testing.T) {
	path := enginetest.NewFile(t)
	dir := filepath.Dir(path)
	e := enginetest.OpenFile(t, path, engine.Options{})
	symbolic, hard, folder := filepath.Join(dir, "symbolic.db"), filepath.Join(dir, "hard.db"), filepath.Join(t.TempDir(), "folder")
	for _, err := range []error{os.Symlink(path, symbolic), os.Link(path, hard), os.Symlink(dir, folder)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	second := func(name string, readOnly bool) {
		t.Helper()
		e, err := engine.Open(t.Context(), name, engine.Options{ReadOnly: readOnly})
		if err == nil {
			e.Close()
		}
		if !errors.Is(err, engine.ErrLocked) || !strings.Contains(err.Error(), "close it first") {
			t.Errorf("second handle by %s, read-only %t: %v: want ErrLocked that names what to do", name, readOnly, err)
		}
	}
	names := []string{path, "mallard.db", "./x/../mallard.db", symbolic, hard, filepath.Join(folder, "mallard.db")}
	for _, name := range names {
		second(name, false)
		second(name, true)
	}
	moved := filepath.Join(dir, "moved.db")
	if err := os.Rename(path, moved); err != nil {
		t.Fatal(err)
	}
	second(moved, false)
	if err := os.Rename(moved, path); err != nil {
		t.Fatal(err)
	}
	enginetest.Stock(t, e)
	enginetest.CloseFile(t, e)
	enginetest.Check(t, enginetest.OpenFile(t, hard, engine.Options{})) // free again
}

// TestReadOnlyHandle: a process has a file open once, also for reading; another process may read it at the same time.
func TestReadOnlyHandle(t *testing.T) {
	enginetest.Alone(t)
	path := enginetest.NewFile(t)
	e := enginetest.OpenFile(t, path, engine.Options{})
	enginetest.Stock(t, e)
	enginetest.CloseFile(t, e)
	reader := enginetest.OpenFile(t, path, engine.Options{ReadOnly: true})
	enginetest.Check(t, reader)
	for _, o := range []engine.Options{{}, {ReadOnly: true}} {
		if _, err := engine.Open(t.Context(), path, o); !errors.Is(err, engine.ErrLocked) {
			t.Errorf("a second handle with %+v: %v", o, err)
		}
	}
	enginetest.CloseFile(t, reader)
	enginetest.OpenFile(t, path, engine.Options{})
}

// TestManyOpenAtOnce: of many that open one new file at the same moment, one gets it.
func TestManyOpenAtOnce(t *testing.T) {
	path := enginetest.NewFile(t)
	got := make(chan *engine.Engine, 8)
	var group sync.WaitGroup
	for range cap(got) {
		group.Go(func() {
			e, err := engine.Open(t.Context(), path, engine.Options{})
			if err == nil {
				got <- e
			} else if !errors.Is(err, engine.ErrLocked) {
				t.Errorf("got %v: want ErrLocked", err)
			}
		})
	}
	group.Wait()
	if len(got) != 1 {
		t.Errorf("%d handles on one file", len(got))
	}
	for range len(got) {
		e := <-got
		enginetest.Check(t, e)
		e.Close()
	}
}

// TestOtherProcess: a file is a writer's alone, and readers' together, across processes too.
func TestOtherProcess(t *testing.T) {
	path := enginetest.NewFile(t)
	enginetest.CloseFile(t, enginetest.OpenFile(t, path, engine.Options{}))
	theirs := regexp.MustCompile(`is open in (process \d+|another process)`)
	refused := func(err error) bool {
		return errors.Is(err, engine.ErrLocked) && theirs.MatchString(err.Error()) && strings.Contains(err.Error(), "snapshot")
	}
	for _, test := range []struct {
		theirs       string
		readOnly, ok bool
	}{{"hold", false, false}, {"hold", true, false}, {"hold-read-only", false, false}, {"hold-read-only", true, true}} {
		c := enginetest.Spawn(t, test.theirs, path)
		c.Ready(t)
		e, err := engine.Open(t.Context(), path, engine.Options{ReadOnly: test.readOnly})
		if err == nil {
			e.Close()
		}
		if test.ok != (err == nil) || err != nil && !refused(err) {
			t.Errorf("%s in another process, read-only %t: %v", test.theirs, test.readOnly, err)
		}
		c.Kill()
	}
	e := enginetest.OpenFile(t, path, engine.Options{})
	for _, role := range []string{"open", "hold-read-only"} { // the other direction
		if r, _ := enginetest.Spawn(t, role, path).Next(t); !theirs.MatchString(r.Err) || !strings.Contains(r.Err, "snapshot") {
			t.Errorf("%s while we write: child says %+v", role, r)
		}
	}
	enginetest.Stock(t, e)
	enginetest.Check(t, e)
}

// TestOpenWaits: a file that another process has is waited for, as long as asked and as the caller's context lasts.
func TestOpenWaits(t *testing.T) {
	t.Parallel()
	path := enginetest.NewFile(t)
	c := enginetest.Spawn(t, "hold", path)
	c.Ready(t)
	start := time.Now()
	if _, err := engine.Open(t.Context(), path, engine.Options{Wait: 200 * time.Millisecond}); !errors.Is(err, engine.ErrLocked) || time.Since(start) < 200*time.Millisecond {
		t.Errorf("%v after %v: want ErrLocked after 200 ms", err, time.Since(start))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := engine.Open(ctx, path, engine.Options{Wait: time.Hour}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("given up: %v", err)
	}
	opened := make(chan error)
	go func() {
		e, err := engine.Open(t.Context(), path, engine.Options{Wait: time.Hour})
		if err == nil {
			err = e.Close()
		}
		opened <- err
	}()
	c.Kill()
	if err := <-opened; err != nil {
		t.Errorf("when the other is gone: %v", err)
	}
}

// TestManyProcessesMakeOne: of many processes that open one new file at the same moment, one makes it at a time; the others wait for nothing, and are
// told that it is in use, never that it is damaged.
func TestManyProcessesMakeOne(t *testing.T) {
	enginetest.Alone(t)
	for range 3 {
		path := enginetest.NewFile(t)
		children := make([]*enginetest.Child, 6)
		for i := range children {
			children[i] = enginetest.Spawn(t, "open", path)
		}
		opened := 0
		for _, c := range children {
			r, ok := c.Next(t)
			switch {
			case !ok:
				t.Error("a child said nothing")
			case r.Ready:
				opened++
			case !strings.Contains(r.Err, "file is in use"):
				t.Errorf("a child says %s", r.Err)
			}
		}
		if opened == 0 {
			t.Error("nobody opened the file")
		}
		for _, c := range children {
			c.Cmd.Wait()
		}
		enginetest.Equal(t, "files", []string{path}, enginetest.FilesIn(t, filepath.Dir(path)))
		enginetest.Check(t, enginetest.OpenFile(t, path, engine.Options{}))
	}
}
