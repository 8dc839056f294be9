package compact_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/setup"
)

// TestUnderOutlastsASweep: a sweep that comes to its deadline is no failure of the whole, which has a deadline of its own.
func TestUnderOutlastsASweep(t *testing.T) {
	t.Parallel()
	llm := slowAt(func(call int) bool { return call%3 == 0 })
	e := enginetest.Open(t, engine.Options{LLM: llm, Conversation: enginetest.Small(2, 10, func(o *setup.Conversation) { o.SweepDeadline = setup.Duration(3 * time.Second) })})
	enginetest.Say(t, e, "talk", enginetest.Times(12, 10)...)
	c := enginetest.Compact(t, e, compact.Request{Mode: compact.Under, Budget: 90})
	if !c.Reached || c.Rounds < 2 || len(c.Passes) != 6 || c.Reason != "compacted" {
		t.Errorf("%+v, want six passes in several sweeps", c)
	}
}

// TestUnderOutOfTime: a model so slow that no sweep gets anywhere is no error, but the reason.
func TestUnderOutOfTime(t *testing.T) {
	llm := &enginetest.LLM{Answer: func(ctx context.Context, _, _ string, _ int) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}}
	e := enginetest.Open(t, engine.Options{LLM: llm, Conversation: enginetest.Small(2, 10, func(o *setup.Conversation) { o.SweepDeadline = setup.Duration(50 * time.Millisecond) })})
	enginetest.Say(t, e, "talk", enginetest.Times(12, 10)...)
	if c := enginetest.Compact(t, e, compact.Request{Mode: compact.Under, Budget: 90}); c.Reached || c.Changed || c.Rounds != 1 || c.Reason != "out of time" {
		t.Errorf("%+v", c)
	}
}

// TestLive: a host that counts more tokens than the engine is helped by as much as it needs, and is not told that all is well before.
func TestLive(t *testing.T) {
	enginetest.Alone(t)
	for _, test := range []struct {
		name    string
		request compact.Request
		passes  int
		after   int
		reached bool
		reason  string
	}{
		{"under its target by what is stored alone", compact.Request{Mode: compact.Under, Budget: 600, Live: 900}, 4, 520, true, "compacted"},
		{"no further than needed", compact.Request{Mode: compact.Under, Budget: 600, Live: 700}, 2, 510, true, "compacted"},
		{"more than can be done", compact.Request{Mode: compact.Under, Budget: 600, Live: 5000}, 4, 4620, false, "live context still exceeds target"},
		{"a sweep that is not enough", compact.Request{Budget: 400, Live: 5000}, 3, 4715, false, "compacted"},
		{"a sweep that is", compact.Request{Budget: 400, Live: 500}, 3, 215, true, "compacted"},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := enginetest.Open(t, engine.Options{LLM: enginetest.Summing(5, 5), Conversation: enginetest.Small(2, 100)})
			enginetest.Say(t, e, "talk", enginetest.Times(10, 50)...)
			c := enginetest.Compact(t, e, test.request)
			if len(c.Passes) != test.passes || c.TokensBefore != max(500, test.request.Live) || c.TokensAfter != test.after || c.Reached != test.reached || c.Reason != test.reason {
				t.Errorf("%+v, want %+v", c, test)
			}
		})
	}
}

// TestNothingShrinks: runs that can't become shorter are tried once in a Compact, and told apart from there being none.
func TestNothingShrinks(t *testing.T) {
	enginetest.Alone(t)
	llm := enginetest.Summing(9, 9)
	e := enginetest.Open(t, engine.Options{LLM: llm, Conversation: enginetest.Small(1, 1)})
	enginetest.Say(t, e, "talk", enginetest.Times(5, 1)...)
	c := enginetest.Compact(t, e, compact.Request{Mode: compact.Under, Budget: 2, Force: true})
	if c.Changed || c.Reached || c.Reason != "could not reach target" || len(llm.Calls()) != 8 {
		t.Errorf("%+v after %d calls, want two calls for each of four messages", c, len(llm.Calls()))
	}
	if c = enginetest.Compact(t, e, compact.Request{Budget: 2}); c.Reason != "nothing to compact" || len(llm.Calls()) != 8 {
		t.Errorf("again: %+v after %d calls", c, len(llm.Calls()))
	}

	few := enginetest.Open(t, engine.Options{LLM: llm, Conversation: enginetest.Small(1, 1, func(o *setup.Conversation) { o.SweepMaxPasses = 3 })})
	enginetest.Say(t, few, "talk", enginetest.Times(5, 1)...)
	for _, want := range []string{"reached the most of passes", "nothing to compact"} {
		if c := enginetest.Compact(t, few, compact.Request{Budget: 2}); c.Changed || c.Reason != want {
			t.Errorf("%+v, want %s", c, want)
		}
	}
}

