package recall_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
)

// graph is a crane, what is related to it with 0.5, what that is related to, and what nothing is related to.
func graph(t *testing.T, now func() *enginetest.Clock) *engine.Engine {
	t.Helper()
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}, Now: now().Now})
	for id, text := range map[string]string{"crane": "the blue crane", "owner": "Teo bought it from his uncle", "uncle": "somebody in Porto", "stranger": "low tide at noon"} {
		enginetest.Remember(t, e, memory.RememberRequest{ID: id, Text: text, Importance: new(0.6)})
	}
	for _, r := range []memory.RelateRequest{{ID: "owner", TargetID: "crane", Type: "part_of", Weight: 0.5}, {ID: "owner", TargetID: "uncle"}} {
		if _, err := e.Relate(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

func still() *enginetest.Clock { return &enginetest.Clock{At: enginetest.Noon} }

// relational weights have relations count, over a pool of one.
func relational(normalise string) *recall.Weights {
	w := enginetest.PlainWeights()
	w.Pool, w.Whole, w.Normalise, w.Vector, w.Lexical, w.Relation, w.Chance = 10, 0, normalise, 0.5, 0.5, 0.5, 0
	return w
}

// TestGoClaw3IGraphIsAChannel: what is one step from a candidate is found, though it shares no word with the question; with a weight of 0 no relation is read.
func TestGoClaw3IGraphIsAChannel(t *testing.T) {
	e := graph(t, still)
	for _, alone := range []bool{true, false} {
		enginetest.Index(e).AskFile(alone)
		if !alone {
			if ready, err := enginetest.Index(e).AwaitResident(t.Context()); !ready || err != nil {
				t.Fatal(err)
			}
		}
		q := recall.Query{Text: "blue crane", Mode: recall.LexicalMode, Weights: relational("plain"), Explain: true}
		found, err := e.Recall(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"crane", "owner"}, enginetest.HitIDs(found)); diff != "" {
			t.Fatalf("file alone %t (-want +got):\n%s", alone, diff)
		}
		crane, owner := found.Hits[0], found.Hits[1]
		if r := owner.Signals.RelationScore; r == nil || math.Abs(*r-0.5**crane.Signals.LexicalScore) > 1e-9 {
			t.Errorf("file alone %t: the relation is worth %v, want half of %v", alone, plain(t, r), *crane.Signals.LexicalScore)
		}
		sum := 0.0
		for _, s := range owner.Explanation.Shares {
			if sum += s.Points; s.Name == "relation" && math.Abs(s.Points-owner.Score) > 1e-9 {
				t.Errorf("relation brings %v of %v", s.Points, owner.Score)
			}
		}
		if math.Abs(sum-owner.Score) > 1e-9 {
			t.Errorf("shares add up to %v, want %v", sum, owner.Score)
		}
		q.Weights.Relation = 0
		if found, err = e.Recall(t.Context(), q); err != nil || len(found.Hits) != 1 || strings.Contains(fmt.Sprint(namesOf(found.Trace.Stages)), "relations") {
			t.Errorf("file alone %t: without the weight: %v, %v", alone, enginetest.HitIDs(found), err)
		}
	}
}

// TestGoClaw3IGraphFromAMemory: one hop from a given memory, in place of the candidates.
func TestGoClaw3IGraphFromAMemory(t *testing.T) {
	e := graph(t, still)
	q := recall.Query{Text: "tide", Mode: recall.LexicalMode, Weights: relational("plain"), RelatedTo: "owner"}
	if diff := cmp.Diff([]string{"stranger", "uncle", "crane"}, enginetest.RecallIDs(t, e, q)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, test := range []struct {
		change func(*recall.Query)
		want   error
	}{
		{func(q *recall.Query) { q.RelatedTo = "nobody-here" }, engine.ErrNotFound}, {func(q *recall.Query) { q.Weights = nil }, engine.ErrInvalid},
		{func(q *recall.Query) { q.Kinds = []kinds.Kind{kinds.Message} }, engine.ErrInvalid}, {func(q *recall.Query) { q.RelatedTo = "x\xff" }, engine.ErrInvalid},
	} {
		asked := q
		test.change(&asked)
		if _, err := e.Recall(t.Context(), asked); !errors.Is(err, test.want) {
			t.Errorf("%+v: %v, want %v", asked, err, test.want)
		}
	}
}

// TestRelationsOfARecallKeepToScopes: what the agent may not read is neither found nor named.
func TestRelationsOfARecallKeepToScopes(t *testing.T) {
	e := graph(t, still)
	scope := "user:ines"
	if _, err := e.Update(t.Context(), memory.UpdateRequest{ID: "owner", Scope: &scope}); err != nil {
		t.Fatal(err)
	}
	q := recall.Query{Text: "blue crane", Mode: recall.LexicalMode, Weights: relational("plain"), Agent: "scout"}
	if diff := cmp.Diff([]string{"crane"}, enginetest.RecallIDs(t, e, q)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	q.RelatedTo = "owner"
	if _, err := e.Recall(t.Context(), q); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("from what the agent may not read: %v", err)
	}
}

// TestReciprocalRanks are the vectors of fusion by rank, k = 60: first on one side, second there, first on both, and of words and relations weighed .25 and .35.
func TestReciprocalRanks(t *testing.T) {
	clock := still()
	e := graph(t, func() *enginetest.Clock { return clock })
	fused := func(w *recall.Weights, mode recall.Mode, text, related string) map[string]float64 {
		t.Helper()
		w.Normalise = "rank"
		found, err := e.Recall(t.Context(), recall.Query{Text: text, Mode: mode, Weights: w, RelatedTo: related, Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]float64{}
		for _, h := range found.Hits {
			all[h.ID] = h.Signals.Fused
		}
		return all
	}
	weights := func(vector, lexical, relation float64) *recall.Weights {
		w := relational("rank")
		w.Vector, w.Lexical, w.Relation = vector, lexical, relation
		return w
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-6 {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	words := fused(weights(1, 1, 0), recall.LexicalMode, "blue crane tide", "")
	near("rank 1 on one side", words["crane"], 0.016393)
	near("rank 2 on one side", words["stranger"], 0.016129)
	near("rank 1 on both", fused(weights(1, 1, 0), recall.Hybrid, "the blue crane", "")["crane"], 0.032787)
	near("meaning and words", fused(weights(0.35, 0.25, 0), recall.Hybrid, "the blue crane", "")["crane"], 0.009836)
	near("a relation alone", fused(weights(0.35, 0.25, 0.25), recall.LexicalMode, "nowhere", "owner")["uncle"], 0.25/61)
	near("the weaker relation", fused(weights(0.35, 0.25, 0.25), recall.LexicalMode, "nowhere", "owner")["crane"], 0.25/62)
	fresh := weights(0.35, 0.25, 0)
	fresh.Fresh = 0.15
	near("with freshness", fused(fresh, recall.Hybrid, "the blue crane", "")["crane"], 0.6/61+0.15/61)
}

// TestFreshness are the vectors of the recency of a graph's memory, of importance 0.6.
func TestFreshness(t *testing.T) {
	clock := still()
	e := graph(t, func() *enginetest.Clock { return clock })
	w := relational("plain")
	w.Relation, w.Fresh = 0, 1
	for _, test := range []struct {
		days int
		want float64
	}{{0, 0.8}, {1, 0.723870}, {10, 0.294304}} {
		clock.At = enginetest.Noon.AddDate(0, 0, test.days)
		found, err := e.Recall(t.Context(), recall.Query{Text: "tide", Mode: recall.LexicalMode, Weights: w})
		if err != nil || len(found.Hits) != 1 {
			t.Fatalf("%+v, %v", found, err)
		}
		if got := found.Hits[0].Signals.FreshScore; got == nil || math.Abs(*got-test.want) > 1e-5 {
			t.Errorf("after %d days %v, want %v", test.days, plain(t, got), test.want)
		}
	}
}

// TestGoClaw3GBetterWordsScoreMore: BM25 counts as s/(1+s), so that a better one never scores less; seven parts of meaning to three of words.
func TestGoClaw3GBetterWordsScoreMore(t *testing.T) {
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}})
	for i, text := range []string{"crane", "crane and a ferry", "crane and a ferry in the harbour at noon", "tide"} {
		enginetest.Remember(t, e, memory.RememberRequest{ID: fmt.Sprint("text-", i), Text: text})
	}
	w := recall.NoteWeights()
	found, err := e.Recall(t.Context(), recall.Query{Text: "crane", Weights: &w})
	if err != nil || len(found.Hits) < 3 {
		t.Fatalf("%+v, %v", found, err)
	}
	for i, h := range found.Hits {
		raw := 0.0
		if h.Signals.Raw != nil {
			raw = *h.Signals.Raw
			if got, want := *h.Signals.LexicalScore, raw/(1+raw); math.Abs(got-want) > 1e-9 {
				t.Errorf("%s: words %v of BM25 %v, want %v", h.ID, got, raw, want)
			}
		}
		if want := 0.7*max(*h.Signals.Cosine, 0) + 0.3*raw/(1+raw); math.Abs(h.Score-want) > 1e-6 {
			t.Errorf("%s scores %v, want %v", h.ID, h.Score, want)
		}
		if i > 0 && h.Signals.Raw != nil && *h.Signals.LexicalScore > *found.Hits[i-1].Signals.LexicalScore {
			t.Errorf("%s stands behind a worse one", h.ID)
		}
	}
}

// TestThePastOfAnEmptyPresent: what was known is found by its words, also where nothing of its kind is left.
func TestThePastOfAnEmptyPresent(t *testing.T) {
	clock := still()
	e := enginetest.Open(t, engine.Options{Now: clock.Now})
	enginetest.Remember(t, e, memory.RememberRequest{ID: "alone", Text: "the blue crane"})
	clock.Advance(time.Hour)
	then := clock.At
	clock.Advance(time.Hour)
	if _, err := e.Forget(t.Context(), memory.ForgetRequest{ID: "alone"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"alone"}, enginetest.RecallIDs(t, e, recall.Query{Text: "crane", KnownAt: then})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
