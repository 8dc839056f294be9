package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	sqlfiles "github.com/mallardmem/mallard/sql"
)

// Snapshot writes a consistent copy of the whole file to out, which must not exist. Other processes and a plain DuckDB shell can
// open the copy while this engine goes on; writers wait until it is made, readers do not. The largest payloads, which lie in the folder
// beside the file, come to lie beside the copy. A copy that was broken off is removed.
// Errors: ErrExists, ErrReadOnly.
func (e *Engine) Snapshot(ctx context.Context, out string) (err error) {
	if err := checkText("out", out); err != nil || strings.TrimSpace(out) == "" {
		return fmt.Errorf("snapshot: %w", errors.Join(err, invalid("out", out, "the name of a new file")))
	}
	if out, err = filepath.Abs(out); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	if _, err := os.Stat(filepath.Dir(out)); err != nil {
		return fmt.Errorf("snapshot: %w: the folder must exist", err)
	}
	e.using.RLock()
	defer e.using.RUnlock()
	if e.closed {
		return fmt.Errorf("snapshot: %w", ErrClosed)
	}
	if e.opts.ReadOnly {
		return fmt.Errorf("snapshot: %w and can't reach other files; nobody writes to this one, so copy it", ErrReadOnly)
	}
	if err := e.lock(ctx); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	defer e.unlock()
	if _, err := os.Stat(out); err == nil {
		return fmt.Errorf("snapshot: %w: %s", ErrExists, out)
	}
	_, err = os.Stat(out + ".files")
	made := errors.Is(err, os.ErrNotExist)
	if err := e.snapshot(ctx, out); err != nil {
		os.Remove(out)
		os.Remove(out + ".wal")
		if made {
			os.RemoveAll(out + ".files")
		}
		return fmt.Errorf("snapshot: %w", err)
	}
	return nil
}

// snapshot makes the schema anew in the other file, which keeps each column's compression, and copies the tables. It must run
// under the writer's lock.
func (e *Engine) snapshot(ctx context.Context, out string) (err error) {
	c := e.conn
	var tables []string
	err = c.each(ctx, "tables", func(rows *sql.Rows) error {
		var name string
		defer func() { tables = append(tables, name) }()
		return rows.Scan(&name)
	})
	if err != nil {
		return err
	}
	var start int64
	if _, err := c.one(ctx, "sequence_next", []any{&start}); err != nil {
		return err
	}
	if err := e.copyFolder(ctx, c, out); err != nil { // while no statement can be prepared for the copy
		return err
	}
	defer func() { // also when attaching was broken off halfway
		err = errors.Join(err, c.execDDL(context.WithoutCancel(ctx), sqlfiles.Query("snapshot_detach")))
	}()
	if err := c.execDDL(ctx, sqlfiles.Query("snapshot_attach"), "{path}", strings.ReplaceAll(out, "'", "''"), "{version}", storageVersion); err != nil {
		return err
	}
	if err := c.execDDL(ctx, sqlfiles.Query("migrations_create")); err != nil {
		return err
	}
	for _, m := range sqlfiles.Migrations() {
		if err := c.execDDL(ctx, m.SQL); err != nil {
			return err
		}
	}
	if err := c.execDDL(ctx, sqlfiles.Query("snapshot_sequence"), "{start}", strconv.FormatInt(start, 10)); err != nil {
		return err
	}
	vectors := []string{"vectors_none"}
	if e.chosen.n > 0 {
		vectors = []string{"vectors_create", "vectors_choose"}
	}
	for _, name := range vectors {
		if err := c.execDDL(ctx, sqlfiles.Query(name), "{n}", strconv.Itoa(e.chosen.n), "{dims}", strconv.Itoa(e.chosen.dims)); err != nil {
			return err
		}
	}
	definitions, _ := sqlfiles.Definitions()
	if err := c.execDDL(ctx, definitions); err != nil {
		return err
	}
	for i, table := range tables {
		if err := c.execDDL(ctx, sqlfiles.Query("snapshot_table"), "{table}", table); err != nil {
			return err
		}
		e.opts.Progress("tables", i+1, len(tables))
	}
	return nil
}