// TestCancelledReason: a host that gives up is not told that the model failed.
func TestCancelledReason(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	llm := &enginetest.LLM{Answer: func(ctx context.Context, _, _ string, _ int) (string, error) {
		cancel()
		return "", ctx.Err()
	}}
	e := enginetest.Open(t, engine.Options{LLM: llm, Conversation: enginetest.Small(2, 10)})
	enginetest.Say(t, e, "talk", enginetest.Times(40, 10)...)
	if c, err := e.Compact(ctx, compact.Request{Conversation: "talk", Budget: 100}); !errors.Is(err, context.Canceled) || c.Reason != "cancelled" {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestStalledModel: a model that never answers costs no more than its time, and is done without where it must be.
func TestStalledModel(t *testing.T) {
	llm := &enginetest.LLM{Answer: func(ctx context.Context, _, _ string, _ int) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}}
	e := enginetest.Open(t, engine.Options{LLM: llm, Conversation: enginetest.Small(2, 50, func(o *setup.Conversation) { o.SummaryTimeout = setup.Duration(20 * time.Millisecond) })})
	enginetest.Say(t, e, "talk", enginetest.Times(12, 10)...)
	c, err := e.Compact(t.Context(), compact.Request{Conversation: "talk", Budget: 130})
	if !errors.Is(err, context.DeadlineExceeded) || c.Changed || c.Reason != "the summariser failed" || len(llm.Calls()) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	c, err = e.Compact(t.Context(), compact.Request{Conversation: "talk", Budget: 110})
	if !errors.Is(err, context.DeadlineExceeded) || len(c.Passes) == 0 || !c.Passes[0].Fallback || c.TokensAfter > 110 {
		t.Errorf("over the whole budget: %+v, %v", c, err)
	}
}

// TestCompactedTogether: one compaction of a conversation runs at a time, others of it wait their turn or give up; those of another one do not.
func TestCompactedTogether(t *testing.T) {
	var thinking, most atomic.Int32
	asked, answer := make(chan struct{}, 100), make(chan struct{})
	llm := &enginetest.LLM{Answer: func(_ context.Context, _, prompt string, _ int) (string, error) {
		if strings.Contains(prompt, "elsewhere") {
			return "brief", nil
		}
		most.Store(max(most.Load(), thinking.Add(1)))
		defer thinking.Add(-1)
		asked <- struct{}{}
		<-answer
		return enginetest.Tokens(5), nil
	}}
	e := enginetest.Open(t, engine.Options{Threads: 2, LLM: llm, Conversation: enginetest.Small(2, 50)})
	enginetest.Say(t, e, "talk", enginetest.Times(20, 10)...)
	if _, err := e.Append(t.Context(), conversation.AppendRequest{Conversation: "other", Messages: []conversation.Message{{Text: "elsewhere " + enginetest.Tokens(40)}, {Text: "a"}, {Text: "b"}}}); err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for range 3 {
		wait.Go(func() {
			if _, err := e.Compact(context.Background(), compact.Request{Conversation: "talk", Force: true}); err != nil {
				t.Error(err)
			}
		})
	}
	<-asked
	if c, err := e.Compact(t.Context(), compact.Request{Conversation: "other", Force: true}); err != nil || !c.Changed {
		t.Errorf("another conversation: %+v, %v", c, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := e.Compact(ctx, compact.Request{Conversation: "talk", Force: true}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting: %v", err)
	}
	close(answer)
	wait.Wait()
	if got := enginetest.ContextTokens(t, e, "talk"); got != "L(5) L(5) L(5) L(5) m19 m20" || most.Load() != 1 {
		t.Errorf("context %s; %d at once", got, most.Load())
	}
}
