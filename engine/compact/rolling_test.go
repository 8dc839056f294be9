package compact_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/checkpoint"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/lookup"
	"github.com/mallardmem/mallard/engine/setup"
)

// rollingOptions keep 4 messages at least, and compact from 20 on.
func rollingOptions(llm setup.LLM, change ...func(*engine.Options)) engine.Options {
	most, none := 20, 0
	o := engine.Options{LLM: llm, Conversation: setup.Conversation{Policy: setup.PolicyRolling, SummaryMaxCalls: 1000},
		Rolling: setup.Rolling{MaxMessages: &most, MinMessages: 4, Reserve: &none}}
	for _, f := range change {
		f(&o)
	}
	return o
}

// turns appends n messages of ten tokens, of the user and the assistant in turn, which say their numbers.
func turns(t *testing.T, e *engine.Engine, from, n int) {
	t.Helper()
	r := conversation.AppendRequest{Conversation: "talk"}
	for i := range n {
		no := from + i
		r.Messages = append(r.Messages, conversation.Message{Key: fmt.Sprint("k", no), Role: []string{"assistant", "user"}[no%2], SaidAt: enginetest.Noon.Add(time.Duration(no) * time.Second),
			Text: fmt.Sprintf("message %04d%s", no, strings.Repeat(" more", 6)[:28])})
	}
	enginetest.Append(t, e, r)
}

// retelling answers with the numbers of the messages that the prompt has, behind what the older summary says.
func retelling() *enginetest.LLM {
	return &enginetest.LLM{Answer: func(_ context.Context, _, prompt string, _ int) (string, error) { return retold(prompt), nil }}
}

func retold(prompt string) string {
	var all []string
	if _, before, ok := strings.Cut(prompt, "<previous-"); ok {
		before, _, _ = strings.Cut(before, "</previous-")
		if _, text, ok := strings.Cut(before, "\n"); ok && !strings.Contains(text, "(none)") {
			all = strings.Fields(text)
		}
	}
	for _, line := range strings.Split(prompt, "\n") {
		if _, rest, ok := strings.Cut(line, ": message "); ok {
			all = append(all, rest[:4])
		}
	}
	return strings.Join(all, " ")
}

// numbers writes down the numbers from one to another as retelling does.
func numbers(from, to int) string {
	var all []string
	for n := from; n <= to; n++ {
		all = append(all, fmt.Sprintf("%04d", n))
	}
	return strings.Join(all, " ")
}

// summaryText gives the text of the one summary of the conversation "talk".
func summaryText(t *testing.T, e *engine.Engine) string {
	t.Helper()
	rows := enginetest.Rows(t, e, "SELECT text FROM summaries")
	if len(rows) != 1 {
		t.Fatalf("%d summaries", len(rows))
	}
	return rows[0][0].(string)
}

// TestGoClawPromise12: the summary is one of the messages that are removed, on from the one before, and stands in the context at once (promises 1 and 12,
// and resolution 16).
func TestGoClawPromise12(t *testing.T) {
	e := enginetest.Open(t, rollingOptions(retelling()))
	for n := 1; n <= 91; n += 10 {
		turns(t, e, n, 10)
		enginetest.Compact(t, e, compact.Request{})
	}
	// Of 20 messages half go; what stays and ten more are 20 again.
	if got := summaryText(t, e); got != numbers(1, 90) {
		t.Errorf("the summary tells of %s", got)
	}
	if got := enginetest.ContextTokens(t, e, "talk"); !strings.HasPrefix(got, "L(") || !strings.HasSuffix(got, "m91 m92 m93 m94 m95 m96 m97 m98 m99 m100") || strings.Contains(got, "m90") {
		t.Errorf("context %s", got)
	}
}

// TestGoClawPromise23: every message stays, and is found again below the one leaf that stands for it.
func TestGoClawPromise23(t *testing.T) {
	e := enginetest.Open(t, rollingOptions(retelling()))
	for n := 1; n <= 91; n += 10 {
		turns(t, e, n, 10)
		enginetest.Compact(t, e, compact.Request{})
	}
	if all := enginetest.Messages(t, e, "talk"); len(all) != 100 {
		t.Errorf("%d messages", len(all))
	}
	s := enginetest.SummaryOf(t, e, enginetest.Rows(t, e, "SELECT id FROM summaries")[0][0].(string))
	if len(s.Sources) != 90 || s.Messages != 90 || s.FirstSeq != 1 || s.LastSeq != 90 || s.Depth != 0 {
		t.Errorf("%d sources: %+v", len(s.Sources), s)
	}
	x, err := e.Expand(t.Context(), lookup.ExpandRequest{IDs: []string{s.ID}, Messages: true, TokenCap: 100_000})
	if err != nil || x.Truncated || len(x.Items) != 90 {
		t.Errorf("%d messages, %v", len(x.Items), err)
	}
}

