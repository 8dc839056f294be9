package recall_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/interchange"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
)

func TestRecallFilters(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}})
	hour := func(n int) time.Time { return enginetest.Noon.Add(time.Duration(n-10) * time.Hour) }
	for _, r := range []memory.RememberRequest{
		{ID: "mem_a", Text: "crane a", Category: memory.Event, Tier: memory.Core, CreatedAt: hour(1), Scope: "user:ines",
			Extra: map[string]any{"ticket": "HB-455", "n": 1.5, "open": true, "a/b~c": "odd", "none": nil, "of": map[string]any{"who": "Teo"}}},
		{ID: "mem_b", Text: "crane b", Source: "auto-capture", Category: memory.Case, Tier: memory.Peripheral, CreatedAt: hour(2), Extra: map[string]any{"ticket": "HB-455", "n": "1.5"}},
		{ID: "mem_c", Text: "crane c", Source: "reflection", Trust: memory.Untrusted, Category: memory.Case, CreatedAt: hour(3), Scope: "agent:scout", Extra: map[string]any{"ticket": "hb-455", "0": "zero"}},
		{ID: "mem_d", Text: "crane d", Category: memory.Event, CreatedAt: hour(4), ValidFrom: hour(8)},
		{ID: "mem_e", Text: "crane e", State: memory.Archived}, {ID: "mem_f", Text: "crane f", State: memory.Pending},
		{ID: "mem_g", Text: "crane g", Layer: memory.ArchiveLayer},
	} {
		enginetest.Remember(t, e, r)
	}
	for _, name := range []string{"x", "y"} {
		var say []conversation.Message
		for i := range 2 {
			say = append(say, conversation.Message{Text: fmt.Sprint("crane ", name, i), SaidAt: hour(5 + i), Role: []string{"user", "assistant"}[i], Speaker: []string{"Änne Berg", ""}[i],
				SourceKind: map[string]string{"y0": "web"}[fmt.Sprint(name, i)]})
		}
		enginetest.Append(t, e, conversation.AppendRequest{Conversation: name, Scope: map[string]string{"x": "user:ines", "y": "agent:scout"}[name], Messages: say})
	}
	y := enginetest.Messages(t, e, "y")[0].ConversationID
	both, messages := kinds.All(), []kinds.Kind{kinds.Message}
	type query = recall.Query
	for _, test := range []struct {
		name  string
		query query
		want  string // last words of the texts
	}{
		{"default is memories", query{}, "a b c d"},
		{"memories", query{Kinds: []kinds.Kind{kinds.Memory}}, "a b c d"},
		{"messages", query{Kinds: messages}, "x0 x1 y0 y1"},
		{"both", query{Kinds: both}, "a b c d x0 x1 y0 y1"},
		{"no kind", query{Kinds: []kinds.Kind{}}, ""},
		{"pending", query{States: []memory.State{memory.Pending}}, "f"},
		{"archived", query{States: []memory.State{memory.Archived}, Kinds: both}, "e"},
		{"every state", query{States: memory.States()}, "a b c d e f g"},
		{"no state", query{States: []memory.State{}}, ""},
		{"the archive", query{Layers: []memory.Layer{memory.ArchiveLayer}}, "e g"},
		{"a layer", query{Layers: []memory.Layer{memory.DurableLayer}}, "a d"},
		{"confirmed, in the archive", query{States: []memory.State{memory.Confirmed}, Layers: []memory.Layer{memory.ArchiveLayer}}, "g"},
		{"state and metadata", query{States: memory.States(), Where: map[string]string{"ticket": "HB-455"}}, "a b"},
		{"scope", query{Kinds: both, Scopes: []string{"user:ines"}}, "a x0 x1"},
		{"scopes", query{Kinds: both, Scopes: []string{"user:ines", "global"}}, "a b d x0 x1"},
		{"no scope", query{Kinds: both, Scopes: []string{}}, ""},
		{"blank scope", query{Kinds: both, Scopes: []string{""}}, ""},
		{"a scope that there is not", query{Kinds: both, Scopes: []string{"*"}}, ""},
		{"agent", query{Kinds: both, Agent: "scout"}, "b c d y0 y1"},
		{"agent and scope", query{Kinds: both, Agent: "scout", Scopes: []string{"global"}}, "b d"},
		{"conversation", query{Kinds: messages, Conversations: []string{"x"}}, "x0 x1"},
		{"conversation by id", query{Kinds: messages, Conversations: []string{y}}, "y0 y1"},
		{"conversations", query{Kinds: messages, Conversations: []string{"x", y}}, "x0 x1 y0 y1"},
		{"no conversation", query{Kinds: both, Conversations: []string{}}, ""},
		{"memories are in none", query{Kinds: both, Conversations: []string{"x"}}, "x0 x1"},
		{"category", query{Categories: []memory.Category{memory.Case}}, "b c"},
		{"categories", query{Categories: memory.Categories()}, "a b c d"},
		{"no category", query{Categories: []memory.Category{}}, ""},
		{"messages have no category", query{Kinds: both, Categories: []memory.Category{memory.Event}}, "a d"},
		{"tier", query{Tiers: []memory.Tier{memory.Core, memory.Peripheral}}, "a b"},
		{"no tier", query{Tiers: []memory.Tier{}}, ""},
		{"metadata", query{Where: map[string]string{"ticket": "HB-455"}}, "a b"},
		{"metadata, all of it", query{Where: map[string]string{"ticket": "HB-455", "open": "true"}}, "a"},
		{"a number as text is a text", query{Where: map[string]string{"n": "1.5"}}, "a b"},
		{"metadata by a key that is a path elsewhere", query{Where: map[string]string{"a/b~c": "odd"}}, "a"},
		{"metadata by a key that is an index elsewhere", query{Where: map[string]string{"0": "zero"}}, "c"},
		{"metadata that is more than a value", query{Where: map[string]string{"of": `{"who":"Teo"}`}}, "a"},
		{"metadata within metadata has no key of its own", query{Where: map[string]string{"who": "Teo"}}, ""},
		{"null is no value", query{Where: map[string]string{"none": "null"}}, ""},
		{"nor is nothing", query{Where: map[string]string{"none": ""}}, ""},
		{"no metadata is no restriction", query{Where: map[string]string{}}, "a b c d"},
		{"messages have no metadata", query{Kinds: both, Where: map[string]string{"ticket": "HB-455"}}, "a b"},
		{"metadata and a filter", query{Where: map[string]string{"ticket": "HB-455"}, Tiers: []memory.Tier{memory.Core}}, "a"},
		{"source", query{Sources: []string{"manual"}}, "a d"},
		{"sources", query{Sources: []string{"auto-capture", "reflection"}}, "b c"},
		{"no source", query{Sources: []string{}}, ""},
		{"trust", query{Trust: []memory.Trust{memory.Stated}}, "a d"},
		{"trusts", query{Trust: []memory.Trust{memory.Extracted, memory.Untrusted}}, "b c"},
		{"no trust", query{Trust: []memory.Trust{}}, ""},
		{"messages have no trust", query{Kinds: both, Trust: memory.Trusts()}, "a b c d"},
		{"source, trust and metadata", query{Sources: []string{"auto-capture"}, Trust: []memory.Trust{memory.Extracted}, Where: map[string]string{"ticket": "HB-455"}}, "b"},
		{"role", query{Kinds: messages, Roles: []string{"user"}}, "x0 y0"},
		{"roles", query{Kinds: messages, Roles: []string{"user", "assistant"}}, "x0 x1 y0 y1"},
		{"a role that nobody has", query{Kinds: messages, Roles: []string{"tool"}}, ""},
		{"no role", query{Kinds: both, Roles: []string{}}, ""},
		{"memories have no role", query{Kinds: both, Roles: []string{"assistant"}}, "x1 y1"},
		{"speaker, in any case", query{Kinds: messages, Speakers: []string{"äNNE bERG"}}, "x0 y0"},
		{"a speaker is the whole name", query{Kinds: messages, Speakers: []string{"Berg"}}, ""},
		{"speakers", query{Kinds: both, Speakers: []string{"Teo", "Änne Berg"}}, "x0 y0"},
		{"no speaker", query{Kinds: both, Speakers: []string{}}, ""},
		{"speaker and role", query{Kinds: messages, Speakers: []string{"Änne Berg"}, Roles: []string{"assistant"}}, ""},
		{"speaker and conversation", query{Kinds: messages, Speakers: []string{"Änne Berg"}, Conversations: []string{"x"}}, "x0"},
		{"a source kind", query{Kinds: messages, SourceKinds: []string{"web"}}, "y0"},
		{"talk is a source kind", query{Kinds: messages, SourceKinds: []string{"talk"}}, "x0 x1 y1"},
		{"a source kind that there is not", query{Kinds: messages, SourceKinds: []string{"cron"}}, ""},
		{"no source kind", query{Kinds: both, SourceKinds: []string{}}, ""},
		{"memories have no source kind", query{Kinds: both, SourceKinds: []string{"talk", "web"}}, "x0 x1 y0 y1"},
		{"source kinds left out", query{Kinds: messages, NotSourceKinds: []string{"web", "cron"}}, "x0 x1 y1"},
		{"memories are not left out", query{Kinds: both, NotSourceKinds: []string{"talk"}}, "a b c d y0"},
		{"nothing left out", query{Kinds: messages, NotSourceKinds: []string{}}, "x0 x1 y0 y1"},
		{"since is within", query{Kinds: both, Since: hour(4)}, "d x0 x1 y0 y1"},
		{"until is without", query{Kinds: both, Until: hour(5)}, "a b c d"},
		{"since and until", query{Kinds: both, Since: hour(2), Until: hour(6)}, "b c d x0 y0"},
		{"as of, when d is not true yet", query{Kinds: both, AsOf: hour(5)}, "a b c x0 y0"},
		{"as of a time before all", query{Kinds: both, AsOf: hour(0)}, ""},
	} {
		for _, mode := range append(recall.Modes(), "by the file") {
			enginetest.Index(e).AskFile(mode == "by the file")
			if mode == "by the file" {
				mode = recall.LexicalMode
			} else if ready, err := enginetest.Index(e).AwaitResident(t.Context()); !ready || err != nil {
				t.Fatal(ready, err)
			}
			test.query.Text, test.query.Mode, test.query.Weights, test.query.Limit = "crane", mode, enginetest.PlainWeights(), 100
			result, err := e.Recall(t.Context(), test.query)
			var got []string
			for _, h := range result.Hits {
				got = append(got, strings.TrimPrefix(h.Text, "crane "))
			}
			slices.Sort(got)
			if err != nil || strings.Join(got, " ") != test.want {
				t.Errorf("%s, %s: %q, %v, want %q", test.name, mode, got, err, test.want)
			}
		}
	}
	for _, test := range []struct {
		query query
		want  error
		says  string
	}{
		{query{Text: "crane", Kinds: []kinds.Kind{"chunk"}}, engine.ErrInvalid, "memory, message, summary, note"},
		{query{Text: "crane", SourceKinds: []string{"talk"}}, engine.ErrInvalid, "nothing unless messages are asked for"},
		{query{Text: "crane", NotSourceKinds: []string{"*"}}, engine.ErrInvalid, "1 to 64 of a-z, 0-9, _ and -"},
		{query{Text: "crane", Categories: []memory.Category{"fact"}}, engine.ErrInvalid, "profile, preference"},
		{query{Text: "crane", Tiers: []memory.Tier{"hot"}}, engine.ErrInvalid, "core, working"},
		{query{Text: "crane", Scopes: []string{"\xff"}}, engine.ErrInvalid, "scopes"},
		{query{Text: "crane", Conversations: []string{"nowhere"}}, engine.ErrNotFound, "nowhere"},
		{query{Text: "crane", Conversations: []string{"x"}, Agent: "scout"}, engine.ErrNotFound, `"x"`},
		{query{Text: "crane", Kinds: messages, Roles: []string{"pilot"}}, engine.ErrInvalid, `roles is "pilot"; allowed: user, assistant, system, tool`},
		{query{Text: "crane", Roles: []string{"user"}}, engine.ErrInvalid, `roles is "user"; allowed: nothing unless messages are asked for`},
		{query{Text: "crane", Speakers: []string{"Anna"}}, engine.ErrInvalid, `speakers is "Anna"; allowed: nothing unless messages are asked for`},
		{query{Text: "crane", Kinds: messages, Speakers: []string{" "}}, engine.ErrInvalid, `speakers is ""; allowed: names of speakers`},
		{query{Text: "crane", Kinds: messages, Speakers: []string{"\xff"}}, engine.ErrInvalid, "valid UTF-8"},
		{query{Text: "crane", Kinds: messages, Where: map[string]string{"ticket": "4"}}, engine.ErrInvalid, `where is "ticket"; allowed: nothing unless memories are asked for`},
		{query{Text: "crane", Where: map[string]string{"": "4"}}, engine.ErrInvalid, `where is ""; allowed: a key and its value`},
		{query{Text: "crane", Where: map[string]string{"ticket": "4\x00"}}, engine.ErrInvalid, "without NUL"},
		{query{Text: "\xff"}, engine.ErrInvalid, "text"},
		{query{}, engine.ErrInvalid, "a question"},
		{query{Text: " \n"}, engine.ErrInvalid, "a question"},
		{query{Text: strings.Repeat("x", 100_001)}, engine.ErrInvalid, "at most 100000"},
	} {
		if _, err := e.Recall(t.Context(), test.query); !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%.100v: %v, want %v that says %s", test.query, err, test.want, test.says)
		}
	}
}

