package memory_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/interchange"
	"github.com/mallardmem/mallard/engine/memory"
)

func TestMemoryDefaults(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{NewID: enginetest.CountedIDs()})
	want := &memory.Memory{
		ID: "mem_000001", Text: "The tide turns at six", Category: memory.Pattern, SourceCategory: "other", Scope: "global",
		Tier: memory.Working, State: memory.Confirmed, Layer: memory.WorkingLayer, Importance: 0.7, Confidence: 0.7,
		CreatedAt: enginetest.Noon, ValidFrom: enginetest.Noon, RecordedAt: enginetest.Noon, UpdatedAt: enginetest.Noon, Source: "manual", Trust: memory.Stated,
	}
	if diff := cmp.Diff(want, enginetest.Remember(t, e, memory.RememberRequest{Text: "The tide turns at six"})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestImportanceAndConfidenceAreShares(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	for _, test := range []struct{ given, want float64 }{
		{0, 0}, {0.25, 0.25}, {1, 1}, {-0.1, 0}, {1.2, 1}, {5, 1}, {math.NaN(), 0.7}, {math.Inf(1), 0.7}, {math.Inf(-1), 0.7},
	} {
		m := enginetest.Remember(t, e, memory.RememberRequest{Text: "x", Importance: &test.given, Confidence: &test.given})
		if m.Importance != test.want || m.Confidence != test.want {
			t.Errorf("%v: importance %v, confidence %v, want %v", test.given, m.Importance, m.Confidence, test.want)
		}
	}
}

func TestParseCategory(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]memory.Category{
		"profile": memory.Profile, "preference": memory.Preference, "preferences": memory.Preference, " Preferences\n": memory.Preference,
		"entity": memory.Entity, "ENTITIES": memory.Entity, "event": memory.Event, "events": memory.Event, "case": memory.Case,
		"cases": memory.Case, "pattern": memory.Pattern, "patterns": memory.Pattern,
		"profiles": "", "fact": "", "decision": "", "": "", "other": "",
	} {
		if got, ok := memory.ParseCategory(word); got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v, want %q", word, got, ok, want)
		}
	}
}

func TestStorageWords(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{})
	long := strings.Repeat("the quay ", 25)
	for _, test := range []struct {
		word, text string
		want       memory.Category
		kept       string // SourceCategory
	}{
		{"preference", "x", memory.Preference, ""},
		{"Preferences", "x", memory.Preference, ""},
		{"entity", "x", memory.Entity, ""},
		{"decision", "x", memory.Event, "decision"},
		{"reflection", "x", memory.Pattern, "reflection"},
		{"other", "x", memory.Pattern, "other"},
		{"fact", "Water boils at 100 degrees", memory.Case, "fact"},
		{"FACT", "My boat is blue", memory.Profile, "fact"},
		{"fact", "I am a pilot", memory.Profile, "fact"},
		{"fact", "I'm at sea", memory.Profile, "fact"},
		{"fact", "The name is Ines", memory.Profile, "fact"},
		{"fact", "叫我小明", memory.Profile, "fact"},
		{"fact", "这是我的船", memory.Profile, "fact"},
		{"fact", "我是船长", memory.Profile, "fact"},
		{"fact", "my boat, " + strings.Repeat("x", 190), memory.Profile, "fact"}, // 199 characters
		{"fact", "my boat, " + strings.Repeat("x", 191), memory.Case, "fact"},
		{"fact", "my boat, " + long, memory.Case, "fact"},
	} {
		m := enginetest.Remember(t, e, memory.RememberRequest{Text: test.text, Category: memory.Category(test.word)})
		if m.Category != test.want || m.SourceCategory != test.kept {
			t.Errorf("%s %.30q: category %q from %q, want %q from %q", test.word, test.text, m.Category, m.SourceCategory, test.want, test.kept)
		}
	}
}

