package conversation_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/setup"
)

var call = conversation.Block{Type: conversation.ToolCallBlock, CallID: "t1", Tool: "read", Input: `{"path":"marsh"}`, Key: "a2", Raw: []byte(`{"exact": 1}`)}

func TestAddBlocks(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}})
	kinds := []kinds.Kind{kinds.Message}
	first := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{
		{Role: "assistant", Key: "a1", Text: "I look."}, {Role: "user", Key: "u2", Text: "and then?"}}})
	result := enginetest.AddBlocks(t, e, conversation.AddBlocksRequest{Conversation: "c", MessageKey: "a1", Blocks: []conversation.Block{call, call}, Cursor: &conversation.Cursor{Path: "/t", Host: "claude", Bytes: 7}})
	want := &conversation.AddedBlocks{MessageID: first.IDs[0], Added: 1, Tokens: 2 + 5}
	if diff := cmp.Diff(want, result); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	text := conversation.Block{Type: conversation.TextBlock, Text: "A bittern.", Key: "a3"}
	for range 2 { // the second brings nothing new
		result = enginetest.AddBlocks(t, e, conversation.AddBlocksRequest{Conversation: "c", MessageID: first.IDs[0], Blocks: []conversation.Block{call, text}})
	}
	if result.Added != 0 || result.Tokens != 10 {
		t.Errorf("again: %+v", result)
	}
	m := enginetest.Messages(t, e, "c")[0]
	blocks := []conversation.Block{{Type: conversation.TextBlock, Text: "I look."}, call, text}
	if diff := cmp.Diff(blocks, m.Blocks); diff != "" || m.Text != "I look.\nA bittern." || m.Tokens != 10 {
		t.Errorf("%+v (-want +got):\n%s", m, diff)
	}
	for _, words := range []string{"marsh", "bittern", "look"} {
		if got := enginetest.RecallIDs(t, e, recall.Query{Text: words, Kinds: kinds, Limit: 1}); len(got) != 1 || got[0] != m.ID {
			t.Errorf("recall of %s: %v", words, got)
		}
	}
	cursors, err := e.Cursors(t.Context())
	wantCursors := []conversation.Cursor{{Path: "/t", Host: "claude", ConversationID: first.ConversationID, Bytes: 7, ReadAt: enginetest.Noon, IngestedAt: enginetest.Noon}}
	if diff := cmp.Diff(wantCursors, cursors); err != nil || diff != "" {
		t.Errorf("cursors: %v (-want +got):\n%s", err, diff)
	}
	if again := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{{Key: "a1", Text: "I look."}}}); again.Added != 0 {
		t.Errorf("the grown message is not known: %+v", again)
	}
}

func TestAddBlocksToWhatIsNoText(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}, Conversation: setup.Conversation{LargeFileTokens: 50}})
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{
		{Role: "assistant", Key: "empty", Blocks: []conversation.Block{}}, {Role: "assistant", Key: "thinks", Blocks: []conversation.Block{{Type: conversation.ThinkingBlock, Text: "hm"}}},
		{Role: "tool", Key: "event", SetAside: conversation.AsideEvent, Text: "started"}}})
	large := conversation.Block{Type: conversation.ToolResultBlock, CallID: "t1", Tool: "read", Output: strings.Repeat("heron reed\n", 40), Key: "r"}
	for _, key := range []string{"empty", "thinks", "event"} {
		if result := enginetest.AddBlocks(t, e, conversation.AddBlocksRequest{Conversation: "c", MessageKey: key, Blocks: []conversation.Block{large}}); result.Added != 1 {
			t.Errorf("%s: %+v", key, result)
		}
	}
	for i, m := range enginetest.Messages(t, e, "c") {
		last := m.Blocks[len(m.Blocks)-1]
		if len(m.Blocks) != []int{1, 2, 2}[i] || last.FileID == "" || !strings.Contains(last.Output, last.FileID) {
			t.Errorf("%s: %+v", m.Key, m.Blocks)
		}
		if piece := enginetest.ReadLargeFile(t, e, conversation.ReadLargeFileRequest{ID: last.FileID}); string(piece.Content) != large.Output || piece.File.MessageID != m.ID {
			t.Errorf("%s: the result is not read back: %+v", m.Key, piece)
		}
	}
}

