package upkeep_test

import (
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
	"github.com/mallardmem/mallard/engine/upkeep"
)

// verdict is what opening a file, and else checking it, says: nothing of one that is intact.
func verdict(t testing.TB, path string, o engine.Options) (said []string) {
	t.Helper()
	e, err := engine.Open(t.Context(), path, enginetest.Thrifty(o))
	if err != nil {
		// Where a log that brings the schema breaks off within it, one who only reads is told to open the file for writing, which says the rest.
		if old := o.ReadOnly && errors.Is(err, engine.ErrReadOnly) && strings.Contains(err.Error(), "open it once for writing"); !old && !errors.Is(err, engine.ErrCorrupt) {
			t.Errorf("%v: want ErrCorrupt", err)
		}
		return []string{err.Error()}
	}
	defer e.Close()
	faults, err := e.Check(t.Context())
	if err != nil {
		t.Errorf("check: %v", err)
	}
	for _, f := range faults {
		if !explained(f.Fault) {
			t.Errorf("doctor can't explain %q", f.Fault)
		}
		said = append(said, f.String())
	}
	return said
}

// TestCheckFindsEveryFlippedBlock flips a bit in every block of a file: whatever the block holds, opening or checking says so, unless
// nothing uses it.
func TestCheckFindsEveryFlippedBlock(t *testing.T) {
	enginetest.Alone(t)
	content := enginetest.ClosedFile(t)
	blocks := (len(content) - enginetest.BlocksFrom) / enginetest.BlockBytes
	var unnoticed []int
	byCheck := 0
	for block := range blocks {
		at := enginetest.BlocksFrom + block*enginetest.BlockBytes + 9 + 7919*(block+1)%enginetest.BlockBytes
		content[at] ^= 16
		path := enginetest.Placed(t, map[string][]byte{"": content})
		said := verdict(t, path, engine.Options{ReadOnly: true})
		content[at] ^= 16
		switch {
		case len(said) == 0:
			unnoticed = append(unnoticed, block)
		case strings.Contains(said[0], fmt.Sprintf("block whose checksum is wrong: %d", block)):
			byCheck++
		}
	}
	free := enginetest.Rows(t, enginetest.OpenFile(t, enginetest.Placed(t, map[string][]byte{"": content}), engine.Options{ReadOnly: true}), "SELECT free_blocks FROM pragma_database_size() WHERE database_name = current_database()")
	if len(unnoticed) > 0 && fmt.Sprint(free) != fmt.Sprintf("[[%d]]", len(unnoticed)) {
		t.Errorf("damage in blocks %v of %d was not noticed; %v are free", unnoticed, blocks, free)
	}
	if byCheck == 0 {
		t.Error("every damage was found by opening: the check is not tried")
	}
}

// TestCheckFindsEveryFlippedHeader flips bits in the three headers.
func TestCheckFindsEveryFlippedHeader(t *testing.T) {
	enginetest.Alone(t)
	content := enginetest.ClosedFile(t)
	for at := 0; at < enginetest.BlocksFrom; at += 1499 {
		content[at] ^= 1
		for _, readOnly := range []bool{false, true} {
			if said := verdict(t, enginetest.Placed(t, map[string][]byte{"": content}), engine.Options{ReadOnly: readOnly}); len(said) == 0 {
				t.Errorf("byte %d flipped, read-only %t: nobody says so", at, readOnly)
			}
		}
		content[at] ^= 1
	}
}

// TestCheckFindsEveryFlippedLog flips a bit in the log of a file that was not closed. Opening says so; where the file is only read and DuckDB takes
// the log as one that was cut, the check does.
func TestCheckFindsEveryFlippedLog(t *testing.T) {
	enginetest.Alone(t)
	files := enginetest.KilledFiles(t)
	log := files[".wal"]
	for at := 0; at < len(log); at += 1 + len(log)/12 {
		log[at] ^= 64
		for _, readOnly := range []bool{false, true} {
			if said := verdict(t, enginetest.Placed(t, files), engine.Options{ReadOnly: readOnly}); len(said) == 0 {
				t.Errorf("byte %d of %d flipped, read-only %t: nobody says so", at, len(log), readOnly)
			}
		}
		log[at] ^= 64
	}
	for _, length := range []int{0, 1, 50, len(log) / 2, len(log) - 1} {
		cut := map[string][]byte{"": files[""], ".wal": log[:length], ".synced": files[".synced"]}
		for _, readOnly := range []bool{false, true} {
			if said := verdict(t, enginetest.Placed(t, cut), engine.Options{ReadOnly: readOnly}); len(said) == 0 {
				t.Errorf("log cut to %d of %d, read-only %t: nobody says so", length, len(log), readOnly)
			}
		}
	}
	if said := verdict(t, enginetest.Placed(t, files), engine.Options{ReadOnly: true}); len(said) > 0 {
		t.Errorf("an intact log: %v", said)
	}
}

