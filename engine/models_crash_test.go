package engine_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/recall"
)

// beside is the second model of the deeds.
var beside = enginetest.Words{Name: "beside", N: 16}

// modelDeeds are those that change the models of a file.
var modelDeeds = []deed{
	{"add a model", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.AddModel(ctx, index.AddModelRequest{Embedder: beside})
		return err
	}},
	{"use another model", func(ctx context.Context, e *engine.Engine) error {
		if _, err := e.AddModel(ctx, index.AddModelRequest{Embedder: beside}); err != nil {
			return err
		}
		_, err := e.UseModel(ctx, index.UseModelRequest{Model: "beside"})
		return err
	}},
	{"drop a model", func(ctx context.Context, e *engine.Engine) error {
		if _, err := e.AddModel(ctx, index.AddModelRequest{Embedder: beside}); err != nil {
			return err
		}
		_, err := e.DropModel(ctx, index.DropModelRequest{Model: "beside"})
		return err
	}},
}

// TestModelKilledBetweenStatements: before whichever statement it is killed who changes the models of a file, what recall gives is that of one of them, and whole; what
// is counted of the other's vectors is there; and whoever goes on completes it.
func TestModelKilledBetweenStatements(t *testing.T) {
	if testing.Short() {
		t.Skip("short: a file for every statement")
	}
	original := enginetest.NewFile(t)
	historyFile(t, original)
	answers := func(e *engine.Engine) string {
		t.Helper()
		var all string
		for _, q := range []recall.Query{{Text: "a green crane", Mode: recall.VectorMode}, {Text: "the crane number2", KnownAt: enginetest.Noon.Add(1)}} {
			r, err := e.Recall(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range r.Hits {
				all += fmt.Sprintf("%s %.4f ", h.ID, h.Score)
			}
		}
		return all
	}
	e := enginetest.OpenFile(t, enginetest.CopyFile(t, original), crashOptions("before", func() {}))
	want := map[string]string{"words": answers(e)}
	for _, deed := range modelDeeds[:2] {
		if err := deed.do(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	want["beside"] = answers(e)
	enginetest.CloseFile(t, e)
	if want["words"] == want["beside"] {
		t.Fatal("both models answer the same: nothing is told apart")
	}
	for _, deed := range modelDeeds {
		t.Run(deed.name, func(t *testing.T) {
			t.Parallel()
			kill := copiedBetween(t, original, deed.do)
			if enginetest.Long("kills") {
				kill = killedBefore(t, original, deed.name)
			}
			seen := map[string]bool{}
			for n, finished := 1, false; !finished; n++ {
				var path string
				if path, finished = kill(n); path == "" {
					continue
				}
				o := crashOptions("later", func() {})
				o.ReplaceModel = true // whichever it goes by
				e := enginetest.OpenFile(t, path, o)
				states, err := e.Models(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range states {
					counted := enginetest.Rows(t, e, fmt.Sprintf("SELECT (SELECT count(*) FROM vectors_%d), (SELECT count(*) FROM past_vectors WHERE model = %[1]d)", s.N))[0]
					if fmt.Sprint(counted) != fmt.Sprint([]any{s.Documents.Has + s.Passages.Has, s.Past.Has}) {
						t.Errorf("before statement %d: %+v, and there are %v", n, s, counted)
					}
					seen[fmt.Sprintln(s.Model, s.Chosen, s.Documents.Has > 0, s.Whole())] = true
				}
				chosen := states[0].Model
				if chosen == "beside" {
					if _, err := e.AddModel(t.Context(), index.AddModelRequest{Embedder: beside}); err != nil {
						t.Fatal(err)
					}
				}
				if got := answers(e); got != want[chosen] {
					t.Errorf("before statement %d, by %s: %s; want %s", n, chosen, got, want[chosen])
				}
				added, err := e.AddModel(t.Context(), index.AddModelRequest{Embedder: beside})
				if err != nil || !added.Whole() {
					t.Errorf("before statement %d: gone on: %+v, %v", n, added, err)
				}
				if _, err := e.UseModel(t.Context(), index.UseModelRequest{Model: "beside"}); err != nil {
					t.Error(err)
				}
				if got := answers(e); got != want["beside"] {
					t.Errorf("before statement %d, completed: %s; want %s", n, got, want["beside"])
				}
				if n%4 == 0 || finished || enginetest.Long("kills") {
					enginetest.Check(t, e)
				}
				enginetest.CloseFile(t, e)
			}
			for _, state := range []string{"words true true true", "beside false false false", "beside false true false", "beside false true true"} {
				if !seen[state+"\n"] {
					t.Errorf("nobody was killed while it was %s; only %v", state, seen)
				}
			}
		})
	}
}
