package compact_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/setup"
)

// folded is a conversation of 12 messages of 50 tokens, the oldest ten of them below one summary of depth 1.
func folded(t *testing.T, llm setup.LLM) *engine.Engine {
	t.Helper()
	return foldedWith(t, engine.Options{LLM: llm, Conversation: enginetest.Small(2, 100, enginetest.Fanouts(2, 10))})
}

func foldedWith(t *testing.T, o engine.Options) *engine.Engine {
	t.Helper()
	e := enginetest.Open(t, o)
	r := conversation.AppendRequest{Conversation: "talk"}
	for i := range 12 {
		r.Messages = append(r.Messages, conversation.Message{Key: fmt.Sprint("k", i+1), SaidAt: enginetest.Noon,
			Text: fmt.Sprintf("Turn %d. %s", i+1, strings.Repeat("The harbor crane was painted blue. ", 6))[:200]})
	}
	if _, err := e.Append(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	enginetest.Compact(t, e, compact.Request{Force: true})
	return e
}

func TestRetryFallbacks(t *testing.T) {
	enginetest.Alone(t)
	down := true
	llm := enginetest.Answers("")
	llm.Answer = failingWhile(&down, "gist of it, in nine or ten short words")
	e := folded(t, llm)
	if n := enginetest.Rows(t, e, "SELECT count(*) FROM summaries WHERE fallback")[0][0].(int64); n != 6 {
		t.Fatalf("%d fallbacks, want 6 (%s)", n, enginetest.ContextTokens(t, e, "talk"))
	}
	ids := enginetest.Rows(t, e, "SELECT id FROM summaries ORDER BY id")
	if r, err := e.RetryFallbacks(t.Context(), compact.RetryRequest{}); !errors.Is(err, enginetest.ErrDown) || len(r.Rewritten) != 0 || r.Left != 6 {
		t.Errorf("while it is down: %+v, %v", r, err)
	}
	down = false
	r, err := e.RetryFallbacks(t.Context(), compact.RetryRequest{Conversation: "talk"})
	if err != nil || len(r.Rewritten) != 6 || r.Left != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if diff := cmp.Diff(ids, enginetest.Rows(t, e, "SELECT id FROM summaries WHERE NOT fallback AND attempts = 2 AND model = 'scripted' ORDER BY id")); diff != "" {
		t.Errorf("ids (-before +after):\n%s", diff)
	}
	if got := enginetest.RecallIDs(t, e, recall.Query{Text: "gist", Kinds: []kinds.Kind{kinds.Summary}}); len(got) != 6 {
		t.Errorf("recalled %v, want the six new texts", got)
	}
	if _, err := enginetest.Open(t, engine.Options{}).RetryFallbacks(t.Context(), compact.RetryRequest{}); !errors.Is(err, engine.ErrNoLLM) {
		t.Errorf("without a model: %v", err)
	}
}

// TestRetryRespectsTheBreaker: a model that has refused its key often enough is not asked again before it may be.
func TestRetryRespectsTheBreaker(t *testing.T) {
	t.Parallel()
	says, asked := enginetest.ErrDown, 0
	llm := enginetest.Answers("")
	llm.Answer = func(context.Context, string, string, int) (string, error) {
		asked++
		return "gist of it, in nine or ten short words", says
	}
	clock := &enginetest.Clock{At: enginetest.Noon}
	o := enginetest.Small(2, 100, enginetest.Fanouts(2, 10))
	o.BreakerThreshold = 2
	e := foldedWith(t, engine.Options{LLM: llm, Conversation: o, Now: clock.Now})
	says = enginetest.Refused{}
	for range 2 {
		if r, err := e.RetryFallbacks(t.Context(), compact.RetryRequest{}); !errors.As(err, &enginetest.Refused{}) || r.Left != 6 || r.Reason != "" {
			t.Errorf("while it refuses: %+v, %v", r, err)
		}
	}
	before := asked
	if r, err := e.RetryFallbacks(t.Context(), compact.RetryRequest{}); err != nil || asked != before || r.Left != 6 || r.Reason != "circuit breaker open" {
		t.Errorf("asked %d times more: %+v, %v", asked-before, r, err)
	}
	says = nil
	clock.Advance(time.Hour)
	if r, err := e.RetryFallbacks(t.Context(), compact.RetryRequest{}); err != nil || r.Left != 0 || r.Reason != "" {
		t.Errorf("when it is closed again: %+v, %v", r, err)
	}
}

// TestRetryPastWhatCannotBeShorter: a fallback for which nothing shorter can be written is left, and the others are made anew.
func TestRetryPastWhatCannotBeShorter(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{LLM: enginetest.Answers("gist"), Conversation: enginetest.Small(1, 60)})
	ids := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "talk", Messages: []conversation.Message{{Text: "ok"}, {Text: enginetest.Tokens(50)},
		{Text: "The harbor crane was painted blue, and then green."}, {Text: enginetest.Tokens(45)}, {Text: "last"}}}).IDs
	enginetest.Compact(t, e, compact.Request{Force: true})
	if got := enginetest.ContextTokens(t, e, "talk"); got != "L(1) L(1) m5" {
		t.Fatal(got)
	}
	if _, err := e.PurgeMessages(t.Context(), compact.PurgeMessagesRequest{Conversation: "talk", IDs: []string{ids[1], ids[3]}}); err != nil {
		t.Fatal(err)
	}
	r, err := e.RetryFallbacks(t.Context(), compact.RetryRequest{})
	if err != nil || len(r.Rewritten) != 1 || r.Left != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestRewriteByHand(t *testing.T) {
	t.Parallel()
	e := folded(t, enginetest.Summing(10, 8))
	leaf := enginetest.Rows(t, e, "SELECT id FROM summaries WHERE depth = 0 ORDER BY first_seq LIMIT 1")[0][0].(string)
	s, err := e.RewriteSummary(t.Context(), compact.RewriteRequest{ID: leaf[len(leaf)-8:], Text: "The crane is blue since spring."})
	if err != nil || s.ID != leaf || s.Tokens != 8 || s.Model != "by hand" {
		t.Fatalf("%+v, %v", s, err)
	}
	if got := enginetest.Rows(t, e, "SELECT descendant_tokens FROM summaries WHERE depth = 1")[0][0]; got != int32(48) {
		t.Errorf("the summary above counts %v tokens below it, want 48", got)
	}
	for _, r := range []compact.RewriteRequest{{ID: leaf, Text: " \n"}, {ID: leaf, Text: enginetest.Tokens(100)}, {ID: leaf, Text: "a\xff"}} {
		if _, err := e.RewriteSummary(t.Context(), r); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%q: %v, want ErrInvalid", r.Text, err)
		}
	}
	if _, err := e.RewriteSummary(t.Context(), compact.RewriteRequest{ID: "sum_nobody", Text: "x"}); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("unknown: %v", err)
	}
}

