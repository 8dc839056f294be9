package engine_test

import (
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
)

// TestLastDay: what was said in the last microsecond that a file can hold is found where no end is asked for.
func TestLastDay(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	last := time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)
	appended(t, e, engine.AppendRequest{Conversation: "c", Messages: []engine.Message{{Text: "the last crane", SaidAt: last}}})
	stored(t, e, engine.RememberRequest{Text: "the last crane", CreatedAt: last})
	for _, since := range []time.Time{{}, last} {
		for _, mode := range []engine.GrepMode{engine.GrepText, engine.GrepRegex} {
			v, err := e.Grep(t.Context(), engine.GrepRequest{Pattern: "crane", Mode: mode, AllConversations: true, Kinds: engine.Kinds(), Since: since})
			if err != nil || len(v.Hits) != 2 {
				t.Errorf("grep %s since %s: %+v, %v", mode, since, v, err)
			}
		}
		result, err := e.Recall(t.Context(), engine.RecallQuery{Text: "crane", Kinds: engine.Kinds(), Since: since})
		if err != nil || len(result.Hits) != 2 {
			t.Errorf("recall since %s: %+v, %v", since, result, err)
		}
	}
}
