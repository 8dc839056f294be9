package session_test

import (
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/build"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/session"
	"github.com/mallardmem/mallard/engine/window"
)

// TestContextsOfSessions builds every preset over every session of the fixtures, with their tools, images, branches and summaries: budgets hold or it is said that they
// don't, what is set aside is not shown, calls of tools stand with their results, both providers take it, and it can be built again.
func TestContextsOfSessions(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	for _, path := range fixtures(t) {
		if _, err := session.Import(t.Context(), e, session.ImportRequest{Paths: []string{path}}); err != nil {
			t.Fatal(err)
		}
	}
	all, err := e.Conversations(t.Context(), "")
	if err != nil || len(all) < 15 {
		t.Fatalf("%d conversations, %v", len(all), err)
	}
	shown := map[string]int{}
	for _, c := range all {
		aside := map[string]bool{}
		messages, err := e.Messages(t.Context(), conversation.MessagesRequest{Conversation: c.ID, Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range messages {
			aside[m.ID] = m.SetAside != ""
		}
		for _, p := range build.Presets() {
			for _, budget := range []int{0, 60, 400} {
				r := build.Request{Conversation: c.ID, Preset: p.Name, Input: "And what is left to do?", Snapshot: true}
				if budget > 0 && p.Budget.Max > 0 {
					r.Budget = budget + p.Budget.Reserve
				}
				b, err := e.Build(t.Context(), r)
				if err != nil {
					t.Errorf("%s, %s, budget %d: %v", c.Name, p.Name, budget, err)
					continue
				}
				cost := b.Counts.Cost
				if p.Budget.Of == build.OfHistory {
					cost = 0
				}
				for _, it := range b.Items {
					if it.Kept && p.Budget.Of == build.OfHistory && it.Section == build.History {
						cost += it.Cost
					}
					if it.Kept && aside[it.ID] {
						t.Errorf("%s, %s: %s is set aside and shown", c.Name, p.Name, it.Name)
					}
					if it.Kept {
						shown[it.Kind]++
					}
				}
				if room := b.Counts.Budget; room > 0 && cost > room && !b.OverBudget {
					t.Errorf("%s, %s, budget %d: costs %d of %d, and nothing is said", c.Name, p.Name, budget, cost, room)
				}
				open := map[string]bool{}
				for _, m := range b.OpenAI() {
					for _, call := range m.ToolCalls {
						open[call.ID] = true
					}
					if m.Role == window.Tool && !open[m.ToolCallID] {
						t.Errorf("%s, %s, budget %d: the result of %s stands without its call", c.Name, p.Name, budget, m.ToolCallID)
					}
					delete(open, m.ToolCallID)
				}
				if len(open) > 0 {
					t.Errorf("%s, %s, budget %d: calls without results: %v", c.Name, p.Name, budget, open)
				}
				b.Anthropic()
				if v, err := e.VerifyContext(t.Context(), b.SnapshotID, ""); err != nil || !v.Same {
					t.Errorf("%s, %s, budget %d: built again: %+v, %v", c.Name, p.Name, budget, v, err)
				}
			}
		}
	}
	for _, kind := range []string{"message", "summary", "tool", "input"} {
		if shown[kind] == 0 {
			t.Errorf("nothing of the kind %s was shown", kind)
		}
	}
}
