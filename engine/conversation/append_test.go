package conversation_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/recall"
)

func TestAppend(t *testing.T) {
	t.Parallel()
	clock := &enginetest.Clock{At: enginetest.Noon}
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}, NewID: enginetest.CountedIDs(), Now: clock.Now})
	first := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{
		{Text: "Hello", ID: "mine", ConversationID: "mine", Seq: 77}, {Role: "assistant", Speaker: "Scout", Caption: "a map", Session: "s", Key: "k", SaidAt: enginetest.Noon.Add(-time.Hour)},
	}})
	want := &conversation.Appended{ConversationID: "conv_000001", IDs: []string{"msg_000002", "msg_000003"}, Added: 2}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	clock.Advance(time.Hour)
	second := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "conv_000001", Messages: []conversation.Message{
		{Text: "again", Key: "k"}, {Role: "tool", Text: "21 °C", Key: "l"}, {Role: "system", Text: "twice in a batch", Key: "l"},
	}})
	want = &conversation.Appended{ConversationID: "conv_000001", IDs: []string{"msg_000003", "msg_000004", "msg_000004"}, Added: 1}
	if diff := cmp.Diff(want, second); diff != "" {
		t.Errorf("by id, with keys (-want +got):\n%s", diff)
	}
	messages := []*conversation.Message{
		{ID: "msg_000002", ConversationID: "conv_000001", Seq: 1, Role: "user", Text: "Hello", SaidAt: enginetest.Noon, RecordedAt: enginetest.Noon, Tokens: 2},
		{ID: "msg_000003", ConversationID: "conv_000001", Seq: 2, Role: "assistant", Speaker: "Scout", Caption: "a map", Session: "s", Key: "k", SaidAt: enginetest.Noon.Add(-time.Hour), RecordedAt: enginetest.Noon, Tokens: 2},
		{ID: "msg_000004", ConversationID: "conv_000001", Seq: 3, Role: "tool", Text: "21 °C", Key: "l", SaidAt: clock.At, RecordedAt: clock.At, Tokens: 2},
	}
	if diff := cmp.Diff(messages, enginetest.Messages(t, e, "c")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if again := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "other", Messages: []conversation.Message{{Text: "a key of another conversation", Key: "k"}}}); again.Added != 1 {
		t.Errorf("%+v", again)
	}
	if empty := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "empty"}); empty.Added != 0 || len(empty.IDs) != 0 || empty.ConversationID == "" {
		t.Errorf("no messages: %+v", empty)
	}
	all, err := e.Conversations(t.Context(), "")
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
	}
	if diff := cmp.Diff([]string{"c", "other", "empty"}, names); err != nil || diff != "" {
		t.Errorf("conversations: %v (-want +got):\n%s", err, diff)
	}
	if c := all[0]; c.Messages != 3 || !c.LastSaidAt.Equal(clock.At) || !c.CreatedAt.Equal(enginetest.Noon) || c.Scope != "global" {
		t.Errorf("%+v", c)
	}
	if c := all[2]; c.Messages != 0 || !c.LastSaidAt.IsZero() {
		t.Errorf("without messages: %+v", c)
	}
}

func TestAppendIsAllOrNothing(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}})
	for _, test := range []struct {
		message conversation.Message
		says    []string
	}{
		{conversation.Message{}, []string{"text", "what was said, or a caption"}},
		{conversation.Message{Text: " ", Caption: "\n"}, []string{"text"}},
		{conversation.Message{Text: "x", Role: "ghost"}, []string{"role", `"ghost"`, "user, assistant, system, tool"}},
		{conversation.Message{Text: "\xff"}, []string{"text", "valid UTF-8"}},
		{conversation.Message{Text: "x", Caption: "\x00"}, []string{"caption", "NUL"}},
		{conversation.Message{Text: "x", Speaker: "\xff"}, []string{"speaker", "valid UTF-8"}},
		{conversation.Message{Text: "x", Session: "\xff"}, []string{"session", "valid UTF-8"}},
		{conversation.Message{Text: "x", Key: "\xff"}, []string{"key", "valid UTF-8"}},
	} {
		_, err := e.Append(t.Context(), conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{{Text: "good"}, test.message, {Text: "good"}}})
		if !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%+v: %v, want ErrInvalid", test.message, err)
			continue
		}
		for _, part := range append(test.says, "message 1") {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q does not say %q", err, part)
			}
		}
	}
	for _, name := range []string{"", " ", "\xff"} {
		if _, err := e.Append(t.Context(), conversation.AppendRequest{Conversation: name, Messages: []conversation.Message{{Text: "good"}}}); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("conversation %q: %v, want ErrInvalid", name, err)
		}
	}
	if all, err := e.Conversations(t.Context(), ""); err != nil || len(all) != 0 {
		t.Errorf("%v, %v, want nothing stored", all, err)
	}
}

