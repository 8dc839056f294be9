package lookup_test

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
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/lookup"
	"github.com/mallardmem/mallard/engine/scope"
)

// harbourTalk is two conversations, the second in a scope of its own; it gives the ids of the messages in their order.
func harbourTalk(t *testing.T, e *engine.Engine) []string {
	t.Helper()
	at := func(day, hour int) time.Time { return time.Date(2026, 6, day, hour, 0, 0, 0, time.UTC) }
	said := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "harbour", Messages: []conversation.Message{
		{Role: "user", Speaker: "Ines", Text: "The crane is at 100% load", SaidAt: at(1, 8)},
		{Role: "assistant", Text: "I noted: the CRANE is at 100% load_limit", SaidAt: at(1, 9)},
		{Role: "user", Text: "Wake up and check the crane", SaidAt: at(2, 8), SourceKind: "cron"},
		{Role: "user", Speaker: "Teo", Text: "a ferry to the islands (left)", SaidAt: at(2, 9), SourceKind: "web"},
		{Role: "user", Text: "heartbeat of the crane", SaidAt: at(3, 9), SourceKind: "heartbeat"},
	}}).IDs
	return append(said, enginetest.Append(t, e, conversation.AppendRequest{Conversation: "secret", Scope: "user:ines", Messages: []conversation.Message{
		{Role: "user", Text: "The crane is sold", SaidAt: at(4, 8)},
	}}).IDs...)
}

func search(t *testing.T, e *engine.Engine, r lookup.SearchRequest) *lookup.SearchResult {
	t.Helper()
	x, err := e.Search(t.Context(), r)
	if err != nil {
		t.Fatalf("%+v: %v", r, err)
	}
	return x
}

// found gives the numbers of the hits among some ids.
func found(x *lookup.SearchResult, all []string) []int {
	numbers := []int{}
	for _, h := range x.Hits {
		numbers = append(numbers, slices.Index(all, h.ID))
	}
	return numbers
}

// TestGoClaw3HExactIsASubstring: any case, newest first, and nothing is a wildcard.
func TestGoClaw3HExactIsASubstring(t *testing.T) {
	e := enginetest.Open(t, engine.Options{})
	all := harbourTalk(t, e)
	for _, test := range []struct {
		text string
		want []int
	}{
		{"the crane is", []int{5, 1, 0}}, {"THE CRANE IS", []int{5, 1, 0}}, {"crane is at 100%", []int{1, 0}}, {"100% load_", []int{1}}, {"%", []int{1, 0}},
		{"_", []int{1}}, {"c_ane", []int{}}, {"cr%e", []int{}}, {".*", []int{}}, {"(left)", []int{3}}, {"[a-z]", []int{}}, {`\w`, []int{}}, {"rane is so", []int{5}},
		{"^The", []int{}}, {" ferry ", []int{3}}, {"'; DROP TABLE messages; --", []int{}},
	} {
		if diff := cmp.Diff(test.want, found(search(t, e, lookup.SearchRequest{Text: test.text, Match: lookup.ExactMatch}), all)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.text, diff)
		}
	}
}

// TestGoClaw3HFilters: role, source kinds, people alone, times; by every match, with and without the resident index.
func TestGoClaw3HFilters(t *testing.T) {
	clock := &enginetest.Clock{At: time.Date(2026, 6, 5, 0, 0, 0, 0, time.UTC)}
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}, Now: clock.Now})
	all := harbourTalk(t, e)
	day := func(n int) time.Time { return time.Date(2026, 6, n, 0, 0, 0, 0, time.UTC) }
	if _, err := enginetest.Index(e).AwaitResident(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		said lookup.Said
		want []int // by their numbers
	}{
		{lookup.Said{}, []int{0, 1, 2, 4, 5}},
		{lookup.Said{Roles: []string{"assistant"}}, []int{1}},
		{lookup.Said{Speakers: []string{"INES"}}, []int{0}},
		{lookup.Said{SourceKinds: []string{"cron", "heartbeat"}}, []int{2, 4}},
		{lookup.Said{SourceKinds: []string{"talk"}}, []int{0, 1, 5}},
		{lookup.Said{NotSourceKinds: []string{"heartbeat"}}, []int{0, 1, 2, 5}},
		{lookup.Said{NotSourceKinds: []string{"talk"}}, []int{2, 4}},
		{lookup.Said{HumanOnly: true}, []int{0, 1, 5}},
		{lookup.Said{SourceKinds: []string{}}, []int{}},
		{lookup.Said{Since: day(2)}, []int{2, 4, 5}},
		{lookup.Said{Before: day(2)}, []int{0, 1}},
		{lookup.Said{LastDays: 2}, []int{4, 5}},
		{lookup.Said{Conversation: "secret"}, []int{5}},
		{lookup.Said{Agent: "scout"}, []int{0, 1, 2, 4}},
	} {
		for _, alone := range []bool{false, true} {
			enginetest.Index(e).AskFile(alone)
			for _, match := range []lookup.Match{lookup.ExactMatch, lookup.SemanticMatch, lookup.HybridMatch} {
				least := 0.0
				r := lookup.SearchRequest{Text: "crane", Match: match, Said: test.said}
				if match != lookup.ExactMatch {
					r.MinScore = &least
				}
				got := found(search(t, e, r), all)
				if match != lookup.ExactMatch { // the ferry has a score of 0
					got = slices.DeleteFunc(got, func(n int) bool { return n == 3 })
				}
				slices.Sort(got)
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("%+v, %s, file alone %t (-want +got):\n%s", test.said, match, alone, diff)
				}
			}
		}
	}
}

