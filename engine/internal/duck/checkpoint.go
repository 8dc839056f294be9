package duck

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/mallardmem/mallard/engine/internal/duckfile"
	"github.com/mallardmem/mallard/engine/internal/fault"
	sqlfiles "github.com/mallardmem/mallard/sql"
)

// How long a log may take to replay after a crash. A checkpoint takes it into the file; writers wait for one for some 30 ms.
const (
	idleReplay = 10 * time.Millisecond  // a log that takes longer is taken in as soon as nobody has written for a while
	longReplay = 60 * time.Millisecond  // after the write that made it so
	bulkReplay = 300 * time.Millisecond // the same while many documents are written at once
)

const (
	idle      = 250 * time.Millisecond // also how long writers wait for readers that a checkpoint has to wait for
	retry     = 2 * time.Second        // after a checkpoint that could not begin
	atFirst   = 10 * time.Second       // after one that failed, for reading ends with it; then twice as long each time
	atLast    = 10 * time.Minute
	bulkWrite = 32 // documents
)

// Checkpoint takes the log into the file. What that overwrites in place is kept in the journal until it is done. It waits, until ctx is over, for those
// who read a state before the last write; nobody comes who would have to be waited for as well, for the caller has the writer's lock. The caller has entered.
func (f *File) Checkpoint(ctx context.Context) error {
	if f.Held == nil || f.Held.Log.Length == 0 {
		return nil
	}
	if err := f.Held.room(); err != nil {
		return err
	}
	if _, err := duckfile.WriteJournal(f.name+JournalSuffix, f.Held.File); err != nil {
		return f.Noted(fmt.Errorf("journal: %w", err))
	}
	err := f.foldLog(ctx)
	if errors.Is(err, errReaders) {
		return errors.Join(err, Remove(f.name+JournalSuffix))
	}
	if err == nil {
		err = f.Held.checkpointed()
	}
	if err == nil {
		return nil
	}
	if err = fmt.Errorf("checkpoint: %w", err); kindOf(err) == nil {
		err = fmt.Errorf("%w: %w", fault.ErrInternal, err)
	}
	f.Held.pause = min(max(atFirst, 2*f.Held.pause), atLast)
	f.Held.rest = time.Now().Add(f.Held.pause)
	err = f.Noted(err)
	f.FallIll(err) // some of the file may be written
	return err
}

// errReaders: somebody still reads a state of the file before the last write, and DuckDB did not begin.
var errReaders = errors.New("a checkpoint has to wait for readers")

// foldLog has DuckDB checkpoint, when it can.
func (f *File) foldLog(ctx context.Context) error {
	for pause := time.Millisecond; ; pause *= 2 {
		_, err := f.Conn.SQL.ExecContext(context.WithoutCancel(ctx), sqlfiles.Query("checkpoint"))
		if err == nil || !IsOf(err, duckdb.ErrorTypeTransaction) {
			return err
		}
		select {
		case <-time.After(min(pause, idle)):
		case <-ctx.Done():
			return fmt.Errorf("%w: %w: %w", errReaders, ctx.Err(), err)
		}
	}
}

// room is whether a checkpoint will find the space that it may need: one that does not leaves DuckDB unusable. It writes new what the log changes, and
// the last rows of each table.
func (h *Held) room() error {
	const lastRows = 64 << 20 // at most
	info, err := h.File.Stat()
	if err != nil {
		return err
	}
	if err := SpaceFor(filepath.Dir(h.Path), 2*h.Log.Length+min(info.Size(), lastRows)); err != nil {
		return fmt.Errorf("%w: a checkpoint of %s has to wait; what was written stays in its log", err, h.Path)
	}
	return nil
}

// SpaceFor is ErrDiskFull where the disk of a folder has less than so many bytes to spare.
func SpaceFor(folder string, need int64) error {
	free, err := freeSpace(folder)
	if err == nil && free < need {
		err = fmt.Errorf("%w: %d bytes may be needed, and %d are free", fault.ErrDiskFull, need, free)
	}
	return err
}

// keeper checkpoints a file by the length of its log: at once when that is long, and when nobody writes. It is a goroutine of its own, so that no
// write waits for the checkpoint that it makes due.
type keeper struct {
	file   *File
	wrote  chan struct{}
	replay atomic.Int64 // of the log as it is, as a time.Duration
	bulk   atomic.Bool  // the last write was of many documents
	rest   time.Time    // nothing is tried before
	ending func()
	ended  sync.WaitGroup
}

// newKeeper begins to look after an engine that writes.
func newKeeper(f *File) *keeper {
	ending := make(chan struct{})
	k := &keeper{file: f, wrote: make(chan struct{}, 1), ending: sync.OnceFunc(func() { close(ending) })}
	k.ended.Go(func() { k.run(ending) })
	return k
}

// written says that a transaction was committed. The caller has the writer's lock.
func (k *keeper) written() {
	if k == nil {
		return
	}
	k.replay.Store(int64(k.file.Held.replay()))
	k.bulk.Store(k.file.Conn.Written >= bulkWrite)
	select {
	case k.wrote <- struct{}{}:
	default: // it has not seen the last one yet
	}
}

// end returns when the keeper is done.
func (k *keeper) end() {
	if k != nil {
		k.ending()
		k.ended.Wait()
	}
}

func (k *keeper) run(ending <-chan struct{}) {
	timer := time.NewTimer(idle)
	for {
		select {
		case <-ending:
			return
		case <-k.wrote:
			k.look(false)
			timer.Reset(idle)
		case <-timer.C:
			if k.look(true); k.rest.After(time.Now()) {
				timer.Reset(retry)
			}
		}
	}
}

// look checkpoints if that is due. What goes wrong shows in Stats; the log stays as it is, and for a while nothing is tried.
func (k *keeper) look(nobodyWrites bool) {
	limit := longReplay
	switch {
	case nobodyWrites:
		limit = idleReplay
	case k.bulk.Load():
		limit = bulkReplay
	}
	f := k.file
	if time.Duration(k.replay.Load()) <= limit || k.rest.After(time.Now()) {
		return
	}
	if nobodyWrites {
		select {
		case f.Writer <- struct{}{}:
		default:
			return
		}
	} else {
		f.Writer <- struct{}{}
	}
	defer f.Unlock()
	if !f.Using.TryRLock() { // it is being closed, or opened anew
		return
	}
	defer f.Using.RUnlock()
	if f.closed || f.Well() != nil || f.Held.replay() <= limit {
		return
	}
	if k.rest = f.Held.rest; k.rest.After(time.Now()) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), idle)
	defer cancel()
	if err := f.Checkpoint(ctx); err != nil {
		k.rest = time.Now().Add(retry) // and as long as held.rest says
	}
	k.replay.Store(int64(f.Held.replay()))
}
