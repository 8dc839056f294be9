package conversation_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
)

func TestCursors(t *testing.T) {
	t.Parallel()
	clock := &enginetest.Clock{At: enginetest.Noon}
	e := enginetest.Open(t, engine.Options{Now: clock.Now})
	say := conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{{Text: "x", Key: "k"}},
		Cursor: &conversation.Cursor{Path: "/b", Host: "claude", FileID: "1:2", FirstLine: "ab", Bytes: 10, Lines: 2, Skipped: 1}}
	id := enginetest.Append(t, e, say).ConversationID
	clock.Advance(time.Minute)
	say.Cursor.Bytes = 20
	enginetest.Append(t, e, say) // nothing new, so what was ingested last stays
	for _, v := range []conversation.Cursor{{Path: "/a", Host: "codex"}, {Path: "/a", Host: "codex", ConversationID: id, Bytes: 5}, {Path: "/a", Host: "codex", Bytes: 6}} {
		if err := e.SetCursor(t.Context(), v); err != nil {
			t.Fatal(err)
		}
	}
	want := []conversation.Cursor{
		{Path: "/a", Host: "codex", ConversationID: id, Bytes: 6, ReadAt: clock.At},
		{Path: "/b", Host: "claude", ConversationID: id, FileID: "1:2", FirstLine: "ab", Bytes: 20, Lines: 2, Skipped: 1, ReadAt: clock.At, IngestedAt: enginetest.Noon},
	}
	got, err := e.Cursors(t.Context())
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, test := range []struct {
		cursor conversation.Cursor
		want   error
	}{
		{conversation.Cursor{}, engine.ErrInvalid}, {conversation.Cursor{Path: "/c", Bytes: -1}, engine.ErrInvalid}, {conversation.Cursor{Path: "/c", Lines: -1}, engine.ErrInvalid},
		{conversation.Cursor{Path: "/c", Skipped: -1}, engine.ErrInvalid}, {conversation.Cursor{Path: "\xff"}, engine.ErrInvalid}, {conversation.Cursor{Path: "/c", ConversationID: "conv_none"}, engine.ErrNotFound},
	} {
		if err := e.SetCursor(t.Context(), test.cursor); !errors.Is(err, test.want) {
			t.Errorf("%+v: %v, want %v", test.cursor, err, test.want)
		}
		say.Messages[0].Key, say.Cursor = "another", &test.cursor
		if _, err := e.Append(t.Context(), say); test.want == engine.ErrInvalid && !errors.Is(err, test.want) {
			t.Errorf("append with %+v: %v, want %v", test.cursor, err, test.want)
		}
	}
	if all := enginetest.Messages(t, e, "c"); len(all) != 2 { // that with the cursor of no conversation, since Append gives it its own
		t.Errorf("%d messages, want what went with a bad cursor left out", len(all))
	}
}
