package foreign

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/mallardmem/mallard/engine"
)

// magic is how a file of SQLite begins.
var magic = []byte("SQLite format 3\x00")

// IsDatabase reports whether a file is one of SQLite.
func IsDatabase(path string) bool {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() { // to open a pipe would be to wait for its writer
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, len(magic))
	_, err = io.ReadFull(f, head)
	return err == nil && bytes.Equal(head, magic)
}

// errBusy: the host wrote into its database as often as it was copied.
var errBusy = errors.New("the database was changed while it was copied, each time; try again when its host is at rest")

// copies is how often a copy is made before a database counts as busy, and copyPause how long the host is left alone in between.
const (
	copies    = 6
	copyPause = 200 * time.Millisecond
)

// copied makes a copy of a database in a folder, with the log that goes with it. What was committed when it began is in it. A host adds to its write-ahead log, and
// takes it into the database now and then; as long as it does not begin it anew, whatever of that is in the copy's database in part is in the copy's log in full.
func copied(ctx context.Context, path, folder string) (to string, err error) {
	to = filepath.Join(folder, "host.db")
	for n := range copies {
		if n > 0 {
			select {
			case <-ctx.Done():
				return "", ctx.Err()
			case <-time.After(copyPause):
			}
		}
		before, err := stampOf(path)
		if err != nil {
			return "", err
		}
		for _, part := range []string{"", "-journal", "-wal"} { // the log last: it only grows
			if err := copyFile(ctx, path+part, to+part); err != nil && (part == "" || !errors.Is(err, fs.ErrNotExist)) {
				return "", err
			}
		}
		after, err := stampOf(path)
		if err != nil {
			return "", err
		}
		if before.steady == after.steady {
			return to, nil
		}
	}
	return "", errBusy
}

// copyFile copies a file; what was there before under the new name is gone.
func copyFile(ctx context.Context, from, to string) error {
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	for err == nil {
		if err = ctx.Err(); err == nil {
			_, err = io.CopyN(out, in, 16<<20)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, out.Close())
}

// stamp says which state a database is in.
type stamp struct {
	steady string // changes when a copy that is being made is none
	all    string // changes with every commit
	size   int64
}

func stampOf(path string) (s stamp, err error) {
	of := func(part string) (string, int64, error) {
		info, err := os.Stat(path + part)
		if errors.Is(err, fs.ErrNotExist) && part != "" {
			return "none", 0, nil
		}
		if err != nil {
			return "", 0, err
		}
		return fmt.Sprintf("%d@%d", info.Size(), info.ModTime().UnixNano()), info.Size(), nil
	}
	database, size, err := of("")
	if err != nil {
		return s, err
	}
	journal, _, err := of("-journal")
	if err != nil {
		return s, err
	}
	log, more, err := of("-wal")
	if err != nil {
		return s, err
	}
	counter, err := headOf(path)
	if err != nil {
		return s, err
	}
	salts, err := headOf(path + "-wal")
	if err != nil {
		return s, err
	}
	return stamp{database + " " + journal + " " + counter + " " + salts, database + " " + journal + " " + log, size + more}, nil
}

// headOf is how a file begins: a database with a counter of commits that were made without a log, a log with salts that change when it is begun anew.
func headOf(path string) (string, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "none", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	head := make([]byte, 32)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", err
	}
	return fmt.Sprintf("%x", head[:n]), nil
}

// database is the copy of a host's, open.
type database struct {
	db      *sql.DB
	columns map[string][]string // by table; those of a table that is not there are none
	read    map[string]int      // rows, by table
	redact  bool
}

// open copies a database and opens the copy; close removes it.
func (r Request) open(ctx context.Context, path string) (d *database, close func() error, err error) {
	folder, err := os.MkdirTemp("", "mallard-import-")
	if err != nil {
		return nil, nil, err
	}
	d = &database{columns: map[string][]string{}, read: map[string]int{}, redact: r.Redact}
	close = func() error {
		var err error
		if d.db != nil {
			err = d.db.Close()
		}
		return errors.Join(err, os.RemoveAll(folder))
	}
	to, err := copied(ctx, path, folder)
	if err == nil {
		d.db, err = r.connect(ctx, to)
	}
	if err != nil {
		return nil, nil, errors.Join(err, close())
	}
	if r.Extension == "" { // which opens the copy again and again
		if rows, err := d.db.QueryContext(ctx, "SELECT count(*) FROM sqlite_master"); err == nil { // every file is open now
			_ = rows.Close()
		}
		_ = os.RemoveAll(folder) // so that nothing is left of it, whatever becomes of the program; where an open file can't go, close removes it
	}
	return d, close, nil
}

// connect opens a copy by DuckDB's extension, where one is named, or else by the driver.
func (r Request) connect(ctx context.Context, path string) (*sql.DB, error) {
	if r.Extension == "" {
		if !slices.Contains(sql.Drivers(), r.Driver) {
			return nil, fmt.Errorf("%w: driver is %q; allowed: one for SQLite that the program links, or an extension", engine.ErrInvalid, r.Driver)
		}
		db, err := sql.Open(r.Driver, path)
		if err != nil {
			return nil, err
		}
		db.SetMaxOpenConns(1)
		return db, nil
	}
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	connector, err := duckdb.NewConnector("?autoinstall_known_extensions=false&autoload_known_extensions=false", nil)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1) // what USE chooses is the connection's
	for _, statement := range []string{"LOAD " + quote(r.Extension), "SET sqlite_all_varchar = true", "SET preserve_insertion_order = true",
		"ATTACH " + quote(path) + " AS host (TYPE sqlite, READ_ONLY)", "USE host"} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return nil, errors.Join(fmt.Errorf("%w: extension is %q, which does not do: %w", engine.ErrInvalid, r.Extension, err), db.Close())
		}
	}
	return db, nil
}

// has reports whether a table has all of some columns.
func (d *database) has(ctx context.Context, table string, columns ...string) bool {
	known, looked := d.columns[table]
	if !looked {
		if rows, err := d.db.QueryContext(ctx, "SELECT * FROM "+table+" LIMIT 0"); err == nil {
			known, _ = rows.Columns()
			_ = rows.Close()
		}
		d.columns[table] = known
	}
	return known != nil && !slices.ContainsFunc(columns, func(c string) bool { return !slices.Contains(known, c) })
}

// distinct gives the values of a column, in order; of a table or column that is not there none.
func (d *database) distinct(ctx context.Context, table, column string) (all []string, err error) {
	if !d.has(ctx, table, column) {
		return nil, nil
	}
	rows, err := d.db.QueryContext(ctx, "SELECT DISTINCT "+column+" FROM "+table+" ORDER BY 1")
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", table, err)
	}
	defer rows.Close()
	for rows.Next() {
		var v any
		if err := rows.Scan(&v); err != nil {
			return nil, fmt.Errorf("table %s: %w", table, err)
		}
		all = append(all, textOf(v))
	}
	return all, rows.Err()
}

// homeless counts the rows of a table of which a column says nothing.
func (d *database) homeless(ctx context.Context, table, column string) (n int, err error) {
	err = d.db.QueryRowContext(ctx, "SELECT count(*) FROM "+table+" WHERE "+column+" IS NULL OR trim("+column+") = ''").Scan(&n)
	return n, err
}
