package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/scope"
	"github.com/mallardmem/mallard/engine/text"
)

// Engine is an open memory file. All methods are safe for concurrent use: reads run side by side, writes one after another.
type Engine struct {
	path      string
	opts      Options
	guard     *guard
	held      *held   // nil: in memory
	db        *sql.DB // using protects it, and what is made of it
	analyzer  *text.Analyzer
	estimator text.Estimator // of new conversations
	readers   *readers

	using    sync.RWMutex // held for reading by every operation, for writing by Close and heal
	closed   bool
	ill      atomic.Pointer[error] // why the database must be opened anew; nil: it need not
	healing  healing
	keeper   *keeper        // nil: nothing is written, or in memory
	attached []func() error // end what Attach began

	writer   chan struct{} // has a token while somebody writes: the writer's lock, which owns the fields below
	conn     *connection
	words    wordCache
	reserved []int32  // numbers for documents
	unmarked bool     // the file says that its fts index is stale; false: it may say so
	grown    *grown   // the conversation of the last Append
	writes   int64    // how many were begun
	forgets  []func() // what rooms do when a write is rolled back, or the database closed; set before the first

	models sync.RWMutex // with the writer's lock, to change what is below; either is enough to read it
	chosen model        // the file's embedding model; zero: none yet
	next   model        // whose vectors RebuildIndex makes, to take the place of chosen; zero: none
	scopes atomic.Pointer[scope.Scopes]
	size   atomic.Int64 // documents in the file, about
	grants grants

	compacting taken
	tried      inVain
	model      modelGuard
	gates      gates
	sources    []source
}

// Attach begins something that goes on while the file is open, such as share.Serve of engine/share; Close calls end before it closes the file.
type Attach func(e *Engine) (end func() error, err error)

// Open opens or creates a memory file; ":memory:" is one that is gone after Close. Errors: ErrInvalid for bad options,
// ErrLocked, ErrSchemaTooNew, ErrMigrationChanged, ErrModelMismatch, ErrCorrupt; and what attach gives.
func Open(ctx context.Context, path string, o Options, attach ...Attach) (*Engine, error) {
	e, err := open(ctx, path, o)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	for _, begin := range attach {
		end, err := begin(e)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), e.Close())
		}
		e.attached = append(e.attached, end)
	}
	return e, nil
}

