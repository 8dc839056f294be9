package compact_test

import (
	"errors"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/setup"
)

// deferring puts compaction off.
func deferring(o *setup.Conversation) { o.Deferred = true }

// owed counts the debts.
func owed(t *testing.T, e *engine.Engine) int {
	t.Helper()
	debts, err := e.Debts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return len(debts)
}

// TestDebtIsPaid: a debt stays until the context is small enough, or nothing more can be done, however many sweeps that takes.
func TestDebtIsPaid(t *testing.T) {
	enginetest.Alone(t)
	for _, test := range []struct {
		name    string
		budget  int
		reached bool
		ticks   int
	}{
		{"small enough", 160, true, 8},      // 16 passes take 200 tokens to 120
		{"nothing is left", 100, false, 10}, // 18 passes, and then none
	} {
		t.Run(test.name, func(t *testing.T) {
			e := enginetest.Open(t, engine.Options{LLM: enginetest.Summing(5, 5), Conversation: enginetest.Small(2, 10, deferring, func(o *setup.Conversation) { o.SweepMaxPasses = 2 })})
			enginetest.Say(t, e, "talk", enginetest.Times(20, 10)...)
			enginetest.Compact(t, e, compact.Request{Budget: test.budget})
			ticks := 0
			var last *compact.Compacted
			for ; owed(t, e) > 0 && ticks < 50; ticks++ {
				done, err := e.CompactPending(t.Context())
				if err != nil || len(done) != 1 {
					t.Fatalf("%+v, %v", done, err)
				}
				last = done[0]
			}
			if ticks != test.ticks || last.Reached != test.reached {
				t.Errorf("after %d ticks %+v, want %d", ticks, last, test.ticks)
			}
		})
	}
}

// TestDebtsAreIndependent: one that fails keeps no other from being paid, and none is left of a conversation that is gone or archived.
func TestDebtsAreIndependent(t *testing.T) {
	enginetest.Alone(t)
	clock := &enginetest.Clock{At: enginetest.Noon}
	llm := enginetest.Answers(enginetest.ErrDown, enginetest.Tokens(5))
	e := enginetest.Open(t, engine.Options{LLM: llm, Now: clock.Now, Conversation: enginetest.Small(2, 50, deferring)})
	for _, name := range []string{"first", "gone", "reset", "last"} {
		enginetest.Say(t, e, name, enginetest.Times(20, 10)...)
		if c, err := e.Compact(t.Context(), compact.Request{Conversation: name, Budget: 250}); err != nil || c.Reason != "deferred" {
			t.Fatalf("%s: %+v, %v", name, c, err)
		}
		clock.Advance(time.Second)
	}
	if _, err := e.PurgeConversation(t.Context(), "gone", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := e.ResetSession(t.Context(), conversation.ArchiveRequest{Conversation: "reset"}); err != nil {
		t.Fatal(err)
	}
	done, err := e.CompactPending(t.Context())
	if !errors.Is(err, enginetest.ErrDown) || len(done) != 2 || done[0].Changed || !done[1].Changed {
		t.Errorf("%+v, %v", done, err)
	}
	debts, err := e.Debts(t.Context())
	if err != nil || len(debts) != 1 || debts[0].Attempts != 1 {
		t.Errorf("left: %+v, %v", debts, err)
	}
}

// TestDebtAndRefusedKey: a refused key is the breaker's business; the debt waits for that, not for a time of its own.
func TestDebtAndRefusedKey(t *testing.T) {
	t.Parallel()
	clock := &enginetest.Clock{At: enginetest.Noon}
	refuse := []any{}
	for range 5 {
		refuse = append(refuse, enginetest.Refused{})
	}
	llm := enginetest.Answers(append(refuse, enginetest.Tokens(5))...)
	e := enginetest.Open(t, engine.Options{LLM: llm, Now: clock.Now, Conversation: enginetest.Small(2, 50, deferring)})
	enginetest.Say(t, e, "talk", enginetest.Times(20, 10)...)
	enginetest.Compact(t, e, compact.Request{Budget: 250})
	for range 5 {
		if _, err := e.CompactPending(t.Context()); err == nil {
			t.Fatal("no error where the key was refused")
		}
	}
	if done, err := e.CompactPending(t.Context()); err != nil || len(done) != 1 || done[0].Reason != "circuit breaker open" || len(llm.Calls()) != 5 {
		t.Errorf("%+v, %v after %d calls", done, err, len(llm.Calls()))
	}
	clock.Advance(30 * time.Minute)
	if done, err := e.CompactPending(t.Context()); err != nil || len(done) != 1 || !done[0].Changed || owed(t, e) != 0 {
		t.Errorf("with a key: %+v, %v", done, err)
	}
}

// TestDebtKnowsTheTarget: what was asked for, and what the host saw beside the context, is not forgotten until the debt is paid.
func TestDebtKnowsTheTarget(t *testing.T) {
	enginetest.Alone(t)
	for _, r := range []compact.Request{{Mode: compact.Under, Budget: 600, Live: 900}, {Mode: compact.Under, Budget: 600, Target: 200}} {
		e := enginetest.Open(t, engine.Options{LLM: enginetest.Summing(5, 5), Conversation: enginetest.Small(2, 1000, deferring)})
		enginetest.Say(t, e, "talk", enginetest.Times(10, 50)...)
		if c := enginetest.Compact(t, e, r); c.Reason != "deferred" {
			t.Fatalf("%+v", c)
		}
		if done, err := e.CompactPending(t.Context()); err != nil || len(done) != 1 || !done[0].Changed || done[0].TokensAfter > 200 {
			t.Errorf("%+v: %+v, %v", r, done, err)
		}
	}
}
