package recall_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
)

var stageNames = []string{"embed", "vector", "lexical", "fusion", "chance", "min_score", "expired", "rerank_window", "rerank", "recency", "importance",
	"trust", "length_norm", "decay", "hard_min_score", "noise", "min_confidence", "diversity", "limit"}

func namesOf(stages []recall.Stage) []string {
	var names []string
	for _, s := range stages {
		names = append(names, s.Name)
	}
	return names
}

// follows holds a trace to its own sums.
func follows(t *testing.T, trace recall.Trace, hits int) {
	t.Helper()
	i := slices.IndexFunc(trace.Stages, func(s recall.Stage) bool { return s.Name == "fusion" })
	if i < 0 {
		t.Fatalf("no fusion in %v", namesOf(trace.Stages))
	}
	var drops []recall.Drop
	for j, s := range trace.Stages[i:] {
		if j > 0 && s.Before != trace.Stages[i+j-1].After || s.After > s.Before || s.Lowest > s.Highest || s.Duration < 0 {
			t.Errorf("%+v after %+v", s, trace.Stages[i+max(j, 1)-1])
		}
		if s.After < s.Before {
			drops = append(drops, recall.Drop{Stage: s.Name, Before: s.Before, After: s.After, Dropped: s.Before - s.After})
		}
	}
	slices.SortStableFunc(drops, func(a, b recall.Drop) int { return b.Dropped - a.Dropped })
	if diff := cmp.Diff(drops, trace.Drops); diff != "" {
		t.Errorf("drops (-want +got):\n%s", diff)
	}
	if last := trace.Stages[len(trace.Stages)-1]; last.After != hits {
		t.Errorf("%d left of the last stage, and %d hits", last.After, hits)
	}
}

func TestEveryStageDropsWhatItShould(t *testing.T) {
	enginetest.Alone(t)
	model := enginetest.Plotted{N: 3, Vectors: map[string][]float32{"hello crane": {1, 0, 0}}}
	want := map[string]string{} // stage by id
	var requests []memory.RememberRequest
	add := func(stage, id, text string, vector []float32, r memory.RememberRequest) {
		model.Vectors[text] = vector
		r.ID, r.Text, want[id] = id, text, stage
		requests = append(requests, r)
	}
	add("min_score", "far", "opposite", []float32{-0.9, 0.43588989, 0}, memory.RememberRequest{})
	add("min_score", "farther", "contrary", []float32{-0.95, 0.31224990, 0}, memory.RememberRequest{})
	add("min_score", "farthest", "reverse", []float32{-1, 0, 0}, memory.RememberRequest{})
	add("hard_min_score", "faint", "unrelated", []float32{0, 1, 0}, memory.RememberRequest{})
	add("expired", "old", "crane of old", []float32{0.99, 0.14106736, 0}, memory.RememberRequest{ValidUntil: enginetest.Noon})
	add("noise", "greeting", "hello", []float32{0.9, 0.43588989, 0}, memory.RememberRequest{})
	add("noise", "lookup", "query -> none", []float32{0.9, -0.43588989, 0}, memory.RememberRequest{})
	add("", "first", "crane one", []float32{1, 0, 0}, memory.RememberRequest{})
	add("limit", "second", "crane two", []float32{0.8, 0, 0.6}, memory.RememberRequest{})
	add("limit", "third", "a wharf", []float32{0.7, 0, -0.71414284}, memory.RememberRequest{})
	e := enginetest.Open(t, engine.Options{Embedder: model})
	for _, r := range requests {
		enginetest.Remember(t, e, r)
	}
	w := recall.MemoryWeights()
	w.Rerank, w.HardMinScore = "none", 0.35 // the window of twice the limit would come first
	result, err := e.Recall(t.Context(), recall.Query{Text: "hello crane", Limit: 1, Weights: &w, Explain: true})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, v := range result.Candidates {
		got[v.ID] = v.Dropped
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(stageNames, namesOf(result.Trace.Stages)); diff != "" {
		t.Errorf("stages (-want +got):\n%s", diff)
	}
	follows(t, result.Trace, 1)
	var order []string
	for _, d := range result.Trace.Drops {
		order = append(order, d.Stage)
	}
	if diff := cmp.Diff([]string{"min_score", "noise", "limit", "expired", "hard_min_score"}, order); diff != "" {
		t.Errorf("drops, largest first (-want +got):\n%s", diff)
	}
	w.Rerank = "light"
	result, err = e.Recall(t.Context(), recall.Query{Text: "hello crane", Limit: 2, Weights: &w, Explain: true})
	if err != nil {
		t.Fatal(err)
	}
	follows(t, result.Trace, len(result.Hits))
	reached := 0
	for _, v := range result.Candidates {
		if v.Dropped != "min_score" && v.Dropped != "expired" && v.Dropped != "rerank_window" {
			reached++
		}
	}
	if reached != 4 || !slices.ContainsFunc(result.Trace.Drops, func(d recall.Drop) bool { return d.Stage == "rerank_window" && d.After == 4 }) {
		t.Errorf("%d candidates were reranked, drops %+v, want twice the limit", reached, result.Trace.Drops)
	}
}

func TestTraceOfEachMode(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}})
	for _, text := range []string{"the crane is blue", "the crane is red", "a ferry to the islands"} {
		enginetest.Remember(t, e, memory.RememberRequest{Text: text})
	}
	for _, test := range []struct {
		query           recall.Query
		embeds          bool
		vector, lexical int
	}{
		{recall.Query{Text: "which cranes?"}, true, 3, 2},
		{recall.Query{Text: "which cranes?", Mode: recall.VectorMode}, true, 3, 0},
		{recall.Query{Text: "which cranes?", Mode: recall.LexicalMode}, false, 0, 2},
		{recall.Query{Text: "which proj:x cranes?"}, false, 0, 0},
		{recall.Query{Text: "which cranes?", Scopes: []string{}}, true, 0, 0},
		{recall.Query{Text: "nowhere", Mode: recall.LexicalMode}, false, 0, 0},
	} {
		result, err := e.Recall(t.Context(), test.query)
		if err != nil {
			t.Fatal(err)
		}
		want := stageNames
		if !test.embeds {
			want = stageNames[1:]
		}
		if diff := cmp.Diff(want, namesOf(result.Trace.Stages)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", test.query, diff)
			continue
		}
		stages := result.Trace.Stages[len(want)-len(stageNames)+1:]
		if stages[0].After != test.vector || stages[1].After != test.lexical || stages[2].After != max(test.vector, test.lexical) {
			t.Errorf("%+v: %+v", test.query, stages[:3])
		}
		follows(t, result.Trace, len(result.Hits))
		if result.Trace.Query != test.query.Text || result.Trace.Duration <= 0 || result.Trace.Failure != "" || result.Trace.Error != "" {
			t.Errorf("%+v", result.Trace)
		}
		if !slices.Contains(result.Trace.Terms, "crane") && test.query.Text != "nowhere" {
			t.Errorf("terms %v", result.Trace.Terms)
		}
		if result.Candidates != nil {
			t.Error("candidates without Explain")
		}
	}
}