// TestGoClaw3HScores: meaning alone is the cosine, from 0.3; both are halves of the cosine and of s/(1+s), from 0.1, and another half for the text as it is.
func TestGoClaw3HScores(t *testing.T) {
	model := enginetest.Plotted{N: 2, Vectors: map[string][]float32{
		"the blue crane": {1, 0}, "blue crane": {1, 0}, "a crane, blue": {0.6, 0.8}, "the ferry": {0.29, 0.957}, "xblue cranes": {0, 1},
	}}
	e := enginetest.Open(t, engine.Options{Embedder: model})
	texts := []string{"the blue crane", "a crane, blue", "the ferry", "xblue cranes"}
	var messages []conversation.Message
	for _, text := range texts {
		messages = append(messages, conversation.Message{Text: text, SaidAt: enginetest.Noon})
	}
	ids := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: messages}).IDs
	bySense := search(t, e, lookup.SearchRequest{Text: "blue crane", Match: lookup.SemanticMatch})
	if diff := cmp.Diff([]int{0, 1}, found(bySense, ids)); diff != "" {
		t.Fatalf("semantic (-want +got):\n%s", diff)
	}
	if math.Abs(bySense.Hits[0].Score-1) > 1e-3 || math.Abs(bySense.Hits[1].Score-0.6) > 1e-3 {
		t.Errorf("scores %v and %v, want the cosines 1 and 0.6", bySense.Hits[0].Score, bySense.Hits[1].Score)
	}
	both := search(t, e, lookup.SearchRequest{Text: "blue crane"})
	if diff := cmp.Diff([]int{0, 3, 1, 2}, found(both, ids)); diff != "" {
		t.Fatalf("hybrid (-want +got):\n%s", diff)
	}
	for i, h := range both.Hits {
		want := 0.5 * max(*h.Cosine, 0)
		if h.BM25 != nil {
			want += 0.5 * *h.BM25 / (1 + *h.BM25)
		}
		if verbatim := strings.Contains(texts[slices.Index(ids, h.ID)], "blue crane"); verbatim {
			want += 0.5
		}
		if math.Abs(h.Score-want) > 1e-9 || h.Score < 0.1 {
			t.Errorf("hit %d has %v, want %v", i, h.Score, want)
		}
	}
	if both.Hits[0].Score <= 1 {
		t.Errorf("the best has %v: its score must not be cut off at 1", both.Hits[0].Score)
	}
	if *both.Hits[1].Cosine > 0.01 || !both.Hits[1].Verbatim || both.Hits[1].BM25 == nil && both.Hits[1].Score < 0.5 {
		t.Errorf("%+v must be found for the text as it is", both.Hits[1])
	}
}

// TestGoClaw3HWithoutAModel: words alone count whole; meaning asked for by name is an error, and never a quietly weaker answer.
func TestGoClaw3HWithoutAModel(t *testing.T) {
	e := enginetest.Open(t, engine.Options{})
	all := harbourTalk(t, e)
	x := search(t, e, lookup.SearchRequest{Text: "ferry", Limit: 3})
	if h := x.Hits[0]; found(x, all)[0] != 3 || math.Abs(h.Score-0.5-*h.BM25/(1+*h.BM25)) > 1e-9 {
		t.Errorf("%+v", h)
	}
	if _, err := e.Search(t.Context(), lookup.SearchRequest{Text: "ferry", Match: lookup.SemanticMatch}); !errors.Is(err, engine.ErrNoEmbedder) {
		t.Errorf("semantic without a model: %v", err)
	}
}

