package compact_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/checkpoint"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/lineage"
	"github.com/mallardmem/mallard/engine/setup"
)

// outage has a conversation in which two compactions found no model, and what brings the model back.
func outage(t *testing.T) (e *engine.Engine, llm *enginetest.LLM, mend func()) {
	t.Helper()
	broken := true
	llm = &enginetest.LLM{Answer: func(_ context.Context, _, prompt string, _ int) (string, error) {
		if broken {
			return "", enginetest.ErrDown
		}
		return retold(prompt), nil
	}}
	e = enginetest.Open(t, rollingOptions(llm, func(o *engine.Options) { o.Rolling.EmergencyPercent = 50 }))
	turns(t, e, 1, 20)
	enginetest.Compact(t, e, compact.Request{})
	turns(t, e, 21, 10)
	enginetest.Compact(t, e, compact.Request{})
	return e, llm, func() { broken = false }
}

const owedRanges = "SELECT retry_from, first_kept_seq, attempts FROM compactions WHERE retry_from IS NOT NULL ORDER BY retry_from"

// TestGoClawPromise18: what is owed is told of later, the oldest range first, from the messages as they were said, which stay as they are.
func TestGoClawPromise18(t *testing.T) {
	e, llm, mend := outage(t)
	if got := fmt.Sprint(enginetest.Rows(t, e, owedRanges)); got != "[[1 11 2] [11 21 1]]" {
		t.Fatalf("owed: %s", got)
	}
	said := fmt.Sprint(enginetest.Rows(t, e, "SELECT id, text, raw, set_aside, recorded_at FROM messages ORDER BY seq"))
	before := len(llm.Calls())
	if r, err := e.RetryPending(t.Context()); len(r.Rewritten) != 0 || !errors.Is(err, enginetest.ErrDown) || len(llm.Calls()) != before+1 {
		t.Errorf("while it fails: %d, %v", len(r.Rewritten), err)
	}
	if got := fmt.Sprint(enginetest.Rows(t, e, owedRanges)); got != "[[1 11 3] [11 21 2]]" {
		t.Errorf("the marks stay: %s", got)
	}
	mend()
	if r, err := e.RetryPending(t.Context()); len(r.Rewritten) != 1 || err != nil {
		t.Errorf("%d, %v", len(r.Rewritten), err)
	}
	calls := llm.Calls()[before+1:]
	if len(calls) != 2 || !strings.Contains(calls[0].Prompt, "message 0001") || strings.Contains(calls[0].Prompt, "message 0011") ||
		!strings.Contains(calls[1].Prompt, "message 0011") || strings.Contains(calls[1].Prompt, "message 0010") {
		t.Errorf("%d calls, want the oldest range first, and the first message that the first compaction kept in the second one", len(calls))
	}
	if got := summaryText(t, e); got != numbers(1, 20) {
		t.Errorf("the summary tells of %s", got)
	}
	if left := enginetest.Rows(t, e, owedRanges); len(left) != 0 || enginetest.Rows(t, e, "SELECT fallback FROM summaries")[0][0] != false {
		t.Errorf("owed still: %v", left)
	}
	if now := fmt.Sprint(enginetest.Rows(t, e, "SELECT id, text, raw, set_aside, recorded_at FROM messages ORDER BY seq")); now != said {
		t.Errorf("messages became\n%s\nwere\n%s", now, said)
	}
	if r, err := e.RetryPending(t.Context()); len(r.Rewritten) != 0 || err != nil {
		t.Errorf("again: %d, %v", len(r.Rewritten), err)
	}
}

// TestHalfARetry: of what is owed a part may be told, and the rest stays owed.
func TestHalfARetry(t *testing.T) {
	e, llm, _ := outage(t)
	calls := 0
	answer := llm.Answer
	llm.Answer = func(ctx context.Context, system, prompt string, most int) (string, error) {
		if calls++; calls == 1 {
			return retold(prompt), nil
		}
		return answer(ctx, system, prompt, most)
	}
	if r, err := e.RetryPending(t.Context()); len(r.Rewritten) != 0 || err != nil {
		t.Errorf("%d, %v", len(r.Rewritten), err)
	}
	if got := fmt.Sprint(enginetest.Rows(t, e, owedRanges)); got != "[[11 21 2]]" {
		t.Errorf("owed: %s", got)
	}
	if got := summaryText(t, e); !strings.HasPrefix(got, numbers(1, 10)+"\n\n[No summary is available of 10 messages") {
		t.Errorf("%q", got)
	}
}