// TestRewriteOfWhatWasPurged: a model that was asked before a message below the summary was purged is not heard, although the clock stands still.
func TestRewriteOfWhatWasPurged(t *testing.T) {
	enginetest.Alone(t)
	llm := enginetest.Answers(enginetest.Tokens(10))
	e := folded(t, llm)
	id := enginetest.Rows(t, e, "SELECT id FROM messages WHERE seq = 2")[0][0].(string)
	llm.Answer = func(ctx context.Context, _, _ string, _ int) (string, error) {
		_, err := e.PurgeMessages(ctx, compact.PurgeMessagesRequest{Conversation: "talk", IDs: []string{id}})
		return "what was purged", err
	}
	leaf := enginetest.Rows(t, e, "SELECT id FROM summaries WHERE first_seq = 1 ORDER BY depth")[0][0].(string)
	if s, err := e.RewriteSummary(t.Context(), compact.RewriteRequest{ID: leaf}); !errors.Is(err, engine.ErrConflict) {
		t.Errorf("%+v, %v, want ErrConflict", s, err)
	}
	if places := enginetest.TablesWith(t, e, "what was purged"); len(places) != 0 {
		t.Errorf("it is in %v", places)
	}
}

// TestEndingsOfOthers: the ending of an id is looked for among what the agent may read.
func TestEndingsOfOthers(t *testing.T) {
	t.Parallel()
	n := 0
	e := enginetest.Open(t, engine.Options{NewID: func(prefix string, _ time.Time) string {
		n++
		return fmt.Sprintf("%s%d_same_ending", prefix, n)
	}})
	var ids []string
	for _, scope := range []string{"global", "user:ines"} {
		said := enginetest.Append(t, e, conversation.AppendRequest{Conversation: scope, Scope: scope, Messages: []conversation.Message{{Text: enginetest.Tokens(9)}}})
		ids = append(ids, enginetest.Summarise(t, e, scope, "made", said.IDs...))
	}
	s, err := e.RewriteSummary(t.Context(), compact.RewriteRequest{ID: "_same_ending", Agent: "scout", Text: "mine"})
	if err != nil || s.ID != ids[0] {
		t.Errorf("%+v, %v, want %s", s, err, ids[0])
	}
	if _, err := e.RewriteSummary(t.Context(), compact.RewriteRequest{ID: "_same_ending", Text: "ours"}); !errors.Is(err, engine.ErrAmbiguous) {
		t.Errorf("%v, want ErrAmbiguous", err)
	}
}

