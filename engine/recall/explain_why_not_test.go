package recall_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/embed/static"
	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
)

func TestWhyNotFilters(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}, NewID: enginetest.CountedIDs()})
	crane := enginetest.Remember(t, e, memory.RememberRequest{Text: "The crane is blue", Scope: "project:harbor", Category: memory.Profile, CreatedAt: enginetest.Noon.AddDate(0, -1, 0),
		Extra: map[string]any{"ticket": "4"}})
	later := enginetest.Remember(t, e, memory.RememberRequest{Text: "The crane is green", ValidFrom: enginetest.Noon.AddDate(0, 1, 0)})
	old := enginetest.Remember(t, e, memory.RememberRequest{Text: "The crane was red", CreatedAt: enginetest.Noon.AddDate(0, -2, 0)})
	newer, err := e.Supersede(t.Context(), memory.SupersedeRequest{ID: old.ID, By: memory.RememberRequest{Text: "The crane was repainted", ValidFrom: enginetest.Noon.AddDate(0, 0, -1)}})
	if err != nil {
		t.Fatal(err)
	}
	gone := enginetest.Remember(t, e, memory.RememberRequest{Text: "The crane is rusty"})
	if _, err := e.Forget(t.Context(), memory.ForgetRequest{ID: gone.ID, Reason: "a rumour"}); err != nil {
		t.Fatal(err)
	}
	shelved := enginetest.Remember(t, e, memory.RememberRequest{Text: "The crane was painted", State: memory.Archived})
	turn := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "quay", Messages: []conversation.Message{{Text: "The crane again"}}}).IDs[0]
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "dock", Messages: []conversation.Message{{Text: "No crane here"}}})
	messages := []kinds.Kind{kinds.Message}
	for _, test := range []struct {
		id      string
		query   recall.Query
		filters string
		reason  string
	}{
		{turn, recall.Query{}, "kind", "It is a message, and asked for is memory."},
		{crane.ID, recall.Query{Scopes: []string{"global", "user:ines"}}, "scope", "Its scope project:harbor was not asked, only global, user:ines."},
		{crane.ID, recall.Query{Scopes: []string{}}, "scope", "only none."},
		{turn, recall.Query{Kinds: messages, Conversations: []string{"dock"}}, "conversation", "It is from quay, and only dock was asked."},
		{crane.ID, recall.Query{Kinds: kinds.All(), Conversations: []string{"dock"}}, "conversation", "It is from no conversation"},
		{crane.ID, recall.Query{Categories: []memory.Category{memory.Event, memory.Case}}, "category", "Its category is profile, and only event, case were asked."},
		{crane.ID, recall.Query{Tiers: []memory.Tier{memory.Core}}, "tier", "Its tier is working, and only core was asked."},
		{crane.ID, recall.Query{Since: enginetest.Noon.AddDate(0, 0, -3)}, "time", "It is of 2026-05-15 12:00, outside the time asked from 2026-06-12 12:00."},
		{crane.ID, recall.Query{Until: enginetest.Noon.AddDate(0, -1, 0)}, "time", "outside the time asked before 2026-05-15 12:00."},
		{later.ID, recall.Query{}, "not_yet", "It begins on 2026-07-15 12:00, and the recall is as of 2026-06-15 12:00."},
		{turn, recall.Query{Kinds: messages, AsOf: enginetest.Noon.AddDate(0, 0, -1)}, "not_yet", "It begins on 2026-06-15 12:00, and the recall is as of 2026-06-14 12:00."},
		{old.ID, recall.Query{}, "superseded", "It was superseded on 2026-06-14 12:00 by " + newer.ID + ", and the recall is as of 2026-06-15 12:00."},
		{gone.ID, recall.Query{}, "forgotten", "It was forgotten on 2026-06-15 12:00: a rumour."},
		{shelved.ID, recall.Query{}, "state", "It is archived, and only what is confirmed takes part."},
		{crane.ID, recall.Query{Text: "crane proj:harbor env:test"}, "tags", "Its text has not all tags of the question: proj:harbor, env:test."},
		{crane.ID, recall.Query{Where: map[string]string{"ticket": "5", "from": "log"}}, "metadata", "Its metadata has not all that was asked: from=log, ticket=5."},
		{crane.ID, recall.Query{Text: "crane proj:harbor", Where: map[string]string{"ticket": "5"}}, "tags metadata", "tags of the question: proj:harbor. Its metadata"},
		{crane.ID, recall.Query{Text: "crane proj:harbor", Where: map[string]string{"ticket": "4"}}, "tags", "Its text has not"},
		{turn, recall.Query{Kinds: messages, Roles: []string{"tool", "system"}}, "role", "Its role is user, and only tool, system were asked."},
		{crane.ID, recall.Query{Kinds: kinds.All(), Roles: []string{"user"}}, "role", "Its role is none, and only user was asked."},
		{turn, recall.Query{Kinds: messages, Speakers: []string{"Anna"}}, "speaker", "It was said by nobody who has a name, and only Anna was asked."},
		{gone.ID, recall.Query{Scopes: []string{"user:ines"}, Tiers: []memory.Tier{memory.Core}}, "scope tier forgotten", "Its tier is working"},
	} {
		if test.query.Text == "" {
			test.query.Text = "crane"
		}
		test.query.WhyNot = test.id
		result, err := e.Recall(t.Context(), test.query)
		if err != nil {
			t.Fatal(err)
		}
		w := result.WhyNot
		if w.Stage != "filter" || strings.Join(w.Filters, " ") != test.filters || !strings.Contains(w.Reason, test.reason) || w.ID != test.id || w.Text == "" || w.Candidate != nil || w.Standing != nil {
			t.Errorf("%s: %s %q, %q, want %q, %q", test.id, w.Stage, w.Filters, w.Reason, test.filters, test.reason)
		}
	}
}

