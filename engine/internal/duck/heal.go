package duck

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mallardmem/mallard/engine/internal/duckfile"
	"github.com/mallardmem/mallard/engine/internal/fault"
)

// Between two attempts to open a database anew.
const (
	shortestPause = time.Second
	longestPause  = time.Minute
)

// healing is what heal knows of earlier attempts. File.Using, held for writing, owns it.
type healing struct {
	pause time.Duration
	Next  time.Time // not before
	Times int       // that it was opened anew
}

// Noted gives an error the sentinel of its kind. After one that leaves DuckDB unusable, the next call opens the database anew.
func (f *File) Noted(err error) error {
	kind := kindOf(err)
	if kind == nil {
		return err
	}
	switch {
	case errors.Is(err, kind):
	case kind == fault.ErrMemory: // without the advice of DuckDB, whose settings are locked
		err = fmt.Errorf("%w: Options.MemoryLimit of %d MB is too little; open with more: %s", kind, f.opts.MemoryLimit, FirstLine(err.Error()))
	default:
		err = fmt.Errorf("%w: %w", kind, err)
	}
	switch {
	case Invalidates(err):
		f.FallIll(err)
	case kind == fault.ErrMemory:
		f.Readers.relieve()
	}
	return err
}

// FallIll has the next call open the database anew.
func (f *File) FallIll(why error) { f.ill.CompareAndSwap(nil, &why) }

// Well is why the database is of no use now; nil: it is.
func (f *File) Well() error {
	if why := f.ill.Load(); why != nil {
		return *why
	}
	return nil
}

// heal opens the database anew after it fell ill. It waits until the calls under way have got their errors. At most one attempt is made a second,
// and fewer while they come often.
func (f *File) heal(ctx context.Context) error {
	f.Using.Lock()
	defer f.Using.Unlock()
	why := f.Well()
	if f.closed || why == nil {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if f.Held == nil {
		return fmt.Errorf("%w; a file in memory can't be opened anew", why)
	}
	now := time.Now()
	h := &f.Healing
	if now.Before(h.Next) {
		return fmt.Errorf("%w; the database is opened anew in %v", why, h.Next.Sub(now).Round(time.Millisecond))
	}
	if now.Sub(h.Next) > longestPause { // it was well for long
		h.pause = shortestPause / 2
	}
	h.pause = min(2*h.pause, longestPause)
	h.Next = now.Add(h.pause)
	f.disconnect() // says nothing that is not known
	if err := f.connect(context.WithoutCancel(ctx)); err != nil {
		err = fmt.Errorf("opening the database anew, after %w: %w", why, err)
		f.ill.Store(&err)
		return err
	}
	h.Times++
	f.ill.Store(nil)
	return nil
}

// undone looks, after a write that failed, whether its transaction is in the log after all, and takes it out: what failed was not written. The
// database is opened anew after a COMMIT that failed. DuckDB takes back the rows it had added, but not all that it knows of them: rows that are added in their place
// later are stored, and never seen. The caller has the writer's lock.
func (f *File) undone(ctx context.Context, failed error) error {
	if !errors.Is(failed, ErrCommit) || f.Held == nil {
		return f.renewWriter(ctx, failed)
	}
	if kindOf(failed) == nil {
		failed = fmt.Errorf("%w: %w", fault.ErrInternal, failed)
	}
	f.FallIll(failed)
	f.Held.untold = true
	if err := f.Held.untell(); err != nil {
		return fmt.Errorf("%w; whether it was written is not known before the file is opened again: %w", failed, err)
	}
	return failed
}

// renewWriter takes another connection for writing where the last one could not end its transaction.
func (f *File) renewWriter(ctx context.Context, failed error) error {
	if !f.Conn.spoiled || Invalidates(failed) {
		return failed
	}
	f.Conn.Close()
	conn, err := f.newWriter(context.WithoutCancel(ctx))
	if err != nil {
		f.FallIll(fmt.Errorf("%w: %w", fault.ErrInternal, err))
		return errors.Join(failed, err)
	}
	f.Conn = conn
	return failed
}

// Exchange closes the database, gives the new file the name of the old one, and opens it; between the two it calls between. It waits until nobody is in the database. The caller has the
// writer's lock.
func (f *File) Exchange(ctx context.Context, next *Held, state *duckfile.File, between func() error) error {
	f.Using.Lock()
	defer f.Using.Unlock()
	if f.closed {
		return fault.ErrClosed
	}
	if err := errors.Join(f.Well(), ctx.Err()); err != nil {
		return err
	}
	f.disconnect()            // what it could say is no news: everything is in the copy
	err := f.Held.lock(false) // DuckDB's closing gave it up
	if err == nil {
		err = f.Held.unchanged(state)
	}
	if err == nil {
		err = f.Held.become(next, f.Guard.Path)
	}
	if err == nil {
		f.Guard.created()
		err = between()
	}
	if failed := f.connect(context.WithoutCancel(ctx)); failed != nil {
		failed = fmt.Errorf("%w: opening the database anew: %w", fault.ErrInternal, failed)
		f.FallIll(failed)
		err = errors.Join(err, failed)
	}
	return err
}
