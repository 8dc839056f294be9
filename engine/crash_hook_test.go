package engine

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/internal/duckfile"
)

// BeforeStatements has f called before each statement of the writer, and before each of its commits. Nobody may be writing.
func (e *Engine) BeforeStatements(f func()) { e.conn.before = f }

// Checkpoint takes the log into the file, as the engine does by itself when it is long.
func (e *Engine) Checkpoint(ctx context.Context) error {
	if err := e.lock(ctx); err != nil {
		return err
	}
	defer e.unlock()
	return e.checkpoint(ctx)
}

// Still calls f while nobody writes.
func (e *Engine) Still(f func()) {
	e.writer <- struct{}{}
	defer e.unlock()
	f()
}

// FallIll has the engine believe that DuckDB failed.
func (e *Engine) FallIll(why error) { e.fallIll(why) }

// Readers is how many connections may read at once.
func (e *Engine) Readers() int { return cap(e.readers.idle) }

// Lent calls f while all connections that read are lent.
func (e *Engine) Lent(f func()) {
	var all []*connection
	for range cap(e.readers.idle) {
		all = append(all, <-e.readers.idle)
	}
	f()
	for _, c := range all {
		e.readers.idle <- c
	}
}

// Journal keeps what the next checkpoint overwrites, as a checkpoint begins.
func (e *Engine) Journal() error {
	_, err := duckfile.WriteJournal(e.path+journalSuffix, e.held.file)
	return err
}

// FailCommit has the next COMMIT be on disk, and fail all the same. Nobody may be writing.
func (e *Engine) FailCommit(why error) {
	e.conn.committed = func() error { return fmt.Errorf("%w: %w", errCommit, why) }
}

// FailCommitForGood does the same on a disk that lets nothing be taken back either, until lifted.
func (e *Engine) FailCommitForGood(why error) (lift func()) {
	path := e.held.path
	e.conn.committed = func() error {
		e.held.path = strings.Repeat("no such name ", 1000)
		return fmt.Errorf("%w: %w", errCommit, why)
	}
	return func() { e.held.path = path }
}

// HealNotBefore sets the moment before which the database is not opened anew.
func (e *Engine) HealNotBefore(at time.Time) {
	e.using.Lock()
	defer e.using.Unlock()
	e.healing.next = at
}