func TestTraceOfAModelThatFails(t *testing.T) {
	t.Parallel()
	down := errors.New("the model is down")
	model := enginetest.Plotted{N: 2, Vectors: map[string][]float32{"the crane": {1, 0}}, Err: down}
	e := enginetest.Open(t, engine.Options{Embedder: model})
	m := enginetest.Remember(t, e, memory.RememberRequest{Text: "the crane"})
	for _, mode := range []recall.Mode{recall.Hybrid, recall.VectorMode} {
		result, err := e.Recall(t.Context(), recall.Query{Text: "crane", Mode: mode})
		if !errors.Is(err, down) || len(result.Hits) != 0 {
			t.Errorf("%s by name: %v, %v, want the model's error", mode, enginetest.HitIDs(result), err)
		}
		if trace := result.Trace; trace.Failure != "embed" || !strings.Contains(trace.Error, "model is down") || !cmp.Equal(namesOf(trace.Stages), []string{"embed"}) || trace.Query != "crane" {
			t.Errorf("%s by name: %+v", mode, trace)
		}
	}
	result, err := e.Recall(t.Context(), recall.Query{Text: "crane"})
	if diff := cmp.Diff([]string{m.ID}, enginetest.HitIDs(result)); err != nil || diff != "" || result.Mode != recall.LexicalMode {
		t.Errorf("by default: mode %s, %v (-want +got):\n%s", result.Mode, err, diff)
	}
	if len(result.Notices) != 1 || !strings.Contains(result.Notices[0], "by words alone") || !strings.Contains(result.Notices[0], "model is down") {
		t.Errorf("notices %q", result.Notices)
	}
	if diff := cmp.Diff(stageNames, namesOf(result.Trace.Stages)); diff != "" || result.Trace.Failure != "embed" {
		t.Errorf("failure %q (-want +got):\n%s", result.Trace.Failure, diff)
	}
	if result, err := e.Recall(t.Context(), recall.Query{Text: "crane", Limit: -1}); err == nil || result.Trace.Failure != "query" || result.Trace.Error == "" {
		t.Errorf("an invalid query: %+v, %v, want a trace", result.Trace, err)
	}
	if result, err := e.Recall(t.Context(), recall.Query{Text: "crane", WeightSet: "nowhere"}); err == nil || result == nil || result.Trace.Error == "" {
		t.Errorf("unknown weights: %+v, %v, want a trace", result, err)
	}
}
