package compact_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/setup"
)

// failingWhile is down as long as down is true.
func failingWhile(down *bool, answer string) func(context.Context, string, string, int) (string, error) {
	return func(context.Context, string, string, int) (string, error) {
		if *down {
			return "", enginetest.ErrDown
		}
		return answer, nil
	}
}

// TestEscalation: what becomes of answers to a leaf of 30 tokens (G1 to G9).
func TestEscalation(t *testing.T) {
	enginetest.Alone(t)
	tokens := func(n int) string { return strings.Repeat("gist ", n)[:4*n] }
	echo := func(prompt string) string { _, rest, _ := strings.Cut(prompt, "[2026-"); return "[2026-" + rest[:110] }
	for _, test := range []struct {
		name     string
		llm      *enginetest.LLM
		size     int
		target   int
		force    bool
		level    compact.Escalation
		tokens   int // at most
		calls    int
		fallback bool
		err      error
	}{
		{"G1", enginetest.Answers(tokens(5)), 30, 0, true, compact.Normal, 5, 1, false, nil},
		{"G2", enginetest.Answers(tokens(999), tokens(3)), 30, 0, true, compact.Aggressive, 3, 2, false, nil},
		{"G3", enginetest.Answers(tokens(999)), 30, 0, true, compact.Extractive, 29, 2, true, nil},
		{"G4: blank", enginetest.Answers(" \n\t "), 3000, 0, true, compact.Extractive, 512, 2, true, nil},
		{"blank, then an answer", enginetest.Answers("", tokens(7)), 3000, 0, true, compact.Aggressive, 7, 2, false, nil},
		{"an echo", enginetest.Answers(echo), 30, 0, true, compact.Extractive, 29, 2, true, nil},
		{"G5: three times too long", enginetest.Answers(tokens(500)), 600, 100, true, compact.Truncated, 300, 1, false, nil},
		{"G6: just as long as it may be", enginetest.Answers(tokens(300)), 600, 100, true, compact.Normal, 300, 1, false, nil},
		{"no valid text", enginetest.Answers("caf\xe9 \x00 bar"), 30, 0, true, compact.Normal, 4, 1, false, nil},
		{"down", enginetest.Answers(enginetest.ErrDown), 30, 0, false, "", 0, 1, false, enginetest.ErrDown},
		{"down, but it must be", enginetest.Answers(enginetest.ErrDown), 30, 0, true, compact.Extractive, 29, 1, true, nil},
		{"G9: refused", enginetest.Answers(enginetest.Refused{}), 30, 0, true, "", 0, 1, false, enginetest.Refused{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := enginetest.Open(t, engine.Options{LLM: test.llm, Conversation: enginetest.Small(1, test.size, func(o *setup.Conversation) { o.LeafTargetTokens = test.target })})
			enginetest.Say(t, e, "talk", test.size, 1)
			before := enginetest.ContextTokens(t, e, "talk")
			c, err := e.Compact(t.Context(), compact.Request{Conversation: "talk", Force: test.force, Budget: 10_000})
			if !errors.Is(err, test.err) || c.Calls != test.calls {
				t.Fatalf("%v after %d calls, want %v after %d", err, c.Calls, test.err, test.calls)
			}
			if test.level == "" {
				if after := enginetest.ContextTokens(t, e, "talk"); after != before || c.Changed || c.Reached {
					t.Errorf("context %s, %+v, want nothing changed", after, c)
				}
				return
			}
			row := enginetest.Rows(t, e, "SELECT level, tokens, fallback FROM summaries")[0]
			if got := row[1].(int32); row[0] != string(test.level) || int(got) > test.tokens || got == 0 || row[2] != test.fallback {
				t.Errorf("%v, want %s of at most %d tokens, fallback %t", row, test.level, test.tokens, test.fallback)
			}
		})
	}
}

