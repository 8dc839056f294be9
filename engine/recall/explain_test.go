package recall_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/embed/static"
	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/setup"
)

// sums gives what the shares add up to, without what the bounds of the score changed.
func sums(x *recall.Explanation) (sum float64, capped bool) {
	for _, s := range x.Shares {
		if s.Name == "cap" {
			capped = true
			continue
		}
		sum += s.Points
	}
	return sum, capped
}

// checkExplanation holds an explanation to the numbers that ranked: shares add up to the fused score, words to the raw one.
func checkExplanation(t *testing.T, what string, v recall.Candidate, x *recall.Explanation) {
	t.Helper()
	sum, capped := sums(x)
	if bounded := min(max(sum, 0), 1); !near(bounded, v.Fused) || capped != !near(bounded, sum) {
		t.Errorf("%s: %s: shares add up to %v (capped: %t), fused %v: %+v", what, v.ID, sum, capped, v.Fused, x.Shares)
	}
	for _, s := range x.Shares {
		switch {
		case s.Name == "cap":
		case s.Value == nil && s.Points != 0, s.Value != nil && (*s.Value < 0 || *s.Value > 1+1e-9 || !near(*s.Value*s.Weight, s.Points)):
			t.Errorf("%s: %s: %+v", what, v.ID, s)
		}
	}
	raw := 0.0
	for _, w := range x.Words {
		raw += w.Points
		if w.Near <= 0 || w.Frequency > w.Near || w.Documents > w.Of || w.Documents == 0 && len(w.Through) == 0 {
			t.Errorf("%s: %s: %+v", what, v.ID, w)
		}
	}
	if (v.Raw == nil) != (len(x.Words) == 0) || v.Raw != nil && !near(raw, *v.Raw) {
		t.Errorf("%s: %s: words add up to %v, BM25 %v", what, v.ID, raw, v.Raw)
	}
}

// manyWeights are both built-in sets and some that nobody would choose.
func manyWeights() map[string]recall.Weights {
	sets := map[string]recall.Weights{"memory": recall.MemoryWeights(), "transcript": recall.TranscriptWeights()}
	rng := rand.New(rand.NewPCG(7, 11))
	for i := range 2 {
		w := recall.TranscriptWeights()
		if i%2 == 0 {
			w.Normalise, w.Counted = "absolute", "kind"
		}
		for _, x := range []*float64{&w.Vector, &w.Lexical, &w.Near, &w.Far, &w.Date, &w.Speaker, &w.Reply, &w.Answered, &w.Tells, &w.Wish, &w.Question, &w.Related} {
			*x = rng.Float64()
		}
		sets[fmt.Sprintf("%s %d", w.Normalise, i)] = w
	}
	return sets
}

