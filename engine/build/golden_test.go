package build_test

import (
	"path/filepath"
	"testing"

	"github.com/mallardmem/mallard/engine/build"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/enginetest/golden"
)

// TestGolden holds the text of every preset to a file: talk, tools, a summary, a memory, an answer without the model, and what nobody said.
func TestGolden(t *testing.T) {
	t.Parallel()
	for _, p := range build.Presets() {
		e := busyTalk(t, open(t))
		_, err := enginetest.AddSummaries(t.Context(), e, "c", func([]string) enginetest.Made {
			return enginetest.Made{Text: "They spoke of u1 & <u2>.", Tokens: 5, Sources: idsOf(t, e, 1, 4)}
		})
		if err != nil {
			t.Fatal(err)
		}
		enginetest.Remember(t, e, rememberFrom("The gantry crane stands at berth four."))
		r := build.Request{Preset: p.Name, Input: "Where does the gantry crane stand?", Quote: "it stands", State: "idle since noon", Pointers: []string{"notes/cranes.md"},
			Texts: hosts(p)}
		if p.Name == "takobot" {
			r.Files = []build.File{{Section: "soul", Text: "# Soul\n\nCalm."}}
		}
		b := built(t, e, r)
		golden.Check(t, filepath.Join("testdata", p.Name+".txt"), b.Text()+"\n\n# system\n"+b.SystemText+"\n")
	}
}

// hosts is what the host says in the first section, unless that is what was said.
func hosts(p build.Preset) map[string]string {
	if p.Sections[0] == "history" {
		return nil
	}
	return map[string]string{p.Sections[0]: "You are an agent."}
}
