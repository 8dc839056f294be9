package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
)

// many adds memories of random words, all at once.
func many(t *testing.T, e *engine.Engine, n int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(n), 8))
	all := make([]memory.RememberRequest, n)
	for i := range all {
		all[i].Text = sentence(rng)
	}
	if _, err := e.RememberMany(t.Context(), all); err != nil {
		t.Fatal(err)
	}
}

// TestRebuildBesideWriters: while the model makes new vectors, recall goes by the old ones, and what is written, changed and forgotten
// meanwhile has in the end what it should: the same as if the vectors were made when nobody writes. So it is where the model stays, and
// where another comes.
func TestRebuildBesideWriters(t *testing.T) {
	alone(t)
	for _, dims := range []int{64, 32} {
		t.Run(fmt.Sprint(dims), func(t *testing.T) {
			t.Parallel()
			path := newFile(t)
			e := openFile(t, path, engine.Options{Embedder: enginetest.Words{}})
			many(t, e, 2300)
			ids := []string{}
			for i := range 7 {
				ids = append(ids, stored(t, e, memory.RememberRequest{Text: fmt.Sprintf("The crane number %d is at the quay", i)}).ID)
			}
			closeFile(t, e)
			model := &scripted{Words: enginetest.Words{N: dims}}
			e = openFile(t, path, engine.Options{Embedder: model, ReplaceModel: true})
			asked := 0
			model.texts = func(ctx context.Context, texts []string) ([][]float32, error) {
				vectors, err := model.Words.EmbedTexts(ctx, texts)
				if len(texts) < 100 || asked > 2 { // of the writers below
					return vectors, err
				}
				asked++
				stored(t, e, memory.RememberRequest{Text: fmt.Sprint("written meanwhile ", asked)})
				if _, err := e.Update(ctx, memory.UpdateRequest{ID: ids[asked], Text: pointer(fmt.Sprint("changed meanwhile ", asked))}); err != nil {
					t.Error(err)
				}
				if _, err := e.Forget(ctx, memory.ForgetRequest{ID: ids[asked+3]}); err != nil {
					t.Error(err)
				}
				intact(t, e)
				s, err := e.Stats(ctx)
				if err != nil || s.Next == nil || s.Next.Dims != dims || s.Next.Vectors != 1000*(asked-1) || s.Dims != 64 || s.Coverage[0].Vectors < 2300 {
					t.Errorf("batch %d: %+v, %v: want the old vectors in place, and the next of %d dimensions", asked, s, err, dims)
				}
				if hits := recalled(t, e, recall.Query{Text: "crane number 0 quay"}); len(hits) == 0 || hits[0] != ids[0] {
					t.Errorf("batch %d: hits %v, want %s first", asked, hits, ids[0])
				}
				return vectors, nil
			}
			if _, err := e.RebuildIndex(t.Context(), index.RebuildRequest{Vectors: true}); err != nil {
				t.Fatal(err)
			}
			if asked != 3 {
				t.Errorf("%d batches, want 3", asked)
			}
			intact(t, e)
			s, err := e.Stats(t.Context())
			if err != nil || s.Next != nil || s.Dims != dims || s.Coverage[0].Documents != s.Coverage[0].Vectors {
				t.Errorf("%+v, %v: want all vectors of %d dimensions", s, err, dims)
			}
			got := content(t, e)
			model.texts = nil
			if _, err := e.RebuildIndex(t.Context(), index.RebuildRequest{Vectors: true}); err != nil {
				t.Fatal(err)
			}
			equal(t, "vectors", content(t, e)["vectors"], got["vectors"])
			closeFile(t, e)
		})
	}
}

// TestRebuildGivenUp: vectors of a model that were begun give way to those of another, a copy of the file has them too, and a text for which
// the model gives no usable vector keeps no other from having one.
func TestRebuildGivenUp(t *testing.T) {
	alone(t)
	path := newFile(t)
	e := openFile(t, path, engine.Options{Embedder: enginetest.Words{}})
	many(t, e, 1200)
	stored(t, e, memory.RememberRequest{Text: "the crane"})
	closeFile(t, e)
	broken := func(dims int) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		e := openFile(t, path, engine.Options{Embedder: enginetest.Words{N: dims}, ReplaceModel: true, Progress: func(step string, _, _ int) {
			if step == "vectors" {
				cancel()
			}
		}})
		if _, err := e.RebuildIndex(ctx, index.RebuildRequest{Vectors: true}); err == nil {
			t.Error("the rebuild was not broken off")
		}
		s, err := e.Stats(t.Context())
		if err != nil || s.Next == nil || s.Next.Dims != dims || s.Next.Vectors != 1000 || s.Dims != 64 || s.Coverage[0].Vectors != 1201 {
			t.Errorf("%+v, %v: want the vectors as they were, and 1000 of %d dimensions", s, err, dims)
		}
		intact(t, e)
		closeFile(t, e)
	}
	broken(16)
	broken(32)
	e = openFile(t, path, engine.Options{Embedder: enginetest.Words{}})
	copied := newFile(t)
	if err := e.Snapshot(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	closeFile(t, e)
	for _, path := range []string{path, copied} {
		model := &scripted{Words: enginetest.Words{N: 32}}
		made := 0
		model.texts = func(ctx context.Context, texts []string) ([][]float32, error) {
			vectors, err := model.Words.EmbedTexts(ctx, texts)
			for i, text := range texts {
				if made++; text == "the crane" {
					vectors[i] = []float32{1}
				}
			}
			return vectors, err
		}
		e := openFile(t, path, engine.Options{Embedder: model, ReplaceModel: true})
		if _, err := e.RebuildIndex(t.Context(), index.RebuildRequest{Vectors: true}); err == nil || !strings.Contains(err.Error(), "1 dimensions; allowed: 32") {
			t.Errorf("%v: want the unusable vector named", err)
		}
		if made != 201+1 {
			t.Errorf("%d texts were embedded; want those that were left, and once more the one without", made)
		}
		s, err := e.Stats(t.Context())
		if err != nil || s.Next != nil || s.Dims != 32 || s.Coverage[0].Vectors != 1200 {
			t.Errorf("%+v, %v: want all vectors but one", s, err)
		}
		intact(t, e)
		closeFile(t, e)
	}
}
