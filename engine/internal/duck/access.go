package duck

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/mallardmem/mallard/engine/internal/fault"
)

// Read runs do in a transaction that sees one state of the file.
func (f *File) Read(ctx context.Context, op string, do func(c *Conn) error) error {
	return f.Lend(ctx, op, func(c *Conn) error {
		return c.Reading(ctx, func() error { return do(c) })
	})
}

// Lend runs do with a connection that nobody else has meanwhile. Do must not ask for another: all may be lent, each to somebody who waits.
func (f *File) Lend(ctx context.Context, op string, do func(c *Conn) error) error {
	leave, err := f.Enter(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	defer leave()
	c, err := f.Readers.take(ctx, f.NewConnection)
	if err != nil {
		return fmt.Errorf("%s: %w", op, f.Noted(err))
	}
	defer f.Readers.giveBack(c)
	c.renew(f.Size.Load())
	if err := do(c); err != nil {
		return fmt.Errorf("%s: %w", op, f.Noted(cancelled(ctx, err)))
	}
	return nil
}

// Write runs do in the only write transaction: all of it is done and on disk, or nothing.
func (f *File) Write(ctx context.Context, op string, do func(tx *Write) error) error {
	return f.WriteThen(ctx, op, do, func() {})
}

// WriteThen is Write, and calls committed before anybody else writes.
func (f *File) WriteThen(ctx context.Context, op string, do func(tx *Write) error, committed func()) error {
	if f.opts.ReadOnly {
		return fmt.Errorf("%s: %w", op, f.ReadOnly())
	}
	if err := CheckClock(f.Now()); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	leave, err := f.EnterAlone(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	defer leave()
	defer func() { f.Conn.ease() }()
	if err := f.Well(); err != nil { // it fell ill while this waited
		return fmt.Errorf("%s: %w", op, err)
	}
	f.Conn.renew(f.Size.Load())
	f.Writes++
	settled := false
	defer func() {
		if !settled { // do panicked
			f.rolledBack()
		}
	}()
	err = f.Conn.writing(ctx, func(tx *Write) error {
		tx.Written = 0
		if err := do(tx); err != nil {
			return err
		}
		call(f.about)
		return nil
	})
	settled = true
	if err != nil {
		f.rolledBack()
		return fmt.Errorf("%s: %w", op, f.Noted(f.undone(ctx, err)))
	}
	call(f.kept)
	committed()
	f.keeper.written()
	return nil
}

// rolledBack has forgotten what was noted of rows that are not in the file. The caller has the writer's lock.
func (f *File) rolledBack() { call(f.forgets) }

func call(all []func()) {
	for _, do := range all {
		do()
	}
}

// ReadOnly is ErrReadOnly, or ErrClosed when it is closed as well.
func (f *File) ReadOnly() error {
	if f.Closed() {
		return fault.ErrClosed
	}
	return fault.ErrReadOnly
}

// Enter keeps the engine open, and its database as it is, until leave is called.
func (f *File) Enter(ctx context.Context) (leave func(), err error) {
	for {
		f.Using.RLock()
		if f.closed {
			f.Using.RUnlock()
			return nil, fault.ErrClosed
		}
		if f.ill.Load() == nil {
			return f.Using.RUnlock, nil
		}
		f.Using.RUnlock()
		if err := f.heal(ctx); err != nil {
			return nil, err
		}
	}
}

// EnterAlone is Enter with the writer's lock. Whoever has the lock may wait until nobody is in the database any more, so nobody who is may wait for the
// lock: it comes first.
func (f *File) EnterAlone(ctx context.Context) (leave func(), err error) {
	if err := f.Lock(ctx); err != nil {
		return nil, err
	}
	out, err := f.Enter(ctx)
	if err != nil {
		f.Unlock()
		return nil, err
	}
	return func() {
		out()
		f.Unlock()
	}, nil
}

// Lock waits for the writer's lock, or until the caller gives up.
func (f *File) Lock(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case f.Writer <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Unlock gives the writer's lock up.
func (f *File) Unlock() { <-f.Writer }

// Reading runs do in a transaction that sees one state of the file.
func (c *Conn) Reading(ctx context.Context, do func() error) error {
	return c.transaction(ctx, "BEGIN TRANSACTION READ ONLY", do)
}

// See has the transaction see the file as it is now, and as that stays: else it would as its first statement finds it.
func (c *Conn) See(ctx context.Context) error {
	return c.Each(ctx, "see", func(*sql.Rows) error { return nil })
}

// Passing is Reading for what also puts rows into temporary tables: it takes them back in the end, so that they need not be deleted.
func (c *Conn) Passing(ctx context.Context, do func() error) (err error) {
	c.step()
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := c.boundary(ctx, "BEGIN TRANSACTION READ ONLY"); err != nil {
		return err
	}
	defer func() { // also when do panics
		failed := c.boundary(ctx, "ROLLBACK")
		c.spoiled = c.spoiled || failed != nil
	}()
	return do()
}

// Write is a transaction that may write to the file: all of it is committed, or nothing. Only the file makes one, for what is given to Write, WriteThen
// or Prepare; what takes one writes, what takes a Conn only reads.
type Write struct{ *Conn }

// writing runs do in a transaction that may write.
func (c *Conn) writing(ctx context.Context, do func(tx *Write) error) error {
	return c.transaction(ctx, "BEGIN TRANSACTION", func() error { return do(&Write{c}) })
}

// Prepare is Write for whoever opens the file, before anybody else has it.
func (f *File) Prepare(ctx context.Context, do func(tx *Write) error) error {
	return f.Conn.writing(ctx, do)
}

// ErrCommit is wrapped by the error of a COMMIT.
var ErrCommit = errors.New("commit")

// transaction commits what do did, or rolls it back. Its ends are not to be interrupted: one that began and says that it did not would
// stay open, and the connection be of no more use.
func (c *Conn) transaction(ctx context.Context, begin string, do func() error) (err error) {
	c.step()
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := c.boundary(ctx, begin); err != nil {
		return err
	}
	done := false
	defer func() {
		if !done { // also when do panics
			err := c.boundary(ctx, "ROLLBACK")
			c.spoiled = c.spoiled || err != nil
		}
	}()
	if err := do(); err != nil {
		return cancelled(ctx, err)
	}
	if c.committing != nil {
		if err := c.committing(); err != nil {
			return err
		}
	}
	c.step()
	if err := c.boundary(ctx, "COMMIT"); err != nil {
		done, c.spoiled = true, true // DuckDB has rolled it back, or can't any more
		return fmt.Errorf("%w: %w", ErrCommit, err)
	}
	done = true
	if c.Committed != nil {
		return c.Committed()
	}
	return nil
}
