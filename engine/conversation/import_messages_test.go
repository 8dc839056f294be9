package conversation_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/interchange"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/recall"
)

const talk = `{"conversation": "a", "session": "s1", "role": "user", "speaker": "Ines", "text": "Good morning", "time": "2026-01-01T08:00:00Z"}
{"conversation": "b", "key": "k1", "text": "Elsewhere", "time": 1767254400}

{"conversation": "a", "session": "s1", "role": "assistant", "speaker": "Scout", "text": "Good morning", "time": "2026-01-01T08:01:00Z"}
{"conversation": "a", "session": "s2", "text": "", "caption": "a photo of fog", "time": 1767261600000}
{"conversation": "a", "text": "ok"}
{"conversation": "a", "text": "ok"}
`

func TestImportMessages(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}})
	enginetest.ImportMessages(t, e, talk, interchange.ImportRequest{DryRun: true}, interchange.Imported{Lines: 6})
	if all, err := e.Conversations(t.Context(), ""); err != nil || len(all) != 0 {
		t.Fatalf("a dry run made %v, %v", all, err)
	}
	enginetest.ImportMessages(t, e, talk, interchange.ImportRequest{Scope: "user:ines"}, interchange.Imported{Lines: 6, Created: 6})
	morning := time.Date(2026, 1, 1, 8, 0, 0, 0, time.UTC)
	want := []*conversation.Message{
		{Seq: 1, Session: "s1", Role: "user", Speaker: "Ines", Text: "Good morning", SaidAt: morning, Tokens: 3},
		{Seq: 2, Session: "s1", Role: "assistant", Speaker: "Scout", Text: "Good morning", SaidAt: morning.Add(time.Minute), Tokens: 3},
		{Seq: 3, Session: "s2", Role: "user", Caption: "a photo of fog", SaidAt: morning.Add(2 * time.Hour), Tokens: 4},
		{Seq: 4, Role: "user", Text: "ok", SaidAt: enginetest.Noon, Tokens: 1},
		{Seq: 5, Role: "user", Text: "ok", SaidAt: enginetest.Noon, Tokens: 1},
	}
	given := cmpopts.IgnoreFields(conversation.Message{}, "ID", "ConversationID", "Key", "RecordedAt", "Tokens")
	if diff := cmp.Diff(want, enginetest.Messages(t, e, "a"), given); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if b := enginetest.Messages(t, e, "b"); len(b) != 1 || b[0].Key != "k1" || !b[0].SaidAt.Equal(morning) {
		t.Errorf("the other conversation: %+v", b)
	}
	enginetest.ImportMessages(t, e, talk, interchange.ImportRequest{Scope: "user:ines"}, interchange.Imported{Lines: 6, Known: 6})
	if diff := cmp.Diff(want, enginetest.Messages(t, e, "a"), given); diff != "" {
		t.Errorf("after a second import (-want +got):\n%s", diff)
	}
	if got := enginetest.RecallIDs(t, e, recall.Query{Text: "photo of the fog", Kinds: []kinds.Kind{kinds.Message}}); len(got) == 0 || got[0] != enginetest.Messages(t, e, "a")[2].ID {
		t.Errorf("recall of a caption: %v", got)
	}
}

func TestImportMessagesHalfwayThenWhole(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	lines := strings.SplitAfter(talk, "\n")
	enginetest.ImportMessages(t, e, strings.Join(lines[:6], ""), interchange.ImportRequest{}, interchange.Imported{Lines: 5, Created: 5})
	enginetest.ImportMessages(t, e, talk, interchange.ImportRequest{}, interchange.Imported{Lines: 6, Created: 1, Known: 5})
	longer := talk + `{"conversation": "a", "text": "ok"}` + "\n" + `{"conversation": "c", "text": "ok"}`
	enginetest.ImportMessages(t, e, longer, interchange.ImportRequest{}, interchange.Imported{Lines: 8, Created: 2, Known: 6})
	var seqs []int
	for _, m := range enginetest.Messages(t, e, "a") {
		seqs = append(seqs, m.Seq)
	}
	if diff := cmp.Diff([]int{1, 2, 3, 4, 5, 6}, seqs); diff != "" {
		t.Errorf("seqs (-want +got):\n%s", diff)
	}
}

