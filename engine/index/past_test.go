package index_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
)

// TestPastByOtherModel: vectors of the past are made anew with those of the present, and none of the former model stay.
func TestPastByOtherModel(t *testing.T) {
	enginetest.Alone(t)
	path := enginetest.NewFile(t)
	clock := &enginetest.Clock{At: enginetest.Noon}
	e := enginetest.OpenFile(t, path, engine.Options{Embedder: enginetest.Words{}, Now: clock.Now})
	m := enginetest.Remember(t, e, memory.RememberRequest{Text: "The harbour crane is green"})
	gone := enginetest.Remember(t, e, memory.RememberRequest{Text: longText("tide")})
	clock.Advance(time.Hour)
	if _, err := e.Update(t.Context(), memory.UpdateRequest{ID: m.ID, Text: enginetest.Pointer("A lamp burns at night")}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Forget(t.Context(), memory.ForgetRequest{ID: gone.ID}); err != nil {
		t.Fatal(err)
	}
	byVector := recall.Query{Text: "green harbour crane", Mode: recall.VectorMode, Weights: enginetest.PlainWeights(), KnownAt: enginetest.Noon}
	found := func(what string) {
		t.Helper()
		result, err := e.Recall(t.Context(), byVector)
		if err != nil || len(result.Hits) != 2 || result.Hits[0].ID != m.ID || result.Hits[0].Text != "The harbour crane is green" || !result.Trace.Past {
			t.Errorf("%s: %+v, %v", what, result.Hits, err)
		}
		if n := enginetest.Rows(t, e, "SELECT count(*), count(DISTINCT model) FROM past_vectors")[0]; fmt.Sprint(n) != fmt.Sprint([]any{int64(2 + len(enginetest.Rows(t, e, "FROM past_passages"))), int64(1)}) {
			t.Errorf("%s: %v vectors of the past and their models", what, n)
		}
		enginetest.Check(t, e)
	}
	found("by the first model")
	enginetest.CloseFile(t, e)
	e = enginetest.OpenFile(t, path, engine.Options{Embedder: enginetest.Words{Name: "others", N: 32}, Now: clock.Now, ReplaceModel: true})
	built, err := e.RebuildIndex(t.Context(), index.RebuildRequest{Vectors: true})
	if err != nil || built.Past != 2 || built.PastVectors < 2 {
		t.Fatalf("%+v, %v", built, err)
	}
	found("by another")
}

// TestDropRetired: what was known only until before a date leaves nothing that is searched, and what was known after it stays.
func TestDropRetired(t *testing.T) {
	enginetest.Alone(t)
	clock := &enginetest.Clock{At: enginetest.Noon}
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}, Now: clock.Now})
	m := enginetest.Remember(t, e, memory.RememberRequest{Text: "text zero"})
	gone := enginetest.Remember(t, e, memory.RememberRequest{Text: "soon forgotten"})
	var at []time.Time
	for n, word := range []string{"one", "two", "three"} {
		at = append(at, clock.At)
		clock.Advance(time.Hour)
		if _, err := e.Update(t.Context(), memory.UpdateRequest{ID: m.ID, Text: enginetest.Pointer("text " + word)}); err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			if _, err := e.Forget(t.Context(), memory.ForgetRequest{ID: gone.ID}); err != nil {
				t.Fatal(err)
			}
		}
	}
	built, err := e.RebuildIndex(t.Context(), index.RebuildRequest{DropRetiredBefore: at[2]})
	if err != nil || built.Dropped != 3 || built.Past != 1 {
		t.Fatalf("%+v, %v", built, err)
	}
	enginetest.Check(t, e)
	for n, want := range [][]string{{}, {}, {"text two"}} {
		for _, moment := range []memory.Moment{{KnownAt: at[n]}, {AsOf: at[n]}} {
			list, err := e.List(t.Context(), memory.ListRequest{Moment: moment})
			texts := []string{}
			for _, m := range list {
				texts = append(texts, m.Text)
			}
			enginetest.Equal(t, fmt.Sprintf("%v: %v", moment, err), want, texts)
			q := recall.Query{Text: "text soon", AsOf: moment.AsOf, KnownAt: moment.KnownAt, Weights: enginetest.PlainWeights()}
			hits := []string{}
			result, err := e.Recall(t.Context(), q)
			for _, h := range result.Hits {
				hits = append(hits, h.Text)
			}
			enginetest.Equal(t, fmt.Sprintf("recall %v: %v", moment, err), want, hits)
		}
	}
	h, err := e.History(t.Context(), memory.HistoryRequest{ID: m.ID})
	if err != nil || h.Dropped != 2 || len(h.Versions) != 2 || !h.DroppedUntil.Equal(at[2]) || !h.Versions[0].KnownFrom.Equal(at[2]) {
		t.Errorf("%+v, %v", h, err)
	}
}
