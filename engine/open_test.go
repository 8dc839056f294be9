package engine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
)

func TestNewFileAndReopen(t *testing.T) {
	path := enginetest.NewFile(t)
	e := enginetest.OpenFile(t, path, engine.Options{Embedder: enginetest.Words{}})
	ids := enginetest.Stock(t, e)
	if e.Path() != path {
		t.Errorf("path %q: want %q", e.Path(), path)
	}
	before := enginetest.Rows(t, e, "SELECT id, text FROM memories ORDER BY id")
	enginetest.CloseFile(t, e)

	t.Chdir(filepath.Dir(path))
	e = enginetest.OpenFile(t, filepath.Base(path), engine.Options{Embedder: enginetest.Words{}})
	if e.Path() != path {
		t.Errorf("path %q of a relative name: want %q", e.Path(), path)
	}
	enginetest.Check(t, e)
	enginetest.Equal(t, "memories after reopening", before, enginetest.Rows(t, e, "SELECT id, text FROM memories ORDER BY id"))
	r, err := e.Recall(t.Context(), recall.Query{Text: "what tea does Ines prefer?"})
	if err != nil || len(r.Hits) == 0 || r.Hits[0].ID != ids[0] {
		t.Errorf("recall after reopening: %+v, %v: want %s first", r.Hits, err, ids[0])
	}
}

// A query that was asked before a write must see it when it is asked again, also where the file's statistics, which a reopened
// file has, would have answered it.
func TestQueriesFollowWrites(t *testing.T) {
	enginetest.Alone(t)
	path := enginetest.NewFile(t)
	enginetest.CloseFile(t, enginetest.OpenFile(t, path, engine.Options{}))
	for _, texts := range [][]string{{"entirely fresh wording", "another unheard sentence"}, {"blue herons nest", "seven bridges cross"}} {
		e := enginetest.OpenFile(t, path, engine.Options{})
		for _, text := range texts {
			terms := func() int {
				s, err := e.Stats(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return s.Terms
			}
			before := terms()
			if _, err := e.Remember(t.Context(), memory.RememberRequest{Text: text}); err != nil {
				t.Fatal(err)
			}
			if after := terms(); after <= before {
				t.Errorf("%d terms before, %d after a memory with new words", before, after)
			}
			enginetest.Check(t, e)
		}
		enginetest.CloseFile(t, e)
	}
}

func TestInMemory(t *testing.T) {
	t.Parallel()
	a, b := enginetest.OpenFile(t, ":memory:", engine.Options{}), enginetest.OpenFile(t, ":memory:", engine.Options{})
	enginetest.Stock(t, a)
	enginetest.Check(t, a)
	if n := len(enginetest.Rows(t, b, "FROM memories")); n != 0 {
		t.Errorf("two engines in memory share %d memories", n)
	}
	if _, err := engine.Open(t.Context(), ":memory:", engine.Options{ReadOnly: true}); err == nil {
		t.Error("an empty memory opened read-only")
	}
}

func TestOpenNamesEveryBadOption(t *testing.T) {
	t.Parallel()
	_, err := engine.Open(t.Context(), enginetest.NewFile(t), engine.Options{Language: "klingon", Threads: -1, MemoryLimit: 1, Embedder: enginetest.Words{N: 20_000}})
	if !errors.Is(err, engine.ErrInvalid) {
		t.Fatalf("got %v", err)
	}
	for _, part := range []string{"Language", "klingon", "english", "Threads", "-1", "MemoryLimit", "192", "Embedder.Dims", "20000"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in: %v", part, err)
		}
	}
}

