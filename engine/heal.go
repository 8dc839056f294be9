package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/mallardmem/mallard/engine/internal/duckfile"
)

// Between two attempts to open a database anew.
const (
	shortestPause = time.Second
	longestPause  = time.Minute
)

// healing is what heal knows of earlier attempts. Engine.using, held for writing, owns it.
type healing struct {
	pause time.Duration
	next  time.Time // not before
	times int       // that it was opened anew
}

// noted gives an error the sentinel of its kind. After one that leaves DuckDB unusable, the next call opens the database anew.
func (e *Engine) noted(err error) error {
	kind := kindOf(err)
	if kind == nil {
		return err
	}
	switch {
	case errors.Is(err, kind):
	case kind == ErrMemory: // without the advice of DuckDB, whose settings are locked
		err = fmt.Errorf("%w: Options.MemoryLimit of %d MB is too little; open with more: %s", kind, e.opts.MemoryLimit, firstLine(err.Error()))
	default:
		err = fmt.Errorf("%w: %w", kind, err)
	}
	switch {
	case invalidates(err):
		e.fallIll(err)
	case kind == ErrMemory:
		e.readers.relieve()
	}
	return err
}

// fallIll has the next call open the database anew.
func (e *Engine) fallIll(why error) { e.ill.CompareAndSwap(nil, &why) }

// well is why the database is of no use now; nil: it is.
func (e *Engine) well() error {
	if why := e.ill.Load(); why != nil {
		return *why
	}
	return nil
}

// kindOf is the sentinel for an error of DuckDB or of the disk, or nil.
func kindOf(err error) error {
	switch {
	case errors.Is(err, ErrDiskFull) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) ||
		strings.Contains(err.Error(), "No space left on device") || strings.Contains(err.Error(), "Disk quota exceeded"): // DuckDB says it in words alone
		return ErrDiskFull
	case invalidates(err):
		return ErrInternal
	case isOf(err, duckdb.ErrorTypeOutOfMemory):
		return ErrMemory
	}
	return nil
}

// invalidates reports whether DuckDB answers nothing any more after such an error.
func invalidates(err error) bool {
	return isOf(err, duckdb.ErrorTypeInternal, duckdb.ErrorTypeFatal) ||
		slices.ContainsFunc(errorsIn(err), func(e *duckdb.Error) bool { return strings.Contains(e.Msg, "has been invalidated") })
}

func isOf(err error, types ...duckdb.ErrorType) bool {
	return slices.ContainsFunc(errorsIn(err), func(e *duckdb.Error) bool { return slices.Contains(types, e.Type) })
}

// errorsIn gives the errors of DuckDB in err, which may join several.
func errorsIn(err error) (found []*duckdb.Error) {
	switch wrapped := err.(type) {
	case *duckdb.Error:
		return []*duckdb.Error{wrapped}
	case interface{ Unwrap() error }:
		return errorsIn(wrapped.Unwrap())
	case interface{ Unwrap() []error }:
		for _, e := range wrapped.Unwrap() {
			found = append(found, errorsIn(e)...)
		}
	}
	return found
}

// heal opens the database anew after it fell ill. It waits until the calls under way have got their errors. At most one attempt is made a second,
// and fewer while they come often.
func (e *Engine) heal(ctx context.Context) error {
	e.using.Lock()
	defer e.using.Unlock()
	why := e.well()
	if e.closed || why == nil {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if e.held == nil {
		return fmt.Errorf("%w; a file in memory can't be opened anew", why)
	}
	now := time.Now()
	h := &e.healing
	if now.Before(h.next) {
		return fmt.Errorf("%w; the database is opened anew in %v", why, h.next.Sub(now).Round(time.Millisecond))
	}
	if now.Sub(h.next) > longestPause { // it was well for long
		h.pause = shortestPause / 2
	}
	h.pause = min(2*h.pause, longestPause)
	h.next = now.Add(h.pause)
	e.disconnect() // says nothing that is not known
	if err := e.connect(context.WithoutCancel(ctx)); err != nil {
		err = fmt.Errorf("opening the database anew, after %w: %w", why, err)
		e.ill.Store(&err)
		return err
	}
	h.times++
	e.ill.Store(nil)
	return nil
}

// undone looks, after a write that failed, whether its transaction is in the log after all, and takes it out: what failed was not written. The
// database is opened anew after a COMMIT that failed. DuckDB takes back the rows it had added, but not all that it knows of them: rows that are added in their place
// later are stored, and never seen. The caller has the writer's lock.
func (e *Engine) undone(ctx context.Context, failed error) error {
	if !errors.Is(failed, errCommit) || e.held == nil {
		return e.renewWriter(ctx, failed)
	}
	if kindOf(failed) == nil {
		failed = fmt.Errorf("%w: %w", ErrInternal, failed)
	}
	e.fallIll(failed)
	e.held.untold = true
	if err := e.held.untell(); err != nil {
		return fmt.Errorf("%w; whether it was written is not known before the file is opened again: %w", failed, err)
	}
	return failed
}

// renewWriter takes another connection for writing where the last one could not end its transaction.
func (e *Engine) renewWriter(ctx context.Context, failed error) error {
	if !e.conn.spoiled || invalidates(failed) {
		return failed
	}
	e.conn.close()
	conn, err := e.newWriter(context.WithoutCancel(ctx))
	if err != nil {
		e.fallIll(fmt.Errorf("%w: %w", ErrInternal, err))
		return errors.Join(failed, err)
	}
	e.conn = conn
	return failed
}

// exchange closes the database, gives the new file the name of the old one, and opens it; between the two it calls between. It waits until nobody is in the database. The caller has the
// writer's lock.
func (e *Engine) exchange(ctx context.Context, next *held, state *duckfile.File, between func() error) error {
	e.using.Lock()
	defer e.using.Unlock()
	if e.closed {
		return ErrClosed
	}
	if err := errors.Join(e.well(), ctx.Err()); err != nil {
		return err
	}
	e.disconnect()            // what it could say is no news: everything is in the copy
	err := e.held.lock(false) // DuckDB's closing gave it up
	if err == nil {
		err = e.held.unchanged(state)
	}
	if err == nil {
		err = e.held.become(next, e.guard.path)
	}
	if err == nil {
		e.guard.created()
		err = between()
	}
	if failed := e.connect(context.WithoutCancel(ctx)); failed != nil {
		failed = fmt.Errorf("%w: opening the database anew: %w", ErrInternal, failed)
		e.fallIll(failed)
		err = errors.Join(err, failed)
	}
	return err
}
