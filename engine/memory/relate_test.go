package memory_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/memory"
)

// chain remembers so many memories, m-1 and so on, of which each but the last triggers the next.
func chain(t *testing.T, e *engine.Engine, n int) {
	t.Helper()
	for i := range n {
		enginetest.Remember(t, e, memory.RememberRequest{ID: fmt.Sprint("chain-", i+1), Text: fmt.Sprint("statement number ", i+1)})
	}
	for i := 1; i < n; i++ {
		relate(t, e, memory.RelateRequest{ID: fmt.Sprint("chain-", i), TargetID: fmt.Sprint("chain-", i+1), Type: "triggers"})
	}
}

func relate(t *testing.T, e *engine.Engine, r memory.RelateRequest) {
	t.Helper()
	if _, err := e.Relate(t.Context(), r); err != nil {
		t.Fatalf("%+v: %v", r, err)
	}
}

// relatedTo gives what a request finds: step, id, weight.
func relatedTo(t *testing.T, e *engine.Engine, r memory.RelatedRequest) string {
	t.Helper()
	all, err := e.Related(t.Context(), r)
	if err != nil {
		t.Fatalf("%+v: %v", r, err)
	}
	var found []string
	for _, s := range all {
		found = append(found, fmt.Sprintf("%d %s %.2f", s.Depth, s.Memory.ID, s.Weight))
	}
	return strings.Join(found, ", ")
}

// TestGoClaw3IRelatedByDepth: one step finds one, two find two, three find three, and there is no fourth.
func TestGoClaw3IRelatedByDepth(t *testing.T) {
	e := enginetest.Open(t, engine.Options{})
	chain(t, e, 5)
	for depth, want := range []string{"1 chain-2 1.00", "1 chain-2 1.00", "1 chain-2 1.00, 2 chain-3 1.00", "1 chain-2 1.00, 2 chain-3 1.00, 3 chain-4 1.00"} {
		if got := relatedTo(t, e, memory.RelatedRequest{ID: "chain-1", Depth: depth}); got != want {
			t.Errorf("depth %d finds %q, want %q", depth, got, want)
		}
	}
	if got, want := relatedTo(t, e, memory.RelatedRequest{ID: "chain-3"}), "1 chain-2 1.00, 1 chain-4 1.00"; got != want {
		t.Errorf("in the middle: %q, want both ways: %q", got, want)
	}
	for _, depth := range []int{-1, 4} {
		if _, err := e.Related(t.Context(), memory.RelatedRequest{ID: "chain-1", Depth: depth}); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("depth %d: %v", depth, err)
		}
	}
}

// TestGoClaw3IRelations: names, direction, weight, types.
func TestGoClaw3IRelations(t *testing.T) {
	e := enginetest.Open(t, engine.Options{})
	for _, id := range []string{"first", "second", "third"} {
		enginetest.Remember(t, e, memory.RememberRequest{ID: id, Text: "the " + id})
	}
	for _, what := range memory.RelationTypes() {
		relate(t, e, memory.RelateRequest{ID: "first", TargetID: "second", Type: what, Weight: 0.5})
	}
	if n := len(enginetest.Get(t, e, "first").Relations); n != 13 {
		t.Errorf("%d relations, want thirteen", n)
	}
	relate(t, e, memory.RelateRequest{ID: "second", TargetID: "first", Type: "contradicts", Weight: 0.9}) // holds both ways: the one there is gets the weight
	relate(t, e, memory.RelateRequest{ID: "second", TargetID: "first", Type: "updates", Weight: 0.7})     // another one
	if diff := cmp.Diff([]memory.Relation{{Type: "updates", TargetID: "first", Weight: 0.7}}, enginetest.Get(t, e, "second").Relations); diff != "" {
		t.Errorf("second (-want +got):\n%s", diff)
	}
	relate(t, e, memory.RelateRequest{ID: "second", TargetID: "third", Weight: 0.5})
	for _, test := range []struct {
		r    memory.RelatedRequest
		want string
	}{
		{memory.RelatedRequest{ID: "first", Depth: 2}, "1 second 0.90, 2 third 0.45"},
		{memory.RelatedRequest{ID: "first", Depth: 2, Types: []string{"updates"}}, "1 second 0.70"},
		{memory.RelatedRequest{ID: "third", Depth: 2, Types: []string{"related_to", "part_of"}}, "1 second 0.50, 2 first 0.25"},
		{memory.RelatedRequest{ID: "first", Types: []string{"supersedes"}}, ""},
		{memory.RelatedRequest{ID: "first", Depth: 3, Limit: 1}, "1 second 0.90"},
	} {
		if got := relatedTo(t, e, test.r); got != test.want {
			t.Errorf("%+v finds %q, want %q", test.r, got, test.want)
		}
	}
	if err := e.Unrelate(t.Context(), memory.UnrelateRequest{ID: "second", TargetID: "first", Type: "contradicts"}); err != nil {
		t.Error(err)
	}
	if err := e.Unrelate(t.Context(), memory.UnrelateRequest{ID: "second", TargetID: "first", Type: "contradicts"}); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("twice: %v", err)
	}
	if err := e.Unrelate(t.Context(), memory.UnrelateRequest{ID: "first", TargetID: "second"}); err != nil {
		t.Error(err)
	}
	if got, want := relatedTo(t, e, memory.RelatedRequest{ID: "first"}), "1 second 0.70"; got != want {
		t.Errorf("afterwards: %q, want what second says: %q", got, want)
	}
	if h, err := e.History(t.Context(), memory.HistoryRequest{ID: "first"}); err != nil || len(h.Versions) < 14 {
		t.Errorf("a relation makes a version: %+v, %v", h, err)
	}
}

