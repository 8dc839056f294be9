package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mallardmem/mallard/engine/internal/duckfile"
	"github.com/mallardmem/mallard/engine/internal/fault"
)

// Shredded says what Shred did.
type Shredded struct {
	BytesBefore int64 `json:"bytes_before"` // of the file
	BytesAfter  int64 `json:"bytes_after"`
	// Removed are files beside it that nothing needs any more and that may have had something purged: logs as a crash had left them, contents that no row
	// names.
	Removed []string `json:"removed"`
}

// Shred writes the file anew, so that neither it nor what lies beside it has a byte of what was purged, or is in no row for another reason: DuckDB
// leaves what is deleted in the file until its room is used again. The words of the index are made anew, all tables are copied into a new file, and
// that takes the name of the old one, which is removed. Whatever happens meanwhile, under the name is all of the old file or all of the new one. Readers go
// on until the names change, which waits for calls under way; writers wait. Room for three more copies of the file is needed meanwhile. What the disk
// itself keeps of removed files, and copies such as snapshots, are not reached. Options.Progress is told how far it is. Errors:
// ErrReadOnly, ErrDiskFull, ErrMemory, ErrInvalid for a file in memory, or one with further names (hard links), which would keep the old one.
func (e *Engine) Shred(ctx context.Context) (*Shredded, error) {
	done, err := e.shred(ctx)
	if err != nil {
		return nil, fmt.Errorf("shred: %w", e.noted(err))
	}
	return done, nil
}

func (e *Engine) shred(ctx context.Context) (*Shredded, error) {
	if e.opts.ReadOnly {
		return nil, e.readOnly()
	}
	if e.held == nil {
		return nil, fault.Invalid("the engine's file", e.path, "one on disk; one in memory leaves nothing behind")
	}
	done := &Shredded{Removed: []string{}}
	fts := false
	err := e.write(ctx, "words", func(c *connection) error {
		x, err := e.ftsIndex(ctx, c)
		if err == nil && x != nil {
			fts, err = true, dropFTS(ctx, c)
		}
		if err != nil {
			return err
		}
		e.words.forget()
		_, err = e.rebuildWords(ctx, c)
		return err
	})
	if err != nil {
		return nil, err
	}
	files, err := e.CheckPayloadFiles(ctx, true)
	if err != nil {
		return nil, err
	}
	done.Removed = append(done.Removed, files.Orphans...)
	if err := e.remake(ctx, done); err != nil {
		return nil, err
	}
	if fts && e.opts.loadsFTS() {
		_, err = e.refreshFTS(ctx, "fts")
	}
	return done, err
}

// shredding is the folder in which the file is made anew. Whoever has the file open for writing owns it.
func (e *Engine) shredding() string { return e.guard.path + shredSuffix }

// remake makes the file anew, and changes it for the new one, while nobody writes.
func (e *Engine) remake(ctx context.Context, done *Shredded) (err error) {
	if err := e.lock(ctx); err != nil {
		return err
	}
	defer e.unlock()
	defer func() {
		if gone := os.RemoveAll(e.shredding()); err == nil {
			err = gone
		}
	}()
	old, fresh := filepath.Join(e.shredding(), "old.db"), filepath.Join(e.shredding(), "fresh.db")
	info, state, err := e.copyAside(ctx, old)
	if err != nil {
		return err
	}
	if err := e.copyInto(ctx, old, fresh); err != nil {
		return err
	}
	if err := errors.Join(os.Chmod(fresh, info.Mode().Perm()), keepOwner(fresh, info)); err != nil {
		return err
	}
	next, err := hold(fresh, false) // so that nobody comes in between when it gets its name
	if err != nil {
		return err
	}
	if err := e.exchange(ctx, next, state, func() error { return e.clearBeside(done) }); err != nil {
		return errors.Join(err, closeUnless(e.held, next))
	}
	after, err := os.Stat(e.path)
	if err == nil {
		done.BytesBefore, done.BytesAfter = info.Size(), after.Size()
	}
	return err
}

// copyAside copies the file as its last checkpoint, which is made first, left it.
func (e *Engine) copyAside(ctx context.Context, old string) (info os.FileInfo, state *duckfile.File, err error) {
	leave, err := e.enter(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer leave()
	if err := e.well(); err != nil {
		return nil, nil, err
	}
	if err := e.checkpoint(ctx); err != nil {
		return nil, nil, err
	}
	if info, err = e.held.file.Stat(); err != nil {
		return nil, nil, err
	}
	if names := hardLinks(info); names > 1 {
		return nil, nil, fault.Invalid("the engine's file", e.path, fmt.Sprintf("one with a single name; it has %d (hard links), and the others would keep what was purged", names))
	}
	if err := spaceFor(filepath.Dir(e.guard.path), 3*info.Size()+logAhead); err != nil {
		return nil, nil, err
	}
	if err := errors.Join(os.RemoveAll(e.shredding()), os.Mkdir(e.shredding(), 0o700)); err != nil {
		return nil, nil, err
	}
	if state, err = duckfile.ReadFile(e.held.file); err != nil {
		return nil, nil, err
	}
	return info, state, e.copyBlocks(ctx, old)
}

// unchanged is an error where the file is in another state than it was when it was copied.
func (h *held) unchanged(state *duckfile.File) error {
	now, err := duckfile.ReadFile(h.file)
	if err != nil {
		return err
	}
	length, err := h.logLength()
	if err == nil && (now.ID != state.ID || now.Iteration != state.Iteration || length > 0) {
		err = fmt.Errorf("%w: the file was written to meanwhile", ErrConflict)
	}
	return err
}

// become gives the file of next, which is locked, the name, and lets go of the one that had it.
func (h *held) become(next *held, name string) error {
	if err := os.Rename(next.path, name); err != nil {
		return err
	}
	old := h.file
	h.file = next.file
	return errors.Join(old.Close(), duckfile.SyncFolder(filepath.Dir(name)))
}

// closeUnless closes a file that did not take the other's place.
func closeUnless(h, next *held) error {
	if h.file == next.file {
		return nil
	}
	return next.file.Close()
}

// clearBeside removes what a crash had left beside the file and may have something of what was purged. The database is closed.
func (e *Engine) clearBeside(done *Shredded) error {
	folder, name := filepath.Split(e.path)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), name+damagedLogSuffix) || entry.Name() == name+".wal.recovery" {
			done.Removed = append(done.Removed, filepath.Join(folder, entry.Name()))
		}
	}
	spilled, err := os.ReadDir(temporary(e.path, false))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, entry := range spilled {
		if strings.HasPrefix(entry.Name(), "duckdb_temp") {
			done.Removed = append(done.Removed, filepath.Join(temporary(e.path, false), entry.Name()))
		}
	}
	return removeFiles(done.Removed)
}
