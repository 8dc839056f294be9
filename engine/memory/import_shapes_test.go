package memory_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/interchange"
	"github.com/mallardmem/mallard/engine/lineage"
	"github.com/mallardmem/mallard/engine/memory"
)

// TestImportOfADocument: the export of memory-lancedb-pro is known by its shape, however it is laid out, and read as its rows are.
func TestImportOfADocument(t *testing.T) {
	t.Parallel()
	rows := `[
    {"id": "3f0c", "text": "Ines drinks tea", "category": "preference", "scope": "global", "importance": 0.8, "timestamp": 1767225600000,
     "metadata": "{\"memory_category\":\"preferences\",\"tier\":\"core\",\"source\":\"auto-capture\"}"},
    {"text": "The pier, [it] {is} long", "category": "opinion", "scope": "team:x", "importance": 7, "timestamp": "soon", "metadata": "null"}
  ]`
	want := interchange.Imported{Lines: 2, Created: 2, Defaulted: map[string]int{"category": 1, "scope": 1, "importance": 1, "timestamp": 1, "metadata": 1}}
	for name, document := range map[string]string{
		"as it is written":      `{` + "\n" + `  "version": "1.0",` + "\n" + `  "exportedAt": "2026-01-02T00:00:00.000Z",` + "\n" + `  "count": 2,` + "\n" + `  "filters": {"scope": "a, \"b\"", "category": null},` + "\n" + `  "memories": ` + rows + "\n}\n",
		"on one line":           `{"version":"1.0","exportedAt":"2026-01-02T00:00:00.000Z","count":2,"filters":{},"memories":` + strings.ReplaceAll(rows, "\n", " ") + `}`,
		"its keys in any order": `{"count": 2, "filters": null, "memories": ` + rows + `, "version": "1.0", "exportedAt": ["x", {"y": []}]}`,
		"the list alone":        `{"memories": ` + rows + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			e := enginetest.Open(t, engine.Options{})
			enginetest.Import(t, e, document, want)
			if got := listed(t, e); len(got) != 2 || got[0].Source != "legacy" || got[0].Scope != "global" || got[0].Category != memory.Pattern || got[0].Importance != 0.7 || got[1].Tier != memory.Core || got[1].Source != "auto-capture" || got[1].ID != "3f0c" {
				t.Errorf("%+v", got)
			}
			again := want
			again.Created, again.Known = 0, 2
			enginetest.Import(t, e, document, again)
		})
	}
	e := enginetest.Open(t, engine.Options{})
	enginetest.Import(t, e, `{"version": "1.0", "count": 0, "filters": {}, "memories": []}`, interchange.Imported{})
	enginetest.Import(t, e, `{"version": "1.0", "count": 2, "memories": [{"text": "tea"},`+"\n"+`{"text": `, interchange.Imported{
		Lines: 2, Created: 1, Faults: []interchange.LineFault{{Line: 2, Err: "element 2: invalid request: unexpected end of JSON input; nothing is read from here on"}},
	})
	enginetest.Import(t, e, `{"text": "a memory with a list of its own", "memories": [{"text": "no memory"}]}`, interchange.Imported{Lines: 1, Created: 1})
}

// TestImportHeals: bad recalls that were counted before it was noted until when they hold a memory back count no longer.
func TestImportHeals(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{NewID: enginetest.CountedIDs()})
	for i, test := range []struct {
		line string
		bad  int
		held int // suppressed_until_turn
		till bool
	}{
		{`"metadata": "{\"bad_recall_count\": 9}"`, 0, 0, false},
		{`"metadata": {"bad_recall_count": 2, "suppressed_until_turn": 40}`, 0, 0, false},
		{`"metadata": "{\"bad_recall_count\": 2, \"suppressed_until_ms\": 0}"`, 2, 0, false},
		{`"metadata": "{\"bad_recall_count\": 3, \"suppressed_until_ms\": 1767225600000}"`, 3, 0, true},
		{`"bad_recall_count": 2, "suppressed_until_turn": 9`, 2, 9, false}, // of our own export
	} {
		m := enginetest.ImportLine(t, e, `{"id": "mem_`+string(rune('a'+i))+`", "text": "x", `+test.line+`}`)
		if m.BadRecallCount != test.bad || m.SuppressedUntilTurn != test.held || m.SuppressedUntil.IsZero() == test.till || len(m.Extra) > 0 {
			t.Errorf("%s: bad %d, turn %d, until %v, extra %v", test.line, m.BadRecallCount, m.SuppressedUntilTurn, m.SuppressedUntil, m.Extra)
		}
	}
}

// TestImportOfNotes: a bullet is a memory that knows its file, place, headings and date, and is stored once.
func TestImportOfNotes(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	notes := "# Ines\n- drinks green tea\n  at noon\n- drinks green tea at noon\n- the caf\xe9 is open\n"
	r := interchange.ImportRequest{Markdown: true, Name: "2026-03-14.md", Scope: "user:ines", DryRun: true}
	faults := []interchange.LineFault{{Line: 5, Err: `invalid request: text is "the caf\xe9 is open"; allowed: valid UTF-8`}}
	for _, want := range []interchange.Imported{
		{Lines: 3, Faults: faults},
		{Lines: 3, Created: 1, Known: 1, Faults: faults},
		{Lines: 3, Known: 2, Faults: faults},
	} {
		got, err := e.Import(t.Context(), strings.NewReader(notes), r)
		if (got.ID != "") != (got.Created > 0) {
			t.Errorf("the import's id is %q", got.ID)
		}
		got.ID, r.DryRun = "", false
		if diff := cmp.Diff(&want, got); err != nil || diff != "" {
			t.Fatalf("%v, (-want +got):\n%s", err, diff)
		}
	}
	day := time.Date(2026, 3, 14, 0, 0, 0, 0, time.UTC)
	all := listed(t, e)
	if len(all) != 1 {
		t.Fatalf("%d memories", len(all))
	}
	m := all[0]
	if m.Text != "drinks green tea at noon" || m.Scope != "user:ines" || m.Category != memory.Pattern || m.Importance != 0.7 || m.Source != "legacy" ||
		m.Trust != memory.Imported || !m.CreatedAt.Equal(day) || !m.ValidFrom.Equal(day) {
		t.Errorf("%+v", m)
	}
	if diff := cmp.Diff(map[string]any{"file": "2026-03-14.md", "date": "2026-03-14", "heading": "Ines"}, m.Extra); diff != "" {
		t.Error(diff)
	}
	from, err := e.Lineage(t.Context(), lineage.Request{ID: m.ID})
	if err != nil || len(from.Ancestors) != 1 || from.Ancestors[0].Part != "line 2" {
		t.Errorf("%+v, %v", from, err)
	}
	if _, err := e.ImportMessages(t.Context(), strings.NewReader(notes), r); err == nil || !strings.Contains(err.Error(), "markdown is true; allowed: false") {
		t.Errorf("as messages: %v", err)
	}
}
