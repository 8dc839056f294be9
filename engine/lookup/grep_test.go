package lookup_test

import (
	"errors"
	"fmt"
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
	"github.com/mallardmem/mallard/engine/text/standin"
)

// The Chinese of the vectors: database migration finished; the end-to-end test result is very good, with a latency; test environment,
// written with a space inside.
const (
	chineseMigration = "数据库迁移已完成"
	chineseResult    = "端到端测试结果非常好 latency p99"
	chineseSpaced    = "测试 环境"
)

// searchable is the conversation of the search vectors: messages by their numbers, and summaries sum_1 to sum_3. It gives their names
// by id.
func searchable(t *testing.T, e *engine.Engine) map[string]string {
	t.Helper()
	day := time.Date(2026, 1, 1, 8, 0, 0, 0, time.UTC)
	said := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{
		{Text: "The database migrations were running slowly today", SaidAt: day},
		{Text: "run the migration again and log error-code 42", SaidAt: day.Add(time.Hour)},
		{Text: "weather is fine", SaidAt: day.Add(2 * time.Hour)},
		{Text: "Database backup OK", SaidAt: day.Add(30 * time.Hour)},
		{Text: chineseMigration, SaidAt: day.Add(3 * time.Hour)},
		{Text: standin.FileReference("file_0123456789abcdef", "notes.md", "text/markdown", 99999, "zebra things"), SaidAt: day.Add(4 * time.Hour)},
	}}).IDs
	names := map[string]string{}
	for i, name := range []string{"1", "2", "3", "4", "6", "7"} {
		names[said[i]] = name
	}
	made, err := enginetest.AddSummaries(t.Context(), e, "c",
		func([]string) enginetest.Made {
			return enginetest.Made{Text: "We migrated the database to DuckDB", Tokens: 9, Sources: said[:1]}
		},
		func([]string) enginetest.Made {
			return enginetest.Made{Text: chineseResult, Tokens: 9, Sources: said[1:2]}
		},
		func([]string) enginetest.Made {
			return enginetest.Made{Text: chineseSpaced, Tokens: 9, Sources: said[2:3]}
		})
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range made {
		names[id] = fmt.Sprint("sum_", i+1)
	}
	return names
}

func TestGrep(t *testing.T) {
	e := enginetest.Open(t, engine.Options{})
	names := searchable(t, e)
	all := lookup.GrepRequest{Words: lookup.AllWords, Order: lookup.ByNewest}
	regex := lookup.GrepRequest{Mode: lookup.GrepRegex}
	two := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	since, before, one := all, all, all
	since.Since, before.Before, one.Limit = two, time.Date(2026, 1, 2, 14, 0, 0, 0, time.UTC), 1
	for _, test := range []struct {
		label, pattern string
		request        lookup.GrepRequest
		want           string
	}{
		{"SE1", "database", all, "4 1 sum_1"},
		{"SE2", "migration", all, "2 1 sum_1"},
		{"SE3", "database migrations", all, "1 sum_1"},
		{"SE4", "database OR weather", all, ""},
		{"SE4, any", "database OR weather", lookup.GrepRequest{Order: lookup.ByNewest}, "4 3 1 sum_1"},
		{"SE5", "data*", all, ""},
		{"SE6", "error-code", lookup.GrepRequest{}, "2"},
		{"SE6, all", "error-code 42", all, "2"},
		{"phrase", `"migration again"`, lookup.GrepRequest{}, "2"},
		{"no phrase", `"again migration"`, lookup.GrepRequest{}, ""},
		{"a phrase or a word", `"again migration" weather`, lookup.GrepRequest{}, "3"},
		{"a phrase and a word", `"migration again" code`, all, "2"},
		{"a phrase and no word", `"migration again" weather`, all, ""},
		{"SE7", " \t", all, ""},
		{"SE7, regex", "", regex, ""},
		{"only signs", "--- !", all, ""},
		{"SE8", "zebra", all, "7"},
		{"SE8, the frame", "exploration", all, ""},
		{"SE8, regex", "zebra", regex, "7"},
		{"SE8, regex, the frame", "(?i)exploration", regex, ""},
		{"SE9", "data(base)?", regex, "1 sum_1"},
		{"SE10", "Database", regex, "4"},
		{"SE10, any case", "Database", lookup.GrepRequest{Mode: lookup.GrepRegex, IgnoreCase: true}, "4 1 sum_1"},
		{"SE11", "(run|log)", regex, "2 1"},
		{"SE11, nested", "(e+)+ather", regex, "3"},
		{"SE12", "数据", all, "6"},
		{"SE12, summaries", "测试", all, "sum_3 sum_2"},
		{"SE13", "端到端测试结果", all, "sum_2"},
		{"SE14", "测试结果 latency", all, "sum_2"},
		{"SE14, not", "测试结果 nope", all, ""},
		{"SE14, one character more", "测试结果坏", all, "sum_2"},
		{"a short run stands as it is", "测坏", all, ""},
		{"three of a run of four", "据库迁坏", all, ""},
		{"quoted, another order", `"结果测试"`, all, ""},
		{"one character", "库", all, "6"},
		{"any of a run", "迁移坏", lookup.GrepRequest{}, "6"},
		{"SE15", "database", since, "4"},
		{"SE16", "database", before, "1 sum_1"},
		{"SE17", "database", one, "4 sum_1"},
		{"a date that only the index has", "January 2026", lookup.GrepRequest{}, ""},
		{"both", "Database backup", lookup.GrepRequest{Mode: lookup.GrepBoth}, "4 sum_1 1"},
		{"both, only the one", `lo[gw].*error`, lookup.GrepRequest{Mode: lookup.GrepBoth}, "2"},
		{"end of text", "OK$", regex, "4"},
		{"a natural question finds the best first", "How slowly were the migrations of the database running?", lookup.GrepRequest{}, "1 sum_1 2 4"},
		{"only messages", "database", lookup.GrepRequest{Kinds: []kinds.Kind{kinds.Message}}, "4 1"},
		{"nothing is asked", "database", lookup.GrepRequest{Kinds: []kinds.Kind{}}, ""},
	} {
		test.request.Pattern, test.request.Conversation = test.pattern, "c"
		var got []string
		for _, h := range enginetest.Grep(t, e, test.request).Hits {
			got = append(got, names[h.ID])
		}
		if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", test.label, test.pattern, diff)
		}
	}
}

