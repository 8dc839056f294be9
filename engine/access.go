package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// read runs do in a transaction that sees one state of the file.
func (e *Engine) read(ctx context.Context, op string, do func(c *connection) error) error {
	return e.lend(ctx, op, func(c *connection) error {
		return c.reading(ctx, func() error { return do(c) })
	})
}

// lend runs do with a connection that nobody else has meanwhile. Do must not ask for another: all may be lent, each to somebody who waits.
func (e *Engine) lend(ctx context.Context, op string, do func(c *connection) error) error {
	leave, err := e.enter(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	defer leave()
	c, err := e.readers.take(ctx, e.newConnection)
	if err != nil {
		return fmt.Errorf("%s: %w", op, e.noted(err))
	}
	defer e.readers.giveBack(c)
	c.renew(e.size.Load())
	if err := do(c); err != nil {
		return fmt.Errorf("%s: %w", op, e.noted(err))
	}
	return nil
}

// write runs do in the only write transaction: all of it is done and on disk, or nothing.
func (e *Engine) write(ctx context.Context, op string, do func(c *connection) error) error {
	return e.writeThen(ctx, op, do, func() {})
}

// writeThen is write, and calls committed before anybody else writes.
func (e *Engine) writeThen(ctx context.Context, op string, do func(c *connection) error, committed func()) error {
	if e.opts.ReadOnly {
		return fmt.Errorf("%s: %w", op, e.readOnly())
	}
	if err := checkClock(e.now()); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	leave, err := e.enterAlone(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	defer leave()
	defer func() { e.conn.ease() }()
	if err := e.well(); err != nil { // it fell ill while this waited
		return fmt.Errorf("%s: %w", op, err)
	}
	e.conn.renew(e.size.Load())
	e.writes++
	err = e.conn.transaction(ctx, "BEGIN TRANSACTION", func() error {
		e.conn.written = 0
		return do(e.conn)
	})
	if err != nil {
		e.rolledBack()
		return fmt.Errorf("%s: %w", op, e.noted(e.undone(ctx, err)))
	}
	committed()
	e.keeper.written()
	return nil
}

// rolledBack has forgotten what was noted of rows that are not in the file. The caller has the writer's lock.
func (e *Engine) rolledBack() {
	for _, forget := range e.forgets {
		forget()
	}
}

// readOnly is ErrReadOnly, or ErrClosed when it is closed as well.
func (e *Engine) readOnly() error {
	if e.Closed() {
		return ErrClosed
	}
	return ErrReadOnly
}

// enter keeps the engine open, and its database as it is, until leave is called.
func (e *Engine) enter(ctx context.Context) (leave func(), err error) {
	for {
		e.using.RLock()
		if e.closed {
			e.using.RUnlock()
			return nil, ErrClosed
		}
		if e.ill.Load() == nil {
			return e.using.RUnlock, nil
		}
		e.using.RUnlock()
		if err := e.heal(ctx); err != nil {
			return nil, err
		}
	}
}

// enterAlone is enter with the writer's lock. Whoever has the lock may wait until nobody is in the database any more, so nobody who is may wait for the
// lock: it comes first.
func (e *Engine) enterAlone(ctx context.Context) (leave func(), err error) {
	if err := e.lock(ctx); err != nil {
		return nil, err
	}
	out, err := e.enter(ctx)
	if err != nil {
		e.unlock()
		return nil, err
	}
	return func() {
		out()
		e.unlock()
	}, nil
}

// lock waits for the writer's lock, or until the caller gives up.
func (e *Engine) lock(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case e.writer <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *Engine) unlock() { <-e.writer }

// reading runs do in a transaction that sees one state of the file.
func (c *connection) reading(ctx context.Context, do func() error) error {
	return c.transaction(ctx, "BEGIN TRANSACTION READ ONLY", do)
}

// errCommit is wrapped by the error of a COMMIT.
var errCommit = errors.New("commit")

// transaction commits what do did, or rolls it back. Its ends are not to be interrupted: one that began and says that it did not would
// stay open, and the connection be of no more use.
func (c *connection) transaction(ctx context.Context, begin string, do func() error) (err error) {
	c.step()
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := c.conn.ExecContext(context.WithoutCancel(ctx), begin); err != nil {
		return err
	}
	done := false
	defer func() {
		if !done { // also when do panics
			_, err := c.conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
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
	if _, err := c.conn.ExecContext(context.WithoutCancel(ctx), "COMMIT"); err != nil {
		done, c.spoiled = true, true // DuckDB has rolled it back, or can't any more
		return fmt.Errorf("%w: %w", errCommit, err)
	}
	done = true
	if c.committed != nil {
		return c.committed()
	}
	return nil
}

// cancelled is why a transaction ended. A statement that is stopped while it is planned says that it was, but not that its context did it.
func cancelled(ctx context.Context, err error) error {
	if why := ctx.Err(); why != nil && !errors.Is(err, why) && strings.Contains(err.Error(), "INTERRUPT") {
		return fmt.Errorf("%w: %w", why, err)
	}
	return err
}
