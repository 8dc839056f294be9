package recall_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
)

// harbour is a file with a reranker, in which three memories answer the question.
func harbour(t *testing.T, by enginetest.Rated, o engine.Options) *engine.Engine {
	t.Helper()
	o.Embedder, o.Reranker = enginetest.Words{}, by
	e := enginetest.Open(t, o)
	for _, text := range []string{"The crane lifts containers", "The crane lifts containers at night", "A crane is a bird"} {
		if _, err := e.Remember(t.Context(), memory.RememberRequest{Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

const asksCrane = "crane lifts containers"

func reranked(t *testing.T, e *engine.Engine, q recall.Query) *recall.Result {
	t.Helper()
	q.Text = asksCrane
	r, err := e.Recall(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func textsOf(r *recall.Result) (texts []string) {
	for _, h := range r.Hits {
		texts = append(texts, h.Text)
	}
	return texts
}

// TestModelRerank: the model's scores are blended in with a share, 0.6 unless the weights say otherwise, above the floor that the words give; what it does not score keeps
// a share.
func TestModelRerank(t *testing.T) {
	t.Parallel()
	e := harbour(t, enginetest.Rated{Scores: map[string]float64{"The crane lifts containers": 0, "The crane lifts containers at night": 1, "A crane is a bird": math.NaN()}}, engine.Options{})
	w := recall.MemoryWeights()
	w.MinScore, w.HardMinScore, w.Decay, w.Diversity, w.LengthAnchor = 0, 0, "none", 1, 0
	plain := reranked(t, e, recall.Query{Weights: &w, Rerank: recall.NoRerank})
	r := reranked(t, e, recall.Query{Weights: &w})
	if got, want := textsOf(r), textsOf(plain); got[0] != "The crane lifts containers at night" || want[0] != "The crane lifts containers" || len(got) != 3 {
		t.Errorf("%q, without the model %q", got, want)
	}
	blended(t, r, 0.6)
	w.ModelShare = 0.25
	blended(t, reranked(t, e, recall.Query{Weights: &w}), 0.25)
	w.ModelShare = 0.6
	if done := r.Trace.Reranking; done == nil || done.Model != "rated" || done.Texts != 3 || done.Scored != 2 || done.Failure != "" {
		t.Errorf("%+v", done)
	}
	if plain.Trace.Reranking != nil {
		t.Errorf("nobody was to be asked: %+v", plain.Trace.Reranking)
	}
	if ready, err := enginetest.Index(e).AwaitResident(t.Context()); !ready || err != nil {
		t.Fatalf("no resident index: %v", err)
	}
	again := reranked(t, e, recall.Query{Weights: &w})
	if diff := cmp.Diff(textsOf(r), textsOf(again)); diff != "" || !again.Trace.Resident || math.Abs(again.Hits[0].Score-r.Hits[0].Score) > 1e-6 {
		t.Errorf("by the resident index (-want +got):\n%s", diff)
	}
}

// blended holds the scores of hits against the formula, with a share of the model.
func blended(t *testing.T, r *recall.Result, modelShare float64) {
	t.Helper()
	for _, h := range r.Hits {
		s := h.Signals
		lexical := 0.0
		if s.LexicalScore != nil {
			lexical = *s.LexicalScore
		}
		share := func(most, good, least float64) float64 {
			switch {
			case lexical >= 0.75:
				return most * s.Fused
			case lexical >= 0.6:
				return good * s.Fused
			}
			return least * s.Fused
		}
		want := max(share(1, 0.95, 0.8), min(0.8*s.Fused, 1))
		if s.ModelScore != nil {
			want = max(share(0.95, 0.9, 0.5), min(modelShare**s.ModelScore+(1-modelShare)*s.Fused, 1))
		}
		if math.Abs(s.Reranked-want) > 1e-9 {
			t.Errorf("%s: fused %g, by words %g, by the model %v: %g, want %g", h.Text, s.Fused, lexical, s.ModelScore, s.Reranked, want)
		}
	}
}

// TestModelRerankFails: hits stand as the weights rerank them, and the trace says why.
func TestModelRerankFails(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		by  enginetest.Rated
		why string
	}{
		"error":       {enginetest.Rated{Err: errors.New("the server is down")}, "the server is down"},
		"late":        {enginetest.Rated{Takes: time.Minute}, "timeout"},
		"more than 1": {enginetest.Rated{Scores: map[string]float64{"A crane is a bird": 1.5}}, "has the score 1.5; allowed: 0 to 1"},
		"nothing": {enginetest.Rated{Scores: map[string]float64{"The crane lifts containers": math.NaN(), "The crane lifts containers at night": math.NaN(), "A crane is a bird": math.NaN()}},
			"it scored no text"},
	} {
		t.Run(name, func(t *testing.T) {
			e := harbour(t, test.by, engine.Options{RerankDeadline: 50 * time.Millisecond})
			r, light := reranked(t, e, recall.Query{}), reranked(t, e, recall.Query{Rerank: recall.LightRerank})
			if done := r.Trace.Reranking; done == nil || !strings.Contains(done.Failure, test.why) || done.Scored != 0 {
				t.Errorf("%+v", done)
			}
			if len(r.Notices) != 1 || !strings.Contains(r.Notices[0], test.why) {
				t.Errorf("%q", r.Notices)
			}
			for i := range r.Hits {
				if len(light.Hits) != len(r.Hits) || r.Hits[i].ID != light.Hits[i].ID || math.Abs(r.Hits[i].Score-light.Hits[i].Score) > 1e-6 { // the second may be found by the resident index
					t.Fatalf("not as without it: %v with %v, %v with %v", textsOf(r)[i], r.Hits[i].Signals, textsOf(light)[i], light.Hits[i].Signals)
				}
			}
		})
	}
}

func TestModelRerankRefuses(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}})
	if _, err := e.Recall(t.Context(), recall.Query{Text: "x", Rerank: recall.ModelRerank}); !errors.Is(err, engine.ErrNoReranker) {
		t.Errorf("without a model: %v", err)
	}
	if _, err := e.Recall(t.Context(), recall.Query{Text: "x", Rerank: "twice"}); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), `rerank is "twice"; allowed: model, features, light, none`) {
		t.Errorf("another: %v", err)
	}
	if _, err := engine.Open(t.Context(), ":memory:", engine.Options{RerankDeadline: -1}); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("a deadline before: %v", err)
	}
	slow := harbour(t, enginetest.Rated{Takes: time.Minute}, engine.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	if _, err := slow.Recall(ctx, recall.Query{Text: asksCrane}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestModelReranksTalk: of messages too, with words alone, and no more than twice as many as are wanted.
func TestModelReranksTalk(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{Reranker: enginetest.Rated{Scores: map[string]float64{"the crane, at last": 1, "crane crane lifts containers": 0}}})
	var said []conversation.Message
	for range 10 {
		said = append(said, conversation.Message{Text: "crane crane lifts containers"})
	}
	said = append(said, conversation.Message{Text: "the crane, at last"})
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: said})
	r := reranked(t, e, recall.Query{Kinds: []kinds.Kind{kinds.Message}, Limit: 2})
	if done := r.Trace.Reranking; done == nil || done.Texts != 4 || len(r.Hits) != 2 {
		t.Errorf("%d hits, %+v", len(r.Hits), done)
	}
	if r := reranked(t, e, recall.Query{Kinds: []kinds.Kind{kinds.Message}, Limit: 6}); len(r.Hits) != 6 || r.Hits[0].Text != "the crane, at last" {
		t.Errorf("%q", textsOf(r))
	}
}
