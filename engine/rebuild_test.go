package engine_test

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

// content is the index without the numbers of terms, which a rebuild gives anew.
func content(t *testing.T, e *engine.Engine) map[string][][]any {
	t.Helper()
	return map[string][][]any{
		"documents": rowsOf(t, e, "SELECT * REPLACE (round(length, 3) AS length) FROM documents WHERE live ORDER BY doc_no"),
		"forgotten": rowsOf(t, e, "SELECT * EXCLUDE (length) FROM documents WHERE NOT live ORDER BY doc_no"),
		"postings":  rowsOf(t, e, "SELECT term, kind, doc_no, round(tf, 3) FROM postings JOIN terms USING (term_no) ORDER BY ALL"),
		"totals":    rowsOf(t, e, "SELECT kind, documents, round(length, 3) FROM kind_stats ORDER BY kind"),
		"vectors":   rowsOf(t, e, "SELECT doc_no, v::VARCHAR FROM vectors ORDER BY doc_no"),
		"memories":  rowsOf(t, e, "SELECT * EXCLUDE (extra) FROM memories ORDER BY id"),
		"messages":  rowsOf(t, e, "FROM messages ORDER BY id"),
	}
}

// clustered reports whether the postings of each term stand side by side, as far as these few documents go.
func clustered(t *testing.T, e *engine.Engine) bool {
	t.Helper()
	return len(rowsOf(t, e, "SELECT 1 FROM (SELECT term_no < lag(term_no) OVER (ORDER BY rowid) AS back FROM postings) WHERE back")) == 0
}

func TestRebuildMakesTheSame(t *testing.T) {
	alone(t)
	ctx := t.Context()
	path := newFile(t)
	e := openFile(t, path, engine.Options{Embedder: enginetest.Words{}})
	stock(t, e)
	fill(t, e, 30)
	want := content(t, e)
	if clustered(t, e) {
		t.Fatal("postings of a file written bit by bit are clustered: the test shows nothing")
	}
	for i, r := range []index.RebuildRequest{{}, {Vectors: true}, {}, {Vectors: true}} {
		built, err := e.RebuildIndex(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		vectors := 0
		if r.Vectors {
			vectors = len(want["vectors"])
		}
		equal(t, fmt.Sprintf("rebuild %d", i), &index.Rebuilt{Documents: len(want["documents"]) + len(want["forgotten"]), Vectors: vectors}, built)
		equal(t, fmt.Sprintf("content after rebuild %d", i), want, content(t, e))
		intact(t, e)
		if !clustered(t, e) {
			t.Errorf("postings are not clustered after rebuild %d", i)
		}
	}
	fill(t, e, 5) // words that were known before, numbered anew
	intact(t, e)
	want = content(t, e)
	closeFile(t, e)
	e = openFile(t, path, engine.Options{Embedder: enginetest.Words{}})
	intact(t, e)
	equal(t, "content after reopening", want, content(t, e))
}

// TestRebuildOfBlocks: what tools and files say is in the index as before, in every batch.
func TestRebuildOfBlocks(t *testing.T) {
	alone(t)
	e := openFile(t, newFile(t), engine.Options{})
	defer closeFile(t, e)
	var say []conversation.Message
	for i := range 2100 {
		say = append(say, conversation.Message{Role: "tool", Blocks: []conversation.Block{
			{Type: conversation.ToolResultBlock, CallID: fmt.Sprint(i), Output: fmt.Sprint("result ", i)}, {Type: conversation.FileBlock, FileName: "a", Text: fmt.Sprint("file ", i)}}})
	}
	appended(t, e, conversation.AppendRequest{Conversation: "c", Messages: say})
	want := content(t, e)
	if _, err := e.RebuildIndex(t.Context(), index.RebuildRequest{}); err != nil {
		t.Fatal(err)
	}
	equal(t, "content after a rebuild", want, content(t, e))
	intact(t, e)
}

// fill adds memories and messages of random words.
func fill(t testing.TB, e *engine.Engine, n int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(n), 7))
	for range n {
		_, err1 := e.Remember(context.Background(), memory.RememberRequest{Text: sentence(rng)})
		_, err2 := e.Append(context.Background(), conversation.AppendRequest{Conversation: "filled", Messages: []conversation.Message{{Text: sentence(rng)}}})
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRebuildCancelled breaks rebuilds off wherever they report progress; the file stays as it is, and a further one completes it.
func TestRebuildCancelled(t *testing.T) {
	cancel, step := func() {}, "" // what to call at which step
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}, Progress: func(at string, _, _ int) {
		if at == step {
			cancel()
		}
	}})
	stock(t, e)
	many := make([]memory.RememberRequest, 2200) // more than two batches
	rng := rand.New(rand.NewPCG(3, 3))
	for i := range many {
		many[i].Text = sentence(rng)
	}
	if _, err := e.RememberMany(t.Context(), many); err != nil {
		t.Fatal(err)
	}
	want := content(t, e)
	for _, step = range []string{"words", "vectors"} {
		ctx, stop := context.WithCancel(t.Context())
		cancel = stop
		if _, err := e.RebuildIndex(ctx, index.RebuildRequest{Vectors: true}); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled at %s: %v: want context.Canceled", step, err)
		}
		stop()
		intact(t, e)
		equal(t, "content after a rebuild cancelled at "+step, want, content(t, e))
		s, err := e.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var next *upkeep.NextModel
		if step == "vectors" {
			next = &upkeep.NextModel{Model: s.Model, Dims: s.Dims, Documents: len(want["vectors"]), Vectors: 1000}
		}
		equal(t, "next vectors after a rebuild cancelled at "+step, next, s.Next)
	}
	step = ""
	r, err := e.RebuildIndex(t.Context(), index.RebuildRequest{Vectors: true})
	if err != nil {
		t.Fatal(err)
	}
	if left := len(want["vectors"]) - 1000; r.Vectors != left {
		t.Errorf("completed with %d vectors; want the %d that were left", r.Vectors, left)
	}
	equal(t, "content after completing", want, content(t, e))
	if tables := rowsOf(t, e, "SELECT table_name FROM duckdb_tables() WHERE table_name LIKE 'vectors_%'"); len(tables) != 1 {
		t.Errorf("tables of vectors: %v; want one", tables)
	}
}

func TestRebuildWithoutModel(t *testing.T) {
	alone(t)
	e := enginetest.Open(t, engine.Options{})
	stock(t, e)
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
	alone(t)
	ctx := t.Context()
	path := newFile(t)
	o := engine.Options{Embedder: enginetest.Words{}}
	e := openFile(t, path, o)
	highest := int32(0)
	rememberAndPurge := func() {
		t.Helper()
		r, err := e.Remember(ctx, memory.RememberRequest{Text: "here for a moment"})
		if err != nil {
			t.Fatal(err)
		}
		no := rowsOf(t, e, "SELECT doc_no FROM memories WHERE id = '"+r.ID+"'")[0][0].(int32)
		if no <= highest {
			t.Errorf("document %d after %d", no, highest)
		}
		highest = no
		if _, err := e.Purge(ctx, memory.ForgetRequest{ID: r.ID}); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		rememberAndPurge()
		closeFile(t, e)
		e = openFile(t, path, o)
	}
	if _, err := e.RebuildIndex(ctx, index.RebuildRequest{}); err != nil {
		t.Fatal(err)
	}
	rememberAndPurge()
	copied := newFile(t)
	if err := e.Snapshot(ctx, copied); err != nil {
		t.Fatal(err)
	}
	closeFile(t, e)
	e = openFile(t, copied, o)
	rememberAndPurge()
}
