package enginetest

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/lookup"
	"github.com/mallardmem/mallard/engine/recall"
)

// RecallIDs asks a question and gives the ids of the hits in their order.
func RecallIDs(t testing.TB, e *engine.Engine, q recall.Query) []string {
	t.Helper()
	result, err := e.Recall(t.Context(), q)
	if err != nil {
		t.Fatalf("recall %q: %v", q.Text, err)
	}
	return HitIDs(result)
}

// HitIDs gives the ids of hits in their order.
func HitIDs(result *recall.Result) []string {
	ids := []string{}
	for _, h := range result.Hits {
		ids = append(ids, h.ID)
	}
	return ids
}

// Grep looks for what a request says: in the file, and in the resident index, which has to find the same.
func Grep(t testing.TB, e *engine.Engine, r lookup.GrepRequest) *lookup.GrepResult {
	t.Helper()
	ctx, x := context.Background(), Index(e)
	x.AskFile(true)
	want, err := e.Grep(ctx, r)
	x.AskFile(false)
	if err != nil {
		t.Fatalf("%+v: %v", r, err)
	}
	if ready, err := x.AwaitResident(ctx); !ready || err != nil {
		t.Fatalf("no resident index: %v", err)
	}
	got, err := e.Grep(ctx, r)
	if err != nil {
		t.Fatalf("%+v: %v", r, err)
	}
	if diff := cmp.Diff(want.Hits, got.Hits, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
		t.Errorf("%+v (-file +resident index):\n%s", r, diff)
	}
	return got
}

// PlainWeights rank by the fused score alone and drop nothing.
func PlainWeights() *recall.Weights {
	w := recall.MemoryWeights()
	w.MinScore, w.HardMinScore, w.Rerank, w.Decay, w.LengthAnchor, w.Noise, w.Diversity = 0, 0, "none", "none", 0, false, 1
	return &w
}

// RecallScores asks what Stock and Fill have something for, and gives ids and scores of the hits.
func RecallScores(t *testing.T, e *engine.Engine) (texts []string) {
	t.Helper()
	r, err := e.Recall(t.Context(), recall.Query{Text: "black tea with word12 word77", Kinds: kinds.All(), Limit: 20})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range r.Hits {
		texts = append(texts, fmt.Sprintf("%s %.6f", h.ID, h.Score))
	}
	return texts
}
