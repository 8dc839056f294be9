package enginetest

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine/setup"
)

// Rated is a reranker whose scores the test writes down, NaN among them. A text without one has the share of the query's words that it has.
type Rated struct {
	Scores map[string]float64
	Err    error         // of every call
	Takes  time.Duration // a call, unless its context is over before
}

// Model is its name.
func (r Rated) Model() string { return "rated" }

// Rerank gives the scores that were written down, or Err.
func (r Rated) Rerank(ctx context.Context, query string, texts []string) ([]float64, error) {
	select {
	case <-ctx.Done():
	case <-time.After(r.Takes):
	}
	if err := errors.Join(ctx.Err(), r.Err); err != nil {
		return nil, err
	}
	scores := make([]float64, len(texts))
	for i, text := range texts {
		score, ok := r.Scores[text]
		if !ok {
			score = shareOfWords(query, text)
		}
		scores[i] = score
	}
	return scores, nil
}

func shareOfWords(query, text string) float64 {
	has := map[string]bool{}
	for _, word := range strings.Fields(strings.ToLower(text)) {
		has[strings.Trim(word, ".,:!?")] = true
	}
	words, found := strings.Fields(strings.ToLower(query)), 0
	for _, word := range words {
		if has[strings.Trim(word, ".,:!?")] {
			found++
		}
	}
	return float64(found) / float64(max(1, len(words)))
}

// ConformReranker holds a provider to the contract of setup.Reranker. Open
// gives a reranker that the test may use until it ends; it is called once per
// part.
func ConformReranker(t *testing.T, open func(t *testing.T) setup.Reranker) {
	t.Run("scores", func(t *testing.T) { conformScores(t, open(t)) })
	t.Run("cancelled reranking", func(t *testing.T) { conformCancelledRerank(t, open(t)) })
	t.Run("hostile pairs", func(t *testing.T) { conformHostilePairs(t, open(t)) })
	t.Run("concurrent reranking", func(t *testing.T) { conformConcurrentRerank(t, open(t)) })
}

const plainQuery = "Who paints the fishing boats of the harbour?"

// conformScores: in range, in order, the same whatever else is asked, different for different texts, and nothing for nothing.
func conformScores(t *testing.T, r setup.Reranker) {
	if r.Model() == "" {
		t.Error("the model has no name")
	}
	together := rerank(t, r, plainQuery, plainTexts)
	reversed := make([]string, len(plainTexts))
	for i, text := range plainTexts {
		reversed[len(reversed)-1-i] = text
	}
	turned := rerank(t, r, plainQuery, reversed)
	distinct := map[float64]bool{}
	for i, text := range plainTexts {
		if math.IsNaN(together[i]) && text != "" {
			t.Errorf("%q wasn't scored", text)
		}
		distinct[together[i]] = true
		for kind, other := range map[string]float64{
			"in another order": turned[len(turned)-1-i],
			"alone":            rerank(t, r, plainQuery, []string{text})[0],
			"twice":            rerank(t, r, plainQuery, []string{text, text})[1],
		} {
			if math.Abs(other-together[i]) > tolerance || math.IsNaN(other) != math.IsNaN(together[i]) {
				t.Errorf("%q: %g, and %s %g", text, together[i], kind, other)
			}
		}
	}
	if len(distinct) < 2 {
		t.Errorf("all texts have the same score: %v", together)
	}
	other := rerank(t, r, "Budget of the shipyard, ok?", plainTexts)
	changed := false
	for i := range other {
		changed = changed || math.Abs(other[i]-together[i]) > tolerance
	}
	if !changed {
		t.Errorf("another query gave the same scores: %v", other)
	}
	if none := rerank(t, r, plainQuery, nil); len(none) != 0 {
		t.Errorf("no texts gave %d scores", len(none))
	}
}

func conformCancelledRerank(t *testing.T, r setup.Reranker) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Rerank(ctx, plainQuery, plainTexts); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled context: error %v: want context.Canceled", err)
	}
	ctx, cancel = context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	if _, err := r.Rerank(ctx, plainQuery, plainTexts); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a deadline that is over: error %v: want context.DeadlineExceeded", err)
	}
}

// conformHostilePairs feeds made-up rubbish as query and as text, then very long ones.
func conformHostilePairs(t *testing.T, r setup.Reranker) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 10 {
		texts := make([]string, 20)
		for i := range texts {
			texts[i] = hostileText(rng)
		}
		rerank(t, r, hostileText(rng), texts)
	}
	long := []string{
		strings.Repeat("never ending ", 100_000/13),
		strings.Repeat("x", 100_000),
		strings.Repeat(" ", 1_000_000),
		strings.Repeat("\xff", 100_000),
		strings.Repeat("e\u0301", 50_000),
	}
	for _, query := range append(long, "", plainQuery) {
		rerank(t, r, query, long)
	}
}

// conformConcurrentRerank: four at once get what one gets.
func conformConcurrentRerank(t *testing.T, r setup.Reranker) {
	want := rerank(t, r, plainQuery, plainTexts)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 3 {
				got, err := r.Rerank(t.Context(), plainQuery, plainTexts)
				if err != nil || len(got) != len(want) {
					t.Errorf("concurrent: %d scores, error %v", len(got), err)
					return
				}
				for i := range want {
					if math.Abs(want[i]-got[i]) > tolerance {
						t.Errorf("concurrent: %q has %g, alone %g", plainTexts[i], got[i], want[i])
					}
				}
			}
		})
	}
	group.Wait()
}

// rerank asks, and refuses what is no score.
func rerank(t *testing.T, r setup.Reranker, query string, texts []string) []float64 {
	t.Helper()
	scores, err := r.Rerank(t.Context(), query, texts)
	if err != nil {
		t.Fatalf("rerank %d texts: %v", len(texts), err)
	}
	if len(scores) != len(texts) {
		t.Fatalf("%d texts gave %d scores", len(texts), len(scores))
	}
	for i, score := range scores {
		if score < 0 || score > 1 {
			t.Errorf("%.40q: score %g: want 0 to 1, or NaN", texts[i], score)
		}
	}
	return scores
}