func TestWhyNotStages(t *testing.T) {
	enginetest.Alone(t)
	model := enginetest.Plotted{N: 3, Vectors: map[string][]float32{"hello crane": {1, 0, 0}}}
	type missed struct{ stage, reason string }
	want := map[string]missed{}
	e := enginetest.Open(t, engine.Options{Embedder: model})
	add := func(id, text string, vector []float32, r memory.RememberRequest, m missed) {
		model.Vectors[text], want[id], r.ID, r.Text = vector, m, id, text
		enginetest.Remember(t, e, r)
	}
	add("far", "opposite", []float32{-1, 0, 0}, memory.RememberRequest{}, missed{"min_score", "Its fused score 0.233 is below min_score 0.3."})
	add("faint", "unrelated", []float32{0, 1, 0}, memory.RememberRequest{}, missed{"hard_min_score", "is below hard_min_score 0.35; it was 0.350 after fusion"})
	add("old", "crane of old", []float32{0.99, 0.14106736, 0}, memory.RememberRequest{ValidUntil: enginetest.Noon}, missed{"expired", "It was valid until 2026-06-15 12:00, and the recall is as of 2026-06-15 12:00."})
	add("greeting", "hello", []float32{0.9, 0.43588989, 0}, memory.RememberRequest{}, missed{"noise", "It is a bare greeting"})
	add("first", "crane one", []float32{1, 0, 0}, memory.RememberRequest{}, missed{"", "It is hit number 1 of 1."})
	add("second", "crane two", []float32{0.8, 0, 0.6}, memory.RememberRequest{}, missed{"limit", "It is number 2 with 0."})
	w := recall.MemoryWeights()
	w.Rerank, w.HardMinScore = "none", 0.35
	for id, m := range want {
		result, err := e.Recall(t.Context(), recall.Query{Text: "hello crane", Limit: 1, Weights: &w, WhyNot: id})
		if err != nil {
			t.Fatal(err)
		}
		got := result.WhyNot
		if got.Stage != m.stage || !strings.Contains(got.Reason, m.reason) || got.Of != len(want) || got.Position < 1 || got.Candidate == nil || got.Candidate.ID != id {
			t.Errorf("%s: %+v, want %+v", id, got, m)
			continue
		}
		checkExplanation(t, "why not", *got.Candidate, got.Explanation)
		if (got.Rank > 0) != (m.stage == "" || m.stage == "limit") || (len(got.Gaps) > 0) != (m.stage == "limit") {
			t.Errorf("%s: rank %d, gaps %v", id, got.Rank, got.Gaps)
		}
		if result.Hits[0].Explanation != nil {
			t.Errorf("%s: the hits are explained, which nobody asked", id)
		}
	}
	w.Rerank = "light"
	result, err := e.Recall(t.Context(), recall.Query{Text: "hello crane", Limit: 1, Weights: &w, WhyNot: "faint"})
	if err != nil || result.WhyNot.Stage != "rerank_window" || !strings.Contains(result.WhyNot.Reason, "only the best 2, twice the limit") {
		t.Errorf("%+v, %v", result.WhyNot, err)
	}
}

