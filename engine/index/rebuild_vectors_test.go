package index_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
)

// TestRebuildBesideWriters: while the model makes new vectors, recall goes by the old ones, and what is written, changed and forgotten
// meanwhile has in the end what it should: the same as if the vectors were made when nobody writes. So it is where the model stays, and
// where another comes.
func TestRebuildBesideWriters(t *testing.T) {
	enginetest.Alone(t)
	for _, dims := range []int{64, 32} {
		t.Run(fmt.Sprint(dims), func(t *testing.T) {
			t.Parallel()
			path := enginetest.NewFile(t)
			e := enginetest.OpenFile(t, path, engine.Options{Embedder: enginetest.Words{}})
			enginetest.FillMany(t, e, 2300)
			ids := []string{}
			for i := range 7 {
				ids = append(ids, enginetest.Remember(t, e, memory.RememberRequest{Text: fmt.Sprintf("The crane number %d is at the quay", i)}).ID)
			}
			enginetest.CloseFile(t, e)
			model := &enginetest.Scripted{Words: enginetest.Words{N: dims}}
			e = enginetest.OpenFile(t, path, engine.Options{Embedder: model, ReplaceModel: true})
			asked := 0
			model.Texts = func(ctx context.Context, texts []string) ([][]float32, error) {
				vectors, err := model.Words.EmbedTexts(ctx, texts)
				if len(texts) < 100 || asked > 2 { // of the writers below
					return vectors, err
				}
				asked++
				enginetest.Remember(t, e, memory.RememberRequest{Text: fmt.Sprint("written meanwhile ", asked)})
				if _, err := e.Update(ctx, memory.UpdateRequest{ID: ids[asked], Text: enginetest.Pointer(fmt.Sprint("changed meanwhile ", asked))}); err != nil {
					t.Error(err)
				}
				if _, err := e.Forget(ctx, memory.ForgetRequest{ID: ids[asked+3]}); err != nil {
					t.Error(err)
				}
				enginetest.Check(t, e)
				s, err := e.Stats(ctx)
				if err != nil || s.Next == nil || s.Next.Dims != dims || s.Next.Vectors != 1000*(asked-1) || s.Dims != 64 || s.Coverage[0].Vectors < 2300 {
					t.Errorf("batch %d: %+v, %v: want the old vectors in place, and the next of %d dimensions", asked, s, err, dims)
				}
				if hits := enginetest.RecallIDs(t, e, recall.Query{Text: "crane number 0 quay"}); len(hits) == 0 || hits[0] != ids[0] {
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
			enginetest.Check(t, e)
			s, err := e.Stats(t.Context())
			if err != nil || s.Next != nil || s.Dims != dims || s.Coverage[0].Documents != s.Coverage[0].Vectors {
				t.Errorf("%+v, %v: want all vectors of %d dimensions", s, err, dims)
			}
			got := enginetest.Indexed(t, e)
			model.Texts = nil
			if _, err := e.RebuildIndex(t.Context(), index.RebuildRequest{Vectors: true}); err != nil {
				t.Fatal(err)
			}
			enginetest.Equal(t, "vectors", enginetest.Indexed(t, e)["vectors"], got["vectors"])
			enginetest.CloseFile(t, e)
		})
	}
}

// TestRebuildGivenUp: vectors of a model that were begun give way to those of another, a copy of the file has them too, and a text for which
// the model gives no usable vector keeps no other from having one.
func TestRebuildGivenUp(t *testing.T) {
	enginetest.Alone(t)
	path := enginetest.NewFile(t)
	e := enginetest.OpenFile(t, path, engine.Options{Embedder: enginetest.Words{}})
	enginetest.FillMany(t, e, 1200)
	enginetest.Remember(t, e, memory.RememberRequest{Text: "the crane"})
	enginetest.CloseFile(t, e)
	broken := func(dims int) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		e := enginetest.OpenFile(t, path, engine.Options{Embedder: enginetest.Words{N: dims}, ReplaceModel: true, Progress: func(step string, _, _ int) {
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
		enginetest.Check(t, e)
		enginetest.CloseFile(t, e)
	}
	broken(16)
	broken(32)
	e = enginetest.OpenFile(t, path, engine.Options{Embedder: enginetest.Words{}})
	copied := enginetest.NewFile(t)
	if err := e.Snapshot(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	enginetest.CloseFile(t, e)
	for _, path := range []string{path, copied} {
		model := &enginetest.Scripted{Words: enginetest.Words{N: 32}}
		made := 0
		model.Texts = func(ctx context.Context, texts []string) ([][]float32, error) {
			vectors, err := model.Words.EmbedTexts(ctx, texts)
			for i, text := range texts {
				if made++; text == "the crane" {
					vectors[i] = []float32{1}
				}
			}
			return vectors, err
		}
		e := enginetest.OpenFile(t, path, engine.Options{Embedder: model, ReplaceModel: true})
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
		enginetest.Check(t, e)
		enginetest.CloseFile(t, e)
	}
}
