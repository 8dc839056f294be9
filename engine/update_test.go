package engine_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
)

func TestUpdateChangesWhatIsGivenOnly(t *testing.T) {
	alone(t)
	clock := &movingClock{noon}
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}, Now: clock.now})
	for _, test := range []struct {
		name    string
		request engine.UpdateRequest
		change  func(m *engine.Memory)
	}{
		{"nothing", engine.UpdateRequest{}, func(*engine.Memory) {}},
		{"text takes levels and key along", engine.UpdateRequest{Text: pointer("Ship: new")}, func(m *engine.Memory) {
			m.Text, m.L0, m.L1, m.L2, m.FactKey = "Ship: new", "", "", "", "entities:ship"
		}},
		{"text and a level", engine.UpdateRequest{Text: pointer("Ship: new"), L2: pointer("the story")}, func(m *engine.Memory) {
			m.Text, m.L0, m.L1, m.L2, m.FactKey = "Ship: new", "", "", "the story", "entities:ship"
		}},
		{"the same text", engine.UpdateRequest{Text: pointer("Ship: old")}, func(*engine.Memory) {}},
		{"levels", engine.UpdateRequest{L0: pointer("zero"), L1: pointer("one")}, func(m *engine.Memory) { m.L0, m.L1 = "zero", "one" }},
		{"a level back to its default", engine.UpdateRequest{L2: pointer("Ship: old")}, func(m *engine.Memory) { m.L2 = "" }},
		{"scope", engine.UpdateRequest{Scope: pointer("user:ines")}, func(m *engine.Memory) { m.Scope = "user:ines" }},
		{"category", engine.UpdateRequest{Category: pointer(engine.Event)}, func(m *engine.Memory) {
			m.Category, m.Layer, m.FactKey = engine.Event, engine.DurableLayer, ""
		}},
		{"storage word", engine.UpdateRequest{Category: pointer(engine.Category("decision"))}, func(m *engine.Memory) {
			m.Category, m.SourceCategory, m.Layer, m.FactKey = engine.Event, "decision", engine.DurableLayer, ""
		}},
		{"tier", engine.UpdateRequest{Tier: pointer(engine.Core)}, func(m *engine.Memory) { m.Tier = engine.Core }},
		{"state", engine.UpdateRequest{State: pointer(engine.Pending)}, func(m *engine.Memory) { m.State = engine.Pending }},
		{"layer", engine.UpdateRequest{Layer: pointer(engine.ArchiveLayer)}, func(m *engine.Memory) { m.Layer = engine.ArchiveLayer }},
		{"importance is also confidence", engine.UpdateRequest{Importance: pointer(0.9)}, func(m *engine.Memory) { m.Importance, m.Confidence = 0.9, 0.9 }},
		{"unless that is given", engine.UpdateRequest{Importance: pointer(0.9), Confidence: pointer(2.0)}, func(m *engine.Memory) { m.Importance, m.Confidence = 0.9, 1 }},
		{"confidence", engine.UpdateRequest{Confidence: pointer(0.0)}, func(m *engine.Memory) { m.Confidence = 0 }},
		{"never expires", engine.UpdateRequest{ValidUntil: &time.Time{}}, func(m *engine.Memory) { m.ValidUntil = time.Time{} }},
		{"expires", engine.UpdateRequest{ValidUntil: &noon}, func(m *engine.Memory) { m.ValidUntil = noon }},
		{"fact key", engine.UpdateRequest{FactKey: pointer("mine")}, func(m *engine.Memory) { m.FactKey = "mine" }},
		{"relations", engine.UpdateRequest{Relations: &[]engine.Relation{}}, func(m *engine.Memory) { m.Relations = nil }},
		{"extra keys", engine.UpdateRequest{Extra: map[string]any{"berth": nil, "crane": "HB-455"}}, func(m *engine.Memory) {
			m.Extra = map[string]any{"crane": "HB-455", "pier": "north"}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			want := stored(t, e, engine.RememberRequest{
				Text: "Ship: old", L0: "a", L1: "b", L2: "c", Category: engine.Entity, FactKey: "entities:vessel", ValidUntil: noon.Add(24 * time.Hour),
				Relations: []engine.Relation{{Type: "about", TargetID: "t"}}, Contexts: []string{"work"}, Key: test.name,
				Extra: map[string]any{"berth": "7", "pier": "north"},
			})
			clock.advance(time.Minute)
			test.request.ID = want.ID
			returned, err := e.Update(t.Context(), test.request)
			if err != nil {
				t.Fatal(err)
			}
			test.change(want)
			want.UpdatedAt = clock.at
			got := gotten(t, e, want.ID)
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
			m := stored(t, e, engine.RememberRequest{Text: "green tea in the morning", Scope: "user:ines"})
			stored(t, e, engine.RememberRequest{Text: "the crane was painted blue"})
			for _, step := range []struct {
				request     engine.UpdateRequest
				query       engine.RecallQuery
				found, lost string // questions
			}{
				{engine.UpdateRequest{Text: pointer("espresso at noon")}, engine.RecallQuery{Mode: engine.LexicalMode}, "espresso", "green tea"},
				{engine.UpdateRequest{L2: pointer("the harbour pilot told her")}, engine.RecallQuery{Mode: engine.LexicalMode}, "pilot", "morning"},
				{engine.UpdateRequest{Scope: pointer("user:teo")}, engine.RecallQuery{Scopes: []string{"user:teo"}}, "espresso", ""},
				{engine.UpdateRequest{Tier: pointer(engine.Core)}, engine.RecallQuery{Tiers: []engine.Tier{engine.Core}}, "espresso", ""},
				{engine.UpdateRequest{Category: pointer(engine.Event)}, engine.RecallQuery{Categories: []engine.Category{engine.Event}}, "espresso", ""},
			} {
				step.request.ID = m.ID
				step.query.Text = step.found
				if got := recalled(t, e, step.query); len(got) != 0 && step.lost == "" {
					t.Errorf("%+v before the update: %v", step.query, got)
				}
				if _, err := e.Update(t.Context(), step.request); err != nil {
					t.Fatal(err)
				}
				if got := recalled(t, e, step.query); len(got) != 1 || got[0] != m.ID {
					t.Errorf("%+v: %v, want the memory", step.query, got)
				}
				if step.query.Text = step.lost; step.lost != "" {
					if got := recalled(t, e, step.query); len(got) != 0 {
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
	m := stored(t, e, engine.RememberRequest{Text: "x", Scope: "agent:scout"})
	gone := stored(t, e, engine.RememberRequest{Text: "gone"})
	if _, err := e.Forget(t.Context(), engine.ForgetRequest{ID: gone.ID}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name    string
		request engine.UpdateRequest
		want    error
		says    string
	}{
		{"unknown", engine.UpdateRequest{ID: "mem_nowhere"}, engine.ErrNotFound, "mem_nowhere"},
		{"forgotten", engine.UpdateRequest{ID: gone.ID, Text: pointer("y")}, engine.ErrNotFound, "was forgotten"},
		{"of another agent", engine.UpdateRequest{ID: m.ID, Agent: "teo", Text: pointer("y")}, engine.ErrNotFound, m.ID},
		{"into a denied scope", engine.UpdateRequest{ID: m.ID, Agent: "scout", Scope: pointer("agent:teo")}, engine.ErrScopeDenied, "agent:teo"},
		{"into a bad scope", engine.UpdateRequest{ID: m.ID, Scope: pointer("harbour")}, engine.ErrBadScope, "harbour"},
		{"blank text", engine.UpdateRequest{ID: m.ID, Text: pointer(" ")}, engine.ErrInvalid, "text"},
		{"category", engine.UpdateRequest{ID: m.ID, Category: pointer(engine.Category("odd"))}, engine.ErrInvalid, "odd"},
		{"tier", engine.UpdateRequest{ID: m.ID, Tier: pointer(engine.Tier("odd"))}, engine.ErrInvalid, "odd"},
		{"state", engine.UpdateRequest{ID: m.ID, State: pointer(engine.State("odd"))}, engine.ErrInvalid, "odd"},
		{"layer", engine.UpdateRequest{ID: m.ID, Layer: pointer(engine.Layer("odd"))}, engine.ErrInvalid, "odd"},
		{"an extra key that is a field", engine.UpdateRequest{ID: m.ID, Extra: map[string]any{"id": "y"}}, engine.ErrInvalid, "extra"},
	} {
		if _, err := e.Update(t.Context(), test.request); !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v, want %v that says %s", test.name, err, test.want, test.says)
		}
	}
	if diff := cmp.Diff(m, gotten(t, e, m.ID)); diff != "" {
		t.Errorf("after refused updates (-before +after):\n%s", diff)
	}
}
