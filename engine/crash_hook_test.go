package engine

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/duckfile"
)

// BeforeStatements has f called before each statement of the writer, and before each of its commits. Nobody may be writing.
func (e *Engine) BeforeStatements(f func()) { e.file.Conn.Before = f }

// Checkpoint takes the log into the file, as the engine does by itself when it is long.
func (e *Engine) Checkpoint(ctx context.Context) error {
	if err := e.file.Lock(ctx); err != nil {
		return err
	}
	defer e.file.Unlock()
	return e.file.Checkpoint(ctx)
}

// Still calls f while nobody writes.
func (e *Engine) Still(f func()) {
	e.file.Writer <- struct{}{}
	defer e.file.Unlock()
	f()
}

// FallIll has the engine believe that DuckDB failed.
func (e *Engine) FallIll(why error) { e.file.FallIll(why) }

// Readers is how many connections may read at once.
func (e *Engine) Readers() int { return cap(e.file.Readers.Idle) }

// Lent calls f while all connections that read are lent.
func (e *Engine) Lent(f func()) {
	var all []*duck.Conn
	for range cap(e.file.Readers.Idle) {
		all = append(all, <-e.file.Readers.Idle)
	}
	f()
	for _, c := range all {
		e.file.Readers.Idle <- c
	}
}

// Journal keeps what the next checkpoint overwrites, as a checkpoint begins.
func (e *Engine) Journal() error {
	_, err := duckfile.WriteJournal(e.file.Path()+duck.JournalSuffix, e.file.Held.File)
	return err
}

// FailCommit has the next COMMIT be on disk, and fail all the same. Nobody may be writing.
func (e *Engine) FailCommit(why error) {
	e.file.Conn.Committed = func() error { return fmt.Errorf("%w: %w", duck.ErrCommit, why) }
}

// FailCommitForGood does the same on a disk that lets nothing be taken back either, until lifted.
func (e *Engine) FailCommitForGood(why error) (lift func()) {
	path := e.file.Held.Path
	e.file.Conn.Committed = func() error {
		e.file.Held.Path = strings.Repeat("no such name ", 1000)
		return fmt.Errorf("%w: %w", duck.ErrCommit, why)
	}
	return func() { e.file.Held.Path = path }
}

// HealNotBefore sets the moment before which the database is not opened anew.
func (e *Engine) HealNotBefore(at time.Time) {
	e.file.Using.Lock()
	defer e.file.Using.Unlock()
	e.file.Healing.Next = at
}
