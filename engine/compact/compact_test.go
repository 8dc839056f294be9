package compact_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/setup"
)

// depth sets how deep an incremental compaction condenses.
func depth(n int) func(*setup.Conversation) {
	return func(o *setup.Conversation) { o.IncrementalMaxDepth = &n }
}

func TestSweeps(t *testing.T) {
	enginetest.Alone(t)
	for _, test := range []struct {
		name    string
		options setup.Conversation
		said    []int
		llm     *enginetest.LLM
		request compact.Request
		want    string
		passes  int
		before  int
		after   int
	}{
		{"D1", enginetest.Small(4, 50), enginetest.Times(20, 10), enginetest.Summing(5, 5), compact.Request{Budget: 200}, "L(5) L(5) m11 m12 m13 m14 m15 m16 m17 m18 m19 m20", 2, 200, 110},
		{"D2", enginetest.Small(4, 50), enginetest.Times(20, 10), enginetest.Summing(5, 5), compact.Request{Budget: 200, Force: true}, "L(5) L(5) L(5) L(5) m17 m18 m19 m20", 4, 200, 60},
		{"D3", enginetest.Small(4, 50), enginetest.Times(20, 10), enginetest.Summing(5, 5), compact.Request{Budget: 300}, "L(5) m6 m7 m8 m9 m10 m11 m12 m13 m14 m15 m16 m17 m18 m19 m20", 1, 200, 155},
		{"D4", enginetest.Small(4, 50, enginetest.Fanouts(2, 8)), enginetest.Times(20, 10), enginetest.Summing(5, 3), compact.Request{Force: true}, "D1(3) m17 m18 m19 m20", 5, 200, 43},
		{"D5", enginetest.Small(2, 100, enginetest.Fanouts(2, 10)), enginetest.Times(12, 50), enginetest.Summing(10, 8), compact.Request{Force: true}, "D1(8) m11 m12", 6, 600, 108},
		{"D6: sentences of the source where the model does not help", enginetest.Small(2, 3), []int{3, 3, 3, 5, 5}, enginetest.Summing(3, 3), compact.Request{Force: true},
			"L(2) L(2) L(2) m4 m5", 3, 19, 16},
		{"E5", enginetest.Small(2, 100, enginetest.Fanouts(2, 50)), enginetest.Times(4, 10), enginetest.Summing(9, 9), compact.Request{Force: true}, "L(9) m3 m4", 1, 40, 29},
		{"H1", enginetest.Small(2, 100), enginetest.Times(10, 50), enginetest.Summing(5, 5), compact.Request{Mode: compact.Under, Budget: 200}, "L(5) L(5) L(5) L(5) m9 m10", 4, 500, 120},
		{"H2", enginetest.Small(2, 100), enginetest.Times(2, 50), enginetest.Summing(5, 5), compact.Request{Mode: compact.Under, Budget: 200}, "m1 m2", 0, 100, 100},
		{"H3: as much as the target is tried", enginetest.Small(2, 100), enginetest.Times(2, 50), enginetest.Summing(5, 5), compact.Request{Mode: compact.Under, Budget: 200, Live: 200}, "m1 m2", 0, 200, 200},
		{"H4", enginetest.Small(2, 100), enginetest.Times(6, 50), enginetest.Summing(5, 5), compact.Request{Mode: compact.Under, Budget: 60}, "L(5) L(5) m5 m6", 2, 300, 110},
		{"A1: at the threshold", enginetest.Small(1, 10_000), enginetest.Times(75, 10), enginetest.Summing(5, 5), compact.Request{Budget: 1000}, "", 0, 750, 750},
		{"A1b: above it", enginetest.Small(1, 10_000), enginetest.Times(75, 10), enginetest.Summing(5, 5), compact.Request{Budget: 999}, "L(5) m75", 1, 750, 15},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := enginetest.Open(t, engine.Options{LLM: test.llm, Conversation: test.options})
			enginetest.Say(t, e, "talk", test.said...)
			c := enginetest.Compact(t, e, test.request)
			if test.want != "" {
				if got := enginetest.ContextTokens(t, e, "talk"); got != test.want {
					t.Errorf("context\n%s, want\n%s", got, test.want)
				}
			}
			if len(c.Passes) != test.passes || c.Changed != (test.passes > 0) || c.TokensBefore != test.before || c.TokensAfter != test.after {
				t.Errorf("%+v, want %d passes, %d to %d tokens", c, test.passes, test.before, test.after)
			}
		})
	}
}

func TestSweepShowsWhatCameBefore(t *testing.T) {
	enginetest.Alone(t)
	llm := enginetest.Summing(5, 5)
	e := enginetest.Open(t, engine.Options{LLM: llm, Conversation: enginetest.Small(4, 50)})
	enginetest.Say(t, e, "talk", enginetest.Times(20, 10)...)
	enginetest.Compact(t, e, compact.Request{Budget: 200})
	calls := llm.Calls()
	if len(calls) != 2 || !strings.Contains(calls[0].Prompt, "(none)") || strings.Count(calls[1].Prompt, "(none)") != strings.Count(calls[0].Prompt, "(none)")-1 {
		t.Errorf("%d calls; want the second to show the summary of the first", len(calls))
	}
}