func open(ctx context.Context, path string, o Options) (_ *Engine, err error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	if err := checkClock(utc(o.Now())); err != nil {
		return nil, err
	}
	estimator, err := text.NewEstimator(o.Conversation.Estimator)
	if err != nil {
		return nil, err
	}
	e := &Engine{path: path, opts: o, estimator: estimator, readers: newReaders(o), writer: make(chan struct{}, 1),
		model: modelGuard{o: o.Conversation, now: o.Now}}
	e.forgets = []func(){e.forgetIndex, e.forgetGrown}
	e.sources = []source{memorySource(e), messageSource(e), summarySource(e)}
	e.gates = newGates(o.Conversation)
	defer func() {
		if err != nil {
			e.shut()
		}
	}()
	if path == "" {
		return nil, fault.Invalid("path", path, "a file name, or :memory:")
	}
	if path != ":memory:" {
		if err := e.claim(ctx); err != nil {
			return nil, err
		}
	}
	if err := e.take(ctx); err != nil {
		return nil, err
	}
	if e.held != nil && !o.ReadOnly {
		if err := e.clearUnfinished(); err != nil {
			return nil, err
		}
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
	if e.held == nil || o.ReadOnly {
		return e, nil
	}
	if err := e.held.committed(); err != nil { // what was written since
		return nil, err
	}
	e.keeper = newKeeper(e)
	return e, nil
}

// connect opens the database, after a crash has been mended. Nobody else uses the engine meanwhile.
func (e *Engine) connect(ctx context.Context) (err error) {
	if e.held != nil {
		if err := e.held.lock(e.opts.ReadOnly); err != nil {
			return err
		}
		if e.opts.ReadOnly {
			_, err = e.held.look()
		} else {
			err = errors.Join(e.held.mend(time.Now()), clearTemporary(e.path))
		}
		if err != nil {
			return e.unmended(err)
		}
	}
	if e.db, err = openDatabase(ctx, e.path, e.opts); err != nil {
		return e.unmended(err)
	}
	if e.conn, err = e.newWriter(ctx); err != nil {
		return err
	}
	return nil
}

// unmended adds to why a file can't be opened for reading what a writer can do about it.
func (e *Engine) unmended(err error) error {
	if e.opts.ReadOnly && errors.Is(err, ErrCorrupt) && (exists(e.path+logSuffix) || exists(e.path+journalSuffix)) {
		err = fmt.Errorf("%w; if a crash left it so, opening it once for writing mends it", err)
	}
	return err
}

// newWriter makes the connection that writes.
func (e *Engine) newWriter(ctx context.Context) (*connection, error) {
	c, err := e.newConnection(ctx)
	if err == nil && e.held != nil {
		c.committing, c.committed = e.held.committing, e.held.committed
	}
	return c, err
}

// disconnect closes the database. Nobody uses it.
func (e *Engine) disconnect() error {
	errs := e.readers.close()
	if e.conn != nil {
		errs = append(errs, e.conn.close())
	}
	if e.db != nil {
		errs = append(errs, e.db.Close())
	}
	e.conn, e.db = nil, nil
	e.rolledBack()
	return errors.Join(errs...)
}

// now is the time as the file keeps it.
func (e *Engine) now() time.Time { return utc(e.opts.Now()) }

// checkClock refuses what Options.Now tells where the file can't keep it.
func checkClock(at time.Time) error {
	if at.IsZero() {
		return fault.Invalid("what Options.Now told", at, "the years 1 to 9999, in UTC, but for the zero time")
	}
	return fault.CheckTime("what Options.Now told", at)
}

// claim makes sure that the file is there and can be opened, by nobody else.
func (e *Engine) claim(ctx context.Context) (err error) {
	if e.path, err = filepath.Abs(e.path); err != nil {
		return err
	}
	info, err := os.Stat(e.path)
	switch {
	case err == nil && info.IsDir():
		return fault.Invalid("path", e.path, "a file, not a folder")
	case errors.Is(err, os.ErrNotExist) && e.opts.ReadOnly:
		return fmt.Errorf("%w: there is no file to read", ErrNotFound)
	case errors.Is(err, os.ErrNotExist):
		if _, err := os.Stat(filepath.Dir(e.path)); err != nil {
			return fmt.Errorf("%w: the folder must exist", err)
		}
	case err != nil:
		return err
	}
	made := errors.Is(err, os.ErrNotExist)
	if e.guard, err = acquire(e.path); err != nil {
		return err
	}
	if made {
		if err := makeFile(ctx, e.path); err != nil {
			return err
		}
	}
	e.guard.created()
	return nil
}

// take locks the file and opens the database, as soon as no other process has it.
func (e *Engine) take(ctx context.Context) error {
	until := time.Now().Add(e.opts.Wait)
	for {
		err := e.takeNow(ctx)
		if !errors.Is(err, ErrLocked) || !time.Now().Before(until) {
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

func (e *Engine) takeNow(ctx context.Context) (err error) {
	if e.guard == nil { // it is in memory
		return e.connect(ctx)
	}
	if e.held, err = hold(e.path, e.opts.ReadOnly); err != nil {
		return err
	}
	if !e.opts.ReadOnly {
		if err := os.RemoveAll(e.shredding()); err != nil { // of a process that ended
			return err
		}
	}
	if err = e.connect(ctx); errors.Is(err, ErrLocked) { // DuckDB's own lock, where we have none
		err = errors.Join(err, e.disconnect(), e.held.release())
		e.held = nil
	}
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

// Notices say what a crash had left of the file when it was opened, and what became of it; none when there was nothing to mend.
func (e *Engine) Notices() []string {
	if e.held == nil {
		return nil
	}
	e.using.RLock()
	defer e.using.RUnlock()
	return slices.Clone(e.held.notices)
}

// Path is the absolute name of the file, or ":memory:".
func (e *Engine) Path() string { return e.path }

// Options are those that it was opened with, and the defaults of the others.
func (e *Engine) Options() Options { return e.opts }

// Language is the one of the file's tokenizer.
func (e *Engine) Language(ctx context.Context) (language string, err error) {
	err = e.read(ctx, "language", func(c *connection) error {
		_, err := e.setting(ctx, c, "language", &language)
		return err
	})
	return language, err
}

// Close ends what was attached, waits for running operations, writes everything to the file and gives it up.
// Further calls do nothing.
func (e *Engine) Close() error {
	var detached error
	for _, end := range slices.Backward(e.attached) {
		detached = errors.Join(detached, end())
	}
	e.keeper.end()
	e.using.Lock()
	defer e.using.Unlock()
	if e.closed {
		return nil
	}
	e.closed = true
	var flush error
	if !e.opts.ReadOnly && e.well() == nil {
		flush = e.checkpoint(context.Background())
	}
	if err := errors.Join(detached, flush, e.shut()); err != nil {
		return fmt.Errorf("close %s: %w", e.path, err)
	}
	return nil
}

// shut gives back whatever open had got so far.
func (e *Engine) shut() error {
	err := e.disconnect()
	if e.held != nil {
		err = errors.Join(err, e.held.release())
	}
	if e.guard != nil {
		e.guard.release()
	}
	return err
}