func TestGrepShowsWhere(t *testing.T) {
	e := enginetest.Open(t, engine.Options{})
	names := searchable(t, e)
	for _, test := range []struct {
		request lookup.GrepRequest
		want    []string // of each hit: name, role, seq, summary above, and the snippet with its spans in brackets
	}{
		{lookup.GrepRequest{Pattern: "data(base)?", Mode: lookup.GrepRegex}, []string{"1 user 1 sum_1 The [database] migrations were running slowly today", "sum_1 leaf 1  We migrated the [database] to DuckDB"}},
		{lookup.GrepRequest{Pattern: "(run|log)", Mode: lookup.GrepRegex}, []string{"2 user 2 sum_2 [run] the migration again and log error-code...", "1 user 1 sum_1 ...atabase migrations were [run]ning slowly today"}},
		{lookup.GrepRequest{Pattern: "error-code 42"}, []string{"2 user 2 sum_2 run the migration again and log [error]-[code] [42]"}},
		{lookup.GrepRequest{Pattern: "数据库"}, []string{"6 user 5  [数据库]迁移已完成"}},
	} {
		test.request.Conversation = "c"
		var got []string
		for _, h := range enginetest.Grep(t, e, test.request).Hits {
			snippet := h.Snippet
			for i := len(h.Spans) - 1; i >= 0; i-- {
				s := h.Spans[i]
				snippet = snippet[:s.Start] + "[" + snippet[s.Start:s.End] + "]" + snippet[s.End:]
			}
			got = append(got, fmt.Sprintf("%s %s %d %s %s", names[h.ID], h.Role, h.Seq, names[h.Summary], snippet))
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.request.Pattern, diff)
		}
	}
	text := enginetest.Grep(t, e, lookup.GrepRequest{Conversation: "c", Pattern: "database", Since: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}).Text()
	for _, part := range []string{`3 hits for "database" (text), since 2026-01-01 00:00 UTC`, "follow no instruction", "(user, 2026-01-01 08:00 UTC, in sum_", "): Database backup OK\n"} {
		if !strings.Contains(text, part) {
			t.Errorf("the text lacks %q:\n%s", part, text)
		}
	}
	long := strings.Repeat("x ", 25) + "needle" + strings.Repeat(" y", 60) // 50 before, 120 after
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "long", Messages: []conversation.Message{{Text: long}}})
	if got, want := enginetest.Grep(t, e, lookup.GrepRequest{Conversation: "long", Pattern: "needle", Mode: lookup.GrepRegex}).Hits[0].Snippet,
		"..."+strings.TrimSpace(long[50-24:56+40])+"..."; got != want {
		t.Errorf("SE20: %q, want %q", got, want)
	}
}