func TestStatesAndLayers(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	type request = memory.RememberRequest
	for _, test := range []struct {
		request request
		state   memory.State
		layer   memory.Layer
	}{
		{request{Category: memory.Profile}, memory.Confirmed, memory.DurableLayer},
		{request{Category: memory.Preference}, memory.Confirmed, memory.DurableLayer},
		{request{Category: memory.Event}, memory.Confirmed, memory.DurableLayer},
		{request{Category: memory.Entity}, memory.Confirmed, memory.WorkingLayer},
		{request{Category: memory.Case}, memory.Confirmed, memory.WorkingLayer},
		{request{Category: memory.Pattern}, memory.Confirmed, memory.WorkingLayer},
		{request{Source: "auto-capture", Category: memory.Event}, memory.Confirmed, memory.DurableLayer},
		{request{Source: "legacy"}, memory.Confirmed, memory.WorkingLayer},
		{request{Source: "reflection", Category: memory.Event}, memory.Confirmed, memory.ReflectionLayer},
		{request{Source: "dreaming-engine"}, memory.Confirmed, memory.ReflectionLayer},
		{request{Source: "session-summary"}, memory.Archived, memory.ReflectionLayer},
		{request{Source: "session-summary", State: memory.Pending}, memory.Pending, memory.ReflectionLayer},
		{request{State: memory.Archived, Category: memory.Event}, memory.Archived, memory.ArchiveLayer},
		{request{State: memory.Pending, Category: memory.Event}, memory.Pending, memory.DurableLayer},
		{request{State: memory.Archived, Layer: memory.DurableLayer}, memory.Archived, memory.DurableLayer},
	} {
		test.request.Text = "x"
		if m := enginetest.Remember(t, e, test.request); m.State != test.state || m.Layer != test.layer {
			t.Errorf("%+v: %s in %s, want %s in %s", test.request, m.State, m.Layer, test.state, test.layer)
		}
	}
}

func TestMoments(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{NewID: enginetest.CountedIDs()})
	want := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for written, want := range map[string]time.Time{
		`1767225600`:                         want,
		`1767225600000`:                      want,
		`1767225600250`:                      want.Add(250 * time.Millisecond),
		`"1767225600000"`:                    {}, // text must be RFC 3339
		`1.7672256e9`:                        want,
		`0`:                                  enginetest.Noon,
		`-1767225600000`:                     enginetest.Noon,
		`null`:                               enginetest.Noon,
		`"2026-01-01T01:00:00+01:00"`:        want,
		`"2026-01-01T00:00:00.123456789Z"`:   want.Add(123456 * time.Microsecond),
		`999999999999`:                       {}, // as seconds, far behind the year 9999
		`"yesterday"`:                        {},
		`true`:                               {},
		`253402300800000`:                    {},
		`[1]`:                                {},
		`"2026-01-01T00:00:00.000000Z"`:      want,
		`1e300`:                              {},
		`"0000-01-01T00:00:00Z"`:             {},
		`1000000000000`:                      time.UnixMilli(1_000_000_000_000).UTC(),
		`1767225600.75`:                      want.Add(750 * time.Millisecond),
		`"2026-01-01T00:00:00-00:00"`:        want,
		`"2026-01-01"`:                       {},
		`"2026-01-01T00:00:00.0000009Z"`:     want, // cut to microseconds
		`"2026-06-15T14:00:00.000001+02:00"`: enginetest.Noon.Add(time.Microsecond),
	} {
		line := fmt.Sprintf(`{"text": %q, "timestamp": %s}`, "at "+written, written)
		if !want.IsZero() {
			if m := enginetest.ImportLine(t, e, line); !m.CreatedAt.Equal(want) || !m.ValidFrom.Equal(want) {
				t.Errorf("%s: created %v, valid from %v, want %v", written, m.CreatedAt, m.ValidFrom, want)
			}
			continue
		}
		result, err := e.Import(t.Context(), strings.NewReader(line), interchange.ImportRequest{Strict: true})
		if err != nil || len(result.Faults) != 1 || !strings.Contains(result.Faults[0].Err, "timestamp is") {
			t.Errorf("%s: %+v, %v, want a fault that names the time", written, result, err)
		}
	}
}

