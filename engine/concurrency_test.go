package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/interchange"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/scope"
)

// crowd is what many goroutines do to one engine, each call with a random source of its own. Memories and conversations are
// few, so that they get in each other's way.
func crowd(e *engine.Engine, dir string) map[string]func(context.Context, *rand.Rand) error {
	var copies atomic.Int64
	some := func(ctx context.Context, rng *rand.Rand) string {
		all, err := e.List(ctx, memory.ListRequest{Standing: "current", Limit: 10})
		if err != nil || len(all) == 0 {
			return "mem_none"
		}
		return all[rng.IntN(len(all))].ID
	}
	return map[string]func(context.Context, *rand.Rand) error{
		"Remember": func(ctx context.Context, rng *rand.Rand) error {
			_, err := e.Remember(ctx, memory.RememberRequest{Text: enginetest.Sentence(rng)})
			return err
		},
		"Update": func(ctx context.Context, rng *rand.Rand) error {
			text := enginetest.Sentence(rng)
			_, err := e.Update(ctx, memory.UpdateRequest{ID: some(ctx, rng), Text: &text})
			return err
		},
		"Supersede": func(ctx context.Context, rng *rand.Rand) error {
			_, err := e.Supersede(ctx, memory.SupersedeRequest{ID: some(ctx, rng), By: memory.RememberRequest{Text: enginetest.Sentence(rng)}})
			return err
		},
		"Forget": func(ctx context.Context, rng *rand.Rand) error {
			_, err := e.Forget(ctx, memory.ForgetRequest{ID: some(ctx, rng)})
			return err
		},
		"Purge": func(ctx context.Context, rng *rand.Rand) error {
			_, err := e.Purge(ctx, memory.PurgeRequest{ID: some(ctx, rng)})
			return err
		},
		"Append": func(ctx context.Context, rng *rand.Rand) error {
			_, err := e.Append(ctx, conversation.AppendRequest{Conversation: fmt.Sprint("talk ", rng.IntN(3)), Messages: []conversation.Message{{Text: enginetest.Sentence(rng)}, {Text: enginetest.Sentence(rng)}}})
			return err
		},
		"Import": func(ctx context.Context, rng *rand.Rand) error {
			_, err := e.Import(ctx, strings.NewReader(`{"text":"imported `+enginetest.Sentence(rng)+`"}`), interchange.ImportRequest{})
			return err
		},
		"SetScopes": func(ctx context.Context, rng *rand.Rand) error {
			return e.SetScopes(ctx, scope.Scopes{Definitions: map[string]string{fmt.Sprint("team", rng.IntN(9)): "a team"}})
		},
		"Recall": func(ctx context.Context, rng *rand.Rand) error {
			modes := []recall.Mode{"", recall.Hybrid, recall.VectorMode, recall.LexicalMode}
			_, err := e.Recall(ctx, recall.Query{Text: enginetest.Sentence(rng), Mode: modes[rng.IntN(len(modes))], Kinds: kinds.All()})
			return err
		},
		"List": func(ctx context.Context, _ *rand.Rand) error {
			_, err := e.List(ctx, memory.ListRequest{Standing: "any", Limit: 50})
			return err
		},
		"Get": func(ctx context.Context, rng *rand.Rand) error {
			_, err := e.Get(ctx, memory.GetRequest{ID: some(ctx, rng)})
			return err
		},
		"Messages": func(ctx context.Context, _ *rand.Rand) error {
			_, err := e.Messages(ctx, conversation.MessagesRequest{Conversation: "talk 1"})
			return err
		},
		"Query": func(ctx context.Context, _ *rand.Rand) error {
			_, err := e.Query(ctx, "SELECT term, documents FROM report.terms ORDER BY documents DESC", 10)
			return err
		},
		"Stats": func(ctx context.Context, _ *rand.Rand) error { _, err := e.Stats(ctx); return err },
		"Export": func(ctx context.Context, _ *rand.Rand) error {
			_, err := e.Export(ctx, io.Discard, memory.ExportRequest{})
			return err
		},
		"Check": func(ctx context.Context, _ *rand.Rand) error {
			faults, err := e.Check(ctx)
			if len(faults) > 0 {
				return fmt.Errorf("%d faults, first %s", len(faults), faults[0])
			}
			return err
		},
		"RebuildIndex": func(ctx context.Context, rng *rand.Rand) error {
			_, err := e.RebuildIndex(ctx, index.RebuildRequest{Vectors: rng.IntN(2) == 0})
			return err
		},
		"Snapshot": func(ctx context.Context, _ *rand.Rand) error {
			return e.Snapshot(ctx, filepath.Join(dir, fmt.Sprintf("%d.db", copies.Add(1))))
		},
	}
}

// TestEverybodyAtOnce: readers, writers and the long ones side by side; then Close in the middle of it. What finishes has an
// error only where another got there first, or the engine closed.
func TestEverybodyAtOnce(t *testing.T) {
	enginetest.Alone(t)
	path := enginetest.NewFile(t)
	o := engine.Options{Embedder: enginetest.Words{}, Threads: 2}
	e := enginetest.OpenFile(t, path, o)
	enginetest.Stock(t, e)
	atOnce(t, e, crowd(e, t.TempDir()))
	enginetest.Check(t, enginetest.OpenFile(t, path, o))
}

