package duck_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/scope"
)

// TestHeals: after DuckDB has failed, the next call opens the file anew; a further failure within a second has to wait, and says so.
func TestHeals(t *testing.T) {
	t.Parallel()
	e := enginetest.OpenFile(t, enginetest.NewFile(t), engine.Options{Embedder: enginetest.Words{}})
	enginetest.Stock(t, e)
	before := enginetest.Rows(t, e, "SELECT id, text FROM memories ORDER BY id")
	failed := fmt.Errorf("%w: as a test says", engine.ErrInternal)
	enginetest.FallIll(e, failed)
	enginetest.Equal(t, "memories after a failure", before, enginetest.Rows(t, e, "SELECT id, text FROM memories ORDER BY id"))
	enginetest.Remember(t, e, memory.RememberRequest{Text: "written after the failure"})
	if hits := enginetest.RecallIDs(t, e, recall.Query{Text: "written after"}); len(hits) == 0 {
		t.Error("what was written after the failure is not found")
	}
	enginetest.FallIll(e, failed)
	enginetest.HealNotBefore(e, time.Now().Add(time.Hour))
	_, err := e.Recall(t.Context(), recall.Query{Text: "tea"})
	if !errors.Is(err, engine.ErrInternal) || !strings.Contains(err.Error(), "opened anew in") {
		t.Errorf("a further failure too soon: %v", err)
	}
	enginetest.HealNotBefore(e, time.Now())
	if hits := enginetest.RecallIDs(t, e, recall.Query{Text: "tea"}); len(hits) == 0 {
		t.Error("nothing is found when the pause is over")
	}
	s, err := e.Stats(t.Context())
	if err != nil || s.Reopened != 2 {
		t.Errorf("opened anew %d times, %v: want 2", s.Reopened, err)
	}
	enginetest.Check(t, e)
}

// TestHealsUnderLoad: calls under way when DuckDB fails end, with an error or without; none is lost that said it was done.
func TestHealsUnderLoad(t *testing.T) {
	t.Parallel()
	path := enginetest.NewFile(t)
	e := enginetest.OpenFile(t, path, engine.Options{Threads: 2, Embedder: enginetest.Words{}})
	var mu sync.Mutex
	acknowledged := map[string]bool{}
	var group sync.WaitGroup
	for w := range 4 {
		group.Go(func() {
			for n := range 30 {
				id := fmt.Sprintf("mem_%d_%d", w, n)
				_, err := e.Remember(t.Context(), memory.RememberRequest{ID: id, Text: "number " + id})
				switch {
				case err == nil:
					mu.Lock()
					acknowledged[id] = true
					mu.Unlock()
				case !errors.Is(err, engine.ErrInternal):
					t.Error(err)
				}
				if _, err := e.Recall(t.Context(), recall.Query{Text: "number " + id}); err != nil && !errors.Is(err, engine.ErrInternal) {
					t.Error(err)
				}
				if n == 10 && w == 0 {
					enginetest.FallIll(e, fmt.Errorf("%w: as a test says", engine.ErrInternal))
				}
			}
		})
	}
	group.Wait()
	enginetest.CloseFile(t, e)
	e = enginetest.OpenFile(t, path, engine.Options{Embedder: enginetest.Words{}})
	enginetest.Check(t, e)
	got := map[string]bool{}
	for _, row := range enginetest.Rows(t, e, "SELECT id FROM memories") {
		got[row[0].(string)] = true
	}
	enginetest.Equal(t, "memories", acknowledged, got)
}

// limited is a child whose file can't grow: the checkpoint fails halfway. Reading and short writes go on; when there is room again, so does the rest.
func limited(path string) error {
	signal.Ignore(syscall.SIGXFSZ)
	ctx := context.Background()
	e, err := engine.Open(ctx, path, engine.Options{})
	if err != nil {
		return err
	}
	remember := func(n int) error {
		_, err := e.Remember(ctx, memory.RememberRequest{Text: strings.Repeat(fmt.Sprintf("number %d ", n), 20)})
		return err
	}
	for n := range 200 {
		if err := remember(n); err != nil {
			return err
		}
	}
	if err := enginetest.Checkpoint(ctx, e); err != nil { // so that none is due for a while
		return err
	}
	const most = 2 << 20 // bytes of a file: log and journal are shorter
	var before syscall.Rlimit
	if err := errors.Join(syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before),
		syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: most, Max: before.Max})); err != nil {
		return err
	}
	if err := remember(1000); err != nil { // so that there is a log
		return err
	}
	failed := enginetest.Checkpoint(ctx, e)
	if !errors.Is(failed, engine.ErrInternal) {
		return fmt.Errorf("a checkpoint without room: %w", failed)
	}
	result, err := e.Recall(ctx, recall.Query{Text: "number 7"})
	if err != nil || len(result.Hits) == 0 {
		return fmt.Errorf("recall after a checkpoint that failed: %w", err)
	}
	for n := range 40 { // so many that a checkpoint is due; but it would fail again, and reading with it
		if err := remember(200 + n); err != nil {
			return fmt.Errorf("a write after a checkpoint that failed: %w", err)
		}
	}
	s, err := e.Stats(ctx)
	if err != nil || s.Reopened != 1 {
		return fmt.Errorf("opened anew %d times: %w", s.Reopened, err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		return err
	}
	if err := e.Close(); err != nil {
		return err
	}
	enginetest.Tell(enginetest.Report{Ready: true})
	return nil
}