func TestCondensedCounters(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{LLM: enginetest.Summing(10, 8), Conversation: enginetest.Small(2, 100, enginetest.Fanouts(2, 10))})
	enginetest.Say(t, e, "talk", enginetest.Times(12, 50)...)
	enginetest.Compact(t, e, compact.Request{Force: true})
	row := enginetest.Rows(t, e, "SELECT descendants, descendant_tokens, source_tokens, messages, first_seq, last_seq, kind FROM summaries WHERE depth = 1")[0]
	if diff := cmp.Diff([]any{int32(5), int32(50), int32(500), int32(10), int32(1), int32(10), "condensed"}, row); diff != "" {
		t.Errorf("D5 (-want +got):\n%s", diff)
	}
}

func TestIncremental(t *testing.T) {
	enginetest.Alone(t)
	for _, test := range []struct {
		name    string
		options setup.Conversation
		said    []int
		llm     *enginetest.LLM
		want    []string
	}{
		{"F-a, depth 0", enginetest.Small(2, 100, enginetest.Fanouts(2, 10), depth(0)), enginetest.Times(8, 50), enginetest.Summing(10, 9),
			[]string{"L(10) m3 m4 m5 m6 m7 m8", "L(10) L(10) m5 m6 m7 m8", "L(10) L(10) L(10) m7 m8", "L(10) L(10) L(10) m7 m8"}},
		{"F-a, depth 1", enginetest.Small(2, 100, enginetest.Fanouts(2, 10), depth(1)), enginetest.Times(8, 50), enginetest.Summing(10, 9),
			[]string{"L(10) m3 m4 m5 m6 m7 m8", "D1(9) m5 m6 m7 m8", "D1(9) L(10) m7 m8", "D1(9) L(10) m7 m8"}},
		{"F-b", enginetest.Small(1, 20, enginetest.Fanouts(2, 4), depth(2)), enginetest.Times(9, 10), enginetest.Summing(6, 5),
			[]string{"L(6) m3 m4 m5 m6 m7 m8 m9", "D1(5) m5 m6 m7 m8 m9", "D1(5) L(6) m7 m8 m9", "D2(5) m9", "D2(5) m9"}},
	} {
		e := enginetest.Open(t, engine.Options{LLM: test.llm, Conversation: test.options})
		enginetest.Say(t, e, "talk", test.said...)
		var got []string
		for range test.want {
			enginetest.Compact(t, e, compact.Request{Mode: compact.Leaf, Force: true})
			got = append(got, enginetest.ContextTokens(t, e, "talk"))
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestLeafRow(t *testing.T) {
	t.Parallel()
	llm := enginetest.Summing(5, 5)
	e := enginetest.Open(t, engine.Options{LLM: llm, Conversation: enginetest.Small(1, 20)})
	first, second := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), time.Date(2026, 1, 2, 3, 9, 59, 0, time.UTC)
	pad := strings.Repeat(" ", 29)
	if _, err := e.Append(t.Context(), conversation.AppendRequest{Conversation: "talk", Messages: []conversation.Message{
		{Text: "hello world" + pad, SaidAt: first}, {Text: "second msg" + pad + " ", SaidAt: second}, {Text: "the tail", SaidAt: enginetest.Noon}}}); err != nil {
		t.Fatal(err)
	}
	enginetest.Compact(t, e, compact.Request{Force: true})
	if want := "[2026-01-02 03:04 UTC]\nhello world\n\n[2026-01-02 03:09 UTC]\nsecond msg"; !strings.Contains(llm.Calls()[0].Prompt, want) {
		t.Errorf("I1: the prompt is %s, want in it %s", llm.Calls()[0].Prompt, want)
	}
	row := enginetest.Rows(t, e, "SELECT kind, depth, tokens, earliest_at, latest_at, source_tokens, descendants, messages, level, model, fallback FROM summaries")[0]
	if diff := cmp.Diff([]any{"leaf", int32(0), int32(5), first, second, int32(20), int32(0), int32(2), "normal", "scripted", false}, row); diff != "" {
		t.Errorf("I1 (-want +got):\n%s", diff)
	}
	links := enginetest.Rows(t, e, "SELECT s.ordinal, s.kind, m.seq FROM summary_sources AS s JOIN messages AS m ON m.id = s.source ORDER BY s.ordinal")
	if diff := cmp.Diff([][]any{{int32(0), "message", int32(1)}, {int32(1), "message", int32(2)}}, links); diff != "" {
		t.Errorf("links (-want +got):\n%s", diff)
	}
	if got := enginetest.ContextTokens(t, e, "talk"); got != "L(5) m3" {
		t.Errorf("context %s", got)
	}
}

// TestPairs: a leaf never parts a call from its result (C10).
func TestPairs(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{LLM: enginetest.Summing(5, 5), Conversation: enginetest.Small(2, 20)})
	r := conversation.AppendRequest{Conversation: "talk", Messages: []conversation.Message{
		{Text: enginetest.Tokens(10)},
		{Role: "assistant", Blocks: []conversation.Block{{Type: conversation.ToolCallBlock, CallID: "t1", Tool: "read", Input: enginetest.Tokens(9)}}},
		{Role: "tool", Blocks: []conversation.Block{{Type: conversation.ToolResultBlock, CallID: "t1", Tool: "read", Output: enginetest.Tokens(10)}}},
		{Text: enginetest.Tokens(5)}, {Text: enginetest.Tokens(5)}}}
	if _, err := e.Append(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	enginetest.Compact(t, e, compact.Request{Mode: compact.Leaf, Force: true})
	if got := enginetest.ContextTokens(t, e, "talk"); got != "L(5) m4 m5" {
		t.Errorf("context %s, want the leaf to cover the call and its result", got)
	}
}

func TestReasons(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{LLM: enginetest.Summing(5, 5), Conversation: enginetest.Small(2, 100)})
	enginetest.Say(t, e, "talk", 1)
	for _, test := range []struct {
		name    string
		request compact.Request
		want    compact.Compacted
	}{
		{"Z2", compact.Request{Budget: 1000}, compact.Compacted{Reached: true, Reason: "below threshold", TokensBefore: 1, TokensAfter: 1, Target: 750}},
		{"Z4", compact.Request{Budget: 1000, Force: true, Mode: compact.Under}, compact.Compacted{Reached: true, Reason: "already under target", TokensBefore: 1, TokensAfter: 1, Target: 1000}},
		{"Z5", compact.Request{Budget: 1000, Live: 5000, Force: true, Mode: compact.Under},
			compact.Compacted{Reason: "live context still exceeds target", TokensBefore: 5000, TokensAfter: 5000, Target: 1000, Rounds: 1}},
		{"A5", compact.Request{Budget: 1000, Live: 800}, compact.Compacted{Reason: "live context still exceeds target", TokensBefore: 800, TokensAfter: 800, Target: 750}},
		{"Z7", compact.Request{Budget: 1000, Force: true}, compact.Compacted{Reached: true, Reason: "nothing to compact", TokensBefore: 1, TokensAfter: 1, Target: 750}},
	} {
		got := enginetest.Compact(t, e, test.request)
		got.ConversationID = ""
		if diff := cmp.Diff(&test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
	if c, err := e.Compact(t.Context(), compact.Request{Conversation: "nobody", Budget: 100}); err != nil || c.Changed || c.Reason != "no conversation found for session" {
		t.Errorf("Z3: %+v, %v", c, err)
	}
	for _, r := range []compact.Request{{Conversation: "talk"}, {Conversation: "talk", Budget: -1}, {Budget: 1}, {Conversation: "talk", Budget: 1, Mode: "all"},
		{Conversation: "talk", Budget: 1, Target: 3}} {
		if _, err := e.Compact(t.Context(), r); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%+v: %v, want ErrInvalid", r, err)
		}
	}
}

// TestSmallMessages: a leaf is made of as many messages as it takes, however small they are, and of the oldest ones.
func TestSmallMessages(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{LLM: enginetest.Summing(5, 5), Conversation: enginetest.Small(2, 1000)})
	for range 4 {
		enginetest.Say(t, e, "talk", enginetest.Times(1000, 1)...)
	}
	c := enginetest.Compact(t, e, compact.Request{Budget: 6000})
	if len(c.Passes) != 1 || c.Passes[0].Items != 1000 || c.TokensAfter != 3005 {
		t.Errorf("%+v, want one leaf of 1000 messages", c)
	}
	c = enginetest.Compact(t, e, compact.Request{Force: true})
	if len(c.Passes) != 3 || c.Passes[2].Items != 998 || c.TokensAfter != 22 {
		t.Errorf("%+v, want three more", c)
	}
}

// TestCompactNothing: an empty context has nothing to compact, in any mode.
func TestCompactNothing(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{Conversation: enginetest.Small(2, 100)})
	enginetest.Say(t, e, "talk", enginetest.Times(5, 10)...)
	none := 99
	if _, err := e.NewSession(t.Context(), conversation.NewSessionRequest{Conversation: "talk", RetainDepth: &none}); err != nil {
		t.Fatal(err)
	}
	for _, mode := range compact.DAG.Modes() {
		if c := enginetest.Compact(t, e, compact.Request{Mode: mode, Budget: 100, Force: true}); c.Changed || !c.Reached {
			t.Errorf("%s: %+v", mode, c)
		}
	}
}
