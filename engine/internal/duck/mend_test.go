package duck_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/memory"
)

// crashed is a file as a kill left it: ten memories in its log, and how long the log was after each.
type crashed struct {
	path       string
	log, notes []byte // what lies in the log and in the witness
	ends       []int
}

func crash(t *testing.T) *crashed {
	t.Helper()
	e := enginetest.OpenFile(t, enginetest.NewFile(t), engine.Options{Embedder: enginetest.Words{}})
	enginetest.Stock(t, e)
	if err := enginetest.Checkpoint(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	c := &crashed{}
	for n := range 10 {
		enginetest.Remember(t, e, memory.RememberRequest{ID: fmt.Sprintf("mem_%d", n), Text: fmt.Sprintf("number %d of what the crash had left", n)})
		c.ends = append(c.ends, int(logBytes(t, e.Path())))
	}
	c.path = enginetest.KilledCopy(t, e)
	for suffix, content := range map[string]*[]byte{".wal": &c.log, ".synced": &c.notes} {
		var err error
		if *content, err = os.ReadFile(c.path + suffix); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// with is the file in a folder of its own, with another log and witness; nil: none.
func (c *crashed) with(t *testing.T, log, notes []byte) string {
	t.Helper()
	path := enginetest.CopyFile(t, c.path)
	for suffix, content := range map[string][]byte{".wal": log, ".synced": notes} {
		if content == nil {
			continue
		}
		if err := os.WriteFile(path+suffix, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// TestMendsTheLog: what was never acknowledged is cut from the end of a log and kept beside it; where acknowledged writes may be hurt, nothing is touched.
func TestMendsTheLog(t *testing.T) {
	t.Parallel()
	c := crash(t)
	whole, last := c.log, c.ends[len(c.ends)-1]
	behind := func(tail []byte) []byte { return slices.Concat(whole, tail) } // a write that was under way
	flipped := func(log []byte, at int) []byte {
		log = bytes.Clone(log)
		log[at] ^= 0x20
		return log
	}
	older := c.ends[8] // the last write was not noted when power was lost
	olderNotes := bytes.Clone(c.notes)
	newest := 0
	for _, at := range []int{0, 512} { // the place that was written last is spoilt
		if e := c.with(t, whole[:older], flippedOnly(c.notes, at)); opens(e) {
			newest = at
		}
	}
	olderNotes = flippedOnly(olderNotes, newest)
	entry := whole[c.ends[3]:c.ends[4]]
	for name, test := range map[string]struct {
		log, notes []byte
		memories   int // -1: it does not open
		notice     string
		kept       bool
	}{
		"as a kill leaves it":                                     {whole, c.notes, 10, "", false},
		"without the witness":                                     {whole, nil, 10, "", false},
		"a write that was broken off":                             {behind(entry[:len(entry)/2]), c.notes, 10, "never acknowledged", false},
		"the same without the witness":                            {behind(entry[:len(entry)/2]), nil, 10, "never acknowledged", false},
		"a length and nothing else":                               {behind(entry[:9]), c.notes, 10, "never acknowledged", false},
		"zeros behind":                                            {behind(make([]byte, 5000)), c.notes, 10, "never acknowledged", true},
		"zeros behind, without the witness":                       {behind(make([]byte, 5000)), nil, 10, "never acknowledged", true},
		"garbage behind":                                          {behind(bytes.Repeat([]byte{7, 1, 9}, 3000)), c.notes, 10, "never acknowledged", true},
		"garbage behind, without the witness":                     {behind(bytes.Repeat([]byte{7, 1, 9}, 3000)), nil, -1, "", false},
		"a write whose middle is missing":                         {behind(blanked(entry, 100, 100)), c.notes, 10, "never acknowledged", true},
		"a bit of an acknowledged write":                          {flipped(whole, c.ends[4]+40), c.notes, -1, "", false},
		"a bit of the last acknowledged write":                    {flipped(whole, older+40), c.notes, -1, "", false},
		"a bit of a write that is followed":                       {flipped(whole, c.ends[4]+40), nil, -1, "", false},
		"a bit of the last write, without the witness":            {flipped(whole, older+40), nil, -1, "", false},
		"the last write was not noted, and its middle is missing": {append(bytes.Clone(whole[:older]), blanked(whole[older:], 60, 100)...), olderNotes, 9, "never acknowledged", true},
		"the last write was not noted":                            {whole, olderNotes, 10, "", false},
		"cut":                                                     {whole[:c.ends[6]], c.notes, -1, "", false},
		"cut within a write":                                      {whole[:last-10], c.notes, -1, "", false},
		"gone":                                                    {nil, c.notes, -1, "", false},
		"empty":                                                   {[]byte{}, c.notes, -1, "", false},
		"a bit of the log's header":                               {flipped(whole, 12), c.notes, -1, "", false},
		"nothing but zeros":                                       {make([]byte, 4096), nil, 0, "never acknowledged", true},
		"nothing but a header":                                    {whole[:30], nil, 0, "never acknowledged", false},
	} {
		t.Run(name, func(t *testing.T) {
			path := c.with(t, test.log, test.notes)
			e, err := engine.Open(t.Context(), path, enginetest.Thrifty(engine.Options{Embedder: enginetest.Words{}}))
			if test.memories < 0 {
				if !errors.Is(err, engine.ErrCorrupt) || !strings.Contains(err.Error(), "memctl recover") {
					t.Fatalf("opened: %v; want ErrCorrupt that says what helps", err)
				}
				left, err := os.ReadFile(path + ".wal")
				if test.log != nil && (err != nil || !bytes.Equal(left, test.log)) {
					t.Errorf("the log was touched (%v)", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			enginetest.Check(t, e)
			enginetest.Equal(t, "memories", int64(test.memories), enginetest.Rows(t, e, "SELECT count(*) FROM memories WHERE text LIKE '%the crash had left'")[0][0].(int64))
			notices := strings.Join(e.Notices(), "\n")
			if (notices == "") != (test.notice == "") || !strings.Contains(notices, test.notice) {
				t.Errorf("notices: %q, want %q", notices, test.notice)
			}
			s, err := e.Stats(t.Context())
			if err != nil || len(s.KeptLogs) > 0 != test.kept {
				t.Fatalf("logs kept: %v, %v; want %t", s.KeptLogs, err, test.kept)
			}
			if test.kept {
				if content, err := os.ReadFile(s.KeptLogs[0]); err != nil || !bytes.Equal(content, test.log) {
					t.Errorf("the log that was kept is another (%v)", err)
				}
			}
			enginetest.Remember(t, e, memory.RememberRequest{Text: "and on it goes"})
			enginetest.CloseFile(t, e)
			e = enginetest.OpenFile(t, path, engine.Options{Embedder: enginetest.Words{}})
			enginetest.Check(t, e)
			if len(e.Notices()) > 0 {
				t.Errorf("opened once more: %q", e.Notices())
			}
			enginetest.Equal(t, "memories later", int64(test.memories+1), enginetest.Rows(t, e, "SELECT count(*) FROM memories WHERE text LIKE '%the crash had left' OR text LIKE 'and on%'")[0][0].(int64))
		})
	}
}

func flippedOnly(b []byte, at int) []byte {
	b = bytes.Clone(b)
	b[at+20] ^= 0x20
	return b
}

// blanked is b with n bytes of zeros at a place.
func blanked(b []byte, at, n int) []byte {
	b = bytes.Clone(b)
	clear(b[at:][:n])
	return b
}

func opens(path string) bool {
	e, err := engine.Open(context.Background(), path, enginetest.Thrifty(engine.Options{Embedder: enginetest.Words{}}))
	if err == nil {
		e.Close()
	}
	return err == nil
}

// TestReadOnlyOfACrash: a file that only a writer can mend says so to a reader.
func TestReadOnlyOfACrash(t *testing.T) {
	t.Parallel()
	c := crash(t)
	path := c.with(t, append(bytes.Clone(c.log), make([]byte, 3000)...), c.notes)
	_, err := engine.Open(t.Context(), path, engine.Options{ReadOnly: true})
	if !errors.Is(err, engine.ErrCorrupt) || !strings.Contains(err.Error(), "opening it once for writing") {
		t.Errorf("opened for reading: %v", err)
	}
	enginetest.CloseFile(t, enginetest.OpenFile(t, path, engine.Options{}))
	enginetest.Check(t, enginetest.OpenFile(t, path, engine.Options{ReadOnly: true}))
}

// TestMendsACheckpoint undoes a checkpoint that was broken off: what it overwrote comes out of the journal, the rest out of the log.
func TestMendsACheckpoint(t *testing.T) {
	t.Parallel()
	e := enginetest.OpenFile(t, enginetest.NewFile(t), engine.Options{Embedder: enginetest.Words{}})
	enginetest.Stock(t, e)
	if err := enginetest.Checkpoint(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	enginetest.Fill(t, e, 3)
	want := enginetest.Indexed(t, e)
	path := enginetest.KilledCopy(t, e)
	enginetest.Still(e, func() {
		if err := enginetest.Journal(e); err != nil {
			t.Fatal(err)
		}
		if err := copyTo(e.Path()+".journal", path+".journal"); err != nil {
			t.Fatal(err)
		}
	})
	if err := enginetest.Checkpoint(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(e.Path())
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	torn := 0
	for block := 0; 3*4096+block<<18 < len(before); block++ { // each block that both have is half of the new state
		at := 3*4096 + block<<18
		if bytes.Equal(before[at:at+1<<18], after[at:at+1<<18]) {
			continue
		}
		torn++
		broken := enginetest.CopyWithLog(t, path)
		half := bytes.Clone(before)
		copy(half[at:], after[at:at+1<<17])
		if err := errors.Join(os.WriteFile(broken, half, 0o600), copyTo(path+".journal", broken+".journal")); err != nil {
			t.Fatal(err)
		}
		e := enginetest.OpenFile(t, broken, engine.Options{Embedder: enginetest.Words{}})
		enginetest.Check(t, e)
		enginetest.Equal(t, "content", want, enginetest.Indexed(t, e))
		if n := strings.Join(e.Notices(), ""); !strings.Contains(n, "checkpoint") {
			t.Errorf("notices: %q", n)
		}
		enginetest.CloseFile(t, e)
		enginetest.Equal(t, "files", []string{broken}, enginetest.FilesIn(t, filepath.Dir(broken)))
	}
	if torn == 0 {
		t.Error("the checkpoint overwrote nothing that was there: nothing was tested")
	}
}

func copyTo(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o600)
}