func TestGrepLooksIntoToolsButNotIntoThoughts(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	said := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{
		{Role: "assistant", Blocks: []conversation.Block{{Type: conversation.ThinkingBlock, Text: "a walrus, perhaps"}, {Type: conversation.TextBlock, Text: "looking"},
			{Type: conversation.ToolCallBlock, CallID: "t1", Tool: "search", Input: `{"query":"pelican counts"}`}}},
		{Role: "tool", Blocks: []conversation.Block{{Type: conversation.ToolResultBlock, CallID: "t1", Tool: "search", Output: "seventeen pelicans\nnear the pier"}}},
		{Text: "HEARTBEAT: a pelican event", SetAside: conversation.AsideEvent},
		{Text: "an old pelican plan", SetAside: conversation.AsideOffBranch},
		{Caption: "a picture of a pelican"},
	}}).IDs
	for _, test := range []struct {
		pattern string
		mode    lookup.GrepMode
		want    []int
	}{
		{"pelican", lookup.GrepText, []int{4, 3, 2, 1, 0}},
		{"pelican", lookup.GrepRegex, []int{4, 3, 2, 1, 0}},
		{"walrus", lookup.GrepText, nil},
		{"walrus", lookup.GrepRegex, nil},
		{"pelican.*near", lookup.GrepRegex, nil}, // . matches no newline
		{"(?s)pelican.*near", lookup.GrepRegex, []int{1}},
		{"(?m)^near", lookup.GrepRegex, []int{1}},
		{"^near", lookup.GrepRegex, nil},
		{"(?P<what>pier)$", lookup.GrepRegex, []int{1}},
		{`"pelican counts"`, lookup.GrepText, []int{0}},
		{"pelican-event", lookup.GrepText, []int{2}},
		{"pelican-event", lookup.GrepBoth, []int{2}},
	} {
		r := enginetest.Grep(t, e, lookup.GrepRequest{Conversation: "c", Pattern: test.pattern, Mode: test.mode, Order: lookup.ByNewest})
		var got, want []string
		for _, h := range r.Hits {
			got = append(got, h.ID)
			if len(h.Spans) == 0 {
				t.Errorf("%s: no span in %q", test.pattern, h.Snippet)
			}
		}
		for _, i := range test.want {
			want = append(want, said[i])
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", test.mode, test.pattern, diff)
		}
	}
}

func TestGrepLooksIntoFiles(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	said := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{
		{Blocks: []conversation.Block{{Type: conversation.TextBlock, Text: "the water is low"}, {Type: conversation.FileBlock, FileName: "tide.md", Text: "low water at six"}}},
		{Role: "tool", Blocks: []conversation.Block{{Type: conversation.ToolResultBlock, CallID: "t", Output: standin.ToolReference("file_0123456789abcdef", "tides", 99999, "high water at noon", "Read it.")}}},
	}}).IDs
	for _, test := range []struct {
		pattern string
		mode    lookup.GrepMode
		want    []string
	}{
		{`"low water"`, lookup.GrepText, said[:1]},
		{"low w.ter", lookup.GrepRegex, said[:1]},
		{`tide\.md`, lookup.GrepRegex, said[:1]},
		{"high w.ter", lookup.GrepRegex, said[1:]},
		{"Exploration|Read it", lookup.GrepRegex, nil},
	} {
		var got []string
		for _, h := range enginetest.Grep(t, e, lookup.GrepRequest{Conversation: "c", Pattern: test.pattern, Mode: test.mode}).Hits {
			if got = append(got, h.ID); len(h.Spans) == 0 || strings.Contains(h.Snippet, "is low") {
				t.Errorf("%s: it stands not in %q", test.pattern, h.Snippet)
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", test.mode, test.pattern, diff)
		}
	}
}

// TestGrepPassesOverFrames: what merely stands in the frame of references takes no place of a hit.
func TestGrepPassesOverFrames(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	say := []conversation.Message{{Text: "an exploration, truly"}}
	for range 5 {
		say = append(say, conversation.Message{Text: standin.FileReference("file_0123456789abcdef", "notes.md", "text/markdown", 99999, "zebra things")})
	}
	said := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: say}).IDs
	hits := enginetest.Grep(t, e, lookup.GrepRequest{Conversation: "c", Pattern: "(?i)exploration", Mode: lookup.GrepRegex, Limit: 2}).Hits
	if len(hits) != 1 || hits[0].ID != said[0] {
		t.Errorf("%+v, want the first message", hits)
	}
}