func TestOpenWhatIsNoFileOfOurs(t *testing.T) {
	enginetest.Alone(t)
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole.db")
	e := enginetest.OpenFile(t, whole, engine.Options{})
	enginetest.Stock(t, e)
	enginetest.CloseFile(t, e)
	b, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	file := func(name string, content []byte) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	duck := func(name string, statements ...string) string {
		path := filepath.Join(dir, name)
		enginetest.Tamper(t, path, statements...)
		return path
	}
	ones := func(from, to int) []byte { // b with a stretch overwritten
		c := append([]byte(nil), b...)
		for i := from; i < to; i++ {
			c[i] = 0xff
		}
		return c
	}
	for _, test := range []struct {
		what, path string
		want       error
		says       string
	}{
		{"no name", "", engine.ErrInvalid, "path"},
		{"a missing folder", filepath.Join(dir, "none", "x.db"), os.ErrNotExist, "folder"},
		{"a folder", dir, engine.ErrInvalid, "not a folder"},
		{"text", file("text.db", []byte(strings.Repeat("I am no database. ", 2000))), engine.ErrCorrupt, "text.db"},
		{"one byte", file("byte.db", []byte{1}), engine.ErrCorrupt, "byte.db"},
		{"the header's first bytes", file("start.db", b[:100]), engine.ErrCorrupt, "start.db"},
		{"the header", file("header.db", b[:12288]), engine.ErrCorrupt, "header.db"},
		{"its beginning", file("half.db", b[:12288+262144]), engine.ErrCorrupt, "half.db"},
		{"a header overwritten", file("overwritten.db", ones(4096, 12288)), engine.ErrCorrupt, "overwritten.db"},
		{"all blocks overwritten", file("blocks.db", ones(12288, len(b))), engine.ErrCorrupt, "blocks.db"},
		{"someone else's tables", duck("theirs.db", "CREATE TABLE customers (id INTEGER)"), engine.ErrCorrupt, "not Mallard's"},
		{"someone else's migrations", duck("migrated.db", "CREATE TABLE migrations (id INTEGER, done BOOLEAN)"), engine.ErrCorrupt, "not Mallard's"},
		{"someone else's migrations of our form", duck("same.db", "CREATE TABLE migrations (version INTEGER, name VARCHAR, hash VARCHAR)", "CREATE TABLE users (id INTEGER)"), engine.ErrCorrupt, "not Mallard's"},
	} {
		for _, readOnly := range []bool{false, true} {
			e, err := engine.Open(t.Context(), test.path, engine.Options{ReadOnly: readOnly})
			if err == nil {
				e.Close()
			}
			missing := readOnly && test.what == "a missing folder" // there is nothing to read, whatever the folder
			if missing && errors.Is(err, engine.ErrNotFound) {
				continue
			}
			if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%s, read-only %t: %v: want %v and %q", test.what, readOnly, err, test.want, test.says)
			}
		}
	}
	e = enginetest.OpenFile(t, whole, engine.Options{}) // nothing of the above left a claim
	enginetest.Check(t, e)
}