// TestRelationsKeepToScopes: nothing leads to, or through, what the agent may not read, or what was forgotten.
func TestRelationsKeepToScopes(t *testing.T) {
	e := enginetest.Open(t, engine.Options{})
	chain(t, e, 4)
	scope := "user:ines"
	if _, err := e.Update(t.Context(), memory.UpdateRequest{ID: "chain-2", Scope: &scope}); err != nil {
		t.Fatal(err)
	}
	if got := relatedTo(t, e, memory.RelatedRequest{ID: "chain-1", Depth: 3, Agent: "scout"}); got != "" {
		t.Errorf("the agent is led to %q", got)
	}
	if _, err := e.Related(t.Context(), memory.RelatedRequest{ID: "chain-2", Agent: "scout"}); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("of what the agent may not read: %v", err)
	}
	if _, err := e.Relate(t.Context(), memory.RelateRequest{ID: "chain-1", TargetID: "chain-2", Agent: "scout"}); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("to what the agent may not read: %v", err)
	}
	if _, err := e.Forget(t.Context(), memory.ForgetRequest{ID: "chain-3"}); err != nil {
		t.Fatal(err)
	}
	if got := relatedTo(t, e, memory.RelatedRequest{ID: "chain-1", Depth: 3}); got != "1 chain-2 1.00" {
		t.Errorf("past what was forgotten: %q", got)
	}
	if _, err := e.Purge(t.Context(), memory.PurgeRequest{ID: "chain-2"}); err != nil {
		t.Fatal(err)
	}
	if got := relatedTo(t, e, memory.RelatedRequest{ID: "chain-1", Depth: 3}); got != "" {
		t.Errorf("past what was purged: %q", got)
	}
}

func TestRelateRefuses(t *testing.T) {
	e := enginetest.Open(t, engine.Options{})
	chain(t, e, 2)
	for _, test := range []struct {
		r     memory.RelateRequest
		field string
	}{
		{memory.RelateRequest{ID: "chain-1", TargetID: "chain-1"}, "target_id"}, {memory.RelateRequest{ID: "chain-1", TargetID: "chain-2", Type: "supersedes"}, "type"},
		{memory.RelateRequest{ID: "chain-1", TargetID: "chain-2", Weight: 1.5}, "weight"}, {memory.RelateRequest{ID: "chain-1", TargetID: "chain-2", Weight: -1}, "weight"},
	} {
		if _, err := e.Relate(t.Context(), test.r); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), test.field+" is ") {
			t.Errorf("%+v: %v", test.r, err)
		}
	}
	var many []memory.Relation
	for i := range 16 {
		many = append(many, memory.Relation{Type: "about", TargetID: fmt.Sprint("other-", i)})
	}
	if _, err := e.Update(t.Context(), memory.UpdateRequest{ID: "chain-2", Relations: &many}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Relate(t.Context(), memory.RelateRequest{ID: "chain-2", TargetID: "chain-1", Type: "updates"}); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("a seventeenth: %v", err)
	}
}

// TestRelationsAreKept: a weight survives export and import, a version, and a moment of the past.
func TestRelationsAreKept(t *testing.T) {
	clock := &enginetest.Clock{At: enginetest.Noon}
	e := enginetest.Open(t, engine.Options{Now: clock.Now})
	chain(t, e, 2)
	clock.Advance(1e12)
	then := clock.At
	clock.Advance(1e12)
	relate(t, e, memory.RelateRequest{ID: "chain-1", TargetID: "chain-2", Type: "triggers", Weight: 0.25})
	var lines strings.Builder
	if _, err := e.Export(t.Context(), &lines, memory.ExportRequest{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(lines.String(), `"weight":0.25`) {
		t.Errorf("exported: %s", lines.String())
	}
	copied := enginetest.ImportLine(t, enginetest.Open(t, engine.Options{}), strings.SplitN(lines.String(), "\n", 2)[0])
	if diff := cmp.Diff(enginetest.Get(t, e, "chain-1").Relations, copied.Relations); diff != "" {
		t.Errorf("imported (-want +got):\n%s", diff)
	}
	was, err := e.Get(t.Context(), memory.GetRequest{ID: "chain-1", Moment: memory.Moment{KnownAt: then}})
	if err != nil || len(was.Relations) != 1 || was.Relations[0].Weight != 0 {
		t.Errorf("as it was known before: %+v, %v", was, err)
	}
}
