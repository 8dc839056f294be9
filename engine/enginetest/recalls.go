package enginetest

import (
	"context"
	"fmt"
	"testing"

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

// Grep looks for what a request says.
func Grep(t testing.TB, e *engine.Engine, r lookup.GrepRequest) *lookup.GrepResult {
	t.Helper()
	result, err := e.Grep(context.Background(), r)
	if err != nil {
		t.Fatalf("%+v: %v", r, err)
	}
	return result
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
