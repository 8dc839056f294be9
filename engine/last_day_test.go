package engine_test

import (
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/lookup"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
)

// TestLastDay: what was said in the last microsecond that a file can hold is found where no end is asked for.
func TestLastDay(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	last := time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{{Text: "the last crane", SaidAt: last}}})
	enginetest.Remember(t, e, memory.RememberRequest{Text: "the last crane", CreatedAt: last})
	for _, since := range []time.Time{{}, last} {
		for _, mode := range []lookup.GrepMode{lookup.GrepText, lookup.GrepRegex} {
			v, err := e.Grep(t.Context(), lookup.GrepRequest{Pattern: "crane", Mode: mode, AllConversations: true, Kinds: kinds.All(), Since: since})
			if err != nil || len(v.Hits) != 2 {
				t.Errorf("grep %s since %s: %+v, %v", mode, since, v, err)
			}
		}
		result, err := e.Recall(t.Context(), recall.Query{Text: "crane", Kinds: kinds.All(), Since: since})
		if err != nil || len(result.Hits) != 2 {
			t.Errorf("recall since %s: %+v, %v", since, result, err)
		}
	}
}