// TestGoClawPromise10: the token trigger is the budget less the reserve; without a budget tokens have no say.
func TestGoClawPromise10(t *testing.T) {
	e := enginetest.Open(t, rollingOptions(retelling(), func(o *engine.Options) {
		reserve, most := 40, 0
		o.Rolling.Reserve, o.Rolling.MaxMessages = &reserve, &most
	}))
	turns(t, e, 1, 10) // 100 tokens
	for _, test := range []struct {
		budget, live int
		over         bool
	}{{141, 0, false}, {140, 0, true}, {0, 0, false}, {200, 159, false}, {200, 160, true}, {140, 99, false}} {
		n, err := e.NeedsCompaction(t.Context(), compact.Request{Conversation: "talk", Budget: test.budget, Live: test.live})
		if err != nil || n.Over != test.over {
			t.Errorf("%+v: %+v, %v", test, n, err)
		}
	}
	if c := enginetest.Compact(t, e, compact.Request{Budget: 141}); c.Changed || !c.Reached || c.Reason != "below the reserve" {
		t.Errorf("%+v", c)
	}
	if c := enginetest.Compact(t, e, compact.Request{Budget: 140}); !c.Changed || c.Target != 100 || c.TokensBefore != 100 || c.TokensAfter != c.Passes[0].TokensAfter {
		t.Errorf("%+v", c)
	}
}

// TestGoClawPromise11: the message trigger is reached at as many messages as it says, not only above.
func TestGoClawPromise11(t *testing.T) {
	e := enginetest.Open(t, rollingOptions(retelling()))
	turns(t, e, 1, 19)
	if c := enginetest.Compact(t, e, compact.Request{Budget: 100_000}); c.Changed {
		t.Errorf("at 19: %+v", c)
	}
	turns(t, e, 20, 1)
	if c := enginetest.Compact(t, e, compact.Request{Budget: 100_000}); !c.Changed || c.Passes[0].FirstKept != 11 || c.Passes[0].Source != compact.FromModel {
		t.Errorf("at 20: %+v", c)
	}
}

// TestGoClawPromise2: what the provider counted wins over what is stored, until the context is compacted; what the host says wins over both.
func TestGoClawPromise2(t *testing.T) {
	e := enginetest.Open(t, rollingOptions(retelling(), func(o *engine.Options) { none := 0; o.Rolling.MaxMessages = &none }))
	turns(t, e, 1, 10)
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "talk", Messages: []conversation.Message{{Role: "assistant", Text: enginetest.Tokens(10),
		Usage: &conversation.Usage{Input: 700, Output: 50, CacheRead: 200, CacheWrite: 50}}}})
	turns(t, e, 12, 2)
	current := func(r compact.Request) int {
		r.Conversation, r.Budget = "talk", 100_000
		n, err := e.NeedsCompaction(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return n.Current
	}
	if got := current(compact.Request{}); got != 1020 {
		t.Errorf("counted %d, want what the provider saw and the two messages since then", got)
	}
	if got := current(compact.Request{Live: 77}); got != 77 {
		t.Errorf("counted %d although the host says 77", got)
	}
	c := enginetest.Compact(t, e, compact.Request{Budget: 1020})
	if !c.Changed || c.TokensBefore != 1020 || c.TokensAfter != 1020-c.Passes[0].TokensBefore+c.Passes[0].TokensAfter {
		t.Errorf("%+v", c)
	}
	if got := current(compact.Request{}); got > 130 {
		t.Errorf("counted %d after the context was compacted", got)
	}
}