func TestCheckpointFails(t *testing.T) {
	t.Parallel()
	folder, err := os.MkdirTemp("/var/tmp", "mallard-") // a disk: one of memory keeps no room for a log beyond the limit
	if err != nil {
		t.Skipf("no folder on a disk: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	path := filepath.Join(folder, "mallard.db")
	c := enginetest.Spawn(t, "limited", path)
	c.Ready(t)
	e := enginetest.OpenFile(t, path, engine.Options{})
	enginetest.Check(t, e)
	enginetest.Equal(t, "memories", int64(241), enginetest.Rows(t, e, "SELECT count(*) FROM memories")[0][0].(int64))
}

// TestReadersAreBounded: there are fewer connections than callers, and all of these are answered; who gives up waiting is told why.
func TestReadersAreBounded(t *testing.T) {
	t.Parallel()
	e := enginetest.OpenFile(t, enginetest.NewFile(t), engine.Options{Embedder: enginetest.Words{}, MemoryLimit: 192})
	enginetest.Stock(t, e)
	if n := enginetest.Readers(e); n != 1 {
		t.Errorf("%d readers in 192 MB", n)
	}
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for range 5 {
				if _, err := e.Recall(t.Context(), recall.Query{Text: "tea in the morning"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	enginetest.Lent(e, func() {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if _, err := e.Recall(ctx, recall.Query{Text: "tea"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with all readers lent: %v", err)
		}
	})
	big := enginetest.OpenFile(t, enginetest.NewFile(t), engine.Options{MemoryLimit: math.MaxInt32, Threads: 3})
	if n := enginetest.Readers(big); n != 6 {
		t.Errorf("%d readers with three threads and memory enough", n)
	}
}

// TestFailedIsNotWritten: a COMMIT that reached the disk and failed is taken out of the log again; neither this engine nor the next has it.
func TestFailedIsNotWritten(t *testing.T) {
	t.Parallel()
	path := enginetest.NewFile(t)
	e := enginetest.OpenFile(t, path, engine.Options{Embedder: enginetest.Words{}})
	enginetest.Stock(t, e)
	scopes, before := e.Scopes(), enginetest.Rows(t, e, "SELECT id, text FROM memories ORDER BY id")
	lost := errors.New("the disk is on fire")
	enginetest.FailCommit(e, lost)
	if _, err := e.Remember(t.Context(), memory.RememberRequest{Text: "never written"}); !errors.Is(err, lost) || !errors.Is(err, engine.ErrInternal) {
		t.Errorf("a COMMIT that failed: %v", err)
	}
	enginetest.Equal(t, "memories", before, enginetest.Rows(t, e, "SELECT id, text FROM memories ORDER BY id"))
	if s, err := e.Stats(t.Context()); err != nil || s.Reopened != 1 { // what DuckDB has in memory after that is not to be trusted
		t.Errorf("opened anew %d times, %v", s.Reopened, err)
	}
	enginetest.HealNotBefore(e, time.Now())
	enginetest.Remember(t, e, memory.RememberRequest{ID: "mem_after", Text: "written after"})
	enginetest.FailCommit(e, lost)
	if err := e.SetScopes(t.Context(), scope.Scopes{Default: "user:ines"}); !errors.Is(err, lost) {
		t.Errorf("a COMMIT that failed: %v", err)
	}
	enginetest.Equal(t, "scopes", scopes, e.Scopes())
	killed := enginetest.KilledCopy(t, e)
	next := enginetest.OpenFile(t, killed, engine.Options{Embedder: enginetest.Words{}})
	enginetest.Check(t, next)
	enginetest.Equal(t, "scopes of the file", scopes, next.Scopes())
	enginetest.Equal(t, "memories of the file", int64(len(before)+1), enginetest.Rows(t, next, "SELECT count(*) FROM memories")[0][0].(int64))
}

// TestFailedIsTakenBackLater: where the disk fails even to take a COMMIT back that failed, nobody can tell whether it was written; as soon as the disk lets it,
// the engine takes it out of the log.
func TestFailedIsTakenBackLater(t *testing.T) {
	t.Parallel()
	e := enginetest.OpenFile(t, enginetest.NewFile(t), engine.Options{Embedder: enginetest.Words{}})
	enginetest.Stock(t, e)
	before := enginetest.Rows(t, e, "SELECT id, text FROM memories ORDER BY id")
	lift := enginetest.FailCommitForGood(e, errors.New("the disk is on fire"))
	if _, err := e.Remember(t.Context(), memory.RememberRequest{Text: "never written"}); !errors.Is(err, engine.ErrInternal) || !strings.Contains(err.Error(), "is not known before") {
		t.Errorf("a COMMIT that can't be taken back: %v", err)
	}
	if _, err := e.Recall(t.Context(), recall.Query{Text: "tea"}); !errors.Is(err, engine.ErrInternal) {
		t.Errorf("while the disk fails: %v", err)
	}
	lift()
	enginetest.HealNotBefore(e, time.Now())
	enginetest.Equal(t, "memories", before, enginetest.Rows(t, e, "SELECT id, text FROM memories ORDER BY id"))
	enginetest.Remember(t, e, memory.RememberRequest{Text: "written after"})
	next := enginetest.OpenFile(t, enginetest.KilledCopy(t, e), engine.Options{Embedder: enginetest.Words{}})
	enginetest.Check(t, next)
	enginetest.Equal(t, "memories of the file", int64(len(before)+1), enginetest.Rows(t, next, "SELECT count(*) FROM memories")[0][0].(int64))
}