// TestSharesAndWordsAddUp asks each question with each set of weights and in each way, or if it is not long each set with each question in one way.
func TestSharesAndWordsAddUp(t *testing.T) {
	if testing.Short() {
		t.Skip("short: many questions, none beside another")
	}
	t.Parallel()
	e := enginetest.OpenDemo(t, static.New())
	seen := map[string]bool{}
	sets := manyWeights()
	for i, name := range slices.Sorted(maps.Keys(sets)) {
		w := sets[name]
		for j, question := range []string{"What did Teo say about HB-455 in March?", "who looks after the dog?", "When does Ines drink coffee?"} {
			for n, q := range []recall.Query{
				{}, {Mode: recall.VectorMode}, {Mode: recall.LexicalMode}, {Since: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}, {Scopes: []string{"global"}},
			} {
				if (i+j+n)%5 > 0 && !enginetest.Long("recall") {
					continue
				}
				q.Text, q.Kinds, q.Weights, q.Explain, q.Limit = question, kinds.All(), &w, true, 40
				result, err := e.Recall(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				for _, h := range result.Hits {
					checkExplanation(t, fmt.Sprintf("%s, %s, %q, %s", name, q.Mode, question, q.Scopes), h.Signals, h.Explanation)
					for _, s := range h.Explanation.Shares {
						seen[s.Name] = seen[s.Name] || s.Points != 0
					}
				}
			}
		}
	}
	for _, name := range []string{"vector", "lexical", "date", "speaker", "reply", "answered", "tells", "question"} {
		if !seen[name] {
			t.Errorf("no share of %s: the questions prove nothing about it", name)
		}
	}
}

func TestWordsAloneCountWhereTheyFitExactly(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.OpenDemo(t, static.New())
	result, err := e.Recall(t.Context(), recall.Query{Text: "What was behind HB-455?", Explain: true, Limit: 1})
	if err != nil || len(result.Hits) != 1 {
		t.Fatalf("%v, %v", enginetest.HitIDs(result), err)
	}
	x := result.Hits[0].Explanation
	if x.Shares[0].Weight != 0 || x.Shares[0].Value == nil || !near(x.Shares[1].Weight, 0.92) {
		t.Errorf("%+v, want the words alone, with the factor of the floor", x.Shares)
	}
}

// harbourTalk is a talk about a crane, and another one weeks later.
func harbourTalk(t *testing.T) (e *engine.Engine, ids []string) {
	t.Helper()
	related := func(word string) ([]string, []float32) {
		if word == "harbour" {
			return []string{"port"}, []float32{0.8}
		}
		return nil, nil
	}
	e = enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}, NewID: enginetest.CountedIDs(), Related: related})
	at := time.Date(2023, 5, 8, 9, 0, 0, 0, time.UTC)
	first := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "quay", Messages: []conversation.Message{
		{Speaker: "Ines", Text: "Good morning from the quay.", SaidAt: at},
		{Speaker: "Teo", Text: "Which crane is broken?", SaidAt: at},
		{Speaker: "Ines", Text: "The blue one at the ports stands still.", SaidAt: at},
		{Speaker: "Teo", Text: "Thanks.", SaidAt: at},
	}})
	second := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "later", Messages: []conversation.Message{
		{Speaker: "Teo", Text: "The crane of the harbour works again.", SaidAt: at.AddDate(0, 1, 2)},
	}})
	return e, append(first.IDs, second.IDs...)
}

