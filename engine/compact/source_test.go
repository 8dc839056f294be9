package compact_test

import (
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
)

// TestSourceOfTools: the summariser reads what tools were given and gave, and of media that they are there.
func TestSourceOfTools(t *testing.T) {
	enginetest.Alone(t)
	image := conversation.Block{Type: conversation.ImageBlock, MIME: "image/png", FileName: "cat.png"}
	encoded := strings.Repeat("iVBORw0KGgoAAAAN", 20)
	for _, test := range []struct {
		name    string
		message conversation.Message
		want    string
	}{
		{"call", conversation.Message{Role: "assistant", Blocks: []conversation.Block{{Type: conversation.ToolCallBlock, CallID: "a", Tool: "read", Input: `{"path":"a.go"}`}}},
			"assistant\n[calls read] {\"path\":\"a.go\"}\n"},
		{"call without arguments", conversation.Message{Role: "assistant", Blocks: []conversation.Block{{Type: conversation.ToolCallBlock, CallID: "a", Tool: "list"}}}, "assistant\n[calls list]\n"},
		{"result", conversation.Message{Role: "tool", Blocks: []conversation.Block{{Type: conversation.ToolResultBlock, CallID: "a", Tool: "read", Output: "package a"}}}, "tool\n[result of read] package a\n"},
		{"error", conversation.Message{Role: "tool", Blocks: []conversation.Block{{Type: conversation.ToolResultBlock, CallID: "a", Tool: "read", Output: "no such file", IsError: true}}},
			"tool\n[result of read, an error] no such file\n"},
		{"result with an image in it", conversation.Message{Role: "tool", Blocks: []conversation.Block{{Type: conversation.ToolResultBlock, CallID: "a", Tool: "shot",
			Output: "taken: data:image/png;base64," + encoded + " and " + encoded}}}, "tool\n[result of shot] taken: [embedded media omitted] and\n"},
		{"image alone", conversation.Message{Role: "user", Blocks: []conversation.Block{image}}, "[2026-06-15 12:00 UTC]\n[Media attachment]\n"},
		{"image with words", conversation.Message{Role: "user", Blocks: []conversation.Block{{Type: conversation.TextBlock, Text: "look"}, image}}, "[2026-06-15 12:00 UTC]\nlook [with media attachment]\n"},
		{"thinking is none of it", conversation.Message{Role: "assistant", Blocks: []conversation.Block{{Type: conversation.ThinkingBlock, Text: "hm"}, {Type: conversation.TextBlock, Text: "yes"}}},
			"assistant\nyes\n"},
		{"a speaker's name", conversation.Message{Role: "user", Speaker: "Power user", Text: "hello"}, "[2026-06-15 12:00 UTC] Power user\nhello\n"},
		{"base64 that somebody said", conversation.Message{Role: "user", Text: "key " + encoded}, "key " + encoded},
	} {
		t.Run(test.name, func(t *testing.T) {
			llm := enginetest.Summing(5, 5)
			e := enginetest.Open(t, engine.Options{LLM: llm, Conversation: enginetest.Small(1, 10_000)})
			test.message.SaidAt = enginetest.Noon
			r := conversation.AppendRequest{Conversation: "talk", Messages: []conversation.Message{{Text: enginetest.Tokens(100), SaidAt: enginetest.Noon}, test.message, {Text: "the tail", SaidAt: enginetest.Noon}}}
			if _, err := e.Append(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			enginetest.Compact(t, e, compact.Request{Force: true})
			if calls := llm.Calls(); len(calls) != 1 || !strings.Contains(calls[0].Prompt, test.want) {
				t.Errorf("%d calls, the first %+v; want in it %q", len(calls), calls[:min(1, len(calls))], test.want)
			}
		})
	}
}