// TestCompactionTellsWhatIsOwed: the next compaction that finds a model tells of all ranges, each once.
func TestCompactionTellsWhatIsOwed(t *testing.T) {
	e, llm, mend := outage(t)
	mend()
	turns(t, e, 31, 10)
	before := len(llm.Calls())
	c := enginetest.Compact(t, e, compact.Request{})
	if c.Calls != 3 || len(llm.Calls()) != before+3 || c.Passes[0].Fallback || summaryText(t, e) != numbers(1, 30) {
		t.Errorf("%+v: %s", c, summaryText(t, e))
	}
	if left := enginetest.Rows(t, e, owedRanges); len(left) != 0 {
		t.Errorf("owed: %v", left)
	}
}

// TestNothingLeftToTell: where all messages of what is owed are gone, it is owed no more, and the line stays.
func TestNothingLeftToTell(t *testing.T) {
	e, _, mend := outage(t)
	var ids []string
	for _, m := range enginetest.Messages(t, e, "talk")[:10] {
		ids = append(ids, m.ID)
	}
	if _, err := e.PurgeMessages(t.Context(), compact.PurgeMessagesRequest{Conversation: "talk", IDs: ids}); err != nil {
		t.Fatal(err)
	}
	mend()
	if r, err := e.RetryPending(t.Context()); len(r.Rewritten) != 1 || err != nil {
		t.Errorf("%d, %v", len(r.Rewritten), err)
	}
	if got := summaryText(t, e); got != numbers(11, 20) {
		t.Errorf("the summary tells of %q", got)
	}
}

// TestRetryFallbacksOfBothPolicies: summaries of the other policy are made anew by the same call.
func TestRetryFallbacksOfBothPolicies(t *testing.T) {
	e, _, mend := outage(t)
	enginetest.Say(t, e, "tree", enginetest.Times(20, 10)...)
	if _, err := e.Compact(t.Context(), compact.Request{Conversation: "tree", Policy: compact.DAG, Force: true}); err != nil {
		t.Logf("as it must be: %v", err)
	}
	mend()
	r, err := e.RetryFallbacks(t.Context(), compact.RetryRequest{DryRun: true})
	if err != nil || r.Left == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	if r, err = e.RetryFallbacks(t.Context(), compact.RetryRequest{}); err != nil || len(r.Rewritten) == 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if got := summaryText2(t, e); got != numbers(1, 20) {
		t.Errorf("%s", got)
	}
}

func summaryText2(t *testing.T, e *engine.Engine) string {
	t.Helper()
	return enginetest.Rows(t, e, "SELECT s.text FROM summaries AS s JOIN conversations AS c ON c.id = s.conversation_id WHERE c.name = 'talk'")[0][0].(string)
}

// TestGoClawPromise17: after three failures in a row the first model is left out, for half an hour after its last attempt; an answer forgets them. It holds after the
// file is opened again.
func TestGoClawPromise17(t *testing.T) {
	enginetest.Alone(t)
	clock := &enginetest.Clock{At: enginetest.Noon}
	broken := true
	first := &enginetest.LLM{Name: "first", Answer: func(_ context.Context, _, prompt string, _ int) (string, error) {
		if broken {
			return "", enginetest.ErrDown
		}
		return retold(prompt), nil
	}}
	second := retelling()
	second.Name = "second"
	path := enginetest.NewFile(t)
	o := rollingOptions(first, func(o *engine.Options) { o.Now, o.Fallbacks = clock.Now, []setup.LLM{second} })
	e := enginetest.OpenFile(t, path, o)
	turns(t, e, 1, 10)
	said := 10
	compactOnce := func() compact.Pass {
		turns(t, e, said+1, 10)
		said += 10
		return enginetest.Compact(t, e, compact.Request{}).Passes[0]
	}
	for n := range 3 {
		if p := compactOnce(); p.Source != compact.FromFallback || len(first.Calls()) != n+1 {
			t.Errorf("failure %d: %+v", n+1, p)
		}
		clock.Advance(1e9)
	}
	enginetest.CloseFile(t, e)
	e = enginetest.OpenFile(t, path, o)
	if p := compactOnce(); p.Source != compact.FromFallback || len(first.Calls()) != 3 {
		t.Errorf("the fourth goes straight to the other: %+v, %d calls", p, len(first.Calls()))
	}
	if all, err := e.FailingModels(t.Context()); err != nil || len(all) != 1 || all[0].Name != "first" || all[0].Failures != 3 {
		t.Errorf("%+v, %v", all, err)
	}
	clock.Advance(31 * 60 * 1e9)
	if p := compactOnce(); p.Source != compact.FromFallback || len(first.Calls()) != 4 {
		t.Errorf("after 31 minutes it is asked again: %+v, %d calls", p, len(first.Calls()))
	}
	if all, _ := e.FailingModels(t.Context()); len(all) != 1 || all[0].Failures != 1 {
		t.Errorf("%+v: the count began anew", all)
	}
	broken = false
	if p := compactOnce(); p.Source != compact.FromModel {
		t.Errorf("%+v", p)
	}
	if all, _ := e.FailingModels(t.Context()); len(all) != 0 {
		t.Errorf("an answer forgets failures: %+v", all)
	}
	enginetest.CloseFile(t, e)
}