// TestFailureKeepsWhatWasDone: an error comes with what the sweep had done before.
func TestFailureKeepsWhatWasDone(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{LLM: enginetest.Answers(enginetest.Tokens(5), enginetest.ErrDown), Conversation: enginetest.Small(2, 50)})
	enginetest.Say(t, e, "talk", enginetest.Times(20, 10)...)
	c, err := e.Compact(t.Context(), compact.Request{Conversation: "talk", Budget: 200})
	if !errors.Is(err, enginetest.ErrDown) || !c.Changed || len(c.Passes) != 1 || c.TokensAfter != 155 || c.Reason != "the summariser failed" {
		t.Errorf("%+v, %v", c, err)
	}
	// Over the whole budget the source speaks for itself, until it is not.
	c, err = e.Compact(t.Context(), compact.Request{Conversation: "talk", Budget: 100})
	if !errors.Is(err, enginetest.ErrDown) || !c.Changed || !c.Passes[0].Fallback || c.TokensAfter > 100 {
		t.Errorf("over the budget: %+v, %v", c, err)
	}
}

func TestBreaker(t *testing.T) {
	t.Parallel()
	clock := &enginetest.Clock{At: enginetest.Noon}
	llm := enginetest.Answers(enginetest.Refused{})
	e := enginetest.Open(t, engine.Options{LLM: llm, Now: clock.Now, Conversation: enginetest.Small(2, 50)})
	enginetest.Say(t, e, "talk", enginetest.Times(20, 10)...)
	request := compact.Request{Conversation: "talk", Budget: 100, Force: true}
	for i := range 5 {
		if c, err := e.Compact(t.Context(), request); err == nil || c.Reason != "provider auth failure" {
			t.Fatalf("failure %d: %+v, %v", i, c, err)
		}
	}
	if c := enginetest.Compact(t, e, request); c.Reason != "circuit breaker open" || len(llm.Calls()) != 5 {
		t.Errorf("%+v after %d calls", c, len(llm.Calls()))
	}
	clock.Advance(30*time.Minute - time.Second)
	if c := enginetest.Compact(t, e, request); c.Reason != "circuit breaker open" {
		t.Errorf("too early: %+v", c)
	}
	clock.Advance(time.Second)
	if _, err := e.Compact(t.Context(), request); err == nil || len(llm.Calls()) != 6 {
		t.Errorf("after the cooldown: %v, %d calls", err, len(llm.Calls()))
	}
}

// TestGuardSurvivesClosing: a breaker that is open stays so in a file that is closed and opened, and what was spent stays spent.
func TestGuardSurvivesClosing(t *testing.T) {
	enginetest.Alone(t)
	clock := &enginetest.Clock{At: enginetest.Noon}
	path := enginetest.NewFile(t)
	refusing, summing := enginetest.Answers(enginetest.Refused{}), enginetest.Summing(5, 5)
	open := func(llm *enginetest.LLM) *engine.Engine {
		return enginetest.OpenFile(t, path, engine.Options{LLM: llm, Now: clock.Now, Conversation: enginetest.Small(2, 10, func(o *setup.Conversation) { o.SummaryMaxCalls = 3 })})
	}
	e := open(refusing)
	enginetest.Say(t, e, "talk", enginetest.Times(20, 10)...)
	request := compact.Request{Conversation: "talk", Budget: 220}
	for range 3 {
		e.Compact(t.Context(), compact.Request{Conversation: "talk", Budget: 100, Force: true})
	}
	enginetest.CloseFile(t, e)
	e = open(refusing)
	for range 3 {
		e.Compact(t.Context(), compact.Request{Conversation: "talk", Budget: 100, Force: true})
	}
	if calls := len(refusing.Calls()); calls != 5 {
		t.Errorf("%d calls were refused, want 5 in all", calls)
	}
	enginetest.CloseFile(t, e)
	e = open(summing)
	if c := enginetest.Compact(t, e, request); c.Reason != "circuit breaker open" || len(summing.Calls()) > 0 {
		t.Errorf("opened again: %+v", c)
	}
	clock.Advance(30 * time.Minute)
	if c := enginetest.Compact(t, e, request); c.Calls != 3 || c.Reason != "the model's calls are spent for now" {
		t.Errorf("after the cooldown: %+v", c)
	}
	enginetest.CloseFile(t, e)
	e = open(summing)
	if c := enginetest.Compact(t, e, request); c.Calls != 0 || c.Reason != "the model's calls are spent for now" {
		t.Errorf("spent, and opened again: %+v", c)
	}
	enginetest.CloseFile(t, e)
}