// TestGoClawPromise13: half of the messages stay, no fewer than the least, and no call without its results; where nothing would go, nothing is written.
func TestGoClawPromise13(t *testing.T) {
	e := enginetest.Open(t, rollingOptions(retelling(), func(o *engine.Options) { o.Rolling.MinMessages = 20 }))
	turns(t, e, 1, 15)
	c := enginetest.Compact(t, e, compact.Request{Budget: 10})
	if c.Changed || c.Reached || c.Reason != "no message would be removed" || len(enginetest.Rows(t, e, "FROM compactions")) != 0 {
		t.Errorf("%+v", c)
	}
	turns(t, e, 16, 15)
	if c := enginetest.Compact(t, e, compact.Request{Force: true}); c.Passes[0].FirstKept != 11 {
		t.Errorf("%+v, want 20 of 30 to stay", c)
	}
	few := enginetest.Open(t, rollingOptions(retelling(), func(o *engine.Options) { o.Rolling.MinMessages = 1 }))
	turns(t, few, 1, 3)
	if c := enginetest.Compact(t, few, compact.Request{Force: true}); c.Changed || c.Reason != "fewer than 4 messages" {
		t.Errorf("%+v", c)
	}
	tools := enginetest.Open(t, rollingOptions(retelling(), func(o *engine.Options) { o.Rolling.MinMessages = 3 }))
	turns(t, tools, 1, 4)
	call := func(id string) conversation.Block {
		return conversation.Block{Type: conversation.ToolCallBlock, CallID: id, Tool: "look", Input: "{}"}
	}
	gave := func(id string) conversation.Message {
		return conversation.Message{Role: "tool", Blocks: []conversation.Block{{Type: conversation.ToolResultBlock, CallID: id, Output: "seen"}}}
	}
	enginetest.Append(t, tools, conversation.AppendRequest{Conversation: "talk", Messages: []conversation.Message{
		{Role: "assistant", Blocks: []conversation.Block{call("a"), call("b")}}, gave("a"), gave("b"), {Role: "assistant", Text: "seen both"}}})
	if c := enginetest.Compact(t, tools, compact.Request{Force: true}); c.Passes[0].FirstKept != 4 {
		t.Errorf("%+v, want the calls to stay with both results, and what led to them", c)
	}
}

