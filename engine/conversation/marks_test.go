package conversation_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/interchange"
)

func TestMarks(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}, NewID: enginetest.CountedIDs()})
	said := []conversation.Message{
		{Text: "Is the ferry late?", Key: "1", SourceKind: "email"},
		{Role: "assistant", Text: "By ten minutes.", Key: "2", ReplyTo: "1", Usage: &conversation.Usage{Input: 120, Output: 8, CacheRead: 64, Total: 192}, Actions: []string{"asked the harbour", "read ferries.csv"}},
		{Role: "assistant", Text: "Inference is unavailable.", Key: "3", Fallback: true, Withheld: true},
	}
	ids := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: said}).IDs
	marks := func() (all []conversation.Message) {
		for _, m := range enginetest.Messages(t, e, "c") {
			all = append(all, conversation.Message{Text: m.Text, Key: m.Key, Role: m.Role, SourceKind: m.SourceKind, ReplyTo: m.ReplyTo, Usage: m.Usage, Actions: m.Actions,
				Fallback: m.Fallback, Withheld: m.Withheld})
		}
		return all
	}
	want := append([]conversation.Message{}, said...)
	want[0].Role = "user"
	if diff := cmp.Diff(want, marks()); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}

	yes, no := true, false
	mark := func(r conversation.MarkRequest, want int) {
		t.Helper()
		r.Conversation = "c"
		if n, err := e.Mark(t.Context(), r); err != nil || n != want {
			t.Errorf("%d, %v; want %d", n, err, want)
		}
	}
	mark(conversation.MarkRequest{IDs: ids[:1], Keys: []string{"3", "unknown"}, Withheld: &yes}, 1)
	mark(conversation.MarkRequest{IDs: ids[:1], Withheld: &yes}, 0)
	mark(conversation.MarkRequest{Keys: []string{"3"}, Withheld: &no, Fallback: &yes}, 1)
	mark(conversation.MarkRequest{Keys: []string{"3"}, Fallback: &no}, 1)
	want[0].Withheld, want[2].Withheld, want[2].Fallback = true, false, false
	if diff := cmp.Diff(want, marks()); diff != "" {
		t.Errorf("marked (-want +got):\n%s", diff)
	}
	if _, err := e.Mark(t.Context(), conversation.MarkRequest{Conversation: "c"}); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("no mark: %v", err)
	}
	if _, err := e.Mark(t.Context(), conversation.MarkRequest{Conversation: "nowhere", Withheld: &yes}); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("no conversation: %v", err)
	}

	if _, err := e.PurgeMessages(t.Context(), compact.PurgeMessagesRequest{Conversation: "c", IDs: ids[1:2]}); err != nil {
		t.Fatal(err)
	}
	if m := enginetest.Messages(t, e, "c")[1]; m.Actions != nil || m.ReplyTo != "1" {
		t.Errorf("purged, and says still: %+v", m)
	}
}

func TestBadMarks(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	for _, test := range []struct {
		m    conversation.Message
		says string
	}{
		{conversation.Message{SourceKind: "E-Mail"}, `source_kind is "E-Mail"; allowed: at most 64 of a-z, 0-9, _ and -`},
		{conversation.Message{SourceKind: strings.Repeat("a", 65)}, "source_kind"},
		{conversation.Message{Usage: &conversation.Usage{CacheRead: -1}}, "usage.cache_read is -1"},
		{conversation.Message{ReplyTo: "\xff"}, "reply_to"},
		{conversation.Message{Actions: []string{"a", "\xff"}}, "actions"},
		{conversation.Message{Actions: make([]string, 10_001)}, "actions is \"10001 lines\"; allowed: at most 10000"},
	} {
		test.m.Text = "said"
		_, err := e.Append(t.Context(), conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{{Text: "first"}, test.m}})
		if !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%v; want %q", err, test.says)
		}
	}
	if all, _ := e.Conversations(t.Context(), ""); len(all) > 0 {
		t.Errorf("%d conversations of nothing", len(all))
	}
}

func TestImportMarks(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	lines := `{"conversation":"c","text":"Ten past.","role":"assistant","reply_to":"q","source_kind":"web","withheld":true,"fallback":true,"usage":{"input":3,"total":4},"actions":["looked"]}`
	for n := range 2 {
		if r, err := e.ImportMessages(t.Context(), strings.NewReader(lines), interchange.ImportRequest{}); err != nil || r.Created != 1-n {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	m := enginetest.Messages(t, e, "c")[0]
	got := conversation.Message{ReplyTo: m.ReplyTo, SourceKind: m.SourceKind, Withheld: m.Withheld, Fallback: m.Fallback, Usage: m.Usage, Actions: m.Actions}
	want := conversation.Message{ReplyTo: "q", SourceKind: "web", Withheld: true, Fallback: true, Usage: &conversation.Usage{Input: 3, Total: 4}, Actions: []string{"looked"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
