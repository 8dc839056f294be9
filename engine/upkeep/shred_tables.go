package upkeep

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	sqlfiles "github.com/mallardmem/mallard/sql"
)

// shredTable is a table of the old file.
type shredTable struct {
	schema, name string
	columns      []string
}

func (t shredTable) String() string { return duck.QuotedName(t.schema) + "." + duck.QuotedName(t.name) }

// copyInto makes the file fresh, with everything that is defined in old and every row of it, and makes sure that nothing is missing.
func (u *Upkeep) copyInto(ctx context.Context, old, fresh string) (err error) {
	if err := duck.MakeFile(ctx, fresh); err != nil {
		return err
	}
	db, err := duck.OpenBeside(ctx, old, fresh, u.opts)
	if err != nil {
		return err
	}
	defer func() {
		if closed := db.Close(); err == nil {
			err = closed
		}
	}()
	if _, err := db.ExecContext(ctx, sqlfiles.Query("shred_schema")); err != nil {
		return err
	}
	tables, err := shredTables(ctx, db)
	if err != nil {
		return err
	}
	run := func(name string) error {
		_, err := db.ExecContext(ctx, sqlfiles.Query(name))
		return err
	}
	if err := run("shred_begin"); err != nil { // one transaction, for each would wait for the disk
		return err
	}
	for n, t := range tables {
		u.opts.Progress("tables", n, len(tables))
		if t.contents() {
			continue
		}
		if err := t.copy(ctx, db, "true"); err != nil {
			return err
		}
	}
	for _, name := range []string{"shred_mark", "shred_end"} {
		if err := run(name); err != nil {
			return err
		}
	}
	for _, t := range tables {
		if t.contents() {
			if err := u.copyContents(ctx, db, t); err != nil {
				return err
			}
		}
	}
	if err := run("checkpoint"); err != nil {
		return err
	}
	if info, err := os.Stat(fresh + duck.LogSuffix); err == nil && info.Size() > 0 {
		return fmt.Errorf("%w: the new file's log has %d bytes after its checkpoint", fault.ErrInternal, info.Size())
	}
	return nil
}

func shredTables(ctx context.Context, db *sql.DB) (all []shredTable, err error) {
	rows, err := db.QueryContext(ctx, sqlfiles.Query("shred_tables"))
	if err != nil {
		return nil, err
	}
	err = duck.ScanAll(rows, "shred_tables", func(rows *sql.Rows) error {
		var t shredTable
		var columns duckdb.Composite[[]string]
		err := rows.Scan(&t.schema, &t.name, &columns)
		for _, c := range columns.Get() {
			t.columns = append(t.columns, duck.QuotedName(c))
		}
		all = append(all, t)
		return err
	})
	return all, err
}

// contents reports whether a table has what is too long for thousands of rows to be in memory.
func (t shredTable) contents() bool { return t.schema == "main" && t.name == "payloads" }

// copy copies rows, in their order, and compares what both files then have.
func (t shredTable) copy(ctx context.Context, db *sql.DB, part string) error {
	text := func(name string) string {
		return strings.NewReplacer("{table}", t.String(), "{columns}", strings.Join(t.columns, ", "), "{part}", part).Replace(sqlfiles.Query(name))
	}
	var same bool
	_, err := db.ExecContext(ctx, text("shred_copy"))
	if err == nil {
		err = db.QueryRowContext(ctx, text("shred_same")).Scan(&same)
	}
	if err == nil && !same {
		err = fmt.Errorf("%w: the copy differs", fault.ErrInternal)
	}
	if err != nil {
		return fmt.Errorf("table %s: %w", t, err)
	}
	return nil
}

// copyContents copies contents one by one, each in a transaction of its own and by its key: with any other condition, and before they are committed,
// DuckDB has all of them in memory.
func (u *Upkeep) copyContents(ctx context.Context, db *sql.DB, t shredTable) error {
	var keys []string
	rows, err := db.QueryContext(ctx, sqlfiles.Query("shred_contents"))
	if err != nil {
		return err
	}
	err = duck.ScanAll(rows, "shred_contents", func(rows *sql.Rows) error {
		var key string
		err := rows.Scan(&key)
		keys = append(keys, key)
		return err
	})
	for n, key := range keys {
		if err == nil {
			u.opts.Progress("contents", n, len(keys))
			err = t.copy(ctx, db, "sha256 = '"+strings.ReplaceAll(key, "'", "''")+"'")
		}
	}
	return err
}