func TestScopeOfAConversation(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	say := []conversation.Message{{Text: "x"}}
	for _, test := range []struct {
		request conversation.AppendRequest
		want    string // scope
		err     error
	}{
		{conversation.AppendRequest{Conversation: "plain"}, "global", nil},
		{conversation.AppendRequest{Conversation: "scout's", Agent: "scout"}, "agent:scout", nil},
		{conversation.AppendRequest{Conversation: "named", Scope: "user:ines"}, "user:ines", nil},
		{conversation.AppendRequest{Conversation: "named", Scope: "user:ines"}, "user:ines", nil},
		{conversation.AppendRequest{Conversation: "named"}, "user:ines", nil},
		{conversation.AppendRequest{Conversation: "named", Scope: "user:teo"}, "", engine.ErrInvalid},
		{conversation.AppendRequest{Conversation: "named", Agent: "scout"}, "", engine.ErrScopeDenied},
		{conversation.AppendRequest{Conversation: "plain", Agent: "scout"}, "global", nil},
		{conversation.AppendRequest{Conversation: "new", Scope: "team:x"}, "", engine.ErrBadScope},
		{conversation.AppendRequest{Conversation: "new", Scope: "user:ines", Agent: "scout"}, "", engine.ErrScopeDenied},
		{conversation.AppendRequest{Conversation: "new", Agent: "system"}, "", engine.ErrBadScope},
		{conversation.AppendRequest{Conversation: "named", Agent: "system"}, "user:ines", nil},
	} {
		test.request.Messages = say
		_, err := e.Append(t.Context(), test.request)
		if !errors.Is(err, test.err) {
			t.Errorf("%+v: %v, want %v", test.request, err, test.err)
			continue
		}
		all, listErr := e.Conversations(t.Context(), "")
		if listErr != nil {
			t.Fatal(listErr)
		}
		for _, c := range all {
			if err == nil && c.Name == test.request.Conversation && c.Scope != test.want {
				t.Errorf("%+v: scope %s, want %s", test.request, c.Scope, test.want)
			}
			if c.Name == "new" {
				t.Errorf("%+v: a refused request made it", test.request)
			}
		}
	}
}

func TestMessagesInPages(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	var say []conversation.Message
	for range 130 {
		say = append(say, conversation.Message{Text: "x"})
	}
	id := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: say}).ConversationID
	for _, test := range []struct {
		request     conversation.MessagesRequest
		first, last int
	}{
		{conversation.MessagesRequest{Conversation: "c"}, 1, 100},
		{conversation.MessagesRequest{Conversation: id, From: 101}, 101, 130},
		{conversation.MessagesRequest{Conversation: "c", From: 10, Limit: 5}, 10, 14},
		{conversation.MessagesRequest{Conversation: "c", From: -5, Limit: 1}, 1, 1},
		{conversation.MessagesRequest{Conversation: "c", Limit: 100_000}, 1, 130},
		{conversation.MessagesRequest{Conversation: "c", From: 131}, 0, 0},
	} {
		all, err := e.Messages(t.Context(), test.request)
		if err != nil {
			t.Fatal(err)
		}
		first, last := 0, 0
		if len(all) > 0 {
			first, last = all[0].Seq, all[len(all)-1].Seq
		}
		if first != test.first || last != test.last || len(all) > 0 && len(all) != last-first+1 {
			t.Errorf("%+v: %d messages, %d to %d", test.request, len(all), first, last)
		}
	}
	for request, want := range map[conversation.MessagesRequest]error{
		{Conversation: "nowhere"}: engine.ErrNotFound, {Conversation: ""}: engine.ErrInvalid,
		{Conversation: "c", Limit: -1}: engine.ErrInvalid, {Conversation: "c", Limit: 100_001}: engine.ErrInvalid, {Conversation: "\xff"}: engine.ErrInvalid,
	} {
		if _, err := e.Messages(t.Context(), request); !errors.Is(err, want) {
			t.Errorf("%+v: %v, want %v", request, err, want)
		}
	}
}

// TestAModelThatStalls: a message is stored without its vector when the model does not answer in time.
func TestAModelThatStalls(t *testing.T) {
	stall := func(ctx context.Context, texts []string) ([][]float32, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	e := enginetest.Open(t, engine.Options{Embedder: &enginetest.Scripted{Texts: stall}, EmbedDeadline: 50 * time.Millisecond})
	got := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{{Text: "heron"}}})
	if !errors.Is(got.VectorErr, context.DeadlineExceeded) || got.Added != 1 {
		t.Errorf("%+v", got)
	}
	if hits := enginetest.RecallIDs(t, e, recall.Query{Text: "heron", Kinds: []kinds.Kind{kinds.Message}, Mode: recall.LexicalMode}); len(hits) != 1 {
		t.Errorf("recall: %v", hits)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	if _, err := e.Append(ctx, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{{Text: "reed"}}}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a caller that gave up: %v", err)
	}
	if _, err := engine.Open(t.Context(), ":memory:", engine.Options{EmbedDeadline: -1}); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("%v, want ErrInvalid", err)
	}
}