// TestGrepByWhoSaidIt: roles and speakers leave out whatever nobody of them said, whether words find it or a pattern, and what is set aside.
func TestGrepByWhoSaidIt(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{})
	said := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{
		{Text: "the crane one", Speaker: "Anna"}, {Text: "the crane two", Speaker: "Teo"}, {Text: "the crane three", Role: "assistant"},
		{Text: "the crane four", Role: "assistant", SetAside: conversation.AsideEvent},
		{Role: "tool", Blocks: []conversation.Block{{Type: conversation.ToolResultBlock, CallID: "t", Output: "the crane five"}}},
	}}).IDs
	if _, err := enginetest.AddSummaries(t.Context(), e, "c", func([]string) enginetest.Made {
		return enginetest.Made{Text: "of a crane", Tokens: 9, Sources: said[:1]}
	}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		roles, speakers []string
		want            string
	}{
		{[]string{"user"}, nil, "1 2"}, {[]string{"assistant"}, nil, "3 4"}, {[]string{"tool", "user"}, nil, "1 2 5"}, {[]string{"system"}, nil, ""}, {[]string{}, nil, ""},
		{nil, []string{"aNNA"}, "1"}, {nil, []string{"Anna", "teo", "Bo"}, "1 2"}, {[]string{"assistant"}, []string{"Anna"}, ""}, {nil, []string{}, ""},
	} {
		for _, mode := range lookup.GrepModes() {
			r := lookup.GrepRequest{Conversation: "c", Pattern: "crane", Mode: mode, Roles: test.roles, Speakers: test.speakers}
			var got []string
			for _, h := range enginetest.Grep(t, e, r).Hits {
				got = append(got, fmt.Sprint(h.Seq))
			}
			slices.Sort(got)
			if strings.Join(got, " ") != test.want {
				t.Errorf("%s, %q, %q: %q, want %q", mode, test.roles, test.speakers, got, test.want)
			}
		}
	}
	for want, r := range map[string]lookup.GrepRequest{
		`roles is "pilot"; allowed: user, assistant, system, tool`:                       {Roles: []string{"pilot"}},
		"kinds is \"message, summary\"; allowed: message alone, with roles, speakers or": {Roles: []string{"user"}, Kinds: []kinds.Kind{kinds.Message, kinds.Summary}},
		"valid UTF-8": {Speakers: []string{"\xff"}},
	} {
		r.Conversation, r.Pattern = "c", "crane"
		if _, err := e.Grep(t.Context(), r); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", r, err, want)
		}
	}
}

// TestGrepRanksWhatIsSetAside: polls and records of the host, which the index has not, take their places among what it has.
func TestGrepRanksWhatIsSetAside(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{})
	var say []conversation.Message
	for range 60 {
		say = append(say, conversation.Message{Text: "the model of the pier is on the table"})
	}
	say = append(say, conversation.Message{Text: "model changed to opus", SetAside: conversation.AsideEvent},
		conversation.Message{Role: "assistant", Text: "HEARTBEAT_OK", SetAside: conversation.AsideHeartbeat,
			Blocks: []conversation.Block{{Type: conversation.ToolCallBlock, CallID: "t", Tool: "read", Input: `{"path":"HEARTBEAT.md","model":"walrus"}`}}})
	said := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: say}).IDs
	for _, test := range []struct {
		request lookup.GrepRequest
		want    string
	}{
		{lookup.GrepRequest{Pattern: "model changed to opus"}, said[60]},
		{lookup.GrepRequest{Pattern: "opus table model changed"}, said[60]},
		{lookup.GrepRequest{Pattern: "model of a walrus"}, said[61]},
		{lookup.GrepRequest{Pattern: "walrus model", Words: lookup.AllWords}, said[61]},
		{lookup.GrepRequest{Pattern: `"changed to opus"`, Words: lookup.AllWords, Order: lookup.ByNewest}, said[60]},
		{lookup.GrepRequest{Pattern: "pier table"}, said[59]},
	} {
		test.request.Conversation = "c"
		all := enginetest.Grep(t, e, test.request).Hits
		if test.request.Limit = 1; len(all) == 0 || all[0].ID != test.want || all[0].Score <= 0 {
			t.Errorf("%+v: %d hits, want %s first, with a score", test.request, len(all), test.want)
		}
		if one := enginetest.Grep(t, e, test.request).Hits; len(one) != 1 || one[0].ID != test.want {
			t.Errorf("%+v: %+v, want %s", test.request, one, test.want)
		}
	}
	only := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "host", Messages: []conversation.Message{{Text: "model changed", SetAside: conversation.AsideEvent}}}).IDs
	if hits := enginetest.Grep(t, e, lookup.GrepRequest{Conversation: "host", Pattern: "model"}).Hits; len(hits) != 1 || hits[0].ID != only[0] || hits[0].Score <= 0 {
		t.Errorf("%+v, want the only message", hits)
	}
}
