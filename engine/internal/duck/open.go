package duck

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/setup"
	sqlfiles "github.com/mallardmem/mallard/sql"
)

// Closed reports whether Close was called.
func (f *File) Closed() bool {
	f.Using.RLock()
	defer f.Using.RUnlock()
	return f.closed
}

// connect opens the database, after a crash has been mended. Nobody else uses the engine meanwhile.
func (f *File) connect(ctx context.Context) (err error) {
	if f.Held != nil {
		if err := f.Held.lock(f.opts.ReadOnly); err != nil {
			return err
		}
		if f.opts.ReadOnly {
			_, err = f.Held.look()
		} else {
			err = errors.Join(f.Held.mend(time.Now()), clearTemporary(f.name))
		}
		if err != nil {
			return f.unmended(err)
		}
	}
	if f.DB, err = OpenDatabase(ctx, f.name, f.opts); err != nil {
		return f.unmended(err)
	}
	if f.Conn, err = f.newWriter(ctx); err != nil {
		return err
	}
	return nil
}

// unmended adds to why a file can't be opened for reading what a writer can do about it.
func (f *File) unmended(err error) error {
	if f.opts.ReadOnly && errors.Is(err, fault.ErrCorrupt) && (Exists(f.name+LogSuffix) || Exists(f.name+JournalSuffix)) {
		err = fmt.Errorf("%w; if a crash left it so, opening it once for writing mends it", err)
	}
	return err
}

// newWriter makes the connection that writes.
func (f *File) newWriter(ctx context.Context) (*Conn, error) {
	c, err := f.NewConnection(ctx)
	if err == nil && f.Held != nil {
		c.committing, c.Committed = f.Held.committing, f.Held.committed
	}
	return c, err
}

// disconnect closes the database. Nobody uses it.
func (f *File) disconnect() error {
	errs := f.Readers.close()
	if f.Conn != nil {
		errs = append(errs, f.Conn.Close())
	}
	if f.DB != nil {
		errs = append(errs, f.DB.Close())
	}
	f.Conn, f.DB = nil, nil
	f.rolledBack()
	return errors.Join(errs...)
}

// Now is the time as the file keeps it.
func (f *File) Now() time.Time { return UTC(f.opts.Now()) }

// claim makes sure that the file is there and can be opened, by nobody else.
func (f *File) claim(ctx context.Context) (err error) {
	if f.name, err = filepath.Abs(f.name); err != nil {
		return err
	}
	info, err := os.Stat(f.name)
	switch {
	case err == nil && info.IsDir():
		return fault.Invalid("path", f.name, "a file, not a folder")
	case errors.Is(err, os.ErrNotExist) && f.opts.ReadOnly:
		return fmt.Errorf("%w: there is no file to read", fault.ErrNotFound)
	case errors.Is(err, os.ErrNotExist):
		if _, err := os.Stat(filepath.Dir(f.name)); err != nil {
			return fmt.Errorf("%w: the folder must exist", err)
		}
	case err != nil:
		return err
	}
	made := errors.Is(err, os.ErrNotExist)
	if f.Guard, err = Acquire(f.name); err != nil {
		return err
	}
	if made {
		if err := MakeFile(ctx, f.name); err != nil {
			return err
		}
	}
	f.Guard.created()
	return nil
}

// take locks the file and opens the database, as soon as no other process has it.
func (f *File) take(ctx context.Context) error {
	until := time.Now().Add(f.opts.Wait)
	for {
		err := f.takeNow(ctx)
		if !errors.Is(err, fault.ErrLocked) || !time.Now().Before(until) {
			return err
		}
		select {
		case <-time.After(takeAgain):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// takeAgain is how soon take looks again.
const takeAgain = 25 * time.Millisecond

func (f *File) takeNow(ctx context.Context) (err error) {
	if f.Guard == nil { // it is in memory
		return f.connect(ctx)
	}
	if f.Held, err = Hold(f.name, f.opts.ReadOnly); err != nil {
		return err
	}
	if !f.opts.ReadOnly {
		if err := os.RemoveAll(f.Shredding()); err != nil { // of a process that ended
			return err
		}
	}
	if err = f.connect(ctx); errors.Is(err, fault.ErrLocked) { // DuckDB's own lock, where we have none
		err = errors.Join(err, f.disconnect(), f.Held.release())
		f.Held = nil
	}
	return err
}

// Notices say what a crash had left of the file when it was opened, and what became of it; none when there was nothing to mend.
func (f *File) Notices() []string {
	if f.Held == nil {
		return nil
	}
	f.Using.RLock()
	defer f.Using.RUnlock()
	return slices.Clone(f.Held.notices)
}

// Path is the absolute name of the file, or ":memory:".
func (f *File) Path() string { return f.name }

// shut gives back whatever open had got so far.
func (f *File) shut() error {
	err := f.disconnect()
	if f.Held != nil {
		err = errors.Join(err, f.Held.release())
	}
	if f.Guard != nil {
		f.Guard.Release()
	}
	return err
}

// NewID gives an id that Options.NewID made, or says what is wrong with it. Whether it is taken shows when it is written.
func (f *File) NewID(prefix string, at time.Time) (string, error) {
	id := f.opts.NewID(prefix, at)
	if !strings.HasPrefix(id, prefix) || len(id) == len(prefix) || !ids.Valid.MatchString(id) {
		return "", fault.Invalid("what Options.NewID gave", id, fault.Quote(prefix)+" and up to 120 letters, digits, '.', '_', ':' or '-' after it")
	}
	return id, nil
}

// OpenBeside makes an instance that reads the file old, and has the file fresh beside it, unless that is empty. It has one connection.
func OpenBeside(ctx context.Context, old, fresh string, o setup.Options) (*sql.DB, error) {
	opened := false
	connector, err := duckdb.NewConnector(fmt.Sprintf(":memory:?threads=%d&memory_limit=%dMB", o.Threads, o.MemoryLimit), func(c driver.ExecerContext) error {
		if opened {
			return nil
		}
		opened = true
		path := func(name string) string { return strings.ReplaceAll(name, "'", "''") }
		if err := execText(ctx, c, sqlfiles.Query("configure"), "{temporary}", path(Temporary(cmp.Or(fresh, old), false))); err != nil {
			return err
		}
		if fresh != "" {
			if err := execText(ctx, c, sqlfiles.Query("attach"), "{path}", path(fresh), "{options}", ""); err != nil {
				return err
			}
		}
		if err := execText(ctx, c, sqlfiles.Query("attach_old"), "{path}", path(old)); err != nil {
			return err
		}
		return execText(ctx, c, sqlfiles.Query("seal"))
	})
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	if err := db.PingContext(ctx); err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}