func TestExplanationOfATurn(t *testing.T) {
	enginetest.Alone(t)
	e, ids := harbourTalk(t)
	result, err := e.Recall(t.Context(), recall.Query{
		Text: "What did Ines say about the crane at the harbour or the zeppelin in May 2023?", Kinds: []kinds.Kind{kinds.Message}, Weights: plainNeighbours(), Explain: true,
	})
	if err != nil || len(result.Hits) != 5 {
		t.Fatalf("%v, %v", enginetest.HitIDs(result), err)
	}
	asked := map[string]string{}
	for _, w := range result.Words {
		asked[w.Word] = fmt.Sprintf("%s %d of %d", w.Rarity, w.Documents, w.Of)
	}
	for word, want := range map[string]string{"zeppelin": "nowhere 0 of 5", "harbour": "rare 1 of 5", "crane": "uncommon 2 of 5", "2023": "everywhere 5 of 5"} {
		if asked[word] != want {
			t.Errorf("%s: %q, want %q", word, asked[word], want)
		}
	}
	explained := map[string]*recall.Explanation{}
	for _, h := range result.Hits {
		checkExplanation(t, "talk", h.Signals, h.Explanation)
		explained[h.ID] = h.Explanation
	}
	x := explained[ids[2]] // the blue one
	if diff := cmp.Diff(&recall.Speaker{Name: "Ines", Asked: "Ines"}, x.Speaker); diff != "" {
		t.Errorf("speaker (-want +got):\n%s", diff)
	}
	if other := explained[ids[3]].Speaker; other == nil || other.Name != "Teo" || other.Asked != "Ines" {
		t.Errorf("speaker of another's turn: %+v", other)
	}
	if d := x.Date; d == nil || d.Phrase != "May 2023" || d.Days != 0 || !d.From.Equal(time.Date(2023, 5, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("date %+v", d)
	}
	if d := explained[ids[4]].Date; d == nil || math.Abs(d.Days-9.375) > 1e-9 {
		t.Errorf("date of the later talk %+v, want nine days and nine hours after May", d)
	}
	if r := x.Reply; r == nil || r.ID != ids[1] || r.Step != -1 || r.Snippet != "Which crane is broken?" || r.Speaker != "Teo" {
		t.Errorf("reply %+v", r)
	}
	if r := explained[ids[3]].Reply; r != nil {
		t.Errorf("reply to what is no question: %+v", r)
	}
	var steps []string
	for _, n := range x.Neighbours {
		steps = append(steps, fmt.Sprintf("%+d %s %g", n.Step, n.ID, n.Share))
	}
	if diff := cmp.Diff([]string{"-2 " + ids[0] + " 0.2", "-1 " + ids[1] + " 0.5", "+1 " + ids[3] + " 0.5"}, steps); diff != "" {
		t.Errorf("neighbours (-want +got):\n%s", diff)
	}
	words := map[string]recall.HitWord{}
	for _, w := range x.Words {
		words[w.Word] = w
	}
	if w := words["crane"]; w.Frequency != 0 || w.Near != 0.5 || w.Through != nil {
		t.Errorf("crane: %+v, want it from the neighbour", w)
	}
	if w := words["harbour"]; !cmp.Equal(w.Through, []string{"ports"}) || !near(w.Near, 0.2*0.8*0.8) {
		t.Errorf("harbour: %+v, want it by way of ports as the turn has it", w)
	}
	if !slices.IsSortedFunc(x.Words, func(a, b recall.HitWord) int { return int(math.Copysign(1, b.Points-a.Points)) }) {
		t.Errorf("words are not in the order of their points: %+v", x.Words)
	}
}

func TestWithoutExplainNothingIsExplained(t *testing.T) {
	t.Parallel()
	e, _ := harbourTalk(t)
	result, err := e.Recall(t.Context(), recall.Query{Text: "crane", Kinds: []kinds.Kind{kinds.Message}})
	if err != nil || len(result.Hits) == 0 {
		t.Fatal(err)
	}
	for _, h := range result.Hits {
		if h.Explanation != nil {
			t.Errorf("%s: %+v", h.ID, h.Explanation)
		}
	}
	if result.Words != nil || result.WhyNot != nil || result.Candidates != nil {
		t.Errorf("%+v", result)
	}
}

// A deferred hit names the better one that says the same.
func TestExplanationOfADeferredHit(t *testing.T) {
	t.Parallel()
	model := enginetest.Plotted{N: 3, Vectors: map[string][]float32{"crane": {1, 0, 0}, "the crane": {1, 0, 0}, "a crane there": {0.99, 0.14106736, 0}, "no ferry": {0.8, -0.6, 0}}}
	e := enginetest.Open(t, engine.Options{Embedder: model})
	for i, text := range []string{"the crane", "a crane there", "no ferry"} {
		enginetest.Remember(t, e, memory.RememberRequest{ID: fmt.Sprintf("mem-%d", i+1), Text: text})
	}
	result, err := e.Recall(t.Context(), recall.Query{Text: "crane", Explain: true, WhyNot: "mem-2", Limit: 2})
	if err != nil {
		t.Fatal(err)
	}
	if w := result.WhyNot; w.Stage != "limit" || w.Rank != 3 || w.Explanation.Alike == nil || w.Explanation.Alike.ID != "mem-1" || !strings.Contains(w.Reason, "nearly the same as mem-1 (cosine 0.99)") {
		t.Errorf("%+v", w)
	}
}

// The backend fts finds the words; what they are worth in an explanation comes from postings, and is the same.
func TestExplanationWithFTS(t *testing.T) {
	t.Parallel()
	o := enginetest.WithFTS(t)
	o.Lexical = setup.FTSBackend
	e := enginetest.Open(t, o)
	for i := range 9 {
		enginetest.Remember(t, e, memory.RememberRequest{ID: fmt.Sprintf("mem-%d", i), Text: strings.Repeat("the blue crane ", i+1), L2: "crane with a long story"})
	}
	result, err := e.Recall(t.Context(), recall.Query{Text: "blue crane", Explain: true, Mode: recall.LexicalMode})
	if err != nil || len(result.Hits) == 0 || result.Notices != nil {
		t.Fatalf("%+v, %v", result, err)
	}
	for _, h := range result.Hits {
		checkExplanation(t, "fts", h.Signals, h.Explanation)
	}
}
