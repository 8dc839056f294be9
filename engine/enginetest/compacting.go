package enginetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/setup"
)

// Answers gives one answer after the other, the last again and again. An error among them is given as one.
func Answers(all ...any) *LLM {
	n := 0
	return &LLM{Answer: func(_ context.Context, _, prompt string, _ int) (string, error) {
		a := all[min(n, len(all)-1)]
		n++
		switch a := a.(type) {
		case error:
			return "", a
		case func(string) string:
			return a(prompt), nil
		}
		return a.(string), nil
	}}
}

// ErrDown is the error of a model that does not answer.
var ErrDown = errors.New("503 model is down")

// Small are the options of the vectors: the published rule of the tail, chunks of 50 tokens.
func Small(tail, chunk int, change ...func(*setup.Conversation)) setup.Conversation {
	o := setup.Conversation{FreshTailCount: tail, FreshTailMaxTokens: -1, LeafChunkTokens: chunk, CondensedTargetTokens: 900, SweepMaxPasses: 1000, SummaryMaxCalls: 1000}
	if tail == 0 {
		o.FreshTailCount = -1
	}
	for _, f := range change {
		f(&o)
	}
	return o
}

// Fanouts sets leaf, condensed and hard fanout to two, and the target of condensing.
func Fanouts(n, target int) func(*setup.Conversation) {
	return func(o *setup.Conversation) {
		o.LeafMinFanout, o.CondensedMinFanout, o.CondensedMinFanoutHard, o.CondensedTargetTokens = n, n, 2, target
	}
}

// Summing answers with so many tokens: leaves, and condensed summaries.
func Summing(leaf, condensed int) *LLM {
	return &LLM{Answer: func(_ context.Context, _, prompt string, _ int) (string, error) {
		if IsCondensed(prompt) {
			return Tokens(condensed), nil
		}
		return Tokens(leaf), nil
	}}
}

// IsCondensed knows a prompt about summaries by the span of times that each begins with.
func IsCondensed(prompt string) bool { return strings.Contains(prompt, " UTC - 2026-") }

// Say appends messages of so many tokens each.
func Say(t *testing.T, e *engine.Engine, talk string, tokens ...int) {
	t.Helper()
	r := conversation.AppendRequest{Conversation: talk}
	for _, n := range tokens {
		r.Messages = append(r.Messages, conversation.Message{Text: Tokens(n), SaidAt: Noon})
	}
	if _, err := e.Append(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

// Times is a number of tokens again and again, for Say.
func Times(n, tokens int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = tokens
	}
	return all
}

// ContextTokens writes a context down: m3 for the message with seq 3, L(5) for a leaf of 5 tokens, D1(3) for a condensed summary of depth 1.
func ContextTokens(t *testing.T, e *engine.Engine, conversation string) string {
	t.Helper()
	items, err := e.Context(t.Context(), compact.ContextRequest{Conversation: conversation})
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, i := range items {
		switch {
		case i.Kind == kinds.Message:
			words = append(words, fmt.Sprint("m", i.Position))
		case i.Depth == 0:
			words = append(words, fmt.Sprintf("L(%d)", i.Tokens))
		default:
			words = append(words, fmt.Sprintf("D%d(%d)", i.Depth, i.Tokens))
		}
	}
	return strings.Join(words, " ")
}

// Compact compacts the conversation "talk".
func Compact(t *testing.T, e *engine.Engine, r compact.Request) *compact.Compacted {
	t.Helper()
	r.Conversation = "talk"
	c, err := e.Compact(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