// TestHitsSayWhereTheyAreFrom checks what a hit tells beside its text.
func TestHitsSayWhereTheyAreFrom(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	m := enginetest.Remember(t, e, memory.RememberRequest{Text: "the crane", Scope: "user:ines", Category: memory.Event, Tier: memory.Core, CreatedAt: enginetest.Noon.Add(-time.Hour)})
	said := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Scope: "user:teo", Messages: []conversation.Message{
		{Text: "nothing"}, {Text: "the crane", Role: "assistant", Speaker: "Scout", Session: "s1", SaidAt: enginetest.Noon.Add(-2 * time.Hour)},
	}})
	result, err := e.Recall(t.Context(), recall.Query{Text: "crane", Kinds: kinds.All()})
	if err != nil || len(result.Hits) != 2 {
		t.Fatalf("%v, %v", enginetest.HitIDs(result), err)
	}
	for _, h := range result.Hits {
		if h.Score <= 0 || h.Score != h.Signals.Decayed || h.Signals.ID != h.ID {
			t.Errorf("score %v, signals %+v", h.Score, h.Signals)
		}
		h.Score, h.Signals = 0, recall.Candidate{}
		want := recall.Hit{ID: m.ID, Kind: kinds.Memory, Text: "the crane", Scope: "user:ines", Category: memory.Event, Tier: memory.Core, CreatedAt: m.CreatedAt}
		if h.Kind == kinds.Message {
			want = recall.Hit{ID: said.IDs[1], Kind: kinds.Message, Text: "the crane", Scope: "user:teo", CreatedAt: enginetest.Noon.Add(-2 * time.Hour),
				ConversationID: said.ConversationID, Session: "s1", Seq: 2, Role: "assistant", Speaker: "Scout"}
		}
		if diff := cmp.Diff(want, h); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// TestCategoriesOfOtherStores has the categories of spec/memories.md 7.3: a fact is found as a case, and as a profile only where its metadata says so.
func TestCategoriesOfOtherStores(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	enginetest.Import(t, e, `{"id": "mem_plain", "text": "the crane one", "category": "fact"}
{"id": "mem_said", "text": "the crane two", "category": "fact", "metadata": "{\"memory_category\": \"profile\"}"}`, interchange.Imported{Lines: 2, Created: 2})
	for asked, want := range map[memory.Category]string{memory.Case: "mem_plain", memory.Profile: "mem_said"} {
		if got := enginetest.RecallIDs(t, e, recall.Query{Text: "crane", Categories: []memory.Category{asked}}); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %v, want %s", asked, got, want)
		}
	}
}

