package memory_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
)

func TestUpdateChangesWhatIsGivenOnly(t *testing.T) {
	enginetest.Alone(t)
	clock := &enginetest.Clock{At: enginetest.Noon}
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}, Now: clock.Now})
	for _, test := range []struct {
		name    string
		request memory.UpdateRequest
		change  func(m *memory.Memory)
	}{
		{"nothing", memory.UpdateRequest{}, func(*memory.Memory) {}},
		{"text takes levels and key along", memory.UpdateRequest{Text: enginetest.Pointer("Ship: new")}, func(m *memory.Memory) {
			m.Text, m.L0, m.L1, m.L2, m.FactKey = "Ship: new", "", "", "", "entities:ship"
		}},
		{"text and a level", memory.UpdateRequest{Text: enginetest.Pointer("Ship: new"), L2: enginetest.Pointer("the story")}, func(m *memory.Memory) {
			m.Text, m.L0, m.L1, m.L2, m.FactKey = "Ship: new", "", "", "the story", "entities:ship"
		}},
		{"the same text", memory.UpdateRequest{Text: enginetest.Pointer("Ship: old")}, func(*memory.Memory) {}},
		{"levels", memory.UpdateRequest{L0: enginetest.Pointer("zero"), L1: enginetest.Pointer("one")}, func(m *memory.Memory) { m.L0, m.L1 = "zero", "one" }},
		{"a level back to its default", memory.UpdateRequest{L2: enginetest.Pointer("Ship: old")}, func(m *memory.Memory) { m.L2 = "" }},
		{"scope", memory.UpdateRequest{Scope: enginetest.Pointer("user:ines")}, func(m *memory.Memory) { m.Scope = "user:ines" }},
		{"category", memory.UpdateRequest{Category: enginetest.Pointer(memory.Event)}, func(m *memory.Memory) {
			m.Category, m.Layer, m.FactKey = memory.Event, memory.DurableLayer, ""
		}},
		{"storage word", memory.UpdateRequest{Category: enginetest.Pointer(memory.Category("decision"))}, func(m *memory.Memory) {
			m.Category, m.SourceCategory, m.Layer, m.FactKey = memory.Event, "decision", memory.DurableLayer, ""
		}},
		{"tier", memory.UpdateRequest{Tier: enginetest.Pointer(memory.Core)}, func(m *memory.Memory) { m.Tier = memory.Core }},
		{"state", memory.UpdateRequest{State: enginetest.Pointer(memory.Pending)}, func(m *memory.Memory) { m.State = memory.Pending }},
		{"layer", memory.UpdateRequest{Layer: enginetest.Pointer(memory.ArchiveLayer)}, func(m *memory.Memory) { m.Layer = memory.ArchiveLayer }},
		{"importance is also confidence", memory.UpdateRequest{Importance: enginetest.Pointer(0.9)}, func(m *memory.Memory) { m.Importance, m.Confidence = 0.9, 0.9 }},
		{"unless that is given", memory.UpdateRequest{Importance: enginetest.Pointer(0.9), Confidence: enginetest.Pointer(2.0)}, func(m *memory.Memory) { m.Importance, m.Confidence = 0.9, 1 }},
		{"confidence", memory.UpdateRequest{Confidence: enginetest.Pointer(0.0)}, func(m *memory.Memory) { m.Confidence = 0 }},
		{"never expires", memory.UpdateRequest{ValidUntil: &time.Time{}}, func(m *memory.Memory) { m.ValidUntil = time.Time{} }},
		{"expires", memory.UpdateRequest{ValidUntil: &enginetest.Noon}, func(m *memory.Memory) { m.ValidUntil = enginetest.Noon }},
		{"fact key", memory.UpdateRequest{FactKey: enginetest.Pointer("mine")}, func(m *memory.Memory) { m.FactKey = "mine" }},
		{"relations", memory.UpdateRequest{Relations: &[]memory.Relation{}}, func(m *memory.Memory) { m.Relations = nil }},
		{"extra keys", memory.UpdateRequest{Extra: map[string]any{"berth": nil, "crane": "HB-455"}}, func(m *memory.Memory) {
			m.Extra = map[string]any{"crane": "HB-455", "pier": "north"}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			want := enginetest.Remember(t, e, memory.RememberRequest{
				Text: "Ship: old", L0: "a", L1: "b", L2: "c", Category: memory.Entity, FactKey: "entities:vessel", ValidUntil: enginetest.Noon.Add(24 * time.Hour),
				Relations: []memory.Relation{{Type: "about", TargetID: "t"}}, Contexts: []string{"work"}, Key: test.name,
				Extra: map[string]any{"berth": "7", "pier": "north"},
			})
			clock.Advance(time.Minute)
			test.request.ID = want.ID
			returned, err := e.Update(t.Context(), test.request)
			if err != nil {
				t.Fatal(err)
			}
			test.change(want)
			want.UpdatedAt = clock.At
			got := enginetest.Get(t, e, want.ID)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(got, returned.Memory, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("returned is not stored (-stored +returned):\n%s", diff)
			}
		})
	}
}

