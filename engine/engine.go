package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mallardmem/mallard/engine/text"
	sqlfiles "github.com/mallardmem/mallard/sql"
)

// Engine is an open memory file. All methods are safe for concurrent use: reads run side by side, writes one after another.
type Engine struct {
	path      string
	opts      Options
	guard     *guard
	db        *sql.DB
	analyzer  *text.Analyzer
	estimator text.Estimator   // of new conversations
	readers   chan *connection // idle ones

	using  sync.RWMutex // held for reading by every operation, for writing by Close
	closed bool

	writer   chan struct{} // has a token while somebody writes: the writer's lock, which owns the fields below
	conn     *connection
	words    wordCache
	reserved []int32 // numbers for documents
	unmarked bool    // the file says that its fts index is stale; false: it may say so
	grown    *grown  // the conversation of the last write, if that was an Append

	models sync.RWMutex // with the writer's lock, to change what is below; either is enough to read it
	chosen model        // the file's embedding model; zero: none yet
	scopes atomic.Pointer[Scopes]
	size   atomic.Int64 // documents in the file, about
	grants grants

	compacting taken
	tried      inVain
	model      modelGuard
}

// Open opens or creates a memory file; ":memory:" is one that is gone after Close. Errors: ErrInvalid for bad options,
// ErrLocked, ErrSchemaTooNew, ErrMigrationChanged, ErrModelMismatch, ErrCorrupt.
func Open(ctx context.Context, path string, o Options) (*Engine, error) {
	e, err := open(ctx, path, o)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return e, nil
}

func open(ctx context.Context, path string, o Options) (_ *Engine, err error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	estimator, err := text.NewEstimator(o.Conversation.Estimator)
	if err != nil {
		return nil, err
	}
	e := &Engine{path: path, opts: o, estimator: estimator, readers: make(chan *connection, o.Threads), writer: make(chan struct{}, 1),
		model: modelGuard{o: o.Conversation, now: o.Now}}
	defer func() {
		if err != nil {
			e.shut()
		}
	}()
	if path == "" {
		return nil, invalid("path", path, "a file name, or :memory:")
	}
	if path != ":memory:" {
		if err := e.claim(); err != nil {
			return nil, err
		}
	}
	if e.db, err = openDatabase(ctx, e.path, o); err != nil {
		return nil, err
	}
	if e.guard != nil {
		e.guard.created()
	}
	if e.conn, err = newConnection(ctx, e.db); err != nil {
		return nil, err
	}
	if err := e.migrate(ctx); err != nil {
		return nil, err
	}
	if err := e.adoptLanguage(ctx); err != nil {
		return nil, err
	}
	if err := e.adoptScopes(ctx); err != nil {
		return nil, err
	}
	if err := e.adoptModel(ctx); err != nil {
		return nil, err
	}
	var size int64
	if _, err := e.conn.one(ctx, "documents_count", []any{&size}); err != nil {
		return nil, err
	}
	e.size.Store(size)
	return e, nil
}

// now is the time as the file keeps it.
func (e *Engine) now() time.Time { return utc(e.opts.Now()) }

// claim makes sure that the file can be opened, and by nobody else in this process.
func (e *Engine) claim() (err error) {
	if e.path, err = filepath.Abs(e.path); err != nil {
		return err
	}
	info, err := os.Stat(e.path)
	switch {
	case err == nil && info.IsDir():
		return invalid("path", e.path, "a file, not a folder")
	case errors.Is(err, os.ErrNotExist) && e.opts.ReadOnly:
		return fmt.Errorf("%w: there is no file to read", ErrNotFound)
	case errors.Is(err, os.ErrNotExist):
		if _, err := os.Stat(filepath.Dir(e.path)); err != nil {
			return fmt.Errorf("%w: the folder must exist", err)
		}
	case err != nil:
		return err
	}
	e.guard, err = acquire(e.path)
	return err
}

// adoptLanguage makes the tokenizer of the file's language, which a new file takes from the options.
func (e *Engine) adoptLanguage(ctx context.Context) error {
	language := e.opts.Language
	found, err := e.setting(ctx, e.conn, "language", &language)
	if err != nil {
		return err
	}
	if !found && !e.opts.ReadOnly {
		if err := e.putSetting(ctx, e.conn, "language", language); err != nil {
			return err
		}
	}
	if e.analyzer, err = text.NewAnalyzer(language); err != nil {
		return fmt.Errorf("%w: setting language: %w", ErrCorrupt, err)
	}
	return nil
}