func TestWhyNotInThePool(t *testing.T) {
	model := enginetest.Plotted{N: 2, Vectors: map[string][]float32{"crane": {1, 0}}}
	e := enginetest.Open(t, engine.Options{Embedder: model})
	for i := range 30 {
		text := fmt.Sprintf("The crane number%d waits", i)
		if i == 29 {
			text = "A ferry"
		}
		angle := float64(i) / 40
		model.Vectors[text] = []float32{float32(1 - angle), float32(angle)}
		enginetest.Remember(t, e, memory.RememberRequest{ID: fmt.Sprintf("mem-%02d", i), Text: text})
	}
	w := recall.MemoryWeights()
	w.Pool = 10
	for _, test := range []struct {
		query  recall.Query
		id     string
		stage  string
		reason string
	}{
		{recall.Query{}, "mem-28", "fusion", "By words it is number 29 of 29, and by meaning it is number 29 of 30. Only the best 10 of a channel"},
		{recall.Query{}, "mem-29", "fusion", "It has none of the question's words, and by meaning it is number 30 of 30."},
		{recall.Query{Mode: recall.LexicalMode}, "mem-29", "fusion", "It has none of the question's words, and meaning was not asked."},
		{recall.Query{Mode: recall.VectorMode}, "mem-20", "fusion", "By meaning it is number 21 of 30."},
	} {
		test.query.Text, test.query.Weights, test.query.Limit, test.query.WhyNot = "crane", &w, 1, test.id
		result, err := e.Recall(t.Context(), test.query)
		if err != nil {
			t.Fatal(err)
		}
		got := result.WhyNot
		if got.Stage != test.stage || !strings.Contains(got.Reason, test.reason) || got.Standing == nil || got.Standing.Pool != 10 || got.Candidate != nil || got.Rank != 0 || got.Position != 0 {
			t.Errorf("%s in mode %s: %+v, want %q", test.id, result.Mode, got, test.reason)
		}
	}
}