func TestSpendGuard(t *testing.T) {
	enginetest.Alone(t)
	clock := &enginetest.Clock{At: enginetest.Noon}
	llm := enginetest.Summing(5, 5)
	e := enginetest.Open(t, engine.Options{LLM: llm, Now: clock.Now, Conversation: enginetest.Small(2, 10, func(o *setup.Conversation) { o.SummaryMaxCalls = 3 })})
	enginetest.Say(t, e, "talk", enginetest.Times(20, 10)...)
	request := compact.Request{Conversation: "talk", Budget: 220}
	c, err := e.Compact(t.Context(), compact.Request{Conversation: "talk", Budget: 220})
	if err != nil || c.Calls != 3 || len(c.Passes) != 3 || c.Reason != "the model's calls are spent for now" {
		t.Errorf("%+v, %v, want it to stop after three calls", c, err)
	}
	clock.Advance(29 * time.Minute)
	if c := enginetest.Compact(t, e, request); c.Calls != 0 || c.Reason != "the model's calls are spent for now" {
		t.Errorf("while it pauses: %+v", c)
	}
	clock.Advance(2 * time.Minute)
	if c := enginetest.Compact(t, e, request); c.Calls != 3 || len(c.Passes) != 3 {
		t.Errorf("after the pause: %+v", c)
	}
	if c := enginetest.Compact(t, e, compact.Request{Budget: 165}); c.Calls != 0 || len(c.Passes) == 0 || !c.Passes[0].Fallback || c.TokensAfter > 165 {
		t.Errorf("over the whole budget: %+v, want summaries without the model", c)
	}
}

// TestOutOfTime: a sweep that comes to its deadline while the model thinks keeps the pass that it wrote before.
func TestOutOfTime(t *testing.T) {
	t.Parallel()
	llm := slowAt(func(call int) bool { return call == 2 })
	e := enginetest.Open(t, engine.Options{LLM: llm, Conversation: enginetest.Small(2, 10, func(o *setup.Conversation) { o.SweepDeadline = setup.Duration(3 * time.Second) })})
	enginetest.Say(t, e, "talk", enginetest.Times(40, 10)...)
	c := enginetest.Compact(t, e, compact.Request{Budget: 100})
	if c.Reason != "out of time" || c.Reached || len(c.Passes) != 1 || c.Calls != 2 {
		t.Errorf("%+v", c)
	}
}

// slowAt is a model that answers at once, but for the calls, counted from 1, that never end before their deadline does.
func slowAt(never func(call int) bool) *enginetest.LLM {
	n := 0
	return &enginetest.LLM{Answer: func(ctx context.Context, _, _ string, _ int) (string, error) {
		if n++; never(n) {
			<-ctx.Done()
			return "", ctx.Err()
		}
		return enginetest.Tokens(5), nil
	}}
}

