package memory_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
)

func maintain(t *testing.T, e *engine.Engine, r memory.MaintainRequest) *engine.Maintained {
	t.Helper()
	done, err := e.Maintain(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// TestMergeDuplicates: what says the same within a scope and a category becomes one, and is found as of before; what differs in a name, a number, a denial, scope, category or
// state, or is new, stays.
func TestMergeDuplicates(t *testing.T) {
	enginetest.Alone(t)
	clock := &enginetest.Clock{At: enginetest.Noon}
	vectors := map[string][]float32{}
	near, other := []float32{1, 0, 0}, []float32{0, 0, 1}
	texts := map[string]string{
		"a1": "the harbor crew likes strong tea", "a2": "the harbor crew likes very strong tea", "a3": "The  harbor crew likes strong TEA",
		"b1": "the release is on day 14", "b2": "the release is on day 15",
		"c1": "the crane is painted blue", "c2": "the crane is not painted blue",
		"d1": "Ines waters the office plants", "d2": "Bruno waters the office plants",
		"e1": "the mast needs new ropes", "e2": "the mast needs new ropes",
		"f1": "the dock closes at night", "f2": "the dock closes at night",
		"g1": "the gate opens by itself", "g2": "the gate opens by itself",
	}
	for _, text := range texts {
		vectors[text] = near
	}
	vectors[texts["a1"]], vectors[texts["a2"]] = other, []float32{0, 0.43589, 0.9}
	e := enginetest.Open(t, engine.Options{Now: clock.Now, Embedder: enginetest.Plotted{N: 3, Vectors: vectors}})
	for _, id := range []string{"a1", "a2", "a3", "b1", "b2", "c1", "c2", "d1", "d2", "e1", "e2", "f1", "f2", "g1"} {
		r := memory.RememberRequest{ID: "mem_" + id, Text: texts[id], Importance: enginetest.Pointer(0.5)}
		switch id {
		case "a1":
			r.Importance = enginetest.Pointer(0.9)
		case "e2":
			r.Scope = "user:ines"
		case "f2":
			r.State = memory.Archived
		}
		enginetest.Remember(t, e, r)
	}
	clock.Advance(8 * 24 * time.Hour)
	enginetest.Remember(t, e, memory.RememberRequest{ID: "mem_g2", Text: texts["g2"]}) // too young
	for _, dry := range []bool{true, false} {
		done := maintain(t, e, memory.MaintainRequest{DryRun: dry})
		if len(done.Merged) != 1 {
			t.Fatalf("dry %v: merged %+v", dry, done.Merged)
		}
		m := done.Merged[0]
		if strings.Join(m.From, " ") != "mem_a1 mem_a3 mem_a2" || !m.New || m.Text != texts["a1"]+"\n"+texts["a2"] {
			t.Errorf("dry %v: %+v", dry, m)
		}
		if dry {
			if old := enginetest.Get(t, e, "mem_a1"); !old.InvalidatedAt.IsZero() {
				t.Errorf("a dry run ended %+v", old)
			}
			continue
		}
		into := enginetest.Get(t, e, m.Into)
		if into.Importance != 0.9 || into.L0 != texts["a1"] || fmt.Sprint(into.Extra["source_count"]) != "3" {
			t.Errorf("merged into %+v", into)
		}
		for _, id := range m.From {
			if old := enginetest.Get(t, e, id); !old.InvalidatedAt.Equal(clock.At) || old.CanonicalID != m.Into {
				t.Errorf("%s: %+v", id, old)
			}
		}
		q := recall.Query{Text: "which tea does the harbor crew like?", Weights: enginetest.PlainWeights(), Mode: recall.LexicalMode}
		if ids := enginetest.RecallIDs(t, e, q); ids[0] != m.Into || strings.Contains(fmt.Sprint(ids), "mem_a") {
			t.Errorf("recalled %v", ids)
		}
		q.AsOf = clock.At.Add(-time.Hour)
		if ids := fmt.Sprint(enginetest.RecallIDs(t, e, q)); !strings.Contains(ids, "mem_a1") || !strings.Contains(ids, "mem_a2") || strings.Contains(ids, m.Into) {
			t.Errorf("recalled as of before: %v", ids)
		}
	}
	clock.Advance(8 * 24 * time.Hour)
	done := maintain(t, e, memory.MaintainRequest{})
	if len(done.Merged) != 1 || done.Merged[0].New || done.Merged[0].Into != "mem_g2" || enginetest.Get(t, e, "mem_g1").CanonicalID != "mem_g2" {
		t.Errorf("merged %+v", done.Merged)
	}
	if again := maintain(t, e, memory.MaintainRequest{MinAge: -1}); len(again.Merged) != 0 {
		t.Errorf("merged again: %+v", again.Merged)
	}
	if _, err := e.Maintain(t.Context(), memory.MaintainRequest{Similarity: 0.4}); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("a similarity of 0.4: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Maintain(ctx, memory.MaintainRequest{}); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
}

// TestMergeByVectors has the vectors Y of spec/memories.md 7.2, with the words around them that ours wants two statements to share: the seed is the most important, and takes
// what is near to it. The texts of the vector as they stand, "A" against "B", have other names, and so never become one here, however near they lie.
func TestMergeByVectors(t *testing.T) {
	enginetest.Alone(t)
	clock := &enginetest.Clock{At: enginetest.Noon}
	e := enginetest.Open(t, engine.Options{Now: clock.Now, Embedder: enginetest.Plotted{N: 3, Vectors: map[string][]float32{
		"apple ropes\nshared mast ropes": {1, 0, 0}, "Shared mast ropes\nbirch ropes": {0.9, 0.43588989, 0}, "shared mast ropes\ncedar ropes": {0.44, 0.89799777, 0}, "the fair is on": {0, 0, 1},
		"A\nshared": {1, 0, 0}, "Shared\nB": {0.9, 0.43588989, 0},
	}}})
	for _, m := range []struct {
		id, text, scope string
		importance      float64
	}{
		{"a", "apple ropes\nshared mast ropes", "global", 0.5}, {"b", "Shared mast ropes\nbirch ropes", "global", 0.9}, {"c", "shared mast ropes\ncedar ropes", "global", 0.5},
		{"d", "the fair is on", "global", 0.5}, {"literal_a", "A\nshared", "user:ines", 0.5}, {"literal_b", "Shared\nB", "user:ines", 0.9},
	} {
		enginetest.Remember(t, e, memory.RememberRequest{ID: "mem_" + m.id, Text: m.text, Scope: m.scope, Importance: &m.importance})
	}
	clock.Advance(8 * 24 * time.Hour)
	done := maintain(t, e, memory.MaintainRequest{})
	if len(done.Merged) != 1 || strings.Join(done.Merged[0].From, " ") != "mem_b mem_a" || done.Merged[0].Text != "Shared mast ropes\nbirch ropes\napple ropes" {
		t.Fatalf("merged %+v", done.Merged)
	}
	if m := enginetest.Get(t, e, done.Merged[0].Into); m.Importance != 0.9 {
		t.Errorf("merged into one of importance %v", m.Importance)
	}
}

// TestExpired: what came to its end is told once.
func TestExpired(t *testing.T) {
	enginetest.Alone(t)
	clock := &enginetest.Clock{At: enginetest.Noon}
	e := enginetest.Open(t, engine.Options{Now: clock.Now})
	for i, hours := range []int{1, 2, 30} {
		enginetest.Remember(t, e, memory.RememberRequest{ID: fmt.Sprint("mem_", i), Text: fmt.Sprint("The tide is high ", i), ValidUntil: clock.At.Add(time.Duration(hours) * time.Hour)})
	}
	clock.Advance(3 * time.Hour)
	for _, test := range []struct {
		dry  bool
		want string
	}{{true, "[mem_0 mem_1]"}, {false, "[mem_0 mem_1]"}, {false, "[]"}} {
		if done := maintain(t, e, memory.MaintainRequest{DryRun: test.dry}); fmt.Sprint(done.Expired) != test.want {
			t.Errorf("dry %v: expired %v, want %s", test.dry, done.Expired, test.want)
		}
	}
	clock.Advance(30 * time.Hour)
	if done := maintain(t, e, memory.MaintainRequest{}); fmt.Sprint(done.Expired) != "[mem_2]" {
		t.Errorf("a day later: %v", done.Expired)
	}
}

// TestRetention: rules take what they are about, the first that does has it; a dry run takes nothing and tells what they would have taken in the past, and what of that was
// used afterwards. The file keeps its policy.
func TestRetention(t *testing.T) {
	enginetest.Alone(t)
	clock := &enginetest.Clock{At: enginetest.Noon}
	e := enginetest.Open(t, engine.Options{Now: clock.Now})
	day := 24 * time.Hour
	for _, m := range []struct {
		id        string
		category  memory.Category
		tier      memory.Tier
		made, use int // days ago; use 0: never
		uses      int
	}{
		{"old", memory.Event, memory.Peripheral, 200, 0, 0},
		{"used", memory.Event, memory.Peripheral, 400, 10, 1},      // after 390 days: it would have been gone
		{"oftenused", memory.Event, memory.Peripheral, 400, 10, 5}, // nobody knows
		{"faded", memory.Event, memory.Peripheral, 400, 190, 5},
		{"young", memory.Event, memory.Peripheral, 100, 0, 0},
		{"core", memory.Event, memory.Core, 300, 0, 0},
		{"case", memory.Case, memory.Peripheral, 300, 0, 0},
	} {
		enginetest.Remember(t, e, memory.RememberRequest{ID: "mem_" + m.id, Text: "The log has " + m.id, Category: m.category, Tier: m.tier, CreatedAt: clock.At.Add(-time.Duration(m.made) * day)})
		if m.uses > 0 {
			if err := enginetest.TamperOpen(t.Context(), e, "UPDATE memories SET access_count = ?, last_accessed_at = ? WHERE id = ?", int32(m.uses), clock.At.Add(-time.Duration(m.use)*day), "mem_"+m.id); err != nil {
				t.Fatal(err)
			}
		}
	}
	policy := memory.Retention{Rules: []memory.RetentionRule{
		{Name: "events", Categories: []memory.Category{memory.Event}, Tiers: []memory.Tier{memory.Peripheral}, UnusedDays: 180, Action: memory.ForgetAction},
		{Name: "all", Tiers: []memory.Tier{memory.Peripheral}, OlderDays: 250, UnusedDays: 180, Action: memory.ArchiveAction},
	}}
	want := "events: [mem_old mem_faded], 3 and 1; all: [mem_case], 3 and 1; "
	tell := func(done *engine.Maintained) (s string) {
		for _, r := range done.Retained {
			s += fmt.Sprintf("%s: %v, %d and %d; ", r.Rule, r.Taken, r.Simulated, r.Missed)
		}
		return s
	}
	if got := tell(maintain(t, e, memory.MaintainRequest{DryRun: true, Retention: &policy})); got != want {
		t.Errorf("a dry run: %s, want %s", got, want)
	}
	if got := tell(maintain(t, e, memory.MaintainRequest{})); got != "" || !enginetest.Get(t, e, "mem_old").RetiredAt.IsZero() {
		t.Errorf("without a policy: %s", got)
	}
	if err := e.SetRetention(t.Context(), policy); err != nil {
		t.Fatal(err)
	}
	if got := tell(maintain(t, e, memory.MaintainRequest{})); !strings.HasPrefix(got, "events: [mem_old mem_faded], ") || !strings.Contains(got, "all: [mem_case], ") {
		t.Errorf("by the file's policy: %s", got)
	}
	if m := enginetest.Get(t, e, "mem_old"); m.RetiredReason != "retention: events" {
		t.Errorf("forgotten: %+v", m)
	}
	if m := enginetest.Get(t, e, "mem_case"); m.State != memory.Archived || m.Layer != memory.ArchiveLayer || m.Extra["archive_reason"] != "retention: all" {
		t.Errorf("archived: %+v", m)
	}
	for _, bad := range []memory.RetentionRule{{Name: "x", Action: "forget"}, {Name: "x", UnusedDays: 1, Action: "burn"}, {UnusedDays: 1, Action: "forget"}, {Name: "x", UnusedDays: 1, Action: "forget", LessImportant: 2},
		{Name: "x", UnusedDays: 1, Action: "forget", Tiers: []memory.Tier{"hot"}}, {Name: "x", UnusedDays: -1, OlderDays: 2, Action: "forget"}} {
		if err := e.SetRetention(t.Context(), memory.Retention{Rules: []memory.RetentionRule{bad}}); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	if err := e.SetRetention(t.Context(), memory.Retention{}); err != nil {
		t.Fatal(err)
	}
	if kept, err := e.Retention(t.Context()); err != nil || len(kept.Rules) != 0 {
		t.Errorf("removed, and there is %+v, %v", kept, err)
	}
}

// TestHealth has one memory of each sort in the views of use and of health.
func TestHealth(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{Now: time.Now})
	ago := time.Now().AddDate(0, 0, -200)
	for _, r := range []memory.RememberRequest{
		{ID: "mem_lamp", Text: "The lamp is green"}, {ID: "mem_pending", Text: "The door is blue", State: memory.Pending}, {ID: "mem_archive", Text: "The mast is red", Layer: memory.ArchiveLayer},
		{ID: "mem_faded", Text: "The tide is low", CreatedAt: ago, Tier: memory.Peripheral}, {ID: "mem_over", Text: "The fair is on", CreatedAt: ago, ValidUntil: ago.Add(time.Hour)},
		{ID: "mem_gone", Text: "The dock is shut"}, {ID: "mem_other", Text: "The gate is open", Scope: "user:ines"},
	} {
		enginetest.Remember(t, e, r)
	}
	if _, err := e.Supersede(t.Context(), memory.SupersedeRequest{ID: "mem_lamp", By: memory.RememberRequest{ID: "mem_new", Text: "The lamp is white"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Forget(t.Context(), memory.ForgetRequest{ID: "mem_gone"}); err != nil {
		t.Fatal(err)
	}
	e.Touch("mem_new")
	if _, err := e.FlushTouches(t.Context()); err != nil {
		t.Fatal(err)
	}
	ask := func(query string) string {
		t.Helper()
		table, err := e.Query(t.Context(), query, 0)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(table.Rows)
	}
	if got, want := ask("SELECT * EXCLUDE (importance, confidence, composite) FROM report.memory_health ORDER BY scope"), "[[global 7 4 1 1 1 1 1 0 1 1 0 2] [user:ines 1 1 0 0 0 0 0 0 1 0 0 1]]"; got != want {
		t.Errorf("health: %s, want %s", got, want)
	}
	if got, want := ask("SELECT id, access_count, injected_count, suppressed, confirmed FROM report.touches"), "[[mem_new 1 0 false <nil>]]"; got != want {
		t.Errorf("touches: %s, want %s", got, want)
	}
}

// TestUseMakesVersions: a memory that came to another tier, or became more important by use, was otherwise before, and history tells; use alone changes nothing that it keeps.
func TestUseMakesVersions(t *testing.T) {
	enginetest.Alone(t)
	clock := &enginetest.Clock{At: enginetest.Noon}
	e := enginetest.Open(t, engine.Options{Now: clock.Now})
	old := enginetest.Remember(t, e, memory.RememberRequest{Text: "The lamp is green"}).ID
	liked := enginetest.Remember(t, e, memory.RememberRequest{Text: "The door is blue"}).ID
	versions := func(id string) (n int, first *memory.Memory) {
		t.Helper()
		h, err := e.History(t.Context(), memory.HistoryRequest{ID: id})
		if err != nil || len(h.Versions) == 0 {
			t.Fatal(h, err)
		}
		return len(h.Versions), h.Versions[0].Memory
	}
	alone, _ := versions(old)
	clock.Advance(61 * 24 * time.Hour)
	e.Touch(liked, liked, liked)
	if _, err := e.FlushTouches(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, _ := versions(liked); n != alone {
		t.Errorf("%d versions by use alone, want %d", n, alone)
	}
	enginetest.Memories(e).NoteFeedback(true, liked)
	if done := maintain(t, e, memory.MaintainRequest{}); len(done.Tiers) != 1 {
		t.Errorf("%+v", done.Tiers)
	}
	if n, first := versions(old); n != alone+1 || first.Tier != memory.Working {
		t.Errorf("%d versions of what came to another tier, the first %s", n, first.Tier)
	}
	if n, first := versions(liked); n != alone+1 || first.Importance != 0.7 || enginetest.Get(t, e, liked).Importance != 0.75 {
		t.Errorf("%d versions of what was of use, the first of importance %v", n, first.Importance)
	}
}