func TestDissolve(t *testing.T) {
	enginetest.Alone(t)
	e := folded(t, enginetest.Summing(10, 8))
	if got := enginetest.ContextTokens(t, e, "talk"); got != "D1(8) m11 m12" {
		t.Fatal(got)
	}
	leaf := enginetest.Rows(t, e, "SELECT id FROM summaries WHERE depth = 0 LIMIT 1")[0][0].(string)
	if _, err := e.DissolveSummary(t.Context(), compact.DissolveRequest{ID: leaf}); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("below another summary: %v, want ErrInvalid", err)
	}
	for _, want := range []string{"L(10) L(10) L(10) L(10) L(10) m11 m12", "m1 m2 L(10) L(10) L(10) L(10) m11 m12"} {
		items, err := e.Context(t.Context(), compact.ContextRequest{Conversation: "talk"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.DissolveSummary(t.Context(), compact.DissolveRequest{ID: items[0].Ref}); err != nil {
			t.Fatal(err)
		}
		if got := enginetest.ContextTokens(t, e, "talk"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		enginetest.Check(t, e)
	}
}

func TestAdoptSummary(t *testing.T) {
	enginetest.Alone(t)
	e := folded(t, enginetest.Summing(10, 8))
	request := compact.AdoptRequest{Conversation: "talk", Key: "c1", Text: "What the host made of it.", FirstKept: "k12"}
	s, changed, err := e.AdoptSummary(t.Context(), request)
	if err != nil || !changed || s.Messages != 11 || s.FirstSeq != 1 || s.LastSeq != 11 || s.SourceTokens != 550 || s.Level != compact.HostMade {
		t.Fatalf("%+v, %t, %v", s, changed, err)
	}
	if got := enginetest.ContextTokens(t, e, "talk"); got != "L(7) m12" {
		t.Errorf("context %s", got)
	}
	again, changed, err := e.AdoptSummary(t.Context(), request)
	if err != nil || changed || again.ID != s.ID {
		t.Errorf("the same again: %+v, %t, %v", again, changed, err)
	}
	if n := enginetest.Rows(t, e, "SELECT count(*) FROM summaries")[0][0]; n != int64(1) {
		t.Errorf("%v summaries, want those it covers gone", n)
	}
	if _, changed, err := e.AdoptSummary(t.Context(), compact.AdoptRequest{Conversation: "talk", Key: "c2", Text: "All of it."}); err != nil || !changed {
		t.Errorf("everything: %t, %v", changed, err)
	}
	for _, r := range []compact.AdoptRequest{{Conversation: "talk", Text: " "}, {Text: "x"}} {
		if _, _, err := e.AdoptSummary(t.Context(), r); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%+v: %v, want ErrInvalid", r, err)
		}
	}
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "hers", Scope: "user:ines", Messages: []conversation.Message{{Text: "x"}}})
	if _, _, err := e.AdoptSummary(t.Context(), compact.AdoptRequest{Conversation: "hers", Agent: "scout", Text: "x"}); !errors.Is(err, engine.ErrScopeDenied) {
		t.Errorf("of another's: %v, want ErrScopeDenied", err)
	}
	for _, r := range []compact.AdoptRequest{{Conversation: "nobody", Text: "x"}, {Conversation: "talk", Text: "x", FirstKept: "k99"}} {
		if _, _, err := e.AdoptSummary(t.Context(), r); !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("%+v: %v, want ErrNotFound", r, err)
		}
	}
}

func TestNeedsCompaction(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{Conversation: enginetest.Small(2, 100)})
	enginetest.Say(t, e, "talk", enginetest.Times(20, 10)...)
	n, err := e.NeedsCompaction(t.Context(), compact.Request{Conversation: "talk", Budget: 200, Live: 160})
	if diff := cmp.Diff(compact.Need{Stored: 200, Current: 200, Threshold: 150, Over: true, RawOutside: 180, LeafDue: true, Items: 20, RawMessages: 20}, n); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