// TestPurgeOfWhatACheckpointRead: a summary that a checkpoint gave tells of messages that are in the context still; when one of them is purged it is made anew, and so is
// it, until that is undone, when one is retracted.
func TestPurgeOfWhatACheckpointRead(t *testing.T) {
	e := enginetest.Open(t, rollingOptions(retelling()))
	turns(t, e, 1, 20)
	if _, _, err := e.AdoptCheckpoint(t.Context(), checkpoint.AdoptRequest{Conversation: "talk", Summary: "the secret of message 15", TokensAt: 1000}); err != nil {
		t.Fatal(err)
	}
	turns(t, e, 21, 1)
	if c := enginetest.Compact(t, e, compact.Request{}); c.Passes[0].Source != compact.FromCheckpoint || c.Passes[0].FirstKept != 12 {
		t.Fatalf("%+v", c)
	}
	all := enginetest.Messages(t, e, "talk")
	r, err := e.Retract(t.Context(), lineage.RetractRequest{ID: all[14].ID, Reason: "untrue"})
	if err != nil {
		t.Fatal(err)
	}
	enginetest.Check(t, e)
	if got := summaryText(t, e); strings.Contains(got, "secret") {
		t.Errorf("after a retraction: %q", got)
	}
	if _, err := e.UndoRetraction(t.Context(), lineage.UndoRequest{ID: r.ID}); err != nil {
		t.Fatal(err)
	}
	enginetest.Check(t, e)
	if got := summaryText(t, e); !strings.Contains(got, "secret") {
		t.Errorf("after the undo: %q", got)
	}
	if _, err := e.PurgeMessages(t.Context(), compact.PurgeMessagesRequest{Conversation: "talk", IDs: []string{all[14].ID}}); err != nil {
		t.Fatal(err)
	}
	enginetest.Check(t, e)
	if got := summaryText(t, e); strings.Contains(got, "secret") {
		t.Errorf("after a purge: %q", got)
	}
	if rows := enginetest.Rows(t, e, "SELECT id FROM checkpoints UNION ALL SELECT id FROM compactions WHERE carried IS NOT NULL"); len(rows) != 0 {
		t.Errorf("left: %v", rows)
	}
	if r, err := e.RetryPending(t.Context()); len(r.Rewritten) != 1 || err != nil || summaryText(t, e) != numbers(1, 11) {
		t.Errorf("%d, %v: %s", len(r.Rewritten), err, summaryText(t, e))
	}
}

// TestRetractUnderARollingSummary: what is retracted leaves the summary, and comes back with an undo, which leaves nothing owed.
func TestRetractUnderARollingSummary(t *testing.T) {
	e := enginetest.Open(t, rollingOptions(retelling()))
	turns(t, e, 1, 20)
	enginetest.Compact(t, e, compact.Request{})
	first := enginetest.Messages(t, e, "talk")[0]
	r, err := e.Retract(t.Context(), lineage.RetractRequest{ID: first.ID, Reason: "untrue"})
	if err != nil {
		t.Fatal(err)
	}
	enginetest.Check(t, e)
	if got := len(enginetest.Rows(t, e, owedRanges)); got != 1 {
		t.Errorf("%d ranges are owed", got)
	}
	if _, err := e.UndoRetraction(t.Context(), lineage.UndoRequest{ID: r.ID}); err != nil {
		t.Fatal(err)
	}
	enginetest.Check(t, e)
	if got := summaryText(t, e); got != numbers(1, 10) || len(enginetest.Rows(t, e, owedRanges)) != 0 {
		t.Errorf("%s", got)
	}
}

