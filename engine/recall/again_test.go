package recall_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
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

// variedQuestions are questions of different words, filters, weights and ways to ask, so that what one leaves behind would show in another.
func variedQuestions(n int) (all []recall.Query) {
	for i := range n {
		rng := rand.New(rand.NewPCG(9, uint64(i)))
		q := randomQuestion(rng)
		q.Limit = 20
		switch i % 4 {
		case 0:
			q.Weights = randomWeights(rng)
		case 1:
			q.Explain = true
		case 2:
			q.Text += " proj:harbour" // a tag
		}
		all = append(all, q)
	}
	return all
}

// answer is what a recall gave, without what differs each time.
type answer struct {
	Mode       recall.Mode
	WeightSet  string
	Candidates []recall.Candidate
	Notices    []string
	Tags       []string
}

func answerOf(e *engine.Engine, q recall.Query) (a answer, err error) {
	result, err := e.Recall(context.Background(), q)
	for _, h := range result.Hits {
		a.Candidates = append(a.Candidates, h.Signals)
	}
	a.Mode, a.WeightSet, a.Notices, a.Tags = result.Mode, result.WeightSet, result.Notices, result.Trace.Tags
	return a, err
}

// differs tells two answers apart; sums may be made in another order, which rounds otherwise.
func differs(want, got answer) string { return cmp.Diff(want, got, cmp.Comparer(near)) }

// answersOf asks one question after the other.
func answersOf(t *testing.T, e *engine.Engine, questions []recall.Query) (all []answer) {
	t.Helper()
	found := 0
	for _, q := range questions {
		a, err := answerOf(e, q)
		if err != nil {
			t.Fatalf("%q: %v", q.Text, err)
		}
		all, found = append(all, a), found+len(a.Candidates)
	}
	if found < 3*len(questions) {
		t.Fatalf("%d hits for %d questions: too few to prove anything", found, len(questions))
	}
	return all
}

// tagged adds what the questions with a tag find.
func tagged(t *testing.T, e *engine.Engine) {
	t.Helper()
	for i := range 8 {
		enginetest.Remember(t, e, memory.RememberRequest{Text: fmt.Sprint(enginetest.Vocabulary[i], " crane and harbour of proj:harbour"), Scope: "global"})
		enginetest.Append(t, e, conversation.AppendRequest{Conversation: "talk 1", Messages: []conversation.Message{{Text: enginetest.Vocabulary[i] + " crane, proj:harbour", SaidAt: enginetest.Noon.AddDate(0, -3, 0)}}})
	}
}

// TestRecallsInParallel: recalls at the same time, each with words, weights and conversations of its own, give what they give alone.
func TestRecallsInParallel(t *testing.T) {
	e, _ := randomTalk(t, rand.New(rand.NewPCG(9, 1)), 2)
	tagged(t, e)
	n := 8
	if enginetest.Long("recall") {
		n = 16
	}
	questions := variedQuestions(n)
	want := answersOf(t, e, questions)
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			for _, i := range rand.New(rand.NewPCG(9, uint64(worker))).Perm(len(questions)) {
				got, err := answerOf(e, questions[i])
				if diff := differs(want[i], got); err != nil || diff != "" {
					t.Errorf("%q: %v (-alone +in parallel):\n%s", questions[i].Text, err, diff)
				}
			}
		})
	}
	group.Wait()
}

// moody is a model that does to a question what the test wants.
type moody struct {
	enginetest.Words
	ask func(context.Context, []float32) ([]float32, error) // nil: as it is
}

func (m *moody) EmbedQuery(ctx context.Context, text string, weight func(string) float64) ([]float32, error) {
	v, err := m.Words.EmbedQuery(ctx, text, weight)
	if m.ask != nil && err == nil {
		return m.ask(ctx, v)
	}
	return v, err
}