// A file with a damaged block opens and works, or says that it is damaged; it never brings the program down.
func TestDamagedBlocks(t *testing.T) {
	enginetest.Alone(t)
	path := enginetest.NewFile(t)
	e := enginetest.OpenFile(t, path, engine.Options{Embedder: enginetest.Words{}})
	enginetest.Stock(t, e)
	enginetest.CloseFile(t, e)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const header, block = 12288, 256 << 10
	refused := 0
	for at := header; at < len(b); at += block {
		c := append([]byte(nil), b...)
		for i := at + 100; i < min(at+200, len(c)); i++ {
			c[i] ^= 0x55
		}
		damaged := filepath.Join(t.TempDir(), "damaged.db")
		if err := os.WriteFile(damaged, c, 0o600); err != nil {
			t.Fatal(err)
		}
		e, err := engine.Open(t.Context(), damaged, enginetest.Thrifty(engine.Options{Embedder: enginetest.Words{}}))
		if err == nil {
			_, err = e.Check(t.Context())
			e.Close()
		}
		if err != nil {
			refused++
			if !errors.Is(err, engine.ErrCorrupt) {
				t.Errorf("block at %d damaged: %v: want ErrCorrupt", at, err)
			}
		}
	}
	if refused == 0 {
		t.Error("no damage was noticed")
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	e := enginetest.OpenFile(t, enginetest.NewFile(t), engine.Options{Embedder: enginetest.Words{}})
	enginetest.Stock(t, e)
	enginetest.CloseFile(t, e)
	if err := e.Close(); err != nil || !e.Closed() {
		t.Errorf("closed twice: %v", err)
	}
	for name, err := range allVerbs(ctx, e, filepath.Join(t.TempDir(), "out.db")) {
		if !errors.Is(err, engine.ErrClosed) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
}

// TestClosesAtOnce: whoever closes the file beside others waits until it is closed, and what was attached ends once.
func TestClosesAtOnce(t *testing.T) {
	t.Parallel()
	ended := 0
	attach := func(*engine.Engine) (func() error, error) {
		return func() error {
			time.Sleep(10 * time.Millisecond)
			ended++
			return nil
		}, nil
	}
	e, err := engine.Open(t.Context(), enginetest.NewFile(t), engine.Options{}, attach)
	if err != nil {
		t.Fatal(err)
	}
	var closers sync.WaitGroup
	for range 4 {
		closers.Go(func() {
			if err := e.Close(); err != nil || !e.Closed() {
				t.Errorf("closed %t: %v", e.Closed(), err)
			}
		})
	}
	closers.Wait()
	if ended != 1 {
		t.Errorf("what was attached ended %d times", ended)
	}
}

func TestReadOnlyFile(t *testing.T) {
	enginetest.Alone(t)
	ctx := t.Context()
	path := enginetest.NewFile(t)
	o := engine.Options{Embedder: enginetest.Words{}}
	if _, err := engine.Open(ctx, path, engine.Options{ReadOnly: true}); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("read-only open of a missing file: %v", err)
	}
	e := enginetest.OpenFile(t, path, o)
	enginetest.Stock(t, e)
	enginetest.CloseFile(t, e)
	o.ReadOnly = true
	e = enginetest.OpenFile(t, path, o)
	for name, err := range allVerbs(ctx, e, filepath.Join(t.TempDir(), "out.db")) {
		if want := map[bool]error{true: engine.ErrReadOnly}[writeVerbs[name]]; !errors.Is(err, want) {
			t.Errorf("%s on a read-only file: %v: want %v", name, err, want)
		}
	}
}

// TestReadOnlyAfterKill opens a file for reading whose last writer was killed, so that much of it stands in the log.
func TestReadOnlyAfterKill(t *testing.T) {
	path := enginetest.NewFile(t)
	c := enginetest.Spawn(t, "write", path, "1")
	c.Ready(t)
	for done := 0; done < 5; {
		r, ok := c.Next(t)
		if !ok || r.Err != "" {
			t.Fatalf("child said %+v", r)
		}
		if r.Done != nil {
			done++
		}
	}
	c.Kill()
	if info, err := os.Stat(path + ".wal"); err != nil || info.Size() == 0 {
		t.Fatalf("the killed writer left no log: %v", err)
	}
	e := enginetest.OpenFile(t, path, engine.Options{ReadOnly: true})
	enginetest.Check(t, e)
	if n := len(enginetest.Rows(t, e, "FROM memories UNION ALL BY NAME FROM messages")); n == 0 {
		t.Error("nothing of what was written is there")
	}
	enginetest.CloseFile(t, e)
	enginetest.Check(t, enginetest.OpenFile(t, path, engine.Options{}))
}

func TestNoGoroutineStays(t *testing.T) {
	o := engine.Options{Embedder: enginetest.Words{}}
	before := goleak.IgnoreCurrent()
	path := enginetest.NewFile(t)
	e := enginetest.OpenFile(t, path, o)
	enginetest.Stock(t, e)
	if _, err := e.Recall(t.Context(), recall.Query{Text: "tea"}); err != nil {
		t.Error(err)
	}
	if _, err := engine.Open(t.Context(), path, o); !errors.Is(err, engine.ErrLocked) {
		t.Errorf("second open: %v", err)
	}
	if _, err := engine.Open(t.Context(), t.TempDir(), o); err == nil {
		t.Error("a folder opened")
	}
	enginetest.CloseFile(t, e)
	runtime.GC()
	goleak.VerifyNone(t, before)
}

func TestOpenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	path := enginetest.NewFile(t)
	if _, err := engine.Open(ctx, path, engine.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	enginetest.Check(t, enginetest.OpenFile(t, path, engine.Options{})) // the claim is given up
}
