package upkeep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
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
func (u *Upkeep) Shred(ctx context.Context) (*Shredded, error) {
	done, err := u.shred(ctx)
	if err != nil {
		return nil, fmt.Errorf("shred: %w", u.file.Noted(err))
	}
	return done, nil
}

func (u *Upkeep) shred(ctx context.Context) (*Shredded, error) {
	if u.opts.ReadOnly {
		return nil, u.file.ReadOnly()
	}
	if u.file.Held == nil {
		return nil, fault.Invalid("the engine's file", u.file.Path(), "one on disk; one in memory leaves nothing behind")
	}
	done := &Shredded{Removed: []string{}}
	fts := false
	err := u.file.Write(ctx, "words", func(tx *duck.Write) error {
		x, err := u.index.FTSState(ctx, tx.Conn)
		if err == nil && x != nil {
			fts, err = true, index.DropFTS(ctx, tx)
		}
		if err != nil {
			return err
		}
		u.index.Words.Forget()
		if _, _, err = u.index.RebuildWords(ctx, tx); err == nil {
			err = u.index.SweepCache(ctx, tx)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	files, err := u.contents.CheckPayloadFiles(ctx, true)
	if err != nil {
		return nil, err
	}
	done.Removed = append(done.Removed, files.Orphans...)
	if err := u.remake(ctx, done); err != nil {
		return nil, err
	}
	if fts && u.opts.LoadsFTS() {
		_, err = u.index.RefreshFTS(ctx, "fts")
	}
	return done, err
}

// remake makes the file anew, and changes it for the new one, while nobody writes.
func (u *Upkeep) remake(ctx context.Context, done *Shredded) (err error) {
	if err := u.file.Lock(ctx); err != nil {
		return err
	}
	defer u.file.Unlock()
	defer func() {
		if gone := os.RemoveAll(u.file.Shredding()); err == nil {
			err = gone
		}
	}()
	old, fresh := filepath.Join(u.file.Shredding(), "old.db"), filepath.Join(u.file.Shredding(), "fresh.db")
	info, state, err := u.copyAside(ctx, old)
	if err != nil {
		return err
	}
	if err := u.copyInto(ctx, old, fresh); err != nil {
		return err
	}
	if err := errors.Join(os.Chmod(fresh, info.Mode().Perm()), duck.KeepOwner(fresh, info)); err != nil {
		return err
	}
	next, err := duck.Hold(fresh, false) // so that nobody comes in between when it gets its name
	if err != nil {
		return err
	}
	if err := u.file.Exchange(ctx, next, state, func() error { return u.clearBeside(done) }); err != nil {
		return errors.Join(err, duck.CloseUnless(u.file.Held, next))
	}
	after, err := os.Stat(u.file.Path())
	if err == nil {
		done.BytesBefore, done.BytesAfter = info.Size(), after.Size()
	}
	return err
}

// copyAside copies the file as its last checkpoint, which is made first, left it.
func (u *Upkeep) copyAside(ctx context.Context, old string) (info os.FileInfo, state *duckfile.File, err error) {
	leave, err := u.file.Enter(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer leave()
	if err := u.file.Well(); err != nil {
		return nil, nil, err
	}
	if err := u.file.Checkpoint(ctx); err != nil {
		return nil, nil, err
	}
	if info, err = u.file.Held.File.Stat(); err != nil {
		return nil, nil, err
	}
	if names := duck.HardLinks(info); names > 1 {
		return nil, nil, fault.Invalid("the engine's file", u.file.Path(), fmt.Sprintf("one with a single name; it has %d (hard links), and the others would keep what was purged", names))
	}
	if err := duck.SpaceFor(filepath.Dir(u.file.Guard.Path), 3*info.Size()+duck.LogAhead); err != nil {
		return nil, nil, err
	}
	if err := errors.Join(os.RemoveAll(u.file.Shredding()), os.Mkdir(u.file.Shredding(), 0o700)); err != nil {
		return nil, nil, err
	}
	if state, err = duckfile.ReadFile(u.file.Held.File); err != nil {
		return nil, nil, err
	}
	return info, state, u.copyBlocks(ctx, old)
}

// clearBeside removes what a crash had left beside the file and may have something of what was purged. The database is closed.
func (u *Upkeep) clearBeside(done *Shredded) error {
	folder, name := filepath.Split(u.file.Path())
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), name+duck.DamagedLogSuffix) || entry.Name() == name+".wal.recovery" {
			done.Removed = append(done.Removed, filepath.Join(folder, entry.Name()))
		}
	}
	spilled, err := os.ReadDir(duck.Temporary(u.file.Path(), false))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, entry := range spilled {
		if strings.HasPrefix(entry.Name(), "duckdb_temp") {
			done.Removed = append(done.Removed, filepath.Join(duck.Temporary(u.file.Path(), false), entry.Name()))
		}
	}
	return duck.RemoveFiles(done.Removed)
}
