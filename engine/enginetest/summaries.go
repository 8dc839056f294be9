package enginetest

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/lookup"
)

// TalkFile makes a file with the conversations "talk" and "aside" and closes it. In talk, of twelve messages, the tree {top} stands for two leaves
// of three messages each, {leaf} for three more, and three are in the context as they are; one further message is set aside. {1} to {13} are
// messages, {low} is the first leaf under the top. aside has a tool's call and result, and a line too long for its row.
func TalkFile(t *testing.T) (whole []byte, names *strings.Replacer) {
	t.Helper()
	path := NewFile(t)
	e := OpenFile(t, path, engine.Options{})
	var messages []conversation.Message
	for i := range 13 {
		messages = append(messages, conversation.Message{Text: fmt.Sprintf("what was said at %d o'clock", i), SaidAt: Noon.Add(time.Duration(i) * time.Minute)})
	}
	messages[12].SetAside = conversation.AsideEvent
	talk := Append(t, e, conversation.AppendRequest{Conversation: "talk", SessionID: "s", Messages: messages,
		Cursor: &conversation.Cursor{Path: "/talk.jsonl", Host: "test", FileID: "1", FirstLine: "x", Bytes: 1, Lines: 1}})
	ids := talk.IDs
	leaf := func(text string, from int) func([]string) Made {
		return func([]string) Made { return Made{Text: text, Tokens: 3, Sources: ids[from : from+3]} }
	}
	made, err := AddSummaries(t.Context(), e, "talk", leaf("the first hours", 0), leaf("the morning", 3),
		func(made []string) Made { return Made{Text: "until noon", Tokens: 2, Sources: made} }, leaf("the afternoon", 6))
	if err != nil {
		t.Fatal(err)
	}
	aside := Append(t, e, conversation.AppendRequest{Conversation: "aside", Messages: []conversation.Message{
		{Role: "assistant", Blocks: []conversation.Block{{Type: conversation.TextBlock, Text: "I look"}, {Type: conversation.ToolCallBlock, CallID: "c", Tool: "look", Input: "{}"}}},
		{Role: "tool", Text: "seen", Raw: bytes.Repeat([]byte("long "), 20_000)},
	}})
	Check(t, e)
	CloseFile(t, e)
	if whole, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	all := []string{"{top}", made[2], "{low}", made[0], "{mid}", made[1], "{leaf}", made[3], "{talk}", talk.ConversationID, "{aside}", aside.ConversationID,
		"{call}", aside.IDs[0], "{long}", aside.IDs[1]}
	for i, id := range ids {
		all = append(all, fmt.Sprintf("{%d}", i+1), id)
	}
	return whole, strings.NewReplacer(all...)
}

// Summarise puts a summary in place of messages or summaries of a conversation, and gives its id.
func Summarise(t *testing.T, e *engine.Engine, conversation, text string, sources ...string) string {
	t.Helper()
	ids, err := AddSummaries(t.Context(), e, conversation, func([]string) Made {
		return Made{Text: text, Tokens: (len(text) + 3) / 4, Sources: sources}
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids[0]
}

// SummaryOf gives a summary by its id.
func SummaryOf(t *testing.T, e *engine.Engine, id string) *compact.Summary {
	t.Helper()
	d, err := e.Describe(t.Context(), lookup.DescribeRequest{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	return d.Summary
}

// Shelf makes a conversation whose context is m1, a leaf, one of depth 1, one of depth 2, and m11 of ten characters each.
func Shelf(t *testing.T, e *engine.Engine) (ids []string) {
	t.Helper()
	var say []conversation.Message
	for i := range 11 {
		say = append(say, conversation.Message{Text: fmt.Sprintf("message %02d", i+1), Key: fmt.Sprint("k", i+1)})
	}
	ids = Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: say}).IDs
	Summarise(t, e, "c", "leaf", ids[1], ids[2])
	Summarise(t, e, "c", "deep", Summarise(t, e, "c", "a", ids[3], ids[4]))
	Summarise(t, e, "c", "deeper", Summarise(t, e, "c", "b", Summarise(t, e, "c", "d", ids[5], ids[6], ids[7], ids[8], ids[9])))
	return ids
}
