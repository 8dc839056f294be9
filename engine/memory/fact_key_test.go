package memory_test

import (
	"slices"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
)

// TestFactKeyReplaces: a memory whose caller names a fact key ends the current one with that key in its scope, and no other.
func TestFactKeyReplaces(t *testing.T) {
	t.Parallel()
	clock := &enginetest.Clock{At: enginetest.Noon}
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}, Now: clock.Now})
	slot := func(text, scope string) memory.RememberRequest {
		return memory.RememberRequest{Text: text, Scope: scope, FactKey: "preferences:editor"}
	}
	remember := func(r memory.RememberRequest) memory.Remembered {
		t.Helper()
		done, err := e.Remember(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	vim := remember(slot("The editor is Vim", "user:ines"))
	elsewhere := remember(slot("The editor is Nano", "user:tom"))
	derived := remember(memory.RememberRequest{Text: "Editor: none", Category: memory.Preference, Scope: "user:ines"})
	if vim.Superseded != "" || elsewhere.Superseded != "" {
		t.Errorf("replaced %q and %q, where there was nothing", vim.Superseded, elsewhere.Superseded)
	}
	clock.Advance(time.Hour)
	helix := remember(slot("The editor is Helix", "user:ines"))
	if helix.Superseded != derived.ID {
		t.Errorf("replaced %q, want the newest, %s", helix.Superseded, derived.ID)
	}
	clock.Advance(time.Hour)
	batch, err := e.RememberMany(t.Context(), []memory.RememberRequest{slot("The editor is Emacs", "user:ines"), slot("The editor is Zed", "user:ines"), slot("The editor is Ed", "project:old")})
	if err != nil || batch[0].Superseded != helix.ID || batch[1].Superseded != batch[0].ID || batch[2].Superseded != "" {
		t.Errorf("a batch: %+v, %v", batch, err)
	}
	late := slot("The editor was Pico", "user:ines")
	late.ValidFrom = enginetest.Noon.AddDate(-1, 0, 0)
	if r := remember(late); r.Superseded != "" {
		t.Errorf("what was true a year ago replaced %q", r.Superseded)
	}
	if m, err := e.Get(t.Context(), memory.GetRequest{ID: vim.ID}); err != nil || m.InvalidatedAt.IsZero() || m.SupersededBy != "" || !slices.Contains(m.Relations, memory.Relation{Type: "superseded_by", TargetID: helix.ID}) {
		t.Errorf("the other with that key: %+v, %v, want it ended, with a relation", m, err)
	}
	for id, by := range map[string]string{derived.ID: helix.ID, helix.ID: batch[0].ID, batch[0].ID: batch[1].ID, batch[1].ID: "", elsewhere.ID: ""} {
		m, err := e.Get(t.Context(), memory.GetRequest{ID: id})
		if err != nil || m.SupersededBy != by || (by == "") != m.InvalidatedAt.IsZero() {
			t.Errorf("%s: %q since %v, %v, want %q", m.Text, m.SupersededBy, m.InvalidatedAt, err, by)
		}
	}
	result, err := e.Recall(t.Context(), recall.Query{Text: "Which editor is it?", Scopes: []string{"user:ines"}})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, h := range result.Hits {
		got[h.Text] = true
	}
	enginetest.Equal(t, "found", map[string]bool{"The editor is Zed": true, "The editor was Pico": true}, got)
	again, err := e.Remember(t.Context(), memory.RememberRequest{Text: "The editor is Zed", Scope: "user:ines", FactKey: "preferences:editor", Unique: true})
	if err != nil || again.Created || again.Superseded != "" {
		t.Errorf("the same again: %+v, %v", again, err)
	}
	enginetest.Check(t, e)
}
