package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/mallardmem/mallard/engine/internal/duckfile"
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
func (e *Engine) checkStored(ctx context.Context) (faults []Fault, err error) {
	if e.held != nil {
		if faults, err = e.checkBlocks(ctx); err != nil {
			return faults, err
		}
		found, err := e.checkLog(ctx)
		if faults = append(faults, found...); err != nil {
			return faults, err
		}
	}
	found, err := e.checkTables(ctx)
	return append(faults, found...), err
}

// checkBlocks reads the file's blocks. A checkpoint meanwhile writes some of them, and changes which are in use: what is found then is looked at once
// more, while nobody writes.
func (e *Engine) checkBlocks(ctx context.Context) ([]Fault, error) {
	leave, err := e.enter(ctx)
	if err != nil {
		return nil, err
	}
	faults, before, err := e.verify(ctx)
	after, unread := duckfile.ReadFile(e.held.file)
	leave()
	if err != nil || e.opts.ReadOnly || len(faults) == 0 && unread == nil && after.Iteration == before {
		return faults, err
	}
	if leave, err = e.enterAlone(ctx); err != nil {
		return nil, err
	}
	defer leave()
	faults, _, err = e.verify(ctx)
	return faults, err
}

// verify reads headers and blocks. The file is in the state of that iteration.
func (e *Engine) verify(ctx context.Context) (faults []Fault, iteration uint64, err error) {
	var damaged []int64
	f, err := duckfile.ReadFile(e.held.file)
	if err == nil {
		iteration = f.Iteration
		if f.Torn {
			faults = append(faults, Fault{badHeader, errTornHeader.Error()})
		}
		damaged, err = f.Verify(func(done, total int64) error {
			e.opts.Progress("blocks", int(done), int(total))
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
func (e *Engine) checkLog(ctx context.Context) ([]Fault, error) {
	enter := e.enterAlone
	if e.opts.ReadOnly {
		enter = e.enter
	}
	leave, err := enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	known := e.held.log
	if e.opts.ReadOnly {
		known, err = e.held.acknowledged()
	}
	if err != nil || known.Length == 0 {
		return nil, err
	}
	l, err := scanLog(e.path + logSuffix)
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

// acknowledged is what the witness says of the log of a file that is only read; its length is 0 where it says nothing.
func (h *held) acknowledged() (last duckfile.Acknowledged, err error) {
	f, err := duckfile.ReadFile(h.file)
	if err != nil {
		return last, err
	}
	last, known, err := duckfile.ReadWitness(h.path + witnessSuffix)
	if !known || last.ID != f.ID || last.Iteration != f.Iteration {
		last = duckfile.Acknowledged{}
	}
	return last, err
}

// checkTables reads every value of every table.
func (e *Engine) checkTables(ctx context.Context) (faults []Fault, err error) {
	var tables []string
	err = e.read(ctx, "check", func(c *connection) error {
		return c.each(ctx, "stored_tables", func(rows *sql.Rows) error {
			var name string
			defer func() { tables = append(tables, name) }()
			return rows.Scan(&name)
		})
	})
	for n, table := range tables {
		if err != nil {
			return faults, err
		}
		e.opts.Progress("tables", n, len(tables))
		err = e.read(ctx, "check", func(c *connection) error {
			var sum any
			return c.oneDDL(ctx, sqlfiles.Query("stored_values"), &sum, "{table}", table)
		})
		switch {
		case err == nil || ctx.Err() != nil || errors.Is(err, ErrClosed) || errors.Is(err, ErrMemory):
		case isOf(err, duckdb.ErrorTypeCatalog): // it was dropped since
			err = nil
		default:
			faults, err = append(faults, Fault{badTable, table + ": " + firstLine(err.Error())}), nil
		}
	}
	return faults, err
}
