package extract_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/extract"
	"github.com/mallardmem/mallard/engine/memory"
)

// TestForgottenMeanwhile: a memory that a draft was to support is forgotten while the model thinks; all is decided anew.
func TestForgottenMeanwhile(t *testing.T) {
	t.Parallel()
	var e *engine.Engine
	var id string
	llm := &enginetest.LLM{Answer: func(ctx context.Context, _, prompt string, _ int) (string, error) {
		if strings.HasPrefix(prompt, "Find what") {
			return memoryJSON("preferences", saidEditor, saidEditor), nil
		}
		_, err := e.Forget(ctx, memory.ForgetRequest{ID: id})
		return `{"decision": "support", "match_index": 1, "context_label": "general"}`, err
	}}
	e = enginetest.Open(t, engine.Options{LLM: llm})
	id = enginetest.Remember(t, e, memory.RememberRequest{Text: knownEditor, Category: memory.Preference}).ID
	r := say(t, e, "c", "By the way, I use Vim for Go and C.")
	if diff := cmp.Diff([]outcome{{saidEditor, "create", "create"}}, outcomes(r.Drafts)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := len(llm.Calls()); n != 3 { // found, judged, found again; nothing is near then
		t.Errorf("%d calls, want 3", n)
	}
}

// TestPurgedMeanwhile: what is purged while the model thinks over it comes back in no draft.
func TestPurgedMeanwhile(t *testing.T) {
	t.Parallel()
	var e *engine.Engine
	llm := &enginetest.LLM{Answer: func(ctx context.Context, _, _ string, _ int) (string, error) {
		ids := enginetest.Rows(t, e, "SELECT id FROM messages")
		_, err := e.PurgeMessages(ctx, compact.PurgeMessagesRequest{Conversation: "c", IDs: []string{ids[0][0].(string)}})
		return memoryJSON("preferences", saidEditor, saidEditor), err
	}}
	e = enginetest.Open(t, engine.Options{LLM: llm})
	request := extract.Request{Conversation: "c"}
	appendOne(t, e, "By the way, I use Vim for Go and C.")
	if _, err := e.Extract(t.Context(), request); !errors.Is(err, engine.ErrConflict) {
		t.Errorf("%v, want ErrConflict", err)
	}
	if n := enginetest.Rows(t, e, "SELECT (SELECT count(*) FROM drafts) + (SELECT count(*) FROM memories)")[0][0]; n != int64(0) {
		t.Errorf("%v drafts and memories of what was purged", n)
	}
	if r, err := e.Extract(t.Context(), request); err != nil || r.Messages != 0 {
		t.Errorf("afterwards: %+v, %v", r, err)
	}
}