// TestGoClaw3HWordsOnly: where words alone are wanted the model is not asked.
func TestGoClaw3HWordsOnly(t *testing.T) {
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}})
	all := harbourTalk(t, e)
	x := search(t, e, lookup.SearchRequest{Text: "ferry", Limit: 3, WordsOnly: true})
	if h := x.Hits[0]; found(x, all)[0] != 3 || h.Cosine != nil || h.BM25 == nil {
		t.Errorf("%+v", h)
	}
}

func TestGoClaw3HRecentIsPreviews(t *testing.T) {
	e := enginetest.Open(t, engine.Options{})
	all := harbourTalk(t, e)
	long := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "harbour", Messages: []conversation.Message{
		{Text: strings.Repeat("ä ", 300), SaidAt: time.Date(2026, 6, 9, 0, 0, 0, 0, time.UTC)}}}).IDs
	x := search(t, e, lookup.SearchRequest{Match: lookup.RecentMatch, Limit: 3})
	if diff := cmp.Diff([]int{6, 5, 4}, found(x, append(all, long...))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := len([]rune(x.Hits[0].Snippet)); n != 200 || !strings.HasSuffix(x.Hits[0].Snippet, "…") {
		t.Errorf("a preview has %d characters: %q", n, x.Hits[0].Snippet)
	}
	people := search(t, e, lookup.SearchRequest{Match: lookup.RecentMatch, Said: lookup.Said{HumanOnly: true, Roles: []string{"user"}, Agent: "scout"}})
	if diff := cmp.Diff([]int{6, 3, 0}, found(people, append(all, long...))); diff != "" {
		t.Errorf("people (-want +got):\n%s", diff)
	}
}

// TestGoClaw3HGaps: silences between what users say, an hour or more by default.
func TestGoClaw3HGaps(t *testing.T) {
	e := enginetest.Open(t, engine.Options{})
	at := func(minutes int) time.Time { return enginetest.Noon.Add(time.Duration(minutes) * time.Minute) }
	said := func(role, kind string, minutes int) conversation.Message {
		return conversation.Message{Role: role, SourceKind: kind, Text: "said", SaidAt: at(minutes)}
	}
	ids := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{
		said("user", "", 0), said("assistant", "", 30), said("user", "", 59), said("user", "", 119), said("assistant", "", 300), said("user", "cron", 200),
		said("user", "", 1000)}}).IDs
	other := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "d", Scope: "user:ines", Messages: []conversation.Message{
		said("user", "", 0), said("user", "", 70)}}).IDs
	type gap struct {
		before, after string
		minutes       float64
	}
	for _, test := range []struct {
		r    lookup.GapsRequest
		want []gap
	}{
		{lookup.GapsRequest{}, []gap{{ids[5], ids[6], 800}, {ids[3], ids[5], 81}, {ids[2], ids[3], 60}, {other[0], other[1], 70}}},
		{lookup.GapsRequest{Said: lookup.Said{Agent: "scout"}}, []gap{{ids[5], ids[6], 800}, {ids[3], ids[5], 81}, {ids[2], ids[3], 60}}},
		{lookup.GapsRequest{Said: lookup.Said{HumanOnly: true, Conversation: "c"}}, []gap{{ids[3], ids[6], 881}, {ids[2], ids[3], 60}}},
		{lookup.GapsRequest{Least: 61 * time.Minute, Limit: 2}, []gap{{ids[5], ids[6], 800}, {ids[3], ids[5], 81}}},
		{lookup.GapsRequest{Said: lookup.Said{Roles: []string{"assistant"}}}, []gap{{ids[1], ids[4], 270}}},
		{lookup.GapsRequest{Least: 1000 * time.Hour}, nil},
	} {
		all, err := e.Gaps(t.Context(), test.r)
		if err != nil {
			t.Fatal(err)
		}
		var got []gap
		for _, g := range all {
			got = append(got, gap{g.Before, g.After, g.Lasted.Minutes()})
		}
		if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(gap{})); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", test.r, diff)
		}
	}
	table, err := e.Query(t.Context(), "SELECT before, after, round(hours * 60) AS minutes FROM report.gaps ORDER BY began_at DESC, minutes DESC", 0)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(table.Rows), fmt.Sprint([][]any{{ids[3], ids[6], 881.}, {ids[2], ids[3], 60.}, {other[0], other[1], 70.}}); got != want {
		t.Errorf("the view says %s, want %s", got, want)
	}
}

