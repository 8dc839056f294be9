package memory_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/interchange"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
)

func TestImportOfAnotherStore(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{NewID: enginetest.CountedIDs()})
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	plain := memory.Memory{
		Text: "x", Category: memory.Pattern, SourceCategory: "other", Scope: "global", Tier: memory.Working, State: memory.Confirmed,
		Layer: memory.WorkingLayer, Importance: 0.7, Confidence: 0.7, CreatedAt: at, ValidFrom: at, RecordedAt: enginetest.Noon, UpdatedAt: enginetest.Noon, Source: "legacy",
	}
	for _, test := range []struct {
		name, line string // with "text": "x" and a timestamp before it
		change     func(m *memory.Memory)
	}{
		{"vector is left out", `"vector": [0.1, 0.2]`, func(*memory.Memory) {}},
		{"storage word", `"category": "decision"`, func(m *memory.Memory) {
			m.Category, m.SourceCategory, m.Layer = memory.Event, "decision", memory.DurableLayer
		}},
		{"memory_category beside a storage word", `"category": "fact", "metadata": "{\"memory_category\": \"preferences\"}"`, func(m *memory.Memory) {
			m.Category, m.SourceCategory, m.Layer, m.FactKey = memory.Preference, "fact", memory.DurableLayer, "preferences:x"
		}},
		{"memory_category alone", `"memory_category": "events"`, func(m *memory.Memory) {
			m.Category, m.SourceCategory, m.Layer = memory.Event, "", memory.DurableLayer
		}},
		{"metadata as text", `"metadata": "{\"tier\": \"core\", \"l0_abstract\": \"short\", \"confidence\": 0.5, \"compacted\": true}"`, func(m *memory.Memory) {
			m.Tier, m.L0, m.Confidence, m.Extra = memory.Core, "short", 0.5, map[string]any{"compacted": true}
		}},
		{"metadata as an object", `"metadata": {"access_count": 12, "last_accessed_at": 1767312000000, "valid_until": 1798761600}`, func(m *memory.Memory) {
			m.AccessCount, m.LastAccessedAt, m.ValidUntil = 12, at.AddDate(0, 0, 1), at.AddDate(1, 0, 0)
		}},
		{"the row wins over metadata", `"importance": 0.9, "metadata": {"importance": 0.1}`, func(m *memory.Memory) { m.Importance = 0.9 }},
		{"metadata that is no JSON", `"metadata": "{oops"`, func(*memory.Memory) {}},
		{"metadata that is a list", `"metadata": "[1]"`, func(*memory.Memory) {}},
		{"metadata that is null", `"metadata": null`, func(*memory.Memory) {}},
		{"metadata that is text of null", `"metadata": "null"`, func(*memory.Memory) {}},
		{"metadata that is a word", `"metadata": "\"word\""`, func(*memory.Memory) {}},
		{"metadata that is a number", `"metadata": 7`, func(*memory.Memory) {}},
		{"targetId", `"metadata": {"relations": [{"type": "about", "targetId": "a"}, {"type": "about", "target_id": "a"}]}`, func(m *memory.Memory) {
			m.Relations = []memory.Relation{{Type: "about", TargetID: "a"}}
		}},
		{"numbers as text", `"importance": "0.25", "confidence": "NaN"`, func(m *memory.Memory) { m.Importance = 0.25 }},
		{"nulls are absent", `"importance": null, "scope": null, "tier": null, "relations": null, "contexts": null, "valid_until": null`, func(*memory.Memory) {}},
		{"type of a summary", `"type": "session-summary"`, func(m *memory.Memory) {
			m.Source, m.State, m.Layer, m.Extra = "session-summary", memory.Archived, memory.ReflectionLayer, map[string]any{"type": "session-summary"}
		}},
		{"type of a reflection", `"metadata": {"type": "memory-reflection-event"}`, func(m *memory.Memory) {
			m.Source, m.Layer, m.Extra = "reflection", memory.ReflectionLayer, map[string]any{"type": "memory-reflection-event"}
		}},
		{"type of something else", `"type": "odd"`, func(m *memory.Memory) { m.Source, m.Extra = "legacy", map[string]any{"type": "odd"} }},
		{"suppression in milliseconds", `"suppressed_until_ms": 1767225600000`, func(m *memory.Memory) { m.SuppressedUntil = at }},
		{"suppression that is over", `"suppressed_until_ms": 0`, func(*memory.Memory) {}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, timestamp := range []string{"1767225600000", "1767225600", `"2026-01-01T00:00:00Z"`} {
				want := plain
				test.change(&want)
				want.Trust = memory.TrustOf(want.Source)
				got := enginetest.ImportLine(t, e, `{"text": "x", "timestamp": `+timestamp+`, `+test.line+`}`)
				want.ID = got.ID
				if diff := cmp.Diff(&want, got); diff != "" {
					t.Errorf("timestamp %s (-want +got):\n%s", timestamp, diff)
				}
				if _, err := e.Purge(t.Context(), memory.PurgeRequest{ID: got.ID}); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func TestImportReportsLines(t *testing.T) {
	t.Parallel()
	lines := strings.Join([]string{
		"\ufeff" + `{"text": "one", "id": "mem_1"}`,
		``,
		`{"text": "two", "id": "mem_2"}` + "\r",
		`{"text": `,
		" \t\r",
		`[1, 2]`,
		`{"text": 7}`,
		`{"text": "x", "tier": "hot"}`,
		`{"text": "x", "scope": "team:x"}`,
		`null`,
		`{"id": "mem_3"}`,
		`{"text": "x", "importance": "much"}`,
		`{"text": "x", "contexts": [1]}`,
		`{"text": "x", "relations": ["y"]}`,
		`{"text": "x"} {"text": "y"}`,
		`{"text": "x", "category": "opinion"}`,
		`{"text": "x", "memory_category": "opinion"}`,
		`{"text": "two again", "id": "mem_2"}`,
		`{"text": "three", "id": "mem_3"}`, // without a line feed
	}, "\n")
	want := interchange.Imported{Lines: 17, Created: 3, Known: 1}
	words := map[int]string{4: "JSON", 6: "array", 7: "text is 7", 8: `tier is "hot"`, 9: "team:x", 10: "object", 11: "text", 12: `importance is "much"; allowed: 0 to 1`, 13: "contexts is [1]",
		14: "relations", 15: "", 16: "category", 17: "memory_category"}
	for _, dry := range []bool{true, false} {
		e := enginetest.Open(t, engine.Options{})
		got, err := e.Import(t.Context(), strings.NewReader(lines), interchange.ImportRequest{DryRun: dry, Strict: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range got.Faults {
			if word, ok := words[f.Line]; !ok || !strings.Contains(f.Err, word) {
				t.Errorf("line %d: %s, want it to say %q", f.Line, f.Err, word)
			}
		}
		if len(got.Faults) != len(words) {
			t.Errorf("%d faults, want %d: %v", len(got.Faults), len(words), got.Faults)
		}
		if got.Faults = nil; dry {
			want := want
			want.Created, want.Known = 0, 0
			if diff := cmp.Diff(&want, got); diff != "" || exported(t, e) != "" {
				t.Errorf("dry run (-want +got):\n%s", diff)
			}
			continue
		}
		want.ID = got.ID
		if diff := cmp.Diff(&want, got); diff != "" || got.ID == "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if m := enginetest.Get(t, e, "mem_2"); m.Text != "two" {
			t.Errorf("the known memory now says %q", m.Text)
		}
	}
}

func TestImportForAnAgentAndIntoAScope(t *testing.T) {
	enginetest.Alone(t)
	lines := `{"text": "a", "id": "mem_a"}` + "\n" + `{"text": "b", "id": "mem_b", "scope": "user:ines"}` + "\n" + `{"text": "c", "id": "mem_c", "scope": "global"}`
	for _, test := range []struct {
		request interchange.ImportRequest
		scopes  []string
		faults  int
	}{
		{interchange.ImportRequest{}, []string{"global", "user:ines", "global"}, 0},
		{interchange.ImportRequest{Scope: "project:x"}, []string{"project:x", "project:x", "project:x"}, 0},
		{interchange.ImportRequest{Agent: "scout"}, []string{"agent:scout", "global"}, 1},
		{interchange.ImportRequest{Agent: "scout", Scope: "user:ines"}, nil, 3},
		{interchange.ImportRequest{Scope: "team:x"}, nil, 3},
	} {
		e := enginetest.Open(t, engine.Options{})
		got, err := e.Import(t.Context(), strings.NewReader(lines), test.request)
		if err != nil || len(got.Faults) != test.faults || got.Created != len(test.scopes) {
			t.Errorf("%+v: %+v, %v", test.request, got, err)
		}
		all, err := e.List(t.Context(), memory.ListRequest{})
		var scopes []string
		for _, m := range all {
			scopes = append([]string{m.Scope}, scopes...)
		}
		if diff := cmp.Diff(test.scopes, scopes); err != nil || diff != "" {
			t.Errorf("%+v: %v (-want +got):\n%s", test.request, err, diff)
		}
	}
}

func TestImportOfALongLine(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{})
	story := strings.Repeat("The tide came in and went out again. ", 1_000_000/37)
	lines := `{"text": "the tide table", "id": "mem_long", "l2_content": "` + story + `"}` + "\n" + `{"text": "short", "id": "mem_short"}`
	enginetest.Import(t, e, lines, interchange.Imported{Lines: 2, Created: 2})
	if m := enginetest.Get(t, e, "mem_long"); m.L2 != story {
		t.Errorf("%d bytes came back of %d", len(m.L2), len(story))
	}
	result, err := e.Recall(t.Context(), recall.Query{Text: "tide table", Level: memory.Full})
	if err != nil || len(result.Hits) != 1 || result.Hits[0].Text != story {
		t.Errorf("recall: %v, %v", enginetest.HitIDs(result), err)
	}
}

func TestImportInManyTransactions(t *testing.T) {
	enginetest.Alone(t)
	var b strings.Builder
	for i := range 2500 {
		fmt.Fprintf(&b, `{"text": "memory %d", "key": "k%d"}`+"\n", i, i%2400)
	}
	var told []string
	e := enginetest.Open(t, engine.Options{Progress: func(step string, done, _ int) { told = append(told, fmt.Sprint(step, " ", done)) }})
	enginetest.Import(t, e, b.String(), interchange.Imported{Lines: 2500, Created: 2400, Known: 100})
	if got := strings.Join(told, ", "); got != "memories 1000, memories 2000, memories 2500" {
		t.Errorf("progress: %s", got)
	}
}

// TestImportOfUnusableVectors: a line for which the model gives an unusable vector is stored without one and named, and the rest has theirs.
func TestImportOfUnusableVectors(t *testing.T) {
	t.Parallel()
	model := &enginetest.Scripted{}
	bad := map[string][]float32{"nothing": make([]float32, model.Dims()), "no number": make([]float32, model.Dims()), "endless": make([]float32, model.Dims()), "short": {1}}
	bad["no number"][3], bad["endless"][0] = float32(math.NaN()), float32(math.Inf(1))
	model.Texts = func(ctx context.Context, texts []string) ([][]float32, error) {
		vectors, err := model.Words.EmbedTexts(ctx, texts)
		for i, text := range texts {
			if v, ok := bad[text]; ok {
				vectors[i] = v
			}
		}
		return vectors, err
	}
	for _, test := range []struct {
		kind, line string
		do         func(*engine.Engine, context.Context, io.Reader, interchange.ImportRequest) (*interchange.Imported, error)
	}{
		{"memory", `{"id":"mem_%d","text":%q}` + "\n", (*engine.Engine).Import},
		{"message", `{"conversation":"talk","key":"k%d","text":%q}` + "\n", (*engine.Engine).ImportMessages},
	} {
		e := enginetest.Open(t, engine.Options{Embedder: model})
		lines := ""
		for i, text := range []string{"a boat", "nothing", "no number", "a pier", "endless", "short", "a crane"} {
			lines += fmt.Sprintf(test.line, i, text)
		}
		r, err := test.do(e, t.Context(), strings.NewReader(lines), interchange.ImportRequest{})
		if err != nil {
			t.Fatal(err)
		}
		without := []int{}
		for _, f := range r.WithoutVector {
			without = append(without, f.Line)
			if !strings.Contains(f.Err, "unusable vector") {
				t.Errorf("%s: line %d: %s", test.kind, f.Line, f.Err)
			}
		}
		enginetest.Equal(t, test.kind+": lines without a vector", []int{2, 3, 5, 6}, without)
		if r.Created != 7 || len(r.Faults) > 0 || r.VectorErr != "" {
			t.Errorf("%s: %+v: want seven stored, without faults", test.kind, r)
		}
		if vectors := enginetest.Rows(t, e, "SELECT count(*) FROM vectors"); vectors[0][0] != int64(3) {
			t.Errorf("%s: %v vectors, want 3", test.kind, vectors)
		}
		if r, err := test.do(e, t.Context(), strings.NewReader(lines), interchange.ImportRequest{}); err != nil || r.Known != 7 || len(r.WithoutVector) > 0 {
			t.Errorf("%s, once more: %+v, %v: want all known", test.kind, r, err)
		}
		enginetest.Check(t, e)
	}
}