func TestTimesAndCountsThatCannotBe(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{NewID: enginetest.CountedIDs()})
	m := enginetest.ImportLine(t, e, `{"text": "x", "valid_from": 1767225600000, "invalidated_at": 1767225599999, "access_count": -3, "bad_recall_count": -1, "injected_count": -1}`)
	if !m.InvalidatedAt.IsZero() || m.AccessCount != 0 || m.BadRecallCount != 0 || m.InjectedCount != 0 {
		t.Errorf("invalidated %v, counts %d %d %d, want none", m.InvalidatedAt, m.AccessCount, m.BadRecallCount, m.InjectedCount)
	}
	m = enginetest.ImportLine(t, e, `{"text": "y", "valid_from": 1767225600000, "invalidated_at": 1767225600000, "access_count": 10001}`)
	if m.InvalidatedAt.IsZero() || m.AccessCount != 10_000 {
		t.Errorf("invalidated %v, access count %d, want the time it began and 10000", m.InvalidatedAt, m.AccessCount)
	}
}

// TestFactKeys has the vectors Q of spec/memories.md 7.2.
func TestFactKeys(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{})
	for _, test := range []struct {
		category   memory.Category
		text, want string
	}{
		{memory.Preference, "Preferred editor: VS Code", "preferences:preferred editor"},
		{memory.Entity, "Project X -> active", "entities:project x"},
		{memory.Preference, "Likes tea.", "preferences:likes tea"},
		{memory.Preference, "编辑器：Zed", "preferences:编辑器"},
		{memory.Preference, "a => b: c", "preferences:a => b"},
		{memory.Preference, "a => b -> c", "preferences:a"},
		{memory.Preference, "Tea \t or\n coffee?!。", "preferences:tea or coffee"},
		{memory.Preference, strings.Repeat("x", 120) + ": y", "preferences:" + strings.Repeat("x", 120)},
		{memory.Preference, strings.Repeat("x", 121) + ": y", "preferences:" + strings.Repeat("x", 121) + ": y"},
		{memory.Preference, "?!.", ""},
		{memory.Event, "Release: Friday", ""},
		{memory.Profile, "Name: Ines", ""},
		{memory.Case, "Case: closed", ""},
		{memory.Pattern, "Habit: tea", ""},
	} {
		if m := enginetest.Remember(t, e, memory.RememberRequest{Text: test.text, Category: test.category}); m.FactKey != test.want {
			t.Errorf("%s %.40q: %q, want %q", test.category, test.text, m.FactKey, test.want)
		}
	}
	m := enginetest.Remember(t, e, memory.RememberRequest{Text: "A long story about tea", L0: "Drink: tea", Category: memory.Preference})
	if m.FactKey != "preferences:drink" {
		t.Errorf("from the abstract: %q", m.FactKey)
	}
	if m := enginetest.Remember(t, e, memory.RememberRequest{Text: "x: y", Category: memory.Event, FactKey: "mine"}); m.FactKey != "mine" {
		t.Errorf("the caller's own became %q", m.FactKey)
	}
}