// atOnce does all of these again and again, until each was done some times; then it closes the engine.
func atOnce(t *testing.T, e *engine.Engine, verbs map[string]func(context.Context, *rand.Rand) error) {
	t.Helper()
	expected := []error{engine.ErrNotFound, engine.ErrInvalid, engine.ErrConflict} // forgotten, superseded or summarised by another in between
	var closing atomic.Bool
	var group sync.WaitGroup
	done := map[string]*atomic.Int64{}
	for name, call := range verbs {
		count := &atomic.Int64{}
		done[name] = count
		pause := 20 * time.Millisecond
		if slices.Contains([]string{"RebuildIndex", "Snapshot", "Check", "NewSession", "ResetSession", "PurgeConversation"}, name) {
			pause = 500 * time.Millisecond
		}
		group.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(len(name)), uint64(name[0])))
			for {
				late := closing.Load()
				err := call(t.Context(), rng)
				switch {
				case errors.Is(err, engine.ErrClosed):
					return
				case late:
					t.Errorf("%s began after Close and gave %v", name, err)
					return
				case err != nil && !slices.ContainsFunc(expected, func(want error) bool { return errors.Is(err, want) }):
					t.Errorf("%s: %v", name, err)
				default:
					count.Add(1)
				}
				time.Sleep(pause)
			}
		})
	}
	times := int64(2)
	if enginetest.Long("simulation") {
		times = 10
	}
	busy := func() bool { // until each was done some times
		for _, count := range done {
			if count.Load() < times {
				return true
			}
		}
		return false
	}
	for start := time.Now(); busy() && time.Since(start) < 5*time.Minute; { // five minutes: somebody hangs
		time.Sleep(50 * time.Millisecond)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	closing.Store(true)
	group.Wait()
	for name, count := range done {
		if n := count.Load(); n < times {
			t.Errorf("%s was done %d times only", name, n)
		}
	}
}

// TestUpdatesOfOneMemory: of many at once, none is lost, although each reads the memory, embeds and writes it back. The clock
// stands still, so that time can't tell them apart.
func TestUpdatesOfOneMemory(t *testing.T) {
	ctx := t.Context()
	e := enginetest.Open(t, engine.Options{Threads: 2, Embedder: enginetest.Words{}})
	id := enginetest.Stock(t, e)[1]
	want := map[string]any{"from": "stock"}
	var group sync.WaitGroup
	for i := range 8 {
		key, value := fmt.Sprint("key", i), fmt.Sprint("value", i)
		want[key] = value
		group.Go(func() {
			if _, err := e.Update(ctx, memory.UpdateRequest{ID: id, Extra: map[string]any{key: value}}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	m, err := e.Get(ctx, memory.GetRequest{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	enginetest.Equal(t, "metadata", want, m.Extra)
}

// TestOneWins: of many who forget or supersede the same memory, or bring the same id, one succeeds and the others are told.
func TestOneWins(t *testing.T) {
	ctx := t.Context()
	e := enginetest.Open(t, engine.Options{Threads: 2, Embedder: enginetest.Words{}})
	ids := enginetest.Stock(t, e)
	race := func(what string, want error, call func() error) {
		t.Helper()
		var group sync.WaitGroup
		var won atomic.Int64
		for range 6 {
			group.Go(func() {
				if err := call(); err == nil {
					won.Add(1)
				} else if !errors.Is(err, want) {
					t.Errorf("%s: %v: want %v", what, err, want)
				}
			})
		}
		group.Wait()
		if won.Load() != 1 {
			t.Errorf("%s: %d succeeded: want one", what, won.Load())
		}
	}
	race("the same id", engine.ErrExists, func() error {
		_, err := e.Remember(ctx, memory.RememberRequest{ID: "mem_same", Text: "the same"})
		return err
	})
	race("supersede", engine.ErrInvalid, func() error {
		_, err := e.Supersede(ctx, memory.SupersedeRequest{ID: ids[0], By: memory.RememberRequest{Text: "newer"}})
		return err
	})
	race("forget", engine.ErrNotFound, func() error { _, err := e.Forget(ctx, memory.ForgetRequest{ID: ids[1]}); return err })
	race("purge", engine.ErrNotFound, func() error { _, err := e.Purge(ctx, memory.PurgeRequest{ID: ids[1]}); return err })
	race("a snapshot of one name", engine.ErrExists, func() error { return e.Snapshot(ctx, filepath.Join(filepath.Dir(e.Path()), "copy.db")) })
}

// TestReadersSeeOneState: what an export says is of one moment, however many write meanwhile.
func TestReadersSeeOneState(t *testing.T) {
	ctx := t.Context()
	e := enginetest.Open(t, engine.Options{Threads: 2})
	stop := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() { // pairs, each in one transaction
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
				if _, err := e.RememberMany(ctx, []memory.RememberRequest{{Text: fmt.Sprint("left ", n)}, {Text: fmt.Sprint("right ", n)}}); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	for range 20 {
		var out bytes.Buffer
		n, err := e.Export(ctx, &out, memory.ExportRequest{})
		if err != nil || n%2 != 0 || strings.Count(out.String(), "left") != strings.Count(out.String(), "right") {
			t.Errorf("export of %d memories, %v: want whole pairs", n, err)
		}
	}
	close(stop)
	writer.Wait()
}

// TestCancelledSaysSo cancels writes and reads at every stage: the error is always that of the context, and what comes next is done.
func TestCancelledSaysSo(t *testing.T) {
	e := enginetest.OpenAt(t, ":memory:", engine.Options{})
	failed := 0
	for i := range 30 {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Duration(i)*160*time.Microsecond, cancel)
		_, err := e.Append(ctx, conversation.AppendRequest{SessionKey: "s", Messages: []conversation.Message{{Text: "x", Key: fmt.Sprint(i)}}})
		if err == nil {
			_, err = e.KnownKeys(ctx, []string{"1", "2"}, "")
		}
		if cancel(); err != nil {
			failed++
			if !errors.Is(err, context.Canceled) {
				t.Errorf("after %d µs: %v", i*160, err)
			}
		}
	}
	if failed == 0 {
		t.Error("nothing was cancelled")
	}
}