func TestAddBlocksUnderASummary(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	ids := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{{Key: "a1", Role: "assistant", Text: "I look."}, {Text: "well"}}}).IDs
	leaf := enginetest.Summarise(t, e, "c", "looks", ids[:1]...)
	top := enginetest.Summarise(t, e, "c", "all", leaf)
	enginetest.AddBlocks(t, e, conversation.AddBlocksRequest{Conversation: "c", MessageKey: "a1", Blocks: []conversation.Block{call}})
	for _, id := range []string{leaf, top} {
		if s := enginetest.SummaryOf(t, e, id); s.SourceTokens != 7 {
			t.Errorf("%s has %d source tokens, want 7", s.Text, s.SourceTokens)
		}
	}
}

func TestAddBlocksAtOnce(t *testing.T) {
	e := enginetest.Open(t, engine.Options{Threads: 2, Embedder: enginetest.Words{}})
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{{Key: "m", Role: "assistant", Text: "0"}}})
	var wait sync.WaitGroup
	for _, key := range []string{"1", "2", "3", "4"} {
		wait.Go(func() {
			for range 2 {
				_, err := e.AddBlocks(t.Context(), conversation.AddBlocksRequest{Conversation: "c", MessageKey: "m", Blocks: []conversation.Block{{Type: conversation.TextBlock, Text: key, Key: key}}})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	m := enginetest.Messages(t, e, "c")[0]
	if len(m.Blocks) != 5 || len(m.Text) != 9 {
		t.Errorf("%+v", m)
	}
}

func TestAddBlocksRefuses(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	id := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Scope: "user:ines", Messages: []conversation.Message{{Key: "m", Text: "x"}}}).IDs[0]
	good := []conversation.Block{{Type: conversation.TextBlock, Text: "more"}}
	for _, test := range []struct {
		request conversation.AddBlocksRequest
		want    error
	}{
		{conversation.AddBlocksRequest{Conversation: "c", MessageKey: "n", Blocks: good}, engine.ErrNotFound},
		{conversation.AddBlocksRequest{Conversation: "d", MessageKey: "m", Blocks: good}, engine.ErrNotFound},
		{conversation.AddBlocksRequest{Conversation: "c", Blocks: good}, engine.ErrInvalid},
		{conversation.AddBlocksRequest{Conversation: "c", MessageKey: "m", MessageID: id, Blocks: good}, engine.ErrInvalid},
		{conversation.AddBlocksRequest{Conversation: "c", MessageKey: "\xff", Blocks: good}, engine.ErrInvalid},
		{conversation.AddBlocksRequest{Conversation: "c", MessageKey: "m", Blocks: []conversation.Block{{Text: "of no type"}}}, engine.ErrInvalid},
		{conversation.AddBlocksRequest{Conversation: "c", MessageKey: "m", Agent: "scout", Blocks: good}, engine.ErrScopeDenied},
		{conversation.AddBlocksRequest{Conversation: "", MessageKey: "m", Blocks: good}, engine.ErrInvalid},
	} {
		if _, err := e.AddBlocks(t.Context(), test.request); !errors.Is(err, test.want) {
			t.Errorf("%+v: %v, want %v", test.request, err, test.want)
		}
	}
	m := enginetest.Messages(t, e, "c")[0]
	if diff := cmp.Diff(&conversation.Message{Seq: 1, Role: "user", Key: "m", Text: "x", Tokens: 1}, m, cmpopts.IgnoreFields(conversation.Message{}, "ID", "ConversationID", "SaidAt", "RecordedAt")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