// TestRecallAfterFailure: a recall that fails, wherever it was, leaves nothing behind that the next one would find.
func TestRecallAfterFailure(t *testing.T) {
	if testing.Short() {
		t.Skip("short: long, and nothing in it runs beside anything")
	}
	model := &moody{}
	e := enginetest.Open(t, engine.Options{Threads: 2, Embedder: model})
	for i := range 30 {
		text := fmt.Sprint(enginetest.Vocabulary[i], " ", enginetest.Vocabulary[i/2], " crane")
		enginetest.Remember(t, e, memory.RememberRequest{Text: text})
		enginetest.Append(t, e, conversation.AppendRequest{Conversation: fmt.Sprint("talk ", i%4), Messages: []conversation.Message{{Text: text, Speaker: "Ines", SaidAt: enginetest.Noon.AddDate(0, 0, -i)}}})
	}
	tagged(t, e)
	enginetest.Remember(t, e, memory.RememberRequest{Text: "the crane at env:night"})
	questions := append(variedQuestions(4), recall.Query{Text: "crane proj:harbour", Kinds: kinds.All(), Weights: enginetest.PlainWeights()},
		recall.Query{Text: "crane env:night", Kinds: kinds.All(), Weights: enginetest.PlainWeights()})
	want := answersOf(t, e, questions)
	// between lets something fail before every question, and so after every other one; if it is not long, before every other question, which next time are the rest.
	even := 0
	between := func(what string, fail func()) {
		t.Helper()
		even++
		for i, q := range questions {
			if (i+even)%2 > 0 && !enginetest.Long("recall") {
				continue
			}
			fail()
			model.ask = nil
			got, err := answerOf(e, q)
			if diff := differs(want[i], got); err != nil || diff != "" {
				t.Errorf("%s, then %q: %v (-want +got):\n%s", what, q.Text, err, diff)
			}
		}
	}
	broken := errors.New("the model is down")
	fails := func(_ context.Context, _ []float32) ([]float32, error) { return nil, broken }
	for _, test := range []struct {
		what string
		ask  func(context.Context, []float32) ([]float32, error)
		q    recall.Query
		want error // nil: the recall goes on with words
	}{
		{"a model that fails", fails, recall.Query{Mode: recall.Hybrid}, broken},
		{"a model that fails, asked in silence", fails, recall.Query{Conversations: []string{"talk 2"}}, nil},
		{"a model that fails for an explanation", fails, recall.Query{Mode: recall.VectorMode, Explain: true, Conversations: []string{"talk 1", "talk 2"}}, broken},
		{"a vector too short", func(_ context.Context, v []float32) ([]float32, error) { return v[1:], nil }, recall.Query{}, engine.ErrBadVector},
		{"an unknown conversation", nil, recall.Query{Conversations: []string{"talk 1", "nowhere"}}, engine.ErrNotFound},
		{"unknown weights", nil, recall.Query{WeightSet: "nowhere"}, engine.ErrNotFound},
		{"an unknown document", nil, recall.Query{WhyNot: "mem_nowhere"}, engine.ErrNotFound},
		{"an unknown document, with a tag", nil, recall.Query{WhyNot: "mem_nowhere", Text: "crane proj:harbour"}, engine.ErrNotFound},
	} {
		q := test.q
		q.Kinds = kinds.All()
		if q.Text == "" {
			q.Text = "crane harbour pilot"
		}
		between(test.what, func() {
			model.ask = test.ask
			if _, err := e.Recall(t.Context(), q); !errors.Is(err, test.want) {
				t.Errorf("%s: %v, want %v", test.what, err, test.want)
			}
		})
	}
	between("a model that panics", func() {
		defer func() {
			if recover() == nil {
				t.Error("the model's panic was swallowed")
			}
		}()
		model.ask = func(context.Context, []float32) ([]float32, error) { panic("the model is mad") }
		e.Recall(t.Context(), recall.Query{Text: "crane", Mode: recall.Hybrid})
	})
	between("a recall cancelled while the model thinks", func() {
		ctx, cancel := context.WithCancel(t.Context())
		model.ask = func(ctx context.Context, _ []float32) ([]float32, error) { cancel(); return nil, ctx.Err() }
		if _, err := e.Recall(ctx, recall.Query{Text: "crane harbour", Kinds: kinds.All()}); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled while the model thinks: %v", err)
		}
	})
}

// TestFirstRecallFails: a connection whose first recall failed is as good as new.
func TestFirstRecallFails(t *testing.T) {
	enginetest.Alone(t)
	for what, q := range map[string]recall.Query{
		"an unknown conversation": {Conversations: []string{"nowhere"}}, "unknown weights": {WeightSet: "nowhere"}, "an unknown document": {WhyNot: "mem_nowhere"},
	} {
		e := enginetest.Open(t, engine.Options{})
		tagged(t, e)
		q.Text = "crane"
		if _, err := e.Recall(t.Context(), q); !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("%s: %v", what, err)
		}
		if got := enginetest.RecallIDs(t, e, recall.Query{Text: "crane", Weights: enginetest.PlainWeights()}); len(got) != 8 {
			t.Errorf("after %s: %v", what, got)
		}
	}
}

// TestRecallAfterCancelling breaks recalls off at many moments. The same question follows: what of it was taken back must be put again.
func TestRecallAfterCancelling(t *testing.T) {
	e, _ := randomTalk(t, rand.New(rand.NewPCG(9, 2)), 2)
	tagged(t, e)
	questions := variedQuestions(4)
	for i := range questions {
		questions[i].Weights = randomWeights(rand.New(rand.NewPCG(9, uint64(i))))
	}
	want := answersOf(t, e, questions)
	start := time.Now()
	answersOf(t, e, questions)
	whole, cancelled := time.Since(start)/time.Duration(len(questions)), 0
	for i := range 12 {
		n := i % len(questions)
		ctx, cancel := context.WithTimeout(t.Context(), whole*time.Duration(i*i)/115) // most of them early: the machine may be faster by now
		if _, err := e.Recall(ctx, questions[n]); err != nil {
			cancelled++
		}
		cancel()
		got, err := answerOf(e, questions[n])
		if diff := differs(want[n], got); err != nil || diff != "" {
			t.Errorf("%q, after a recall that had %d/115 of its time: %v (-want +got):\n%s", questions[n].Text, i*i, err, diff)
		}
	}
	if cancelled < 3 {
		t.Errorf("only %d recalls were broken off", cancelled)
	}
}

// TestManyRecalls: a late answer is the first one, also where the connection makes its tables anew, which it does every 200 recalls.
func TestManyRecalls(t *testing.T) {
	if testing.Short() {
		t.Skip("short: many questions, none beside another")
	}
	t.Parallel()
	e := enginetest.Open(t, engine.Options{Threads: 1})
	tagged(t, e)
	questions := []recall.Query{
		{Text: "crane harbour", Kinds: onlyMessages}, {Text: "crane", Kinds: onlyMessages, Conversations: []string{"talk 1"}}, {Text: "ship proj:harbour", Kinds: onlyMessages},
	}
	want := answersOf(t, e, questions)
	for i := range 210 {
		n := i % len(questions)
		got, err := answerOf(e, questions[n])
		if diff := differs(want[n], got); err != nil || diff != "" {
			t.Fatalf("recall %d: %v (-want +got):\n%s", i, err, diff)
		}
	}
}