// TestCarriedThroughFailures: what was told before two failures is told on from, and half of a retry in between changes nothing of that.
func TestCarriedThroughFailures(t *testing.T) {
	answers := 1
	llm := &enginetest.LLM{Answer: func(_ context.Context, _, prompt string, _ int) (string, error) {
		if answers--; answers < 0 {
			return "", enginetest.ErrDown
		}
		return retold(prompt), nil
	}}
	e := enginetest.Open(t, rollingOptions(llm, func(o *engine.Options) { o.Rolling.EmergencyPercent = 50 }))
	turns(t, e, 1, 10)
	for n := 11; n <= 41; n += 10 {
		turns(t, e, n, 10)
		enginetest.Compact(t, e, compact.Request{})
	}
	if got := summaryText(t, e); !strings.HasPrefix(got, numbers(1, 10)+"\n") || strings.Count(got, "No summary is available") != 3 {
		t.Errorf("%q", got)
	}
	answers = 1
	if _, err := e.RetryPending(t.Context()); err != nil {
		t.Error(err)
	}
	if got := summaryText(t, e); !strings.HasPrefix(got, numbers(1, 20)+"\n") || strings.Count(got, "No summary is available") != 2 {
		t.Errorf("%q", got)
	}
	answers = 100
	if r, err := e.RetryPending(t.Context()); len(r.Rewritten) != 1 || err != nil || summaryText(t, e) != numbers(1, 40) {
		t.Errorf("%d, %v: %s", len(r.Rewritten), err, summaryText(t, e))
	}
}

// TestLongRanges: a range that a model can't be shown at once is told part by part, wholly or not at all; of a very long one the newest parts, and the model is told so.
func TestLongRanges(t *testing.T) {
	answers := 1000
	llm := &enginetest.LLM{Answer: func(_ context.Context, _, prompt string, _ int) (string, error) {
		if answers--; answers < 0 {
			return "", enginetest.ErrDown
		}
		return retold(prompt), nil
	}}
	e := enginetest.Open(t, rollingOptions(llm, func(o *engine.Options) { o.Conversation.LeafChunkTokens = 100 })) // four messages
	turns(t, e, 1, 20)
	if c := enginetest.Compact(t, e, compact.Request{}); c.Calls != 3 || summaryText(t, e) != numbers(1, 10) {
		t.Errorf("%+v: %s", c, summaryText(t, e))
	}
	for _, call := range llm.Calls() {
		if n := strings.Count(call.Prompt, ": message "); n == 0 || n > 4 {
			t.Errorf("%d messages at once", n)
		}
	}
	answers = 1 // of three
	turns(t, e, 21, 10)
	c := enginetest.Compact(t, e, compact.Request{})
	if got := summaryText(t, e); !c.Passes[0].Fallback || !strings.HasPrefix(got, numbers(1, 10)+"\n\n[No summary is available") {
		t.Errorf("%+v: %s", c, got)
	}
	answers = 1000
	if done, err := e.RetryPending(t.Context()); err != nil || len(done.Rewritten) != 1 {
		t.Errorf("%+v, %v", done, err)
	}
	told := strings.Fields(summaryText(t, e))
	if want := strings.Fields(numbers(1, len(told))); strings.Join(told, " ") != strings.Join(want, " ") || len(told) < 15 {
		t.Errorf("after a retry it tells of %v", told)
	}
	turns(t, e, 31, 170)
	enginetest.Compact(t, e, compact.Request{})
	var first string
	calls := llm.Calls()
	for _, call := range calls {
		if strings.Contains(call.Prompt, "(The newest 64 of ") {
			first = call.Prompt
		}
	}
	if got := summaryText(t, e); first == "" || strings.Count(got, "0100") != 1 || strings.Contains(got, "0034") {
		t.Errorf("of a very long range: %s", got)
	}
}
