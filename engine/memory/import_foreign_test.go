package memory_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/interchange"
	"github.com/mallardmem/mallard/engine/memory"
)

// TestImportOfWhatWasSaid: a line that has neither id nor key is known where its text, scope, category and time are; one without a time, at any.
func TestImportOfWhatWasSaid(t *testing.T) {
	t.Parallel()
	clock := &enginetest.Clock{At: enginetest.Noon}
	e := enginetest.Open(t, engine.Options{Now: clock.Now})
	lines := strings.Join([]string{
		`{"text": "tea"}`,
		`{"text": "tea"}`, // says the same again
		`{"text": "tea", "scope": "user:ines"}`,
		`{"text": "tea", "category": "event"}`,
		`{"text": "tea", "timestamp": 1767225600}`,
		`{"text": "tea", "created_at": "2026-01-01T00:00:00Z", "importance": 0.1}`, // the same time
		`{"text": "tea", "timestamp": 1767225601}`,
		`{"text": "tea", "key": "k1"}`,
		`{"text": "tea", "id": "mem_tea"}`,
		`{"text": "Tea"}`,
	}, "\n")
	enginetest.Import(t, e, lines, interchange.Imported{Lines: 10, Created: 8, Known: 2})
	clock.Advance(time.Hour)
	enginetest.Import(t, e, lines, interchange.Imported{Lines: 10, Known: 10})
	first := exported(t, e)

	// What was forgotten or superseded since stays so; what was purged, or says something else now, is new.
	ids := map[string]string{}
	for _, m := range listed(t, e) {
		ids[fmt.Sprint(m.Text, " ", m.Scope, " ", m.Category)] = m.ID
	}
	if _, err := e.Forget(t.Context(), memory.ForgetRequest{ID: ids["tea user:ines pattern"]}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Supersede(t.Context(), memory.SupersedeRequest{ID: ids["tea global event"], By: memory.RememberRequest{Text: "coffee"}}); err != nil {
		t.Fatal(err)
	}
	enginetest.Import(t, e, lines, interchange.Imported{Lines: 10, Known: 10})
	if _, err := e.Purge(t.Context(), memory.PurgeRequest{ID: ids["Tea global pattern"]}); err != nil {
		t.Fatal(err)
	}
	enginetest.Import(t, e, lines, interchange.Imported{Lines: 10, Created: 1, Known: 9})

	other := enginetest.Open(t, engine.Options{})
	enginetest.Import(t, other, first, interchange.Imported{Lines: 8, Created: 8})
	enginetest.Import(t, other, lines, interchange.Imported{Lines: 10, Known: 10})
}

func listed(t *testing.T, e *engine.Engine) []*memory.Memory {
	t.Helper()
	all, err := e.List(t.Context(), memory.ListRequest{Standing: "any", Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestImportTakesDefaults: a value that its field can't have gives way to the field's default and is counted; strict refuses the line.
func TestImportTakesDefaults(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{})
	plain := enginetest.ImportLine(t, e, `{"id": "mem_plain", "text": "x"}`)
	for i, test := range []struct {
		line, field, want string // beside "text": "x"
		change            func(m *memory.Memory)
	}{
		{`"category": "opinion"`, "category", `category is "opinion"; allowed: profile, preference`, func(m *memory.Memory) { m.SourceCategory = "opinion" }},
		{`"category": 7`, "category", `category is 7; allowed: text`, nil},
		{`"source_category": "opinion"`, "source_category", `source_category is "opinion"; allowed: profile`, func(m *memory.Memory) { m.SourceCategory = "opinion" }},
		{`"memory_category": "opinion"`, "memory_category", `memory_category is "opinion"; allowed: profile`, nil},
		{`"category": "decision", "metadata": {"memory_category": []}`, "memory_category", `memory_category is []; allowed: profile`, func(m *memory.Memory) {
			m.Category, m.SourceCategory, m.Layer = memory.Event, "decision", memory.DurableLayer
		}},
		{`"scope": "team:x"`, "scope", `bad scope: "team:x"; allowed: global, agent:x`, nil},
		{`"tier": "hot"`, "tier", `tier is "hot"; allowed: core, working, peripheral`, nil},
		{`"state": "open"`, "state", `state is "open"; allowed: pending, confirmed, archived`, nil},
		{`"memory_layer": {"a": 1}`, "memory_layer", `memory_layer is {"a":1}; allowed: durable`, nil},
		{`"memory_temporal_type": "daily"`, "memory_temporal_type", `memory_temporal_type is "daily"; allowed: static, dynamic`, nil},
		{`"source": "rumour"`, "source", `source is "rumour"; allowed: manual`, nil},
		{`"importance": 1.01`, "importance", `importance is 1.01; allowed: 0 to 1`, nil},
		{`"importance": "much"`, "importance", `importance is "much"; allowed: 0 to 1`, nil},
		{`"importance": "NaN"`, "importance", `importance is "NaN"; allowed: 0 to 1`, nil},
		{`"confidence": -0.1`, "confidence", `confidence is -0.1; allowed: 0 to 1`, nil},
		{`"access_count": -1`, "access_count", `access_count is -1; allowed: 0 or more`, nil},
		{`"timestamp": "soon"`, "timestamp", `timestamp is "soon"; allowed: RFC 3339`, nil},
		{`"valid_until": true`, "valid_until", `valid_until is true; allowed: RFC 3339`, nil},
		{`"contexts": ["work", 1]`, "contexts", `contexts is ["work",1]; allowed: a list of texts`, func(m *memory.Memory) { m.Contexts = []string{"work"} }},
		{`"relations": ["y", {"type": "about", "target_id": "mem_y"}]`, "relations", `a list of objects with a type and a target_id`, func(m *memory.Memory) {
			m.Relations = []memory.Relation{{Type: "about", TargetID: "mem_y"}}
		}},
		{`"sources": "all"`, "sources", `sources is "all"; allowed: a list`, nil},
		{`"metadata": "{oops"`, "metadata", `metadata is "{oops"; allowed: an object`, nil},
		{`"l1_overview": 7`, "l1_overview", `l1_overview is 7; allowed: text`, nil},
	} {
		id := fmt.Sprint("mem_", i)
		line := fmt.Sprintf(`{"id": %q, "text": "x", %s}`, id, test.line)
		got, err := e.Import(t.Context(), strings.NewReader(line), interchange.ImportRequest{Strict: true})
		if err != nil || len(got.Faults) != 1 || !strings.Contains(got.Faults[0].Err, test.want) || got.Created != 0 || got.Defaulted != nil {
			t.Errorf("strict %s: %+v, %v: want %s", test.line, got, err, test.want)
		}
		enginetest.Import(t, e, line, interchange.Imported{Lines: 1, Created: 1, Defaulted: map[string]int{test.field: 1}})
		want := *plain
		want.ID = id
		if test.change != nil {
			test.change(&want)
		}
		if diff := cmp.Diff(&want, enginetest.Get(t, e, id)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.line, diff)
		}
	}
	// An id that can't be one gives way to a new one; what says nothing usable is left out, however lenient the import.
	enginetest.Import(t, e, `{"id": "?", "text": "a boat"}`+"\n"+`{"id": 7, "text": "a boat"}`, interchange.Imported{Lines: 2, Created: 1, Known: 1, Defaulted: map[string]int{"id": 2}})
	got, err := e.Import(t.Context(), strings.NewReader(`{"text": 7, "tier": "hot"}`+"\n"+`{"tier": "hot"}`), interchange.ImportRequest{})
	if err != nil || len(got.Faults) != 2 || got.Defaulted != nil {
		t.Errorf("%+v, %v: want two faults and nothing counted", got, err)
	}
	// A scope that another takes the place of need not be one.
	got, err = e.Import(t.Context(), strings.NewReader(`{"text": "elsewhere", "scope": "team:x"}`), interchange.ImportRequest{Scope: "user:ines", Strict: true})
	if err != nil || got.Created != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestImportRefusesMessages: a message is no memory, whether the whole file is of messages or one line; a memory of another store may have the key
// conversation all the same.
func TestImportRefusesMessages(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`{"conversation":"c0","role":"user","text":"We moved to Porto."}`,
		`{"conversation":"c0","text":"We moved to Porto.","time":"2026-01-01T00:00:00Z","mood":"glad"}`,
		`{"conversation":"c0","speaker":"Ines","id":"7","timestamp":1767225600,"text":"We moved to Porto.","metadata":{"topic":"home"}}`,
		`[{"conversation":"c0","role":"assistant","blocks":[{"type":"text","text":"Porto?"}]}]`,
	} {
		e := enginetest.Open(t, engine.Options{})
		got, err := e.Import(t.Context(), strings.NewReader(line+"\n"+`{"text":"likes tea"}`), interchange.ImportRequest{})
		if !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "--messages") || got.Created != 0 || len(listed(t, e)) != 0 {
			t.Errorf("%s first: %+v, %v: want it refused, with a word of --messages", line, got, err)
		}
		got, err = e.Import(t.Context(), strings.NewReader(`{"text":"likes tea"}`+"\n"+line), interchange.ImportRequest{})
		if strings.HasPrefix(line, "[") {
			continue // an array stands at the beginning, or is a line with a fault
		}
		if err != nil || got.Created != 1 || len(got.Faults) != 1 || got.Faults[0].Line != 2 || !strings.Contains(got.Faults[0].Err, "--messages") {
			t.Errorf("%s second: %+v, %v: want the one line refused, with a word of --messages", line, got, err)
		}
	}
	e := enginetest.Open(t, engine.Options{})
	memories := []string{
		`{"conversation":"c0","text":"a","category":"fact"}`,
		`{"conversation":"c0","text":"b","scope":"user:ines","role":"captain"}`,
		`{"conversation":"c0","text":"c","id":"mem_c"}`,
		`{"conversation":7,"text":"d"}`,
		`{"conversation":"","text":"e"}`,
		`{"conversation":"c0","memory":"f","user_id":"ines"}`,
		`{"text":"g","metadata":{"conversation":"c0","role":"user"}}`,
		`{"text":"h","role":"user"}`,
	}
	enginetest.Import(t, e, strings.Join(memories, "\n"), interchange.Imported{Lines: len(memories), Created: len(memories)})
}

func TestUnmarshalRefuses(t *testing.T) {
	t.Parallel()
	var m memory.Memory
	if err := json.Unmarshal([]byte(`{"text": "x", "tier": "hot"}`), &m); err == nil || !strings.Contains(err.Error(), `tier is "hot"; allowed: core, working, peripheral`) {
		t.Errorf("%v, want it to name the tier", err)
	}
}

// mem0Rows is what mem0 gives for get_all, but for what is around it.
const mem0Rows = `
  {"id": "892db2ae-06d9-49e5-8b3e-585ef9b85b8e", "memory": "Likes to play cricket", "hash": "9f3a", "user_id": "ines", "run_id": "run-7", "agent_id": "scout",
   "metadata": {"category": "hobbies", "topic": "sport", "key": "k", "hash": "other"}, "created_at": "2026-01-01T00:00:00.123456-08:00", "updated_at": null},
  {"id": "0a1b", "memory": "Plans berths", "agent_id": "scout", "metadata": {"category": "entity", "key": "k"}, "score": 0.5},
  {"memory": "Speaks German", "metadata": null}
`

func TestImportOfMem0(t *testing.T) {
	t.Parallel()
	for _, written := range []string{
		`{"results": [` + mem0Rows + `], "relations": [{"source": "ines", "target": "cricket"}]}`,
		"\ufeff\n [" + mem0Rows + "]\n\n",
		strings.NewReplacer("\n   ", " ", "},\n", "}\n").Replace(mem0Rows),
	} {
		e := enginetest.Open(t, engine.Options{})
		enginetest.Import(t, e, written, interchange.Imported{Lines: 3, Created: 3, Defaulted: map[string]int{"category": 1}})
		enginetest.Import(t, e, written, interchange.Imported{Lines: 3, Known: 3, Defaulted: map[string]int{"category": 1}})
		m := enginetest.Get(t, e, "892db2ae-06d9-49e5-8b3e-585ef9b85b8e")
		at := time.Date(2026, 1, 1, 8, 0, 0, 123456000, time.UTC)
		enginetest.Equal(t, "the memory", memory.Memory{
			ID: m.ID, Text: "Likes to play cricket", Scope: "user:ines", Category: memory.Pattern, SourceCategory: "hobbies", Tier: memory.Working, State: memory.Confirmed,
			Layer: memory.WorkingLayer, Importance: 0.7, Confidence: 0.7, CreatedAt: at, ValidFrom: at, RecordedAt: enginetest.Noon, UpdatedAt: enginetest.Noon, Source: "legacy", Trust: memory.Imported,
			SourceSession: "run-7", Extra: map[string]any{"hash": "9f3a", "user_id": "ines", "agent_id": "scout", "topic": "sport", "mem0_key": "k", "mem0_hash": "other"},
		}, *m)
		if m := enginetest.Get(t, e, "0a1b"); m.Scope != "agent:scout" || m.Category != memory.Entity || m.Extra["mem0_key"] != "k" {
			t.Errorf("the agent's: %+v", m)
		}
	}
}

// TestImportOfAnArray: an array is read like lines; what is wrong is named by line and element, and one that is broken is read up to there.
func TestImportOfAnArray(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, written string
		want          interchange.Imported
		faults        []string // line and what the error begins with
	}{
		{"empty", " [ ] ", interchange.Imported{}, nil},
		{"no results", `{"results": []}`, interchange.Imported{}, nil},
		{"on one line", `[{"text": "a"}, {"text": "b"}, {"tier": "hot"}]`, interchange.Imported{Lines: 3, Created: 2}, []string{"1 element 3: invalid request: text"}},
		{"over lines", "[\n{\"text\":\n \"a\"}\n,\n7,\n{\"text\": \"b\"}]", interchange.Imported{Lines: 3, Created: 2}, []string{"5 element 2: json"}},
		{"with lines after it", "[{\"text\": \"a\"},\n{\"text\": \"b\"}]\n{\"text\": \"c\"}\nrubbish", interchange.Imported{Lines: 4, Created: 3}, []string{"4 invalid character"}},
		{"broken", "[{\"text\": \"a\"},\n{\"text\": \"b\"},\n{\"text\" \"c\"},\n{\"text\": \"d\"}]", interchange.Imported{Lines: 3, Created: 2}, []string{"3 element 3: invalid request: invalid character"}},
		{"cut off in an element", "[{\"text\": \"a\"},\n{\"text\": \"b", interchange.Imported{Lines: 2, Created: 1}, []string{"2 element 2: invalid request: unexpected end of JSON input; nothing is read"}},
		{"cut off between elements", "[{\"text\": \"a\"},\n", interchange.Imported{Lines: 2, Created: 1}, []string{"2 element 2: invalid request: unexpected end of JSON input"}},
		{"cut off after the results", `{"results": [{"text": "a"}]`, interchange.Imported{Lines: 2, Created: 1}, []string{"1 element 2: invalid request: unexpected end of JSON input"}},
		{"a line that is one", "{\"text\": \"a\"}\n[{\"text\": \"b\"}]", interchange.Imported{Lines: 2, Created: 1}, []string{"2 json: "}},
	} {
		e := enginetest.Open(t, engine.Options{})
		got, err := e.Import(t.Context(), strings.NewReader(test.written), interchange.ImportRequest{})
		if err != nil {
			t.Fatal(err)
		}
		ok := len(got.Faults) == len(test.faults)
		for i := range min(len(got.Faults), len(test.faults)) {
			ok = ok && strings.HasPrefix(fmt.Sprint(got.Faults[i].Line, " ", got.Faults[i].Err), test.faults[i])
		}
		if !ok {
			t.Errorf("%s: faults %v, want %q", test.name, got.Faults, test.faults)
		}
		if got.Faults, got.ID = nil, ""; !cmp.Equal(&test.want, got) {
			t.Errorf("%s: (-want +got):\n%s", test.name, cmp.Diff(&test.want, got))
		}
	}
}
