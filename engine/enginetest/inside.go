package enginetest

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unsafe"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/duckfile"
	"github.com/mallardmem/mallard/engine/memory"
)

// part gives an engine's own part by the name of its field. No user can have it; the functions of this package that do to a file what only damage, a
// crash or a kill does begin here, and nothing else.
func part[T any](e *engine.Engine, field string) T {
	v := reflect.ValueOf(e).Elem().FieldByName(field)
	return *(*T)(unsafe.Pointer(v.UnsafeAddr()))
}

// File is the file that an engine has open.
func File(e *engine.Engine) *duck.File { return part[*duck.File](e, "file") }

// Index is an engine's index.
func Index(e *engine.Engine) *index.Index { return part[*index.Index](e, "index") }

// BeforeStatements has f called before each statement of the writer, and before each of its commits. Nobody may be writing.
func BeforeStatements(e *engine.Engine, f func()) { File(e).Conn.Before = f }

// Checkpoint takes the log into the file, as the engine does by itself when it is long.
func Checkpoint(ctx context.Context, e *engine.Engine) error {
	file := File(e)
	if err := file.Lock(ctx); err != nil {
		return err
	}
	defer file.Unlock()
	return file.Checkpoint(ctx)
}

// Still calls f while nobody writes.
func Still(e *engine.Engine, f func()) {
	file := File(e)
	file.Writer <- struct{}{}
	defer file.Unlock()
	f()
}

// FallIll has the engine believe that DuckDB failed.
func FallIll(e *engine.Engine, why error) { File(e).FallIll(why) }

// Readers is how many connections may read at once.
func Readers(e *engine.Engine) int { return cap(File(e).Readers.Idle) }

// Lent calls f while all connections that read are lent.
func Lent(e *engine.Engine, f func()) {
	idle := File(e).Readers.Idle
	var all []*duck.Conn
	for range cap(idle) {
		all = append(all, <-idle)
	}
	f()
	for _, c := range all {
		idle <- c
	}
}

// Journal keeps what the next checkpoint overwrites, as a checkpoint begins.
func Journal(e *engine.Engine) error {
	file := File(e)
	_, err := duckfile.WriteJournal(file.Path()+duck.JournalSuffix, file.Held.File)
	return err
}

// FailCommit has the next COMMIT be on disk, and fail all the same. Nobody may be writing.
func FailCommit(e *engine.Engine, why error) {
	File(e).Conn.Committed = func() error { return fmt.Errorf("%w: %w", duck.ErrCommit, why) }
}

// FailCommitForGood does the same on a disk that lets nothing be taken back either, until lifted.
func FailCommitForGood(e *engine.Engine, why error) (lift func()) {
	file := File(e)
	path := file.Held.Path
	file.Conn.Committed = func() error {
		file.Held.Path = strings.Repeat("no such name ", 1000)
		return fmt.Errorf("%w: %w", duck.ErrCommit, why)
	}
	return func() { file.Held.Path = path }
}

// HealNotBefore sets the moment before which the database is not opened anew.
func HealNotBefore(e *engine.Engine, at time.Time) {
	file := File(e)
	file.Using.Lock()
	defer file.Using.Unlock()
	file.Healing.Next = at
}

// TamperOpen runs a statement that the engine would not, as damage does, while the file is open.
func TamperOpen(ctx context.Context, e *engine.Engine, statement string, args ...any) error {
	return File(e).Write(ctx, "tamper", func(tx *duck.Write) error {
		_, err := tx.SQL.ExecContext(ctx, statement, args...)
		return err
	})
}

// Memories is the room of that name.
func Memories(e *engine.Engine) *memory.Store { return part[*memory.Store](e, "memories") }
