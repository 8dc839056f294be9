package index_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
)

// indexForEver writes and makes the index of the text extension in turn, until it is killed.
func indexForEver(path string) error {
	seed, err := strconv.ParseUint(os.Args[2], 10, 64)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	ctx := context.Background()
	e, err := engine.Open(ctx, path, enginetest.Thrifty(engine.Options{FTS: os.Getenv("MEMCTL_FTS"), Embedder: enginetest.Words{}}))
	if err != nil {
		return err
	}
	enginetest.Tell(enginetest.Report{Ready: true})
	for {
		_, err1 := e.Remember(ctx, memory.RememberRequest{Text: enginetest.Sentence(rng), L2: enginetest.Sentence(rng)})
		_, err2 := e.CheckLexical(ctx, recall.CheckLexicalRequest{Sample: 1})
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
	}
}

// TestKilledWhileIndexing kills at random moments, often in the midst of making the index. The file opens without the extension,
// and an index that says it is fresh is.
func TestKilledWhileIndexing(t *testing.T) {
	t.Parallel()
	o := enginetest.WithFTS(t)
	kills := 8
	switch {
	case enginetest.Long("kills"):
		kills = 40
	case testing.Short():
		kills = 4
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 2))
	path := enginetest.NewFile(t)
	fresh, stale := 0, 0
	for range kills {
		c := enginetest.Spawn(t, "index", path, strconv.FormatUint(rng.Uint64()>>1, 10))
		c.Ready(t)
		time.Sleep(time.Duration(rng.Int64N(int64(300 * time.Millisecond))))
		c.Kill()
		e := enginetest.OpenFile(t, path, engine.Options{Embedder: enginetest.Words{}})
		enginetest.Check(t, e)
		x := enginetest.FTSIndex(t, e)
		isFresh := x != nil && !x.Stale
		enginetest.CloseFile(t, e)
		e = enginetest.OpenFile(t, path, o)
		if isFresh {
			fresh++
		} else {
			stale++
		}
		if len(enginetest.Rows(t, e, "FROM documents")) > 0 && enginetest.Agreeing(t, e) == isFresh {
			t.Errorf("index %+v: whether it was made is %t", x, !isFresh)
		}
		enginetest.CloseFile(t, e)
	}
	t.Logf("%d kills left a fresh index, %d none or a stale one", fresh, stale)
}