// Path is the absolute name of the file, or ":memory:".
func (e *Engine) Path() string { return e.path }

// Language is the one of the file's tokenizer.
func (e *Engine) Language(ctx context.Context) (language string, err error) {
	err = e.read(ctx, "language", func(c *connection) error {
		_, err := e.setting(ctx, c, "language", &language)
		return err
	})
	return language, err
}

// Close waits for running operations, writes everything to the file and gives it up. Further calls do nothing.
func (e *Engine) Close() error {
	e.using.Lock()
	defer e.using.Unlock()
	if e.closed {
		return nil
	}
	e.closed = true
	var flush error
	if !e.opts.ReadOnly {
		_, flush = e.conn.conn.ExecContext(context.Background(), sqlfiles.Query("checkpoint"))
	}
	if err := errors.Join(flush, e.shut()); err != nil {
		return fmt.Errorf("close %s: %w", e.path, err)
	}
	return nil
}

// shut gives back whatever open had got so far.
func (e *Engine) shut() error {
	var errs []error
	for len(e.readers) > 0 {
		errs = append(errs, (<-e.readers).close())
	}
	if e.conn != nil {
		errs = append(errs, e.conn.close())
	}
	if e.db != nil {
		errs = append(errs, e.db.Close())
	}
	if e.guard != nil {
		e.guard.release()
	}
	return errors.Join(errs...)
}

// read runs do in a transaction that sees one state of the file.
func (e *Engine) read(ctx context.Context, op string, do func(c *connection) error) error {
	return e.lend(ctx, op, func(c *connection) error {
		return c.reading(ctx, func() error { return do(c) })
	})
}

// lend runs do with a connection that nobody else has meanwhile.
func (e *Engine) lend(ctx context.Context, op string, do func(c *connection) error) error {
	e.using.RLock()
	defer e.using.RUnlock()
	if e.closed {
		return fmt.Errorf("%s: %w", op, ErrClosed)
	}
	c, err := e.reader(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	defer e.giveBack(c)
	c.renew(e.size.Load())
	if err := do(c); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return nil
}

// write runs do in the only write transaction: all of it is done and on disk, or nothing.
func (e *Engine) write(ctx context.Context, op string, do func(c *connection) error) error {
	return e.writeThen(ctx, op, do, func() {})
}

// writeThen is write, and calls committed before anybody else writes.
func (e *Engine) writeThen(ctx context.Context, op string, do func(c *connection) error, committed func()) error {
	e.using.RLock()
	defer e.using.RUnlock()
	if e.closed {
		return fmt.Errorf("%s: %w", op, ErrClosed)
	}
	if e.opts.ReadOnly {
		return fmt.Errorf("%s: %w", op, ErrReadOnly)
	}
	if err := e.lock(ctx); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	defer e.unlock()
	e.conn.renew(e.size.Load())
	grown := e.grown
	err := e.conn.transaction(ctx, "BEGIN TRANSACTION", func() error {
		e.conn.written = 0
		if err := do(e.conn); err != nil {
			return err
		}
		return e.conn.limitLog(ctx)
	})
	if err != nil {
		e.words.forget() // it may hold numbers that were rolled back
		e.reserved, e.unmarked, e.grown = nil, false, nil
		return fmt.Errorf("%s: %w", op, err)
	}
	if e.grown == grown { // something else was written
		e.grown = nil
	}
	committed()
	return nil
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
			c.conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		}
	}()
	if err := do(); err != nil {
		return cancelled(ctx, err)
	}
	c.step()
	if _, err := c.conn.ExecContext(context.WithoutCancel(ctx), "COMMIT"); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	done = true
	return nil
}

// cancelled is why a transaction ended. A statement that is stopped while it is planned says that it was, but not that its context did it.
func cancelled(ctx context.Context, err error) error {
	if why := ctx.Err(); why != nil && !errors.Is(err, why) && strings.Contains(err.Error(), "INTERRUPT") {
		return fmt.Errorf("%w: %w", why, err)
	}
	return err
}

func (e *Engine) reader(ctx context.Context) (*connection, error) {
	select {
	case c := <-e.readers:
		return c, nil
	default:
		return newConnection(ctx, e.db)
	}
}

func (e *Engine) giveBack(c *connection) {
	select {
	case e.readers <- c:
	default:
		c.close()
	}
}