// TestGoClaw3HStats counts messages.
func TestGoClaw3HStats(t *testing.T) {
	e := enginetest.Open(t, engine.Options{})
	harbourTalk(t, e)
	for _, test := range []struct {
		r    lookup.TallyRequest
		want string
	}{
		{lookup.TallyRequest{}, "user 5, assistant 1"},
		{lookup.TallyRequest{By: lookup.BySourceKind}, "talk 3, cron 1, heartbeat 1, web 1"},
		{lookup.TallyRequest{By: lookup.ByDay}, "2026-06-01 2, 2026-06-02 2, 2026-06-03 1, 2026-06-04 1"},
		{lookup.TallyRequest{By: lookup.ByMonth}, "2026-06 6"},
		{lookup.TallyRequest{By: lookup.ByHour}, "08 3, 09 3"},
		{lookup.TallyRequest{By: lookup.ByConversation, Said: lookup.Said{HumanOnly: true}}, "harbour 3, secret 1"},
		{lookup.TallyRequest{By: lookup.ByConversation, Said: lookup.Said{Agent: "scout"}}, "harbour 5"},
		{lookup.TallyRequest{By: lookup.BySpeaker, Said: lookup.Said{Roles: []string{"user"}, SourceKinds: []string{"talk", "web"}}}, " 1, Ines 1, Teo 1"},
		{lookup.TallyRequest{By: lookup.ByNothing}, "all 6"},
	} {
		all, err := e.Tally(t.Context(), test.r)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, n := range all {
			got = append(got, fmt.Sprint(n.Name, " ", n.Messages))
			if n.Tokens < 1 || n.FirstAt.IsZero() || n.LastAt.Before(n.FirstAt) {
				t.Errorf("%+v", n)
			}
		}
		if strings.Join(got, ", ") != test.want {
			t.Errorf("%+v gives %q, want %q", test.r, strings.Join(got, ", "), test.want)
		}
	}
}

func TestSearchRefuses(t *testing.T) {
	e := enginetest.Open(t, engine.Options{})
	harbourTalk(t, e)
	score := 1.5
	for _, test := range []struct {
		r     lookup.SearchRequest
		field string
	}{
		{lookup.SearchRequest{}, "text"}, {lookup.SearchRequest{Text: "x", Match: lookup.RecentMatch}, "text"}, {lookup.SearchRequest{Text: "x", Match: "fuzzy"}, "match"},
		{lookup.SearchRequest{Text: "x", Limit: 201}, "limit"}, {lookup.SearchRequest{Text: "x", MinScore: &score}, "min_score"},
		{lookup.SearchRequest{Text: "x", MinScore: new(float64), Match: lookup.ExactMatch}, "min_score"},
		{lookup.SearchRequest{Text: "x\xff"}, "text"}, {lookup.SearchRequest{Text: "x\x00"}, "text"}, {lookup.SearchRequest{Text: strings.Repeat("x", 4001)}, "text"},
		{lookup.SearchRequest{Text: "x", Kinds: []kinds.Kind{"chunk"}}, "kinds"},
		{lookup.SearchRequest{Text: "x", Kinds: []kinds.Kind{kinds.Memory}, Said: lookup.Said{Roles: []string{"user"}}}, "kinds"},
		{lookup.SearchRequest{Text: "x", Said: lookup.Said{SourceKinds: []string{"*"}}}, "source_kinds"},
		{lookup.SearchRequest{Text: "x", Said: lookup.Said{NotSourceKinds: []string{"Cron"}}}, "not_source_kinds"},
		{lookup.SearchRequest{Text: "x", Said: lookup.Said{LastDays: -1}}, "last_days"},
		{lookup.SearchRequest{Text: "x", Said: lookup.Said{LastDays: 1, Since: enginetest.Noon}}, "last_days"},
		{lookup.SearchRequest{Text: "x", Said: lookup.Said{Since: enginetest.Noon, Before: enginetest.Noon}}, "since"},
	} {
		if _, err := e.Search(t.Context(), test.r); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(fmt.Sprint(err), test.field+" is ") {
			t.Errorf("%+v: %v, want what is wrong with %s", test.r, err, test.field)
		}
	}
	if _, err := e.Search(t.Context(), lookup.SearchRequest{Text: "crane", Said: lookup.Said{Conversation: "secret", Agent: "scout"}}); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("a conversation that the agent may not read: %v", err)
	}
	if err := e.SetScopes(t.Context(), scope.Scopes{Access: map[string][]string{"nobody": {}}}); err != nil {
		t.Fatal(err)
	}
	if x := search(t, e, lookup.SearchRequest{Text: "crane", Said: lookup.Said{Agent: "nobody"}}); len(x.Hits) != 0 {
		t.Errorf("an agent without scopes finds %+v", x.Hits)
	}
	if _, err := e.Gaps(t.Context(), lookup.GapsRequest{Least: -time.Hour}); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("a negative silence: %v", err)
	}
	if _, err := e.Tally(t.Context(), lookup.TallyRequest{By: "mood"}); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("counted by mood: %v", err)
	}
}