func TestUpdateMovesTheIndex(t *testing.T) {
	for name, options := range map[string]engine.Options{"lexical": {}, "hybrid": {Embedder: enginetest.Words{}}} {
		t.Run(name, func(t *testing.T) {
			e := enginetest.Open(t, options)
			m := enginetest.Remember(t, e, memory.RememberRequest{Text: "green tea in the morning", Scope: "user:ines"})
			enginetest.Remember(t, e, memory.RememberRequest{Text: "the crane was painted blue"})
			for _, step := range []struct {
				request     memory.UpdateRequest
				query       recall.Query
				found, lost string // questions
			}{
				{memory.UpdateRequest{Text: enginetest.Pointer("espresso at noon")}, recall.Query{Mode: recall.LexicalMode}, "espresso", "green tea"},
				{memory.UpdateRequest{L2: enginetest.Pointer("the harbour pilot told her")}, recall.Query{Mode: recall.LexicalMode}, "pilot", "morning"},
				{memory.UpdateRequest{Scope: enginetest.Pointer("user:teo")}, recall.Query{Scopes: []string{"user:teo"}}, "espresso", ""},
				{memory.UpdateRequest{Tier: enginetest.Pointer(memory.Core)}, recall.Query{Tiers: []memory.Tier{memory.Core}}, "espresso", ""},
				{memory.UpdateRequest{Category: enginetest.Pointer(memory.Event)}, recall.Query{Categories: []memory.Category{memory.Event}}, "espresso", ""},
			} {
				step.request.ID = m.ID
				step.query.Text = step.found
				if got := enginetest.RecallIDs(t, e, step.query); len(got) != 0 && step.lost == "" {
					t.Errorf("%+v before the update: %v", step.query, got)
				}
				if _, err := e.Update(t.Context(), step.request); err != nil {
					t.Fatal(err)
				}
				if got := enginetest.RecallIDs(t, e, step.query); len(got) != 1 || got[0] != m.ID {
					t.Errorf("%+v: %v, want the memory", step.query, got)
				}
				if step.query.Text = step.lost; step.lost != "" {
					if got := enginetest.RecallIDs(t, e, step.query); len(got) != 0 {
						t.Errorf("%q still finds %v", step.lost, got)
					}
				}
				enginetest.Check(t, e)
			}
		})
	}
}

func TestUpdateRefuses(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	m := enginetest.Remember(t, e, memory.RememberRequest{Text: "x", Scope: "agent:scout"})
	gone := enginetest.Remember(t, e, memory.RememberRequest{Text: "gone"})
	if _, err := e.Forget(t.Context(), memory.ForgetRequest{ID: gone.ID}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name    string
		request memory.UpdateRequest
		want    error
		says    string
	}{
		{"unknown", memory.UpdateRequest{ID: "mem_nowhere"}, engine.ErrNotFound, "mem_nowhere"},
		{"forgotten", memory.UpdateRequest{ID: gone.ID, Text: enginetest.Pointer("y")}, engine.ErrNotFound, "was forgotten"},
		{"of another agent", memory.UpdateRequest{ID: m.ID, Agent: "teo", Text: enginetest.Pointer("y")}, engine.ErrNotFound, m.ID},
		{"into a denied scope", memory.UpdateRequest{ID: m.ID, Agent: "scout", Scope: enginetest.Pointer("agent:teo")}, engine.ErrScopeDenied, "agent:teo"},
		{"into a bad scope", memory.UpdateRequest{ID: m.ID, Scope: enginetest.Pointer("harbour")}, engine.ErrBadScope, "harbour"},
		{"blank text", memory.UpdateRequest{ID: m.ID, Text: enginetest.Pointer(" ")}, engine.ErrInvalid, "text"},
		{"category", memory.UpdateRequest{ID: m.ID, Category: enginetest.Pointer(memory.Category("odd"))}, engine.ErrInvalid, "odd"},
		{"tier", memory.UpdateRequest{ID: m.ID, Tier: enginetest.Pointer(memory.Tier("odd"))}, engine.ErrInvalid, "odd"},
		{"state", memory.UpdateRequest{ID: m.ID, State: enginetest.Pointer(memory.State("odd"))}, engine.ErrInvalid, "odd"},
		{"layer", memory.UpdateRequest{ID: m.ID, Layer: enginetest.Pointer(memory.Layer("odd"))}, engine.ErrInvalid, "odd"},
		{"an extra key that is a field", memory.UpdateRequest{ID: m.ID, Extra: map[string]any{"id": "y"}}, engine.ErrInvalid, "extra"},
	} {
		if _, err := e.Update(t.Context(), test.request); !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v, want %v that says %s", test.name, err, test.want, test.says)
		}
	}
	if diff := cmp.Diff(m, enginetest.Get(t, e, m.ID)); diff != "" {
		t.Errorf("after refused updates (-before +after):\n%s", diff)
	}
}
