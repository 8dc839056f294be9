package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/mallardmem/mallard/engine/internal/duckfile"
	"github.com/mallardmem/mallard/engine/internal/fault"
)

// Snapshot writes a consistent copy of the whole file to out, which must not exist. Other processes and a plain DuckDB shell can
// open the copy while this engine goes on; writers wait until it is made, readers do not. The largest payloads, which lie in the folder
// beside the file, come to lie beside the copy. Under its name there is all of the copy or nothing, also when the process is killed meanwhile.
// Errors: ErrInvalid for a name that the engine needs itself, ErrExists, ErrReadOnly, ErrDiskFull.
func (e *Engine) Snapshot(ctx context.Context, out string) error {
	if err := e.snapshot(ctx, out); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	return nil
}

func (e *Engine) snapshot(ctx context.Context, out string) (err error) {
	if err := fault.CheckText("out", out); err != nil || strings.TrimSpace(out) == "" {
		return errors.Join(err, fault.Invalid("out", out, "the name of a new file"))
	}
	if e.opts.ReadOnly {
		return fmt.Errorf("%w: nobody writes to this file, so copy it", e.readOnly())
	}
	if e.held == nil {
		return fault.Invalid("the engine's file", e.path, "one on disk; memories and messages of one in memory can be exported")
	}
	if out, err = filepath.Abs(out); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Dir(out)); err != nil {
		return fmt.Errorf("%w: the folder must exist", err)
	}
	leave, err := e.enterAlone(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := errors.Join(e.well(), freeName(out, e.guard.path)); err != nil {
		return err
	}
	if err := e.checkpoint(ctx); err != nil { // all is in the file then, and stays as it is while nobody writes
		return err
	}
	_, missing := os.Stat(out + ".files")
	unmade := unmadeName(out)
	err = e.copyBlocks(ctx, unmade)
	if err == nil {
		err = e.conn.reading(ctx, func() error { return e.copyFolder(ctx, e.conn, out) })
	}
	if err == nil {
		err = place(unmade, out)
	}
	if err != nil {
		os.Remove(unmade)
		if errors.Is(missing, os.ErrNotExist) && !exists(out) {
			os.RemoveAll(out + ".files")
		}
		return e.noted(err)
	}
	return nil
}

// freeName refuses names of files that are there, or that belong to a file: to the own one above all, for which they decide what a crash leaves.
func freeName(out, own string) error {
	for _, suffix := range []string{"", logSuffix, secondLogSuffix, journalSuffix, witnessSuffix} {
		if exists(out + suffix) {
			return fmt.Errorf("%w: %s", ErrExists, out+suffix)
		}
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(out))
	if err != nil {
		return err
	}
	name := filepath.Join(folder, filepath.Base(out))
	for _, suffix := range []string{"", logSuffix, secondLogSuffix, journalSuffix, witnessSuffix, shredSuffix, ".wal.recovery", ".files", ".tmp"} {
		if strings.EqualFold(name, own+suffix) {
			return fault.Invalid("out", out, "a name that the engine's own file does not need")
		}
	}
	if strings.HasPrefix(name, own+damagedLogSuffix) || strings.HasPrefix(name, own+".files"+string(filepath.Separator)) {
		return fault.Invalid("out", out, "a name that the engine's own file does not need")
	}
	return nil
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// copyBlocks copies the file to a new one, the headers last: without them nothing opens it. The caller has the writer's lock.
func (e *Engine) copyBlocks(ctx context.Context, name string) error {
	info, err := e.held.file.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	buffer := make([]byte, 1<<20)
	blocks := (info.Size() + int64(len(buffer)) - 1) / int64(len(buffer))
	for n := range blocks {
		at := (blocks - 1 - n) * int64(len(buffer))
		if err = ctx.Err(); err != nil {
			break
		}
		part := buffer[:min(int64(len(buffer)), info.Size()-at)]
		if _, err = e.held.file.ReadAt(part, at); err != nil && !errors.Is(err, io.EOF) {
			break
		}
		if _, err = out.WriteAt(part, at); err != nil {
			break
		}
		e.opts.Progress("megabytes", int(n)+1, int(blocks))
	}
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

// unmadeName is another name for a file while it is being made.
func unmadeName(path string) string {
	return path + "." + strings.ToLower(rand.Text()[:8]) + unmadeSuffix
}

// place gives a file that is made its name, unless there is one of that name: ErrExists.
func place(unmade, path string) error {
	err := os.Link(unmade, path)
	switch {
	case errors.Is(err, os.ErrExist):
		return fmt.Errorf("%w: %s", ErrExists, path)
	case err != nil: // a file system without links: the name is taken first
		taken, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, os.ErrExist) {
			return fmt.Errorf("%w: %s", ErrExists, path)
		}
		if err != nil {
			return err
		}
		if err := errors.Join(taken.Close(), os.Rename(unmade, path)); err != nil {
			return err
		}
	default:
		if err := os.Remove(unmade); err != nil {
			return err
		}
	}
	if err := duckfile.SyncFolder(filepath.Dir(path)); err != nil { // what failed is not there
		return errors.Join(err, remove(path))
	}
	return nil
}