// TestGoClawPromise14: each compaction has a row that says what it did, without a column left empty.
func TestGoClawPromise14(t *testing.T) {
	e := enginetest.Open(t, rollingOptions(retelling()))
	turns(t, e, 1, 20)
	enginetest.Compact(t, e, compact.Request{})
	turns(t, e, 21, 10)
	enginetest.Compact(t, e, compact.Request{})
	got := fmt.Sprint(enginetest.Rows(t, e, `SELECT policy, source, kind, depth, level, model, items, from_seq, first_kept_seq, tokens_before, tokens_after < tokens_before, calls, retry_from,
		attempts, summary_id = (SELECT id FROM summaries) FROM compactions ORDER BY from_seq`))
	want := "[[rolling llm leaf 0 normal scripted 10 1 11 200 true 1 <nil> 1 false] [rolling llm leaf 0 normal scripted 11 11 21 213 true 1 <nil> 1 true]]"
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestGoClawPromise8: a checkpoint that has read half of the context is its summary, without a call of the model.
func TestGoClawPromise8(t *testing.T) {
	for _, test := range []struct {
		tokensAt, before int
		prefer           bool
		source           string
	}{
		{50_000, 100_000, true, compact.FromCheckpoint}, {49_999, 100_000, true, compact.FromModel}, {50_000, 100_000, false, compact.FromModel},
		{50_000, 100_001, true, compact.FromCheckpoint},
	} {
		e := enginetest.Open(t, rollingOptions(retelling(), func(o *engine.Options) { o.Rolling.PreferCheckpoint = &test.prefer }))
		turns(t, e, 1, 20)
		k, _, err := e.AdoptCheckpoint(t.Context(), checkpoint.AdoptRequest{Conversation: "talk", Summary: "the cranes stood", Topics: []string{"cranes", "gale"},
			Decisions: []string{"to wait"}, TokensAt: test.tokensAt, By: "m"})
		if err != nil {
			t.Fatal(err)
		}
		c := enginetest.Compact(t, e, compact.Request{Live: test.before})
		p := c.Passes[0]
		if p.Source != test.source {
			t.Errorf("%+v: %+v", test, p)
		}
		if test.source != compact.FromCheckpoint {
			continue
		}
		if got := summaryText(t, e); got != "the cranes stood\n\nTopics: cranes, gale\n\nDecisions:\n- to wait" || c.Calls != 0 || p.CheckpointID != k.ID || p.Fallback {
			t.Errorf("%q of %+v", got, c)
		}
		turns(t, e, 21, 10)
		if c := enginetest.Compact(t, e, compact.Request{}); c.Passes[0].Source != compact.FromModel {
			t.Errorf("%+v: it was made before the last compaction", c)
		}
	}
}

// TestCheckpointStandsForWhatItRead: messages that a checkpoint has not read stay, although fewer would do.
func TestCheckpointStandsForWhatItRead(t *testing.T) {
	e := enginetest.Open(t, rollingOptions(retelling()))
	turns(t, e, 1, 6)
	if _, _, err := e.AdoptCheckpoint(t.Context(), checkpoint.AdoptRequest{Conversation: "talk", Summary: "so far", TokensAt: 1000}); err != nil {
		t.Fatal(err)
	}
	turns(t, e, 7, 14)
	if c := enginetest.Compact(t, e, compact.Request{}); c.Passes[0].FirstKept != 7 || c.Passes[0].Source != compact.FromCheckpoint {
		t.Errorf("%+v", c)
	}
}

// TestGoClawPromise15: the first model, then the others, then the newest checkpoint of any age.
func TestGoClawPromise15(t *testing.T) {
	down := enginetest.Answers(enginetest.ErrDown)
	second := retelling()
	second.Name = "second"
	e := enginetest.Open(t, rollingOptions(down, func(o *engine.Options) { o.Fallbacks = []setup.LLM{enginetest.Answers(" "), second} }))
	turns(t, e, 1, 20)
	c := enginetest.Compact(t, e, compact.Request{})
	if p := c.Passes[0]; p.Source != compact.FromFallback || c.Calls != 3 || p.Fallback || summaryText(t, e) != numbers(1, 10) {
		t.Errorf("%+v", c)
	}
	never := false
	old := enginetest.Open(t, rollingOptions(down, func(o *engine.Options) { o.Rolling.PreferCheckpoint = &never }))
	turns(t, old, 1, 20)
	if _, _, err := old.AdoptCheckpoint(t.Context(), checkpoint.AdoptRequest{Conversation: "talk", Summary: "long ago", TokensAt: 1}); err != nil {
		t.Fatal(err)
	}
	c = enginetest.Compact(t, old, compact.Request{})
	if p := c.Passes[0]; p.Source != compact.FromOldCheckpoint || p.Fallback || p.FirstKept != 11 || summaryText(t, old) != "long ago" {
		t.Errorf("%+v: %s", c, summaryText(t, old))
	}
}

// TestOldCheckpointOwesTheRest: what an old checkpoint has not read is told of when a model answers.
func TestOldCheckpointOwesTheRest(t *testing.T) {
	broken := true
	llm := &enginetest.LLM{Answer: func(_ context.Context, _, prompt string, _ int) (string, error) {
		if broken {
			return "", enginetest.ErrDown
		}
		return retold(prompt), nil
	}}
	e := enginetest.Open(t, rollingOptions(llm))
	turns(t, e, 1, 4)
	if _, _, err := e.AdoptCheckpoint(t.Context(), checkpoint.AdoptRequest{Conversation: "talk", Summary: "0001 0002 0003 0004", TokensAt: 1}); err != nil {
		t.Fatal(err)
	}
	turns(t, e, 5, 16)
	if c := enginetest.Compact(t, e, compact.Request{}); c.Passes[0].Source != compact.FromOldCheckpoint || !c.Passes[0].Fallback || c.Passes[0].FirstKept != 11 {
		t.Errorf("%+v", c)
	}
	broken = false
	if r, err := e.RetryPending(t.Context()); len(r.Rewritten) != 1 || err != nil || summaryText(t, e) != numbers(1, 10) {
		t.Errorf("%d, %v: %s", len(r.Rewritten), err, summaryText(t, e))
	}
}

// TestGoClawPromise16: when no model answers and there is no checkpoint, a line stands in for the summary, the older summary is carried on, 70 % stay, and it is to be
// tried again.
func TestGoClawPromise16(t *testing.T) {
	broken := false
	llm := &enginetest.LLM{Answer: func(_ context.Context, _, prompt string, _ int) (string, error) {
		if broken {
			return "", enginetest.ErrDown
		}
		return retold(prompt), nil
	}}
	e := enginetest.Open(t, rollingOptions(llm))
	turns(t, e, 1, 20)
	enginetest.Compact(t, e, compact.Request{})
	broken = true
	turns(t, e, 21, 10)
	c := enginetest.Compact(t, e, compact.Request{})
	p := c.Passes[0]
	if text := summaryText(t, e); p.Source != compact.FromStub || !p.Fallback || p.FirstKept != 17 || !strings.HasPrefix(text, numbers(1, 10)+"\n") ||
		!strings.Contains(text, "6 messages, 3 of them the user's, 2026-06-15 12:00 UTC to 2026-06-15 12:00 UTC") {
		t.Errorf("%+v: %q", c, text)
	}
	if got := fmt.Sprint(enginetest.Rows(t, e, "SELECT retry_from, first_kept_seq, carried, last_error LIKE '%503%' FROM compactions WHERE retry_from IS NOT NULL")); got != "[[11 17 "+numbers(1, 10)+" true]]" {
		t.Errorf("owed: %s", got)
	}
}

// TestAsync: with the option a line takes the place of the messages at once, without a call of a model; half of them stay.
func TestAsync(t *testing.T) {
	llm := retelling()
	e := enginetest.Open(t, rollingOptions(llm, func(o *engine.Options) { o.Rolling.Async = true }))
	turns(t, e, 1, 20)
	c := enginetest.Compact(t, e, compact.Request{})
	if p := c.Passes[0]; p.Source != compact.FromNobody || !p.Fallback || p.FirstKept != 11 || len(llm.Calls()) != 0 || !strings.Contains(summaryText(t, e), "10 messages, 5 of them the user's") {
		t.Errorf("%+v: %s", c, summaryText(t, e))
	}
	if r, err := e.RetryPending(t.Context()); len(r.Rewritten) != 1 || err != nil || summaryText(t, e) != numbers(1, 10) {
		t.Errorf("%d, %v: %s", len(r.Rewritten), err, summaryText(t, e))
	}
}

// TestWithoutAModel: sentences are picked, and nothing is owed.
func TestWithoutAModel(t *testing.T) {
	e := enginetest.Open(t, rollingOptions(nil))
	turns(t, e, 1, 20)
	c := enginetest.Compact(t, e, compact.Request{})
	if p := c.Passes[0]; p.Source != compact.FromExtract || p.Fallback || p.Level != compact.Extractive || p.TokensAfter >= p.TokensBefore {
		t.Errorf("%+v", c)
	}
	if r, err := e.RetryPending(t.Context()); len(r.Rewritten) != 0 || err != nil {
		t.Errorf("%d, %v", len(r.Rewritten), err)
	}
}

// TestModesOfRolling: before a call from 95 % on, at a start from half on until there is room.
func TestModesOfRolling(t *testing.T) {
	open := func(llm setup.LLM) *engine.Engine {
		e := enginetest.Open(t, rollingOptions(llm, func(o *engine.Options) { none := 0; o.Rolling.MaxMessages = &none }))
		turns(t, e, 1, 96)
		return e
	}
	short := enginetest.Answers("gist")
	e := open(short)
	for _, test := range []struct {
		mode   compact.Mode
		budget int
		rounds int
	}{{compact.Sweep, 961, 0}, {compact.Preflight, 1011, 0}, {compact.Preflight, 1010, 1}} {
		if c := enginetest.Compact(t, e, compact.Request{Mode: test.mode, Budget: test.budget}); len(c.Passes) != test.rounds {
			t.Errorf("%+v: %+v", test, c)
		}
	}
	e = open(short)
	if c := enginetest.Compact(t, e, compact.Request{Mode: compact.Startup, Budget: 1920}); c.Changed {
		t.Errorf("half of it is not more than half: %+v", c)
	}
	if c := enginetest.Compact(t, e, compact.Request{Mode: compact.Startup, Budget: 1000}); len(c.Passes) != 2 || !c.Reached || c.TokensAfter > 400 {
		t.Errorf("%+v", c)
	}
	e = open(short)
	if c := enginetest.Compact(t, e, compact.Request{Mode: compact.Startup, Budget: 20}); len(c.Passes) != 5 || c.Reached {
		t.Errorf("%+v, want five rounds and no more", c)
	}
	for _, r := range []compact.Request{{Mode: compact.Under, Budget: 100}, {Mode: compact.Leaf, Budget: 100}, {Mode: compact.Startup}, {Policy: "both"}, {Live: -1},
		{Policy: compact.DAG, Mode: compact.Startup, Budget: 10}} {
		r.Conversation = "talk"
		if _, err := e.Compact(t.Context(), r); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

// TestRollingOverTrees: summaries of the other policy give way to the one leaf, with what stands below them.
func TestRollingOverTrees(t *testing.T) {
	e := enginetest.Open(t, rollingOptions(enginetest.Answers("gist"), func(o *engine.Options) {
		o.Conversation = enginetest.Small(4, 50, enginetest.Fanouts(2, 1))
		o.Conversation.Policy = setup.PolicyRolling
	}))
	turns(t, e, 1, 40)
	enginetest.Compact(t, e, compact.Request{Policy: compact.DAG, Force: true})
	turns(t, e, 41, 20)
	enginetest.Compact(t, e, compact.Request{})
	if rows := enginetest.Rows(t, e, "SELECT depth, messages, first_seq, last_seq FROM summaries"); len(rows) != 1 || fmt.Sprint(rows[0]) != "[0 48 1 48]" {
		t.Errorf("%v", rows)
	}
}
