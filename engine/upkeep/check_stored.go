package upkeep

import (
	"context"
	"errors"
	"fmt"

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

// checkStored reads every block in use, the log, and every value of every table.
func (u *Upkeep) checkStored(ctx context.Context) (faults []Fault, err error) {
	if u.file.Held != nil {
		if faults, err = u.checkBlocks(ctx); err != nil {
			return faults, err
		}
		found, err := u.checkLog(ctx)
		if faults = append(faults, found...); err != nil {
			return faults, err
		}
	}
	found, err := u.checkTables(ctx)
	return append(faults, found...), err
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

// checkTables reads every value of every table.
func (u *Upkeep) checkTables(ctx context.Context) (faults []Fault, err error) {
	var tables []string
	err = u.file.Lend(ctx, "check", func(c *duck.Conn) error {
		tables, err = duck.Column[string](ctx, c, "stored_tables")
		return err
	})
	for n, table := range tables {
		if err != nil {
			return faults, err
		}
		u.opts.Progress("tables", n, len(tables))
		err = u.file.Lend(ctx, "check", func(c *duck.Conn) error { // one statement needs no transaction around it
			var sum any
			return c.OneDDL(ctx, sqlfiles.Query("stored_values"), &sum, "{table}", table)
		})
		switch {
		case err == nil || ctx.Err() != nil || errors.Is(err, fault.ErrClosed) || errors.Is(err, fault.ErrMemory):
		case duck.IsOf(err, duckdb.ErrorTypeCatalog): // it was dropped since
			err = nil
		default:
			faults, err = append(faults, Fault{badTable, table + ": " + duck.FirstLine(err.Error())}), nil
		}
	}
	return faults, err
}