func TestImportMessagesReportsLines(t *testing.T) {
	t.Parallel()
	lines := strings.Join([]string{
		"\ufeff" + `{"conversation": "a", "text": "one"}` + "\r",
		`{"conversation": "a", "text": "  "}`,
		`{"text": "of no conversation"}`,
		`{"conversation": "a", "text": "x", "role": "ghost"}`,
		`{"conversation": "a", "text": "x", "time": "soon"}`,
		`{"conversation": "a", "text": 7}`,
		`not JSON`,
		`{"conversation": "a", "text": "x"}}`,
		`{"conversation": "a", "text": "two", "unknown": "is left out"}`,
	}, "\n")
	words := map[int]string{2: "text", 3: "conversation", 4: `role is "ghost"; allowed: user, assistant, system, tool`, 5: `time is "soon"; allowed: RFC 3339`, 6: "text", 7: "invalid", 8: "more than one JSON value"}
	e := enginetest.Open(t, engine.Options{})
	got, err := e.ImportMessages(t.Context(), strings.NewReader(lines), interchange.ImportRequest{})
	if err != nil || got.Lines != 9 || got.Created != 2 || len(got.Faults) != len(words) {
		t.Fatalf("%+v, %v", got, err)
	}
	for _, f := range got.Faults {
		if word, ok := words[f.Line]; !ok || !strings.Contains(f.Err, word) {
			t.Errorf("line %d: %s, want it to say %q", f.Line, f.Err, word)
		}
	}
	if all := enginetest.Messages(t, e, "a"); len(all) != 2 || all[0].Text != "one" || all[1].Text != "two" {
		t.Errorf("%v", all)
	}
}

func TestImportMessagesInManyTransactions(t *testing.T) {
	enginetest.Alone(t)
	var b strings.Builder
	for i := range 2500 {
		fmt.Fprintf(&b, `{"conversation": "c", "text": "turn %d"}`+"\n", i)
	}
	e := enginetest.Open(t, engine.Options{})
	enginetest.ImportMessages(t, e, b.String(), interchange.ImportRequest{}, interchange.Imported{Lines: 2500, Created: 2500})
	all, err := e.Messages(t.Context(), conversation.MessagesRequest{Conversation: "c", From: 2499, Limit: 10})
	if err != nil || len(all) != 2 || all[1].Text != "turn 2499" || all[1].Seq != 2500 {
		t.Errorf("%v, %v", all, err)
	}
}

func TestImportMessagesWithBlocks(t *testing.T) {
	t.Parallel()
	lines := strings.Join([]string{
		`{"conversation": "a", "role": "assistant", "text": "I look.", "blocks": [{"type": "text", "text": "I look."}, {"type": "tool_call", "call_id": "t", "tool": "read", "input": "{}"}]}`,
		`{"conversation": "a", "role": "tool", "blocks": [{"type": "tool_result", "call_id": "t", "output": "reeds"}], "set_aside": "off_branch"}`,
		`{"conversation": "a", "role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Reeds."}]}`,
		`{"conversation": "a", "role": "user", "content": "thanks"}`,
		`{"conversation": "a", "text": "one", "blocks": [{"type": "text", "text": "another"}]}`,
		`{"conversation": "a", "text": "x", "set_aside": "purged"}`,
		`{"conversation": "a", "blocks": [{"text": "of no type"}]}`,
	}, "\n")
	e := enginetest.Open(t, engine.Options{})
	for _, created := range []int{4, 0} {
		got, err := e.ImportMessages(t.Context(), strings.NewReader(lines), interchange.ImportRequest{})
		if err != nil || got.Lines != 7 || got.Created != created || got.Known != 4-created || len(got.Faults) != 3 {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	want := []*conversation.Message{
		{Seq: 1, Role: "assistant", Text: "I look.", Tokens: 2 + 2, Blocks: []conversation.Block{{Type: conversation.TextBlock, Text: "I look."}, {Type: conversation.ToolCallBlock, CallID: "t", Tool: "read", Input: "{}"}}},
		{Seq: 2, Role: "tool", Tokens: 2, Blocks: []conversation.Block{{Type: conversation.ToolResultBlock, CallID: "t", Output: "reeds"}}, SetAside: conversation.AsideOffBranch, SetAsideAt: enginetest.Noon},
		{Seq: 3, Role: "assistant", Text: "Reeds.", Tokens: 2, Blocks: []conversation.Block{{Type: conversation.ThinkingBlock, Text: "hm", Raw: []byte(`{"type": "thinking", "thinking": "hm"}`)}, {Type: conversation.TextBlock, Text: "Reeds."}}},
		{Seq: 4, Role: "user", Text: "thanks", Tokens: 2},
	}
	given := cmpopts.IgnoreFields(conversation.Message{}, "ID", "ConversationID", "Key", "RecordedAt", "SaidAt")
	if diff := cmp.Diff(want, enginetest.Messages(t, e, "a"), given); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
