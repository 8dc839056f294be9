package conversation_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/interchange"
)

// TestImportOfTalksThatTakeTurns: they go in as fast as one after the other, a transaction for a thousand messages of one, each in its order.
func TestImportOfTalksThatTakeTurns(t *testing.T) {
	enginetest.Alone(t)
	const talks, lines = 7, 11_500 // more than waits at once, and one conversation of more than goes into a transaction
	var b strings.Builder
	turns := map[string][]string{}
	for i := range lines {
		name := fmt.Sprint("talk ", i%talks)
		if i%2 == 0 {
			name = "busy"
		}
		text := fmt.Sprint("turn ", i)
		turns[name] = append(turns[name], text)
		fmt.Fprintf(&b, `{"conversation": %q, "text": %q}`+"\n", name, text)
	}
	steps := 0
	e := enginetest.Open(t, engine.Options{Progress: func(string, int, int) { steps++ }})
	enginetest.ImportMessages(t, e, b.String(), interchange.ImportRequest{}, interchange.Imported{Lines: lines, Created: lines})
	if steps > 2*(talks+1)+lines/1000 {
		t.Errorf("%d transactions", steps)
	}
	for name, want := range turns {
		var got []string
		for from := 1; len(got) < len(want); from = len(got) + 1 {
			page, err := e.Messages(t.Context(), conversation.MessagesRequest{Conversation: name, From: from, Limit: 1000})
			if err != nil || len(page) == 0 {
				t.Fatalf("%s from %d: %v, %v", name, from, page, err)
			}
			for _, m := range page {
				got = append(got, m.Text)
			}
		}
		enginetest.Equal(t, name, want, got)
	}
	all, err := e.Conversations(t.Context(), "")
	if err != nil || len(all) != talks+1 {
		t.Fatalf("%d conversations, %v", len(all), err)
	}
	enginetest.ImportMessages(t, e, b.String(), interchange.ImportRequest{}, interchange.Imported{Lines: lines, Known: lines})
}

func TestImportOfLangChain(t *testing.T) {
	t.Parallel()
	elements := []string{
		`{"type": "human", "data": {"content": "Where are the reeds?", "additional_kwargs": {"a": 1}, "type": "human", "name": "Ines", "id": null, "example": false}}`,
		`{"type": "ai", "data": {"content": "I look.", "tool_calls": [{"name": "read", "args": {"at": "pier"}, "id": "t1", "type": "tool_call"}]}}`,
		`{"type": "tool", "data": {"content": "reeds", "tool_call_id": "t1", "name": "read", "status": "success"}}`,
		`{"type": "ai", "data": {"content": [{"type": "text", "text": "There."}, {"type": "tool_use", "id": "t2", "name": "mark", "input": {}}], "tool_calls": [{"name": "mark", "args": {}, "id": "t2"}]}}`,
		`{"type": "chat", "data": {"content": "Well done.", "role": "human"}}`,
		`{"type": "system", "data": {"content": "Be short."}}`,
		`{"type": "remove", "data": {"content": "x"}}`,
	}
	want := []*conversation.Message{
		{Seq: 1, Role: "user", Speaker: "Ines", Text: "Where are the reeds?"},
		{Seq: 2, Role: "assistant", Text: "I look.", Blocks: []conversation.Block{{Type: conversation.TextBlock, Text: "I look."}, {Type: conversation.ToolCallBlock, CallID: "t1", Tool: "read", Input: `{"at":"pier"}`}}},
		{Seq: 3, Role: "tool", Blocks: []conversation.Block{{Type: conversation.ToolResultBlock, CallID: "t1", Tool: "read", Output: "reeds"}}},
		{Seq: 4, Role: "assistant", Text: "There.", Blocks: []conversation.Block{{Type: conversation.TextBlock, Text: "There."}, {Type: conversation.ToolCallBlock, CallID: "t2", Tool: "mark", Input: "{}"}}},
		{Seq: 5, Role: "user", Text: "Well done."},
		{Seq: 6, Role: "system", Text: "Be short."},
	}
	given := cmpopts.IgnoreFields(conversation.Message{}, "ID", "ConversationID", "Key", "RecordedAt", "SaidAt", "Tokens")
	blocks := cmpopts.IgnoreFields(conversation.Block{}, "Raw")
	for _, written := range []string{"[" + strings.Join(elements, ",") + "]", strings.Join(elements, "\n")} {
		e := enginetest.Open(t, engine.Options{})
		for _, created := range []int{6, 0} {
			got, err := e.ImportMessages(t.Context(), strings.NewReader(written), interchange.ImportRequest{Conversation: "pier"})
			if err != nil || got.Created != created || got.Known != 6-created || len(got.Faults) != 1 || !strings.Contains(got.Faults[0].Err, `role is "remove"`) {
				t.Fatalf("%+v, %v", got, err)
			}
		}
		if diff := cmp.Diff(want, enginetest.Messages(t, e, "pier"), given, blocks); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		raw, err := e.Messages(t.Context(), conversation.MessagesRequest{Conversation: "pier", Limit: 1, Raw: true})
		if err != nil || !strings.Contains(string(raw[0].Raw), `"additional_kwargs": {"a": 1}`) {
			t.Errorf("what was written: %s, %v", raw[0].Raw, err)
		}
	}
}

// TestImportOfLangChainRoles: its words are roles on lines of ours, too; a type beside other keys means nothing.
func TestImportOfLangChainRoles(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	lines := `{"conversation": "a", "role": "human", "text": "one", "type": 7}
{"conversation": "a", "role": "ai", "text": "two", "type": "message", "data": {"content": "of something else"}}
{"conversation": "a", "text": "three", "type": "human", "data": "none"}
{"text": "of no conversation"}`
	enginetest.ImportMessages(t, e, lines, interchange.ImportRequest{Conversation: "b"}, interchange.Imported{Lines: 4, Created: 4})
	said := func(name string) (said []string) {
		for _, m := range enginetest.Messages(t, e, name) {
			said = append(said, m.Role+" "+m.Text)
		}
		return said
	}
	enginetest.Equal(t, "a", []string{"user one", "assistant two", "user three"}, said("a"))
	enginetest.Equal(t, "b", []string{"user of no conversation"}, said("b"))
}
