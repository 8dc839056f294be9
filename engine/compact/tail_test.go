package compact_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/setup"
)

// worked is what an agent did alone: so many calls of tools with their results, of so many tokens each. The results come as a user's
// messages, as some hosts write them.
func worked(calls, tokens int) (all []conversation.Message) {
	for n := range calls {
		id := fmt.Sprint("call_", n)
		all = append(all, conversation.Message{Role: "assistant", SaidAt: enginetest.Noon, Blocks: []conversation.Block{{Type: conversation.ToolCallBlock, CallID: id, Tool: "look", Input: enginetest.Tokens(tokens - 1)}}},
			conversation.Message{Role: "user", SaidAt: enginetest.Noon, Blocks: []conversation.Block{{Type: conversation.ToolResultBlock, CallID: id, Tool: "look", Output: enginetest.Tokens(tokens)}}})
	}
	return all
}

func appendTalk(t *testing.T, e *engine.Engine, all ...conversation.Message) {
	t.Helper()
	if _, err := e.Append(t.Context(), conversation.AppendRequest{Conversation: "talk", Messages: all}); err != nil {
		t.Fatal(err)
	}
}

// TestTailFarBack: the newest message of a user is found however far back it is, with the calls around it, and no result of a tool is one.
func TestTailFarBack(t *testing.T) {
	enginetest.Alone(t)
	asked := conversation.Message{Text: enginetest.Tokens(10), SaidAt: enginetest.Noon}
	around := worked(1, 10)
	for _, test := range []struct {
		name  string
		first []conversation.Message
	}{
		{"a user", []conversation.Message{asked}},
		{"a user between a call and its result", []conversation.Message{around[0], asked, around[1]}},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := enginetest.Open(t, engine.Options{LLM: enginetest.Summing(5, 5), Conversation: setup.Conversation{LeafChunkTokens: 50}})
			appendTalk(t, e, append(test.first, worked(100, 10)[2:]...)...)
			before := enginetest.ContextTokens(t, e, "talk")
			if c := enginetest.Compact(t, e, compact.Request{Budget: 100_000, Force: true}); c.Changed || enginetest.ContextTokens(t, e, "talk") != before {
				t.Errorf("%+v, context %s", c, enginetest.ContextTokens(t, e, "talk"))
			}
		})
	}
}

// TestPairAtTheEndOfWhatIsRead: planning reads the oldest part of a long context; a run never ends between a call there and a result that
// comes somewhat later.
func TestPairAtTheEndOfWhatIsRead(t *testing.T) {
	enginetest.Alone(t)
	for _, between := range []int{2, 20, 32} { // messages; farther apart call and result are let go
		e := enginetest.Open(t, engine.Options{LLM: enginetest.Summing(5, 5), Conversation: enginetest.Small(2, 1000)})
		pair := worked(1, 8)
		enginetest.Say(t, e, "talk", enginetest.Times(62, 16)...)
		appendTalk(t, e, pair[0])
		enginetest.Say(t, e, "talk", enginetest.Times(between, 16)...)
		appendTalk(t, e, pair[1])
		enginetest.Say(t, e, "talk", enginetest.Times(100, 16)...)
		c := enginetest.Compact(t, e, compact.Request{Mode: compact.Leaf, Force: true})
		if len(c.Passes) != 1 || c.Passes[0].Items != 64+between {
			t.Errorf("%+v, want one leaf of %d messages, with the result of its last call", c, 64+between)
		}
	}
}

// TestGap: what a purged message leaves is no gap in the order (I2).
func TestGap(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{LLM: enginetest.Summing(5, 5), Conversation: enginetest.Small(2, 100)})
	enginetest.Say(t, e, "talk", enginetest.Times(4, 10)...)
	second := enginetest.Rows(t, e, "SELECT id FROM messages WHERE seq = 2")[0][0].(string)
	if _, err := e.PurgeMessages(t.Context(), compact.PurgeMessagesRequest{Conversation: "talk", IDs: []string{second}}); err != nil {
		t.Fatal(err)
	}
	enginetest.Compact(t, e, compact.Request{Force: true})
	items, err := e.Context(t.Context(), compact.ContextRequest{Conversation: "talk"})
	if err != nil {
		t.Fatal(err)
	}
	var ordinals []int
	for _, i := range items {
		ordinals = append(ordinals, i.Ordinal)
	}
	if got := enginetest.ContextTokens(t, e, "talk"); got != "L(5) m3 m4" || !slices.Equal(ordinals, []int{0, 1, 2}) {
		t.Errorf("context %s, ordinals %v", got, ordinals)
	}
}