// TestDiversity is the acceptance vector O, and the edge of the threshold.
func TestDiversity(t *testing.T) {
	enginetest.Alone(t)
	length := float32(math.Sqrt(0.95*0.95 + 0.05*0.05))
	side := float32(math.Sqrt(1 - 0.75*0.75))
	model := enginetest.Plotted{N: 4, Vectors: map[string][]float32{
		"tea": {1, 0, 0, 0}, "tea one": {1, 0, 0, 0}, "tea two": {0.95 / length, 0.05 / length, 0, 0}, "tea three": {0.1, 0, 0.99498743, 0}, "tea four": nil,
		"rum": {1, 0, 0, 0}, "rum one": {1, 0, 0, 0}, "rum two": {0.75, side, 0, 0},
	}}
	e := enginetest.Open(t, engine.Options{Embedder: model})
	for _, text := range []string{"tea one", "tea two", "tea three", "tea four", "rum one", "rum two"} {
		result, err := e.Remember(t.Context(), memory.RememberRequest{Text: text, ID: strings.ReplaceAll(text, " ", "_"), Scope: "user:" + text[:3]})
		if err != nil || (result.VectorErr != nil) != (text == "tea four") {
			t.Fatalf("%s: %+v, %v", text, result, err)
		}
	}
	within := func(threshold float64) *recall.Weights {
		w := enginetest.PlainWeights()
		w.Diversity = threshold
		return w
	}
	above := float64(math.Nextafter32(0.75, 0)) // the next that vectors can tell apart
	for _, test := range []struct {
		query     string
		threshold float64
		limit     int
		want      []string
		deferred  string
	}{
		{"tea", 0.85, 4, []string{"tea_one", "tea_three", "tea_four", "tea_two"}, "tea_two"},
		{"tea", 0.85, 3, []string{"tea_one", "tea_three", "tea_four"}, "tea_two"},
		{"tea", 1, 4, []string{"tea_one", "tea_two", "tea_three", "tea_four"}, ""},
		{"rum", 0.75, 2, []string{"rum_one", "rum_two"}, ""},
		{"rum", above, 2, []string{"rum_one", "rum_two"}, "rum_two"},
	} {
		result, err := e.Recall(t.Context(), recall.Query{Text: test.query, Scopes: []string{"user:" + test.query}, Limit: test.limit, Weights: within(test.threshold), Explain: true})
		if diff := cmp.Diff(test.want, enginetest.HitIDs(result)); err != nil || diff != "" {
			t.Errorf("%s within %v, limit %d: %v (-want +got):\n%s", test.query, test.threshold, test.limit, err, diff)
		}
		for _, v := range result.Candidates {
			if v.Deferred != (v.ID == test.deferred) {
				t.Errorf("%s within %v: %s deferred %v", test.query, test.threshold, v.ID, v.Deferred)
			}
		}
	}
}

