package memory_test

import (
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/interchange"
	"github.com/mallardmem/mallard/engine/memory"
)

// TestSuccessionOfImports: what lines say of who replaced whom is believed where nothing says otherwise; else it stays as a relation.
func TestSuccessionOfImports(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	for _, lines := range []string{
		`{"id":"mem_here","text":"is here"}`,
		`{"id":"mem_early","text":"names one that comes later","superseded_by":"mem_late"}`,
		`{"id":"mem_early2","text":"names the same","superseded_by":"mem_late"}
		 {"id":"mem_false","text":"names one that is here","superseded_by":"mem_here"}
		 {"id":"mem_first","text":"names one of the same import","superseded_by":"mem_both"}
		 {"id":"mem_second","text":"does too","superseded_by":"mem_both"}
		 {"id":"mem_both","text":"replaced both"}
		 {"id":"mem_none","text":"names one that never comes","superseded_by":"mem_gone"}`,
		`{"id":"mem_late","text":"replaced both of them, and says nothing"}`,
		`{"id":"mem_told","text":"names one that says otherwise","superseded_by":"mem_teller"}
		 {"id":"mem_teller","text":"says otherwise","supersedes":"mem_here"}`,
	} {
		if _, err := e.Import(t.Context(), strings.NewReader(lines), interchange.ImportRequest{}); err != nil {
			t.Fatal(err)
		}
		enginetest.Check(t, e)
	}
	related := func(by string) []memory.Relation { return []memory.Relation{{Type: "superseded_by", TargetID: by}} }
	for id, want := range map[string]memory.Memory{
		"mem_early":  {SupersededBy: "mem_late"},
		"mem_early2": {Relations: related("mem_late")},
		"mem_late":   {Supersedes: "mem_early"},
		"mem_false":  {Relations: related("mem_here")},
		"mem_here":   {},
		"mem_first":  {SupersededBy: "mem_both"},
		"mem_second": {Relations: related("mem_both")},
		"mem_both":   {Supersedes: "mem_first"},
		"mem_none":   {SupersededBy: "mem_gone"},
		"mem_told":   {Relations: related("mem_teller")},
		"mem_teller": {Supersedes: "mem_here"},
	} {
		m := enginetest.Get(t, e, id)
		enginetest.Equal(t, id, want, memory.Memory{Supersedes: m.Supersedes, SupersededBy: m.SupersededBy, Relations: m.Relations})
	}
}
