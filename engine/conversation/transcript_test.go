package conversation_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/setup"
)

// keyed is a conversation of messages with the keys k1, k2 and so on.
func keyed(t *testing.T, e *engine.Engine, name, scope string, n int) []string {
	t.Helper()
	r := conversation.AppendRequest{Conversation: name, Scope: scope}
	for i := range n {
		r.Messages = append(r.Messages, conversation.Message{Key: fmt.Sprintf("%s-k%d", name, i+1), Text: fmt.Sprintf("turn %d", i+1), SaidAt: enginetest.Noon})
	}
	result, err := e.Append(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return result.IDs
}

// asides gives the reasons why messages of a conversation are set aside, in their order.
func asides(t *testing.T, e *engine.Engine, name string) (all []conversation.SetAside) {
	t.Helper()
	messages, err := e.Messages(t.Context(), conversation.MessagesRequest{Conversation: name})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range messages {
		all = append(all, m.SetAside)
	}
	return all
}

func TestKnownKeys(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	ids := keyed(t, e, "open", "global", 2)
	keyed(t, e, "shut", "user:ines", 1)
	ctx := t.Context()
	if _, err := e.AddBlocks(ctx, conversation.AddBlocksRequest{Conversation: "open", MessageKey: "open-k1", Blocks: []conversation.Block{{Type: conversation.TextBlock, Text: "more", Key: "part"}}}); err != nil {
		t.Fatal(err)
	}
	s, changed, err := e.AdoptSummary(ctx, compact.AdoptRequest{Conversation: "open", Key: "summary", Text: "a turn", FirstKept: "open-k2"})
	if err != nil || !changed {
		t.Fatal(changed, err)
	}
	known, err := e.KnownKeys(ctx, []string{"open-k1", "open-k1", "part", "summary", "shut-k1", "nosuch"}, "")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for key, at := range known {
		got[key] = at.ID
	}
	want := map[string]string{"open-k1": ids[0], "part": ids[0], "summary": s.ID, "shut-k1": known["shut-k1"].ID}
	if diff := cmp.Diff(want, got); diff != "" || !known["open-k1"].SaidAt.Equal(enginetest.Noon) || known["part"].ConversationID != s.ConversationID {
		t.Errorf("%+v\n%s", known, diff)
	}
	if known, err := e.KnownKeys(ctx, []string{"open-k1", "shut-k1"}, "scout"); err != nil || len(known) != 1 || known["open-k1"].ID != ids[0] {
		t.Errorf("an agent sees %+v, %v", known, err)
	}
	if known, err := e.KnownKeys(ctx, nil, ""); err != nil || len(known) != 0 {
		t.Errorf("nothing gives %+v, %v", known, err)
	}
	if _, err := e.KnownKeys(ctx, []string{"a\x00b"}, ""); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("a key that no file holds: %v", err)
	}
}

func TestSetBranch(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{})
	keyed(t, e, "talk", "global", 6)
	ctx := t.Context()
	move := func(want int, left, found []string) {
		t.Helper()
		moved, err := e.SetBranch(ctx, conversation.BranchRequest{Conversation: "talk", Left: left, Found: found})
		if err != nil || moved != want {
			t.Errorf("left %v, found %v: moved %d, %v; want %d", left, found, moved, err, want)
		}
		enginetest.Check(t, e)
	}
	const off = conversation.AsideOffBranch
	move(3, []string{"talk-k2", "talk-k3", "talk-k5", "nosuch"}, nil)
	move(0, []string{"talk-k2"}, nil)
	if diff := cmp.Diff([]conversation.SetAside{"", off, off, "", off, ""}, asides(t, e, "talk")); diff != "" {
		t.Error(diff)
	}
	move(1, nil, []string{"talk-k3", "talk-k4"})
	if _, _, err := e.AdoptSummary(ctx, compact.AdoptRequest{Conversation: "talk", Key: "s", Text: "four turns", FirstKept: "talk-k5"}); err != nil {
		t.Fatal(err)
	}
	move(0, []string{"talk-k1"}, []string{"talk-k2"}) // one is under the summary, the other in the midst of it
	move(1, nil, []string{"talk-k5"})
	if diff := cmp.Diff([]conversation.SetAside{"", off, "", "", "", ""}, asides(t, e, "talk")); diff != "" {
		t.Error(diff)
	}
	if _, err := e.SetBranch(ctx, conversation.BranchRequest{Conversation: "nosuch"}); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("a conversation that is not there: %v", err)
	}
	if _, err := e.SetBranch(ctx, conversation.BranchRequest{Conversation: "talk", Left: []string{"\xff"}}); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("a key that no file holds: %v", err)
	}
}

func TestRetitle(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	keyed(t, e, "talk", "user:ines", 1)
	ctx := t.Context()
	if err := e.Retitle(ctx, "talk", "", "Of cranes"); err != nil {
		t.Fatal(err)
	}
	if c, err := e.Conversation(ctx, "talk", ""); err != nil || c.Title != "Of cranes" {
		t.Errorf("%+v, %v", c, err)
	}
	if err := e.Retitle(ctx, "talk", "scout", "Mine"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("of another's: %v", err)
	}
	if err := e.Retitle(ctx, "talk", "", "a\x00b"); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("a title that no file holds: %v", err)
	}
}

// TestBootstrap holds the cost of a message against what Append counts.
func TestBootstrap(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{Conversation: setup.Conversation{BootstrapMaxTokens: 77, LargeFileTokens: 1000}})
	budget, count := e.Bootstrap()
	if budget != 77 {
		t.Errorf("budget %d", budget)
	}
	for i, m := range []conversation.Message{
		{Text: "a plain turn of talk"},
		{Text: "with a caption", Caption: "the quay"},
		{Blocks: []conversation.Block{{Type: conversation.TextBlock, Text: "two"}, {Type: conversation.ThinkingBlock, Text: "not counted"}, {Type: conversation.TextBlock, Text: "texts"}}},
		{Role: "assistant", Blocks: []conversation.Block{{Type: conversation.ToolCallBlock, CallID: "a", Tool: "read", Input: `{"path":"x"}`}}},
		{Role: "tool", Blocks: []conversation.Block{{Type: conversation.ToolResultBlock, CallID: "a", Output: "what it says"}}},
		{Blocks: []conversation.Block{{Type: "notice", Text: "what the host says"}, {Type: "patch", Text: "- old\n+ new"}, {Type: conversation.FileBlock, Text: "in a file"}}},
	} {
		result, err := e.Append(t.Context(), conversation.AppendRequest{Conversation: "talk", Messages: []conversation.Message{m}})
		if err != nil {
			t.Fatal(err)
		}
		messages, err := e.Messages(t.Context(), conversation.MessagesRequest{Conversation: "talk", From: i + 1})
		if err != nil || len(messages) != 1 || messages[0].ID != result.IDs[0] {
			t.Fatal(messages, err)
		}
		if got := count(m); got != messages[0].Tokens {
			t.Errorf("message %d: %d tokens; stored are %d", i, got, messages[0].Tokens)
		}
	}
	if got := count(conversation.Message{Role: "tool", Blocks: []conversation.Block{{Type: conversation.ToolResultBlock, Output: strings.Repeat("word ", 10_000)}}}); got >= 1000 {
		t.Errorf("what is kept apart costs %d", got)
	}
}
