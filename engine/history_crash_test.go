package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/extract"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/interchange"
	"github.com/mallardmem/mallard/engine/memory"
)

// historyDeeds are those that change what memories were.
var historyDeeds = []deed{
	{"reword", func(ctx context.Context, e *engine.Engine) error { return reword(ctx, e, "mem_crane", 4) }},
	{"change a tier", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.Update(ctx, memory.UpdateRequest{ID: "mem_crane", Tier: enginetest.Pointer(memory.Core)})
		return err
	}},
	{"supersede", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.Supersede(ctx, memory.SupersedeRequest{ID: "mem_crane", By: memory.RememberRequest{Text: "The crane is gone"}})
		return err
	}},
	{"forget", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.Forget(ctx, memory.ForgetRequest{ID: "mem_crane"})
		return err
	}},
	{"purge", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.Purge(ctx, memory.PurgeRequest{ID: "mem_crane"})
		return err
	}},
	{"extract", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.Extract(ctx, extract.Request{Text: "My favorite colour is blue.", Rules: true})
		return err
	}},
	{"import what was forgotten", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.Import(ctx, strings.NewReader(`{"id": "mem_other", "text": "The quay was wet", "retired_at": "2026-06-01T00:00:00Z"}`), interchange.ImportRequest{})
		return err
	}},
	{"drop the past", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.RebuildIndex(ctx, index.RebuildRequest{DropRetiredBefore: enginetest.Noon.Add(time.Hour)})
		return err
	}},
}

// reword gives a memory its nth text; each third is long enough for passages.
func reword(ctx context.Context, e *engine.Engine, id string, n int) error {
	text := fmt.Sprintf("The crane number%d is green", n)
	if n%3 == 0 {
		text += strings.Repeat(". It stands at the quay, and whoever comes by looks up to it", 20)
	}
	_, err := e.Update(ctx, memory.UpdateRequest{ID: id, Text: &text})
	return err
}

// historyFile has memories with several versions: one that stands, one that is forgotten.
func historyFile(t *testing.T, path string) {
	t.Helper()
	e := enginetest.OpenFile(t, path, crashOptions("before", func() {}))
	for _, id := range []string{"mem_crane", "mem_lamp"} {
		enginetest.Remember(t, e, memory.RememberRequest{ID: id, Text: "The " + id[4:] + " is red", FactKey: "preference:favorite colour", Scope: "user:" + id[4:]})
		for n := range 4 {
			if err := reword(t.Context(), e, id, n); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := e.Forget(t.Context(), memory.ForgetRequest{ID: "mem_lamp"}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Extract(t.Context(), extract.Request{Text: "My favorite colour is green.", Rules: true}); err != nil {
		t.Fatal(err)
	}
	enginetest.CloseFile(t, e)
}

// historyState is what the file says of memories, present and past, with their index.
func historyState(t *testing.T, e *engine.Engine) string {
	t.Helper()
	var all strings.Builder
	for _, query := range []string{"SELECT * FROM memories ORDER BY id", "SELECT * FROM memory_versions ORDER BY ALL", "SELECT * FROM dropped_versions ORDER BY ALL", "FROM memory_relations ORDER BY ALL",
		"SELECT count(*) FROM drafts", "SELECT * FROM past_documents ORDER BY ALL", "SELECT term, doc_no, tf FROM past_postings JOIN terms USING (term_no) ORDER BY ALL", "FROM past_passages ORDER BY ALL",
		"SELECT * FROM past_vectors ORDER BY ALL", "SELECT * FROM kind_stats ORDER BY ALL", "SELECT count(*) FROM vectors", "SELECT term, doc_no, tf FROM postings JOIN terms USING (term_no) ORDER BY ALL"} {
		fmt.Fprintln(&all, query)
		for _, row := range enginetest.Rows(t, e, query) {
			fmt.Fprintln(&all, row...)
		}
	}
	return all.String()
}

// TestPastKilledBetweenStatements: whatever changes a memory, and before whichever statement it is killed who does it, what is left is all that it was before, or
// all that it was after.
func TestPastKilledBetweenStatements(t *testing.T) {
	if testing.Short() {
		t.Skip("short: a file for every statement")
	}
	original := enginetest.NewFile(t)
	historyFile(t, original)
	for _, deed := range historyDeeds {
		t.Run(deed.name, func(t *testing.T) {
			t.Parallel()
			sweep(t, original, deed, historyState)
		})
	}
}