// What is said of every document of the demo is what became of it.
func TestWhyNotAgreesWithTheRanking(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.OpenDemo(t, static.New())
	var ids []string
	for _, row := range enginetest.Rows(t, e, "SELECT id FROM report.memories UNION ALL SELECT id FROM report.messages ORDER BY 1") {
		ids = append(ids, row[0].(string))
	}
	w := recall.MemoryWeights()
	stages := map[string]int{}
	for i, id := range ids {
		if i%12 != 0 && !enginetest.Long("recall") {
			continue
		}
		q := recall.Query{Text: "Which crane had to wait in the storm?", Kinds: kinds.All(), Weights: &w, Explain: true, Limit: 3, WhyNot: id, Until: enginetest.DemoNow.AddDate(0, -1, 0)}
		result, err := e.Recall(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		got := result.WhyNot
		stages[got.Stage]++
		at := slices.IndexFunc(result.Candidates, func(v recall.Candidate) bool { return v.ID == id })
		switch {
		case at >= 0:
			if got.Candidate == nil || got.Stage != result.Candidates[at].Dropped || len(got.Filters) > 0 {
				t.Errorf("%s: %+v, want %+v", id, got, result.Candidates[at])
			}
		case got.Stage == "fusion":
			if s := got.Standing; s.ByWords > 0 && s.ByWords <= s.Pool || s.ByMeaning > 0 && s.ByMeaning <= s.Pool {
				t.Errorf("%s: %+v, and yet it is no candidate", id, s)
			}
		case got.Stage != "filter" || len(got.Filters) == 0:
			t.Errorf("%s: %+v, and yet it is no candidate", id, got)
		}
	}
	for _, stage := range []string{"filter", "fusion", "rerank_window"} {
		if stages[stage] == 0 {
			t.Errorf("no document at %s: %v", stage, stages)
		}
	}
}

func TestWhyNotFindsOnlyWhatTheAgentMayRead(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{})
	secret := enginetest.Remember(t, e, memory.RememberRequest{ID: "mem-secret-4711", Text: "The gate code", Scope: "agent:scout"})
	enginetest.Remember(t, e, memory.RememberRequest{ID: "mem-public-4711", Text: "The gate", Scope: "global"})
	ask := func(agent, id string) (*recall.WhyNot, error) {
		result, err := e.Recall(t.Context(), recall.Query{Text: "gate", Agent: agent, WhyNot: id})
		return result.WhyNot, err
	}
	for _, id := range []string{secret.ID, "cret-4711", "nowhere", "4711", ""} {
		w, err := ask("teo", id)
		if id == "" && (err != nil || w != nil) || id != "" && (!errors.Is(err, engine.ErrNotFound) || w != nil) {
			t.Errorf("teo asks for %q: %+v, %v", id, w, err)
		}
	}
	for agent, id := range map[string]string{"scout": "cret-4711", "": "mem-secret-4711", "system": "cret-4711"} {
		if w, err := ask(agent, id); err != nil || w.ID != secret.ID {
			t.Errorf("%s asks for %q: %+v, %v", agent, id, w, err)
		}
	}
	for agent, want := range map[string]error{"teo": nil, "scout": nil, "": nil} {
		if _, err := ask(agent, "c-4711"); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", agent, err, want)
		}
	}
	enginetest.Remember(t, e, memory.RememberRequest{ID: "mem-2-public-4711", Text: "Another gate", Scope: "global"})
	if _, err := ask("teo", "ic-4711"); !errors.Is(err, engine.ErrAmbiguous) || !strings.Contains(err.Error(), "mem-2-public-4711, mem-public-4711") {
		t.Errorf("an ending of two: %v, want ErrAmbiguous that names them", err)
	}
	if _, err := ask("teo", "bad\xff"); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("no UTF-8: %v, want ErrInvalid", err)
	}
}

// A recall after an explained one is as it was before.
func TestExplainLeavesNothingBehind(t *testing.T) {
	enginetest.Alone(t)
	e, ids := harbourTalk(t)
	q := recall.Query{Text: "crane", Kinds: []kinds.Kind{kinds.Message}, Limit: 2}
	before := enginetest.RecallIDs(t, e, q)
	for range 3 {
		explained := q
		explained.Explain, explained.WhyNot = true, ids[3]
		if diff := cmp.Diff(before, enginetest.RecallIDs(t, e, explained)); diff != "" {
			t.Errorf("explained (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(before, enginetest.RecallIDs(t, e, q)); diff != "" {
			t.Errorf("after it (-want +got):\n%s", diff)
		}
	}
	q.AsOf = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC) // nothing takes part
	q.Explain, q.WhyNot = true, ids[0]
	result, err := e.Recall(t.Context(), q)
	if err != nil || len(result.Hits) != 0 || result.WhyNot.Stage != "filter" || len(result.Words) != 1 || result.Words[0].Of != 0 {
		t.Errorf("%+v, %v", result, err)
	}
}

// TestWhyNotThen: what a moment of the past knew nothing of is looked up in the present, and said to be none of it.
func TestWhyNotThen(t *testing.T) {
	t.Parallel()
	clock := &enginetest.Clock{At: enginetest.Noon}
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}, Now: clock.Now})
	remember := func(text string) string {
		t.Helper()
		m, err := e.Remember(t.Context(), memory.RememberRequest{Text: text})
		if err != nil {
			t.Fatal(err)
		}
		return m.ID
	}
	first := remember("The crane is green")
	then := clock.At.Add(time.Minute)
	clock.Advance(time.Hour)
	if _, err := e.Forget(t.Context(), memory.ForgetRequest{ID: first}); err != nil {
		t.Fatal(err)
	}
	later := remember("The crane is blue")
	r, err := e.Recall(t.Context(), recall.Query{Text: "crane", KnownAt: then, WhyNot: later})
	if err != nil {
		t.Fatal(err)
	}
	if w := r.WhyNot; w == nil || w.ID != later || w.Text != "The crane is blue" || !slices.Equal(w.Filters, []string{"then"}) || !r.Trace.Past {
		t.Errorf("%+v", w)
	}
}
