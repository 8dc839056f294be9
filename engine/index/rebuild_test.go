package index_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/upkeep"
)

// clustered reports whether the postings of each term stand side by side, as far as these few documents go.
func clustered(t *testing.T, e *engine.Engine) bool {
	t.Helper()
	return len(enginetest.Rows(t, e, "SELECT 1 FROM (SELECT term_no < lag(term_no) OVER (ORDER BY rowid) AS back FROM postings) WHERE back")) == 0
}

func TestRebuildMakesTheSame(t *testing.T) {
	enginetest.Alone(t)
	ctx := t.Context()
	path := enginetest.NewFile(t)
	e := enginetest.OpenFile(t, path, engine.Options{Embedder: enginetest.Words{}})
	enginetest.Stock(t, e)
	enginetest.Fill(t, e, 30)
	want := enginetest.Indexed(t, e)
	if clustered(t, e) {
		t.Fatal("postings of a file written bit by bit are clustered: the test shows nothing")
	}
	for i, r := range []index.RebuildRequest{{}, {Vectors: true}, {}, {Vectors: true}} {
		built, err := e.RebuildIndex(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		vectors, past := 0, 0
		if r.Vectors {
			vectors, past = len(want["vectors"]), len(want["past vectors"])
		}
		enginetest.Equal(t, fmt.Sprintf("rebuild %d", i), &index.Rebuilt{Documents: len(want["documents"]) + len(want["forgotten"]), Vectors: vectors, Past: len(want["past"]), PastVectors: past}, built)
		enginetest.Equal(t, fmt.Sprintf("content after rebuild %d", i), want, enginetest.Indexed(t, e))
		enginetest.Check(t, e)
		if !clustered(t, e) {
			t.Errorf("postings are not clustered after rebuild %d", i)
		}
	}
	enginetest.Fill(t, e, 5) // words that were known before, numbered anew
	enginetest.Check(t, e)
	want = enginetest.Indexed(t, e)
	enginetest.CloseFile(t, e)
	e = enginetest.OpenFile(t, path, engine.Options{Embedder: enginetest.Words{}})
	enginetest.Check(t, e)
	enginetest.Equal(t, "content after reopening", want, enginetest.Indexed(t, e))
}

// TestRebuildOfBlocks: what tools and files say is in the index as before, in every batch.
func TestRebuildOfBlocks(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.OpenFile(t, enginetest.NewFile(t), engine.Options{})
	defer enginetest.CloseFile(t, e)
	var say []conversation.Message
	for i := range 2100 {
		say = append(say, conversation.Message{Role: "tool", Blocks: []conversation.Block{
			{Type: conversation.ToolResultBlock, CallID: fmt.Sprint(i), Output: fmt.Sprint("result ", i)}, {Type: conversation.FileBlock, FileName: "a", Text: fmt.Sprint("file ", i)}}})
	}
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: say})
	want := enginetest.Indexed(t, e)
	if _, err := e.RebuildIndex(t.Context(), index.RebuildRequest{}); err != nil {
		t.Fatal(err)
	}
	enginetest.Equal(t, "content after a rebuild", want, enginetest.Indexed(t, e))
	enginetest.Check(t, e)
}

// TestRebuildCancelled breaks rebuilds off wherever they report progress; the file stays as it is, and a further one completes it.
func TestRebuildCancelled(t *testing.T) {
	cancel, step := func() {}, "" // what to call at which step
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}, Progress: func(at string, _, _ int) {
		if at == step {
			cancel()
		}
	}})
	enginetest.Stock(t, e)
	many := make([]memory.RememberRequest, 2200) // more than two batches
	rng := rand.New(rand.NewPCG(3, 3))
	for i := range many {
		many[i].Text = enginetest.Sentence(rng)
	}
	if _, err := e.RememberMany(t.Context(), many); err != nil {
		t.Fatal(err)
	}
	want := enginetest.Indexed(t, e)
	for _, step = range []string{"words", "vectors"} {
		ctx, stop := context.WithCancel(t.Context())
		cancel = stop
		if _, err := e.RebuildIndex(ctx, index.RebuildRequest{Vectors: true}); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled at %s: %v: want context.Canceled", step, err)
		}
		stop()
		enginetest.Check(t, e)
		enginetest.Equal(t, "content after a rebuild cancelled at "+step, want, enginetest.Indexed(t, e))
		s, err := e.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var next *upkeep.NextModel
		if step == "vectors" {
			next = &upkeep.NextModel{Model: s.Model, Dims: s.Dims, Documents: len(want["vectors"]), Vectors: 1000}
		}
		enginetest.Equal(t, "next vectors after a rebuild cancelled at "+step, next, s.Next)
	}
	step = ""
	r, err := e.RebuildIndex(t.Context(), index.RebuildRequest{Vectors: true})
	if err != nil {
		t.Fatal(err)
	}
	if left := len(want["vectors"]) - 1000; r.Vectors != left {
		t.Errorf("completed with %d vectors; want the %d that were left", r.Vectors, left)
	}
	enginetest.Equal(t, "content after completing", want, enginetest.Indexed(t, e))
	if tables := enginetest.Rows(t, e, "SELECT table_name FROM duckdb_tables() WHERE table_name LIKE 'vectors_%'"); len(tables) != 1 {
		t.Errorf("tables of vectors: %v; want one", tables)
	}
}

func TestRebuildWithoutModel(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{})
	enginetest.Stock(t, e)
	if _, err := e.RebuildIndex(t.Context(), index.RebuildRequest{Vectors: true}); !errors.Is(err, engine.ErrNoEmbedder) {
		t.Errorf("vectors without a model: %v", err)
	}
	built, err := e.RebuildIndex(t.Context(), index.RebuildRequest{})
	if err != nil || built.Documents == 0 || built.Vectors != 0 {
		t.Errorf("rebuilt %+v, %v", built, err)
	}
}

// TestNumbersAreNeverUsedAgain: not that of the newest document after it was purged, not after reopening, nor after a rebuild,
// nor in a snapshot.
func TestNumbersAreNeverUsedAgain(t *testing.T) {
	enginetest.Alone(t)
	ctx := t.Context()
	path := enginetest.NewFile(t)
	o := engine.Options{Embedder: enginetest.Words{}}
	e := enginetest.OpenFile(t, path, o)
	highest := int32(0)
	rememberAndPurge := func() {
		t.Helper()
		r, err := e.Remember(ctx, memory.RememberRequest{Text: "here for a moment"})
		if err != nil {
			t.Fatal(err)
		}
		no := enginetest.Rows(t, e, "SELECT doc_no FROM memories WHERE id = '"+r.ID+"'")[0][0].(int32)
		if no <= highest {
			t.Errorf("document %d after %d", no, highest)
		}
		highest = no
		if _, err := e.Purge(ctx, memory.PurgeRequest{ID: r.ID}); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		rememberAndPurge()
		enginetest.CloseFile(t, e)
		e = enginetest.OpenFile(t, path, o)
	}
	if _, err := e.RebuildIndex(ctx, index.RebuildRequest{}); err != nil {
		t.Fatal(err)
	}
	rememberAndPurge()
	copied := enginetest.NewFile(t)
	if err := e.Snapshot(ctx, copied); err != nil {
		t.Fatal(err)
	}
	enginetest.CloseFile(t, e)
	e = enginetest.OpenFile(t, copied, o)
	rememberAndPurge()
}