func TestUnusualQuestions(t *testing.T) {
	enginetest.Alone(t)
	questions := []string{"what is it and who are they?", "?!…", "👍🏽 🏗", "起重机什么时候修好的？", "متى تم إصلاح الرافعة؟", "e\u0301\u200d\u202e",
		strings.Repeat("crane of the harbour ", 480), strings.Repeat("x", 10_000), "'; DROP TABLE memories; --", "%_$1 $text {n}", "\"quoted\" -not AND OR (near)"}
	fill := map[string]func(e *engine.Engine){
		"empty": func(*engine.Engine) {},
		"one": func(e *engine.Engine) {
			enginetest.Remember(t, e, memory.RememberRequest{Text: "the crane of the harbour: 起重机 الرافعة"})
		},
		"identical": func(e *engine.Engine) {
			same := memory.RememberRequest{Text: "what is it: the crane of the harbour, 起重机 الرافعة x"}
			if _, err := e.RememberMany(t.Context(), slices.Repeat([]memory.RememberRequest{same}, 30)); err != nil {
				t.Error(err)
			}
		},
	}
	for name, options := range map[string]engine.Options{"lexical": {}, "hybrid": {Embedder: enginetest.Words{}}} {
		for content, fill := range fill {
			t.Run(name+" "+content, func(t *testing.T) {
				e := enginetest.Open(t, options)
				fill(e)
				for _, text := range questions {
					result, err := e.Recall(t.Context(), recall.Query{Text: text, Kinds: kinds.All()})
					if err != nil || len(result.Hits) > 10 || content == "empty" && len(result.Hits) > 0 {
						t.Errorf("%.20q: %d hits, %v", text, len(result.Hits), err)
					}
					for _, h := range result.Hits {
						if math.IsNaN(h.Score) || h.Score < 0 || h.Score > 1 {
							t.Errorf("%.20q: score %v", text, h.Score)
						}
					}
					asksForIt := strings.Contains(text, "crane") || strings.Contains(text, "起重机") || strings.Contains(text, "الرافعة")
					if content == "one" && asksForIt && name == "lexical" && len(result.Hits) != 1 {
						t.Errorf("%.20q does not find the only memory", text)
					}
				}
			})
		}
	}
}

