package compact_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
)

// TestAppendedMeanwhile: what is said while the model thinks is no reason to stop, however much it is.
func TestAppendedMeanwhile(t *testing.T) {
	t.Parallel()
	var e *engine.Engine
	n := 0
	llm := &enginetest.LLM{Answer: func(context.Context, string, string, int) (string, error) {
		if n++; n == 1 {
			enginetest.Say(t, e, "talk", enginetest.Times(20, 10)...)
		}
		return enginetest.Tokens(5), nil
	}}
	e = enginetest.Open(t, engine.Options{LLM: llm, Conversation: enginetest.Small(2, 50)})
	enginetest.Say(t, e, "talk", enginetest.Times(10, 10)...)
	c := enginetest.Compact(t, e, compact.Request{Budget: 100})
	if len(c.Passes) != 5 || !c.Reached || c.TokensAfter != 75 {
		t.Errorf("%+v, want five passes, to the threshold of 75 tokens", c)
	}
}

// TestRewrittenMeanwhile: a summary whose sources get another text while the model reads the old one is planned anew, so that its counters
// are right.
func TestRewrittenMeanwhile(t *testing.T) {
	enginetest.Alone(t)
	var e *engine.Engine
	rewritten := false
	llm := &enginetest.LLM{Answer: func(_ context.Context, _, prompt string, _ int) (string, error) {
		if !enginetest.IsCondensed(prompt) {
			return enginetest.Tokens(10), nil
		}
		if !rewritten {
			rewritten = true
			id := enginetest.Rows(t, e, "SELECT id FROM summaries ORDER BY first_seq")[0][0].(string)
			if _, err := e.RewriteSummary(t.Context(), compact.RewriteRequest{ID: id, Text: "brief"}); err != nil {
				t.Error(err)
			}
		}
		return enginetest.Tokens(8), nil
	}}
	e = enginetest.Open(t, engine.Options{LLM: llm, Conversation: enginetest.Small(2, 100, enginetest.Fanouts(2, 10))})
	enginetest.Say(t, e, "talk", enginetest.Times(12, 50)...)
	c := enginetest.Compact(t, e, compact.Request{Force: true})
	if got := enginetest.ContextTokens(t, e, "talk"); got != "D1(8) m11 m12" {
		t.Errorf("context %s, %+v", got, c)
	}
	if calls := llm.Calls(); !strings.Contains(calls[len(calls)-1].Prompt, "brief") {
		t.Error("the last prompt has the old text of a source")
	}
}

// TestLengthenedMeanwhile: a leaf of a message that gets more blocks while the model reads it is planned anew, so that what was added is read too.
func TestLengthenedMeanwhile(t *testing.T) {
	t.Parallel()
	var e *engine.Engine
	var second string
	llm := &enginetest.LLM{}
	llm.Answer = func(context.Context, string, string, int) (string, error) {
		if len(llm.Calls()) == 1 {
			r := conversation.AddBlocksRequest{Conversation: "talk", MessageID: second, Blocks: []conversation.Block{{Type: conversation.TextBlock, Text: "late words"}}}
			if added, err := e.AddBlocks(t.Context(), r); err != nil || added.Added != 1 {
				t.Errorf("%+v, %v", added, err)
			}
		}
		return enginetest.Tokens(5), nil
	}
	e = enginetest.Open(t, engine.Options{LLM: llm, Conversation: enginetest.Small(1, 60)})
	second = enginetest.Append(t, e, conversation.AppendRequest{Conversation: "talk", Messages: []conversation.Message{{Text: enginetest.Tokens(20)}, {Text: enginetest.Tokens(20)}, {Text: "last"}}}).IDs[1]
	enginetest.Compact(t, e, compact.Request{Force: true})
	if got, calls := enginetest.ContextTokens(t, e, "talk"), llm.Calls(); got != "L(5) m3" || len(calls) != 2 || !strings.Contains(calls[1].Prompt, "late words") {
		t.Errorf("context %s after %d calls", got, len(calls))
	}
}

// TestPurgedMeanwhile: what is purged while the model reads it comes back in no summary, be it a message, or in a summary that was its source
// or stood before it.
func TestPurgedMeanwhile(t *testing.T) {
	enginetest.Alone(t)
	for _, test := range []struct {
		when  string
		reads func(prompt string) bool // what is purged then
	}{
		{"a leaf of it is made", func(prompt string) bool { return strings.Contains(prompt, "the secret word") }},
		{"the next leaf is made", func(prompt string) bool { return strings.Contains(prompt, "a secret gist") }},
		{"its leaf is condensed", func(prompt string) bool {
			return enginetest.IsCondensed(prompt) && strings.Contains(prompt, "a secret gist")
		}},
	} {
		t.Run(test.when, func(t *testing.T) {
			var e *engine.Engine
			var secret string
			purged := false
			llm := &enginetest.LLM{Answer: func(_ context.Context, _, prompt string, _ int) (string, error) {
				answer := "a gist"
				if strings.Contains(prompt, "the secret word") || test.reads(prompt) {
					answer = "a secret gist"
				}
				if !purged && test.reads(prompt) {
					purged = true
					if _, err := e.PurgeMessages(t.Context(), compact.PurgeMessagesRequest{Conversation: "talk", IDs: []string{secret}}); err != nil {
						t.Error(err)
					}
				}
				return answer, nil
			}}
			e = enginetest.Open(t, engine.Options{LLM: llm, Conversation: enginetest.Small(2, 100, enginetest.Fanouts(2, 2))})
			r := conversation.AppendRequest{Conversation: "talk"}
			for n := range 12 {
				r.Messages = append(r.Messages, conversation.Message{Text: fmt.Sprint(n, enginetest.Tokens(48)), SaidAt: enginetest.Noon})
			}
			r.Messages[1].Text = "the secret word " + enginetest.Tokens(45)
			appended, err := e.Append(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			secret = appended.IDs[1]
			enginetest.Compact(t, e, compact.Request{Force: true})
			if !purged {
				t.Fatal("nothing was purged")
			}
			for _, row := range enginetest.Rows(t, e, "SELECT kind, text FROM summaries WHERE contains(text, 'secret')") {
				t.Errorf("a %s says %q", row[0], row[1])
			}
		})
	}
}
