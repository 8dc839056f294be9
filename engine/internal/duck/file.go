package duck

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/setup"
)

// File is an open file. All methods are safe for concurrent use, but where they say who may call them.
type File struct {
	name  string
	opts  setup.Options
	Guard *guard
	Held  *Held   // nil: in memory
	DB    *sql.DB // Using protects it, and what is made of it

	Readers *readers
	Using   sync.RWMutex // held for reading by every operation, for writing by Close and heal
	closed  bool
	ill     atomic.Pointer[error] // why the database must be opened anew; nil: it need not
	Healing healing
	keeper  *keeper // nil: nothing is written, or in memory

	Writer  chan struct{} // has a token while somebody writes: the writer's lock, which owns the fields below
	Conn    *Conn
	Writes  int64    // how many were begun
	forgets []func() // what is done when a write is rolled back, or the database closed
	about   []func() // what is done before each COMMIT of a write
	kept    []func() // and after it

	Size atomic.Int64 // documents in the file, about
}

// Open opens or creates a file, and brings it to the newest schema. Options have their defaults. Nothing checkpoints it before Keep is called.
func Open(ctx context.Context, path string, o setup.Options) (_ *File, err error) {
	if err := CheckClock(UTC(o.Now())); err != nil {
		return nil, err
	}
	if path == "" {
		return nil, fault.Invalid("path", path, "a file name, or :memory:")
	}
	f := &File{name: path, opts: o, Readers: newReaders(o), Writer: make(chan struct{}, 1)}
	defer func() {
		if err != nil {
			f.shut()
		}
	}()
	if path != ":memory:" {
		if err := f.claim(ctx); err != nil {
			return nil, err
		}
	}
	if err := f.take(ctx); err != nil {
		return nil, err
	}
	if err := f.migrate(ctx); err != nil {
		return nil, err
	}
	var size int64
	if _, err := f.Conn.One(ctx, "documents_count", []any{&size}); err != nil {
		return nil, err
	}
	f.Size.Store(size)
	return f, nil
}

// OnRollback has forget called whenever a write is rolled back, or the database closed, with the writer's lock: what was noted of rows that are not in
// the file is to be forgotten. It is set before the first write.
func (f *File) OnRollback(forget func()) { f.forgets = append(f.forgets, forget) }

// OnCommit has about called as the last thing before each COMMIT of a write, and kept when that is on disk, before anybody else writes; both with the
// writer's lock. Where the COMMIT fails, what OnRollback was told is called in place of kept. It is set before the first write.
func (f *File) OnCommit(about, kept func()) {
	f.about, f.kept = append(f.about, about), append(f.kept, kept)
}

// Keep notes what was written so far as acknowledged, and checkpoints the file from now on. Whoever opened it calls this when it is ready.
func (f *File) Keep() error {
	if !f.Writable() {
		return nil
	}
	if err := f.Held.committed(); err != nil {
		return err
	}
	f.keeper = newKeeper(f)
	return nil
}

// Writable reports whether it is a file on disk that is open for writing.
func (f *File) Writable() bool { return f.Held != nil && !f.opts.ReadOnly }

// Abandon gives the file up as it is. Nobody uses it.
func (f *File) Abandon() { f.shut() }

// Close waits for running operations, writes everything to the file and gives it up. Further calls do nothing.
func (f *File) Close() error {
	f.keeper.end()
	f.Using.Lock()
	defer f.Using.Unlock()
	if f.closed {
		return nil
	}
	f.closed = true
	var flush error
	if !f.opts.ReadOnly && f.Well() == nil {
		flush = f.Checkpoint(context.Background())
	}
	return errors.Join(flush, f.shut())
}