// TestTrustWeight: with the weight trust a memory scores less the less it is trusted, by the file and by the resident index alike; without it all score the same.
func TestTrustWeight(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	for _, trust := range memory.Trusts() {
		enginetest.Remember(t, e, memory.RememberRequest{ID: "mem_" + string(trust), Text: "crane", Trust: trust})
	}
	for _, byFile := range []bool{false, true} {
		if ready, err := enginetest.Index(e).AwaitResident(t.Context()); !ready || err != nil {
			t.Fatal(ready, err)
		}
		enginetest.Index(e).AskFile(byFile)
		for _, weight := range []float64{0, 0.4, 1} {
			w := enginetest.PlainWeights()
			w.Trust = weight
			result, err := e.Recall(t.Context(), recall.Query{Text: "crane", Weights: w, Explain: true})
			if err != nil || len(result.Hits) != 4 {
				t.Fatalf("%+v, %v", result, err)
			}
			best := result.Hits[0].Score
			for _, h := range result.Hits {
				share := map[string]float64{"mem_stated": 1, "mem_extracted": 0.75, "mem_imported": 0.5, "mem_untrusted": 0}[h.ID]
				if want := best * (1 - weight*(1-share)); math.Abs(h.Score-want) > 1e-9 || result.Trace.Resident == byFile {
					t.Errorf("weight %g, by the file %t: %s has %g, want %g", weight, byFile, h.ID, h.Score, want)
				}
			}
		}
	}
}