// TestCheckOfAnOpenFile damages a file while it is open. All the blocks are named, in the midst of writing too, and what can be read is.
func TestCheckOfAnOpenFile(t *testing.T) {
	enginetest.Alone(t)
	path := enginetest.NewFile(t)
	e := enginetest.OpenFile(t, path, engine.Options{Embedder: enginetest.Words{}})
	enginetest.Stock(t, e)
	enginetest.CloseFile(t, e)
	e = enginetest.OpenFile(t, path, engine.Options{Embedder: enginetest.Words{}})
	content := enginetest.BytesOf(t, path)
	var damaged []string
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	for block := range (len(content) - enginetest.BlocksFrom) / enginetest.BlockBytes {
		if _, err := file.WriteAt([]byte{content[enginetest.BlocksFrom+block*enginetest.BlockBytes] ^ 1}, int64(enginetest.BlocksFrom+block*enginetest.BlockBytes)); err != nil {
			t.Fatal(err)
		}
		damaged = append(damaged, fmt.Sprint(block))
	}
	faults, err := e.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, f := range faults {
		if f.Fault == "block whose checksum is wrong" {
			named = append(named, f.Subject)
		}
	}
	if len(named) < 3 || !slices.Equal(named, damaged[:len(named)]) && len(named) < len(damaged)-4 {
		t.Errorf("damaged blocks %v; named %v", damaged, named)
	}
	if d, err := e.Doctor(t.Context(), upkeep.DoctorRequest{}); err != nil || len(d.Findings) == 0 {
		t.Errorf("doctor: %+v, %v", d, err)
	}
	if _, err := file.WriteAt(content, 0); err != nil { // as it was, or closing could not
		t.Fatal(err)
	}
	file.Close()
}

// TestCheckAmidCheckpoints checks a file again and again while others write into it and the log is taken in: a checkpoint under way is no damage.
func TestCheckAmidCheckpoints(t *testing.T) {
	path := enginetest.NewFile(t)
	e := enginetest.OpenFile(t, path, engine.Options{Threads: 2})
	stop := make(chan struct{})
	wrote := make(chan error, 1)
	go func() {
		defer close(wrote)
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			_, err := e.Remember(t.Context(), memory.RememberRequest{Text: fmt.Sprintf("note %d of many", n)})
			if err == nil {
				err = e.Snapshot(t.Context(), filepath.Join(t.TempDir(), "copy.db")) // makes a checkpoint
			}
			if err != nil && !strings.Contains(err.Error(), "Cannot CHECKPOINT") { // it comes when no reader is in its way
				wrote <- err
				return
			}
		}
	}()
	for range 20 {
		enginetest.Check(t, e)
	}
	close(stop)
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
}

// TestCheckCancelled stops a check in the midst of blocks and of tables, both of which it tells of.
func TestCheckCancelled(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"blocks", "tables"} {
		ctx, cancel := context.WithCancel(t.Context())
		told := 0
		e := enginetest.OpenFile(t, enginetest.NewFile(t), engine.Options{Progress: func(s string, done, total int) {
			if s == step && done < total {
				told++
				cancel()
			}
		}})
		enginetest.Stock(t, e)
		if err := e.Snapshot(t.Context(), filepath.Join(t.TempDir(), "copy.db")); err != nil { // so that there are blocks
			t.Fatal(err)
		}
		if _, err := e.Check(ctx); !errors.Is(err, context.Canceled) || told != 1 {
			t.Errorf("cancelled among %s: told %d times, %v", step, told, err)
		}
		enginetest.Check(t, e)
	}
}
