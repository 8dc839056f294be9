package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	sqlfiles "github.com/mallardmem/mallard/sql"
)

// migrate brings the file's schema up to this program's, each step in a transaction of its own, and makes macros and views
// anew when their text has changed. A read-only file is only looked at.
func (e *Engine) migrate(ctx context.Context) error {
	applied, err := e.applied(ctx)
	if err != nil {
		return err
	}
	known := sqlfiles.Migrations()
	if len(applied) > len(known) {
		return fmt.Errorf("%w: its schema is at %d, this program knows %d; use a newer one", ErrSchemaTooNew, len(applied), len(known))
	}
	for i, hash := range applied {
		if hash != known[i].Hash {
			return fmt.Errorf("%w: number %d (%s); use the program that wrote the file, or export there and import here", ErrMigrationChanged, i+1, known[i].Name)
		}
	}
	if e.opts.ReadOnly {
		if len(applied) < len(known) {
			return fmt.Errorf("%w: its schema is at %d, this program needs %d; open it once for writing", ErrReadOnly, len(applied), len(known))
		}
		was, stale, err := e.stale(ctx)
		if err == nil && stale && was != "" { // else its log is damaged, which the check says, or it was never filled
			err = fmt.Errorf("%w: its macros and views are of another version; open it once for writing", ErrReadOnly)
		}
		return err
	}
	for _, m := range known[len(applied):] {
		if err := e.apply(ctx, m); err != nil {
			return fmt.Errorf("migration %d (%s): %w", m.Version, m.Name, err)
		}
	}
	return e.define(ctx)
}

// applied gives the hashes of the migrations that the file has had.
func (e *Engine) applied(ctx context.Context) ([]string, error) {
	var tables []string
	err := e.conn.each(ctx, "tables", func(rows *sql.Rows) error {
		var name string
		defer func() { tables = append(tables, name) }()
		return rows.Scan(&name)
	})
	if err != nil {
		return nil, err
	}
	switch {
	case slices.Contains(tables, "migrations") && slices.Contains(tables, "documents") && slices.Contains(tables, "settings"):
	case len(tables) > 0 || e.opts.ReadOnly:
		return nil, fmt.Errorf("%w: a DuckDB file that is not Mallard's", ErrCorrupt)
	default:
		return nil, nil
	}
	var hashes []string
	err = e.conn.each(ctx, "migrations_list", func(rows *sql.Rows) error {
		var version int
		var name, hash string
		if err := rows.Scan(&version, &name, &hash); err != nil {
			return err
		}
		if hashes = append(hashes, hash); version != len(hashes) {
			return fmt.Errorf("%w: migration %d stands at place %d", ErrCorrupt, version, len(hashes))
		}
		return nil
	})
	return hashes, err
}

func (e *Engine) apply(ctx context.Context, m sqlfiles.Migration) error {
	return e.conn.transaction(ctx, "BEGIN TRANSACTION", func() error {
		if err := e.conn.execDDL(ctx, sqlfiles.Query("migrations_create")); err != nil {
			return err
		}
		if err := e.conn.execDDL(ctx, m.SQL); err != nil {
			return err
		}
		_, err := e.conn.exec(ctx, "migrations_insert", sql.Named("version", m.Version), sql.Named("name", m.Name),
			sql.Named("hash", m.Hash), sql.Named("applied_at", e.now()))
		return err
	})
}

// stale reports whether the file's macros, types and views differ from this program's; was is the hash of the former.
func (e *Engine) stale(ctx context.Context) (was string, stale bool, err error) {
	_, sum := sqlfiles.Definitions()
	_, err = e.setting(ctx, e.conn, "definitions", &was)
	return was, was != sum, err
}

// define makes macros, types and views, all together, when the file's differ from this program's.
func (e *Engine) define(ctx context.Context) error {
	was, stale, err := e.stale(ctx)
	if err != nil || !stale {
		return err
	}
	text, sum := sqlfiles.Definitions()
	return e.conn.transaction(ctx, "BEGIN TRANSACTION", func() error {
		if was == "" {
			if err := e.conn.execDDL(ctx, sqlfiles.Query("vectors_none")); err != nil {
				return err
			}
		}
		if err := e.conn.execDDL(ctx, text); err != nil {
			return fmt.Errorf("macros and views: %w", err)
		}
		return e.putSetting(ctx, e.conn, "definitions", sum)
	})
}

// makeSchema brings a file that makeFile has made to the schema of a version, 0 for the newest, and lets do go on with it.
func makeSchema(ctx context.Context, path string, o Options, version int, do func(c *connection) error) (err error) {
	e := &Engine{path: path, opts: o, readers: newReaders(o)}
	if e.db, err = openDatabase(ctx, e.path, e.opts); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.disconnect()) }()
	if e.conn, err = e.newConnection(ctx); err != nil {
		return err
	}
	known := sqlfiles.Migrations()
	if version > 0 && version < len(known) {
		known = known[:version]
	}
	for _, m := range known {
		if err := e.apply(ctx, m); err != nil {
			return err
		}
	}
	return do(e.conn)
}
