package engine_test

import (
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/lookup"
)

// madeSummary puts a summary in place of messages or summaries of a conversation, and gives its id.
func madeSummary(t *testing.T, e *engine.Engine, conversation, text string, sources ...string) string {
	t.Helper()
	ids, err := e.AddSummaries(t.Context(), conversation, func([]string) engine.Made {
		return engine.Made{Text: text, Tokens: (len(text) + 3) / 4, Sources: sources}
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids[0]
}

func summaryOf(t *testing.T, e *engine.Engine, id string) *compact.Summary {
	t.Helper()
	d, err := e.Describe(t.Context(), lookup.DescribeRequest{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	return d.Summary
}
