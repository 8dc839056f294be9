package upkeep

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/duckfile"
	"github.com/mallardmem/mallard/engine/internal/fault"
	sqlfiles "github.com/mallardmem/mallard/sql"
)

// Faults of what is stored, whatever it says.
const (
	badHeader = "header, or list of free blocks, that is not as it was written"
	badBlock  = "block whose checksum is wrong"
	badLog    = "log that is not as it was written"
	badTable  = "table that can't be read"
)

// checkStored reads every block in use, the log, and every value of every table. It names the tables in which there is nothing.
func (u *Upkeep) checkStored(ctx context.Context) (faults []Fault, empty map[string]bool, err error) {
	if u.file.Held != nil {
		if faults, err = u.checkBlocks(ctx); err != nil {
			return faults, nil, err
		}
		found, err := u.checkLog(ctx)
		if faults = append(faults, found...); err != nil {
			return faults, nil, err
		}
	}
	found, empty, err := u.checkTables(ctx)
	return append(faults, found...), empty, err
}

// checkBlocks reads the file's blocks. A checkpoint meanwhile writes some of them, and changes which are in use: what is found then is looked at once
// more, while nobody writes.
func (u *Upkeep) checkBlocks(ctx context.Context) ([]Fault, error) {
	leave, err := u.file.Enter(ctx)
	if err != nil {
		return nil, err
	}
	faults, before, err := u.verify(ctx)
	after, unread := duckfile.ReadFile(u.file.Held.File)
	leave()
	if err != nil || u.opts.ReadOnly || len(faults) == 0 && unread == nil && after.Iteration == before {
		return faults, err
	}
	if leave, err = u.file.EnterAlone(ctx); err != nil {
		return nil, err
	}
	defer leave()
	faults, _, err = u.verify(ctx)
	return faults, err
}

// verify reads headers and blocks. The file is in the state of that iteration.
func (u *Upkeep) verify(ctx context.Context) (faults []Fault, iteration uint64, err error) {
	var damaged []int64
	f, err := duckfile.ReadFile(u.file.Held.File)
	if err == nil {
		iteration = f.Iteration
		if f.Torn {
			faults = append(faults, Fault{badHeader, duck.ErrTornHeader.Error()})
		}
		damaged, err = f.Verify(func(done, total int64) error {
			u.opts.Progress("blocks", int(done), int(total))
			return ctx.Err()
		})
	}
	if errors.Is(err, duckfile.ErrDamaged) {
		faults, err = append(faults, Fault{badHeader, err.Error()}), nil
	}
	for _, number := range damaged {
		faults = append(faults, Fault{badBlock, fmt.Sprint(number)})
	}
	return faults, iteration, err
}

// checkLog reads the log as far as it is acknowledged, while nobody writes to it.
func (u *Upkeep) checkLog(ctx context.Context) ([]Fault, error) {
	enter := u.file.EnterAlone
	if u.opts.ReadOnly {
		enter = u.file.Enter
	}
	leave, err := enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	known := u.file.Held.Log
	if u.opts.ReadOnly {
		known, err = u.file.Held.Acknowledged()
	}
	if err != nil || known.Length == 0 {
		return nil, err
	}
	l, err := duck.ScanLog(u.file.Path() + duck.LogSuffix)
	if err != nil {
		return nil, err
	}
	switch {
	case l == nil:
		return []Fault{{badLog, fmt.Sprintf("it is gone, and had %d bytes", known.Length)}}, nil
	case l.Damaged < known.Length:
		return []Fault{{badLog, fmt.Sprintf("it is whole up to byte %d of %d", l.Damaged, known.Length)}}, nil
	case l.Named && (l.ID != known.ID || l.Iteration != known.Iteration):
		return []Fault{{badLog, "it names another file, or another state of it"}}, nil
	}
	return nil, nil
}

// soonRead is how many rows all tables may have that are read by one statement, of which nobody wants to be told how far it is.
const soonRead = 10_000

// checkTables reads every value of every table, and gives the names of the tables in which there is nothing. Those of a small file are read by one statement,
// which takes a third of the time of one for each, or one by one where it fails.
func (u *Upkeep) checkTables(ctx context.Context) (faults []Fault, empty map[string]bool, err error) {
	var tables []string
	var rows int64
	err = u.file.Lend(ctx, "check", func(c *duck.Conn) error {
		return c.Each(ctx, "stored_tables", func(r *sql.Rows) error {
			var table string
			var n int64
			err := r.Scan(&table, &n)
			tables, rows = append(tables, table), rows+n
			return err
		})
	})
	if err != nil {
		return nil, nil, err
	}
	empty = map[string]bool{}
	if rows <= soonRead {
		u.opts.Progress("tables", 0, len(tables))
		if err = u.readTables(ctx, empty, tables...); err == nil || ctx.Err() != nil {
			return nil, empty, err
		}
	}
	for n, table := range tables {
		u.opts.Progress("tables", n, len(tables))
		err := u.readTables(ctx, empty, table)
		switch {
		case err == nil || duck.IsOf(err, duckdb.ErrorTypeCatalog): // it was dropped since
		case ctx.Err() != nil || errors.Is(err, fault.ErrClosed) || errors.Is(err, fault.ErrMemory):
			return faults, empty, err
		default:
			faults = append(faults, Fault{badTable, table + ": " + duck.FirstLine(err.Error())})
		}
	}
	return faults, empty, nil
}

// readTables reads tables by one statement, which needs no transaction around it, and names those that are empty.
func (u *Upkeep) readTables(ctx context.Context, empty map[string]bool, tables ...string) error {
	var all []string
	for n, table := range tables {
		all = append(all, strings.NewReplacer("{number}", strconv.Itoa(n), "{table}", table).Replace(sqlfiles.Query("stored_values")))
	}
	return u.file.Lend(ctx, "check", func(c *duck.Conn) error {
		return c.EachValue(ctx, strings.Join(all, "\nUNION ALL\n"), func(row []driver.Value) error {
			n, isNumber := row[0].(int32)
			if !isNumber {
				return fmt.Errorf("unexpected number %T", row[0])
			}
			if row[1] == int64(0) {
				empty[tables[n]] = true
			}
			return nil
		})
	})
}