func TestRelationsAreDistinctAndFew(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	given := []memory.Relation{{Type: "about", TargetID: "t0"}, {Type: "about", TargetID: "t0"}, {Type: "of", TargetID: "t0"}}
	want := []memory.Relation{{Type: "about", TargetID: "t0"}, {Type: "of", TargetID: "t0"}}
	for i := 1; i <= 20; i++ {
		r := memory.Relation{Type: "about", TargetID: fmt.Sprint("t", i)}
		given = append(given, r)
		if len(want) < 16 {
			want = append(want, r)
		}
	}
	if diff := cmp.Diff(want, enginetest.Remember(t, e, memory.RememberRequest{Text: "x", Relations: given}).Relations); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSourcesAndHistoryKeepTheNewest(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{NewID: enginetest.CountedIDs()})
	list := func(n int) string {
		var parts []string
		for i := 1; i <= n; i++ {
			parts = append(parts, fmt.Sprintf("%q", fmt.Sprint("s", i)))
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	m := enginetest.ImportLine(t, e, `{"text": "x", "sources": `+list(23)+`, "history": `+list(52)+`}`)
	if len(m.Sources) != 20 || m.Sources[0] != "s4" || m.Sources[19] != "s23" {
		t.Errorf("%d sources from %v, want 20 from s4", len(m.Sources), m.Sources[0])
	}
	if len(m.History) != 50 || m.History[0] != "s3" || m.History[49] != "s52" {
		t.Errorf("%d of history from %v, want 50 from s3", len(m.History), m.History[0])
	}
}

func TestLevels(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	type request = memory.RememberRequest
	for _, test := range []struct {
		request                  request
		abstract, overview, full string
	}{
		{request{Text: "T"}, "T", "- T", "T"},
		{request{Text: "T", L0: "A"}, "A", "- A", "T"},
		{request{Text: "T", L1: "- o"}, "T", "- o", "T"},
		{request{Text: "T", L2: "F"}, "T", "- T", "F"},
		{request{Text: "T", L0: "A", L1: "O", L2: "F"}, "A", "O", "F"},
		{request{Text: "T", L0: "T", L1: "- T", L2: "T"}, "T", "- T", "T"},
	} {
		m := enginetest.Remember(t, e, test.request)
		if a, o, f := m.Level(memory.Abstract), m.Level(memory.Overview), m.Level(memory.Full); a != test.abstract || o != test.overview || f != test.full {
			t.Errorf("%+v: %q, %q, %q", test.request, a, o, f)
		}
	}
	m := enginetest.Remember(t, e, request{Text: "T", L0: "T", L1: "- T", L2: "T"})
	if m.L0+m.L1+m.L2 != "" {
		t.Errorf("levels that repeat the text are kept: %q %q %q", m.L0, m.L1, m.L2)
	}
}

func TestInvalidFieldsAreNamed(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	type request = memory.RememberRequest
	for _, test := range []struct {
		request request
		says    []string // field, value, what is allowed
	}{
		{request{}, []string{"text", `""`, "something to remember"}},
		{request{Text: " \n\t"}, []string{"text", `" \n\t"`, "something to remember"}},
		{request{Text: "a\xffb"}, []string{"text", "valid UTF-8"}},
		{request{Text: "a\x00b"}, []string{"text", "without NUL"}},
		{request{Text: "x", L0: "\xff"}, []string{"l0_abstract", "valid UTF-8"}},
		{request{Text: "x", L1: "\xff"}, []string{"l1_overview", "valid UTF-8"}},
		{request{Text: "x", L2: "\xff"}, []string{"l2_content", "valid UTF-8"}},
		{request{Text: "x", Key: "\x00"}, []string{"key", "without NUL"}},
		{request{Text: "x", FactKey: "\xff"}, []string{"fact_key", "valid UTF-8"}},
		{request{Text: "x", SourceSession: "\xff"}, []string{"source_session", "valid UTF-8"}},
		{request{Text: "x", ID: "a b"}, []string{"id", `"a b"`, "3 to 128"}},
		{request{Text: "x", Category: "opinion"}, []string{"category", `"opinion"`, "profile, preference, entity, event, case, pattern"}},
		{request{Text: "x", Tier: "hot"}, []string{"tier", `"hot"`, "core, working, peripheral"}},
		{request{Text: "x", State: "lost"}, []string{"state", `"lost"`, "pending, confirmed, archived"}},
		{request{Text: "x", Layer: "deep"}, []string{"memory_layer", `"deep"`, "durable, working, reflection, archive"}},
		{request{Text: "x", TemporalType: "odd"}, []string{"memory_temporal_type", `"odd"`, "static, dynamic"}},
		{request{Text: "x", Source: "rumour"}, []string{"source", `"rumour"`, "manual, auto-capture"}},
		{request{Text: "x", Relations: []memory.Relation{{Type: "about"}}}, []string{"relations", "about", "a type and a target_id"}},
		{request{Text: "x", Relations: []memory.Relation{{TargetID: "t"}}}, []string{"relations", "a type and a target_id"}},
		{request{Text: "x", Relations: []memory.Relation{{Type: "\xff", TargetID: "t"}}}, []string{"relations.type", "valid UTF-8"}},
		{request{Text: "x", Contexts: []string{"\xff"}}, []string{"contexts", "valid UTF-8"}},
		{request{Text: "x", Extra: map[string]any{"k": math.Inf(1)}}, []string{"extra", "Inf"}},
		{request{Text: "x", Extra: map[string]any{"text": "another"}}, []string{"extra", `"text"`, "no field of its own"}},
	} {
		_, err := e.Remember(t.Context(), test.request)
		if !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%+v: %v, want ErrInvalid", test.request, err)
			continue
		}
		for _, part := range test.says {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q does not say %q", err, part)
			}
		}
	}
	if all, err := e.List(t.Context(), memory.ListRequest{Standing: "any"}); err != nil || len(all) != 0 {
		t.Errorf("%d memories of invalid requests, %v", len(all), err)
	}
}