func TestCancelledCompaction(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	llm := &enginetest.LLM{Answer: func(ctx context.Context, _, _ string, _ int) (string, error) {
		cancel()
		<-ctx.Done()
		return "", ctx.Err()
	}}
	e := enginetest.Open(t, engine.Options{LLM: llm, Conversation: enginetest.Small(2, 10)})
	enginetest.Say(t, e, "talk", enginetest.Times(40, 10)...)
	if c, err := e.Compact(ctx, compact.Request{Conversation: "talk", Budget: 100, Force: true}); !errors.Is(err, context.Canceled) || c.Changed {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestAppendNeverWaits: messages go on while the model thinks, and the pass is written all the same.
func TestAppendNeverWaits(t *testing.T) {
	thinking, go_on := make(chan struct{}), make(chan struct{})
	var once sync.Once
	llm := &enginetest.LLM{Answer: func(context.Context, string, string, int) (string, error) {
		once.Do(func() { close(thinking); <-go_on })
		return enginetest.Tokens(5), nil
	}}
	e := enginetest.Open(t, engine.Options{Threads: 2, LLM: llm, Conversation: enginetest.Small(2, 50)})
	enginetest.Say(t, e, "talk", enginetest.Times(10, 10)...)
	done := make(chan *compact.Compacted)
	go func() {
		c, err := e.Compact(context.Background(), compact.Request{Conversation: "talk", Budget: 100})
		if err != nil {
			t.Error(err)
		}
		done <- c
	}()
	<-thinking
	enginetest.Say(t, e, "talk", enginetest.Times(20, 10)...)
	close(go_on)
	if c := <-done; len(c.Passes) == 0 || c.TokensAfter > 75+200 {
		t.Errorf("%+v", c)
	}
	if got := enginetest.ContextTokens(t, e, "talk"); !strings.HasPrefix(got, "L(5)") || !strings.HasSuffix(got, "m30") {
		t.Errorf("context %s", got)
	}
}

// TestConflict: what left the context meanwhile makes the pass plan anew.
func TestConflict(t *testing.T) {
	t.Parallel()
	var e *engine.Engine
	n := 0
	llm := &enginetest.LLM{Answer: func(context.Context, string, string, int) (string, error) {
		if n++; n == 2 {
			if _, err := e.DissolveSummary(context.Background(), compact.DissolveRequest{ID: enginetest.Rows(t, e, "SELECT id FROM summaries")[0][0].(string)}); err != nil {
				t.Error(err)
			}
			if _, _, err := e.AdoptSummary(context.Background(), compact.AdoptRequest{Conversation: "talk", Text: "the host's own", FirstKept: "k8"}); err != nil {
				t.Error(err)
			}
		}
		return enginetest.Tokens(5), nil
	}}
	e = enginetest.Open(t, engine.Options{LLM: llm, Conversation: enginetest.Small(2, 50)})
	r := conversation.AppendRequest{Conversation: "talk"}
	for i := range 20 {
		r.Messages = append(r.Messages, conversation.Message{Key: fmt.Sprint("k", i+1), Text: enginetest.Tokens(10), SaidAt: enginetest.Noon})
	}
	if _, err := e.Append(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	enginetest.Compact(t, e, compact.Request{Force: true})
	if got := enginetest.ContextTokens(t, e, "talk"); got != "L(4) L(5) L(5) L(5) m19 m20" {
		t.Errorf("context %s", got)
	}
}

func TestDeferred(t *testing.T) {
	clock := &enginetest.Clock{At: enginetest.Noon}
	llm := enginetest.Answers(enginetest.ErrDown, enginetest.ErrDown, enginetest.Tokens(5))
	e := enginetest.Open(t, engine.Options{LLM: llm, Now: clock.Now, Conversation: enginetest.Small(2, 50, func(o *setup.Conversation) { o.Deferred = true })})
	enginetest.Say(t, e, "talk", enginetest.Times(20, 10)...)
	for range 2 {
		if c := enginetest.Compact(t, e, compact.Request{Budget: 250}); c.Changed || c.Reason != "deferred" {
			t.Fatalf("%+v", c)
		}
	}
	var waits []time.Duration
	for range 2 {
		if _, err := e.CompactPending(t.Context()); !errors.Is(err, enginetest.ErrDown) {
			t.Fatal(err)
		}
		debts, err := e.Debts(t.Context())
		if err != nil || len(debts) != 1 || debts[0].LastError == "" {
			t.Fatalf("%+v, %v", debts, err)
		}
		waits = append(waits, debts[0].NextAttemptAt.Sub(clock.At))
		if done, err := e.CompactPending(t.Context()); err != nil || len(done) != 0 {
			t.Errorf("too early: %v, %v", done, err)
		}
		clock.At = debts[0].NextAttemptAt
	}
	if diff := cmp.Diff([]time.Duration{5 * time.Minute, 10 * time.Minute}, waits); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
	done, err := e.CompactPending(t.Context())
	if err != nil || len(done) != 1 || !done[0].Changed {
		t.Errorf("%+v, %v", done, err)
	}
	if debts, err := e.Debts(t.Context()); err != nil || len(debts) != 0 {
		t.Errorf("left: %+v, %v", debts, err)
	}
}
