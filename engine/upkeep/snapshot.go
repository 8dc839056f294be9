package upkeep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
)

// Snapshot writes a consistent copy of the whole file to out, which must not exist. Other processes and a plain DuckDB shell can
// open the copy while this engine goes on; writers wait until it is made, readers do not. The largest payloads, which lie in the folder
// beside the file, come to lie beside the copy. Under its name there is all of the copy or nothing, also when the process is killed meanwhile.
// Errors: ErrInvalid for a name that the engine needs itself, ErrExists, ErrReadOnly, ErrDiskFull.
func (u *Upkeep) Snapshot(ctx context.Context, out string) error {
	if err := u.snapshot(ctx, out); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	return nil
}

func (u *Upkeep) snapshot(ctx context.Context, out string) (err error) {
	if err := fault.CheckText("out", out); err != nil || strings.TrimSpace(out) == "" {
		return errors.Join(err, fault.Invalid("out", out, "the name of a new file"))
	}
	if u.opts.ReadOnly {
		return fmt.Errorf("%w: nobody writes to this file, so copy it", u.file.ReadOnly())
	}
	if u.file.Held == nil {
		return fault.Invalid("the engine's file", u.file.Path(), "one on disk; memories and messages of one in memory can be exported")
	}
	if out, err = filepath.Abs(out); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Dir(out)); err != nil {
		return fmt.Errorf("%w: the folder must exist", err)
	}
	leave, err := u.file.EnterAlone(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := errors.Join(u.file.Well(), duck.FreeName(out, u.file.Guard.Path)); err != nil {
		return err
	}
	if err := u.file.Checkpoint(ctx); err != nil { // all is in the file then, and stays as it is while nobody writes
		return err
	}
	_, missing := os.Stat(out + ".files")
	unmade := duck.UnmadeName(out)
	err = u.copyBlocks(ctx, unmade)
	if err == nil {
		err = u.file.Conn.Reading(ctx, func() error { return u.contents.CopyFolder(ctx, u.file.Conn, out) })
	}
	if err == nil {
		err = duck.Place(unmade, out)
	}
	if err != nil {
		os.Remove(unmade)
		if errors.Is(missing, os.ErrNotExist) && !duck.Exists(out) {
			os.RemoveAll(out + ".files")
		}
		return u.file.Noted(err)
	}
	return nil
}

// copyBlocks copies the file to a new one, the headers last: without them nothing opens it. The caller has the writer's lock.
func (u *Upkeep) copyBlocks(ctx context.Context, name string) error {
	info, err := u.file.Held.File.Stat()
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
		if _, err = u.file.Held.File.ReadAt(part, at); err != nil && !errors.Is(err, io.EOF) {
			break
		}
		if _, err = out.WriteAt(part, at); err != nil {
			break
		}
		u.opts.Progress("megabytes", int(n)+1, int(blocks))
	}
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}
