package duck

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/setup"
	sqlfiles "github.com/mallardmem/mallard/sql"
)

// migrate brings the file's schema up to this program's, each step in a transaction of its own, and makes macros and views
// anew when their text has changed. A read-only file is only looked at.
func (f *File) migrate(ctx context.Context) error {
	applied, err := f.applied(ctx)
	if err != nil {
		return err
	}
	known := sqlfiles.Migrations()
	if len(applied) > len(known) {
		return fmt.Errorf("%w: its schema is at %d, this program knows %d; use a newer one", fault.ErrSchemaTooNew, len(applied), len(known))
	}
	for i, hash := range applied {
		if hash != known[i].Hash {
			return fmt.Errorf("%w: number %d (%s); use the program that wrote the file, or export there and import here", fault.ErrMigrationChanged, i+1, known[i].Name)
		}
	}
	if f.opts.ReadOnly {
		if len(applied) < len(known) {
			return fmt.Errorf("%w: its schema is at %d, this program needs %d; open it once for writing", fault.ErrReadOnly, len(applied), len(known))
		}
		was, stale, err := f.stale(ctx)
		if err == nil && stale && was != "" { // else its log is damaged, which the check says, or it was never filled
			err = fmt.Errorf("%w: its macros and views are of another version; open it once for writing", fault.ErrReadOnly)
		}
		return err
	}
	for _, m := range known[len(applied):] {
		if err := f.apply(ctx, m); err != nil {
			return fmt.Errorf("migration %d (%s): %w", m.Version, m.Name, err)
		}
	}
	return f.Define(ctx)
}

// applied gives the hashes of the migrations that the file has had.
func (f *File) applied(ctx context.Context) ([]string, error) {
	var tables []string
	err := f.Conn.Each(ctx, "tables", func(rows *sql.Rows) error {
		var name string
		if err := rows.Scan(&name); err != nil {
			return err
		}
		tables = append(tables, name)
		return nil
	})
	if err != nil {
		return nil, err
	}
	switch {
	case slices.Contains(tables, "migrations") && slices.Contains(tables, "documents") && slices.Contains(tables, "settings"):
	case len(tables) > 0 || f.opts.ReadOnly:
		return nil, fmt.Errorf("%w: a DuckDB file that is not Mallard's", fault.ErrCorrupt)
	default:
		return nil, nil
	}
	var hashes []string
	err = f.Conn.Each(ctx, "migrations_list", func(rows *sql.Rows) error {
		var version int
		var name, hash string
		if err := rows.Scan(&version, &name, &hash); err != nil {
			return err
		}
		if hashes = append(hashes, hash); version != len(hashes) {
			return fmt.Errorf("%w: migration %d stands at place %d", fault.ErrCorrupt, version, len(hashes))
		}
		return nil
	})
	return hashes, err
}

func (f *File) apply(ctx context.Context, m sqlfiles.Migration) error {
	return f.Conn.writing(ctx, func(tx *Write) error {
		if err := tx.ExecDDL(ctx, sqlfiles.Query("migrations_create")); err != nil {
			return err
		}
		if err := tx.ExecDDL(ctx, m.SQL); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "migrations_insert", sql.Named("version", m.Version), sql.Named("name", m.Name),
			sql.Named("hash", m.Hash), sql.Named("applied_at", f.Now()))
		return err
	})
}

// stale reports whether the file's macros, types and views differ from this program's; was is the hash of the former.
func (f *File) stale(ctx context.Context) (was string, stale bool, err error) {
	_, sum := sqlfiles.Definitions()
	_, err = f.Setting(ctx, f.Conn, "definitions", &was)
	return was, was != sum, err
}

// Define makes macros, types and views, all together, when the file's differ from this program's.
func (f *File) Define(ctx context.Context) error {
	was, stale, err := f.stale(ctx)
	if err != nil || !stale {
		return err
	}
	text, sum := sqlfiles.Definitions()
	return f.Conn.writing(ctx, func(tx *Write) error {
		if was == "" {
			if err := tx.ExecDDL(ctx, sqlfiles.Query("vectors_none")); err != nil {
				return err
			}
		}
		if err := tx.ExecDDL(ctx, text); err != nil {
			return fmt.Errorf("macros and views: %w", err)
		}
		return f.PutSetting(ctx, tx, "definitions", sum)
	})
}

// Redefine is Define for a file whose note of them says nothing, since its rows are those of another.
func (f *File) Redefine(ctx context.Context) error {
	err := f.Prepare(ctx, func(tx *Write) error {
		_, err := f.DeleteSetting(ctx, tx, "definitions")
		return err
	})
	if err != nil {
		return err
	}
	return f.Define(ctx)
}

// MakeSchema brings a file that MakeFile has made to the schema of a version, 0 for the newest, and lets do go on with it.
func MakeSchema(ctx context.Context, path string, o setup.Options, version int, do func(tx *Write) error) (err error) {
	f := &File{name: path, opts: o, Readers: newReaders(o)}
	if f.DB, err = OpenDatabase(ctx, f.name, f.opts); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.disconnect()) }()
	if f.Conn, err = f.NewConnection(ctx); err != nil {
		return err
	}
	known := sqlfiles.Migrations()
	if version > 0 && version < len(known) {
		known = known[:version]
	}
	for _, m := range known {
		if err := f.apply(ctx, m); err != nil {
			return err
		}
	}
	return f.Conn.writing(ctx, do)
}
