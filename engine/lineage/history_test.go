package lineage_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/memory"
)

// TestRetractedWasNeverTrue: in exact history what a retraction withdrew is true at no time, was known while it was, and is true again when that is undone.
func TestRetractedWasNeverTrue(t *testing.T) {
	t.Parallel()
	clock := &enginetest.Clock{At: enginetest.Noon}
	e := enginetest.Open(t, engine.Options{Now: clock.Now})
	old := enginetest.Remember(t, e, memory.RememberRequest{ID: "mem_old", Text: "the crane works"})
	from := enginetest.Remember(t, e, memory.RememberRequest{ID: "mem_from", Text: "somebody said so"})
	clock.Advance(time.Hour)
	if _, err := e.Supersede(t.Context(), memory.SupersedeRequest{ID: old.ID, By: memory.RememberRequest{ID: "mem_new", Text: "the crane is broken", Sources: []string{from.ID}}}); err != nil {
		t.Fatal(err)
	}
	clock.Advance(time.Hour)
	believed := clock.At
	clock.Advance(time.Hour)
	done := retract(t, e, from.ID)
	withdrawn := clock.At
	clock.Advance(time.Hour)
	at := func(what string, m memory.Moment, want ...string) {
		t.Helper()
		all, err := e.List(t.Context(), memory.ListRequest{Moment: m, Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		got := []string{}
		for _, m := range all {
			got = append(got, m.ID)
		}
		slices.Sort(got)
		if !cmp.Equal(want, got) {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	at("true then", memory.Moment{AsOf: believed}, "mem_old")
	at("known then", memory.Moment{KnownAt: believed}, "mem_from", "mem_new")
	at("known when it was withdrawn", memory.Moment{KnownAt: withdrawn}, "mem_old")
	undo(t, e, done.ID)
	clock.Advance(time.Hour)
	at("true then, undone", memory.Moment{AsOf: believed}, "mem_from", "mem_new")
	at("known when it was withdrawn, undone", memory.Moment{KnownAt: withdrawn}, "mem_old")
}
