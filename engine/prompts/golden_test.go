package prompts_test

import (
	"path/filepath"
	"testing"

	"github.com/mallardmem/mallard/engine/enginetest/golden"
	"github.com/mallardmem/mallard/engine/prompts"
)

const talk = `[2026-03-02 09:14 UTC] user
The import stops at row 4,000. Can you look at loader.go?

[2026-03-02 09:20 UTC] assistant
The batch was committed twice. I changed loader.go; 12,000 rows go through now.`

const earlier = "Ana asked for a nightly import of the price list."

// TestGolden holds every prompt to a file of testdata.
func TestGolden(t *testing.T) {
	want := map[string]string{
		"system":        prompts.System(),
		"answer_system": prompts.AnswerSystem(),
		"leaf":          prompts.Leaf(prompts.LeafInput{Source: talk, Previous: earlier, Instructions: "Keep prices.", TargetTokens: 192}),
		"leaf_bare":     prompts.Leaf(prompts.LeafInput{Source: talk}),
		"leaf_aggressive": prompts.Leaf(prompts.LeafInput{Source: talk, Previous: earlier, TargetTokens: 96,
			Aggressive: true}),
		"leaf_hostile":      prompts.Leaf(prompts.LeafInput{Source: hostile, Previous: hostile, Instructions: hostile, TargetTokens: 192}),
		"depth1":            prompts.Condensed(prompts.CondensedInput{Depth: 1, Source: talk, Previous: earlier, TargetTokens: 2000}),
		"depth2":            prompts.Condensed(prompts.CondensedInput{Depth: 2, Source: talk, Previous: earlier, TargetTokens: 2000}),
		"depth3":            prompts.Condensed(prompts.CondensedInput{Depth: 3, Source: talk, Instructions: "Keep prices.", TargetTokens: 2000}),
		"rolling":           prompts.Rolling(prompts.RollingInput{Source: talk, Previous: earlier, Instructions: "Keep prices.", TargetTokens: 2400}),
		"rolling_hostile":   prompts.Rolling(prompts.RollingInput{Source: hostile, Previous: hostile}),
		"checkpoint":        prompts.Checkpoint(prompts.CheckpointInput{Source: talk, Previous: earlier}),
		"checkpoint_system": prompts.CheckpointSystem(),
		"flush_system":      prompts.Flush("system"),
		"flush_user":        prompts.Flush("user"),
		"file": prompts.File(prompts.FileInput{Name: "notes.md", MIME: "text/markdown", Headers: []string{"# Notes", " ", "## Prices\n2026"},
			Parts: []string{"# Notes\n\nAll of it."}}),
		"file_parts": prompts.File(prompts.FileInput{Parts: []string{"beginning", "middle", "end"}}),
		"file_bare":  prompts.File(prompts.FileInput{}),
		"answer": prompts.Answer(prompts.AnswerInput{Question: "Who asked for the import?", TargetTokens: 2000,
			Excerpts: []prompts.Excerpt{{ID: "sum_01jq", Text: earlier}, {ID: "msg_02jr", Text: talk}}}),
		"extract_system": prompts.ExtractSystem(),
		"extract": prompts.Extract(prompts.ExtractInput{Turns: []prompts.Turn{{Number: 1, Text: "I use Zed now."}, {Number: 3, Speaker: "Ana", Text: talk}},
			Language: "English", Most: 5}),
		"extract_hostile": prompts.Extract(prompts.ExtractInput{Turns: []prompts.Turn{{Number: 1, Speaker: hostile, Text: hostile}}, Most: 5}),
		"verdict": prompts.Verdict(prompts.VerdictInput{Draft: prompts.Statement{Category: "preferences", Abstract: "Editor: Zed", Content: "Ana uses Zed."},
			Near:     []prompts.Statement{{Category: "preferences", Abstract: "Editor: Vim", Overview: "- Vim", Content: "Ana uses Vim.", Similarity: 0.8123}, {Category: "profile", Abstract: "Ana", Similarity: 0.7}},
			Contexts: []string{"general", "work"}}),
		"merge":           prompts.Merge(prompts.MergeInput{Old: prompts.Statement{Category: "profile", Abstract: "Ana: a nurse"}, New: prompts.Statement{Category: "profile", Abstract: "Ana: from Porto"}}),
		"utility":         prompts.Utility(prompts.UtilityInput{Draft: prompts.Statement{Category: "events", Abstract: "The import was mended"}, Conversation: talk}),
		"select_system":   prompts.SelectSystem(),
		"select":          prompts.Select(prompts.SelectInput{Request: "Who asked for the import?", Older: []string{talk, earlier}, Recent: 5}),
		"select_hostile":  prompts.Select(prompts.SelectInput{Request: hostile, Older: []string{hostile}}),
		"answer_bare":     prompts.Answer(prompts.AnswerInput{Question: "Who?"}),
		"guidance_mild":   prompts.Guidance(prompts.GuidanceInput{Summaries: 1}),
		"guidance_strong": prompts.Guidance(prompts.GuidanceInput{Summaries: 1, MaxDepth: 2, Grep: "mem_grep", Describe: "mem_describe", Expand: "mem_expand"}),
	}
	for name, got := range want {
		t.Run(name, func(t *testing.T) {
			golden.Check(t, filepath.Join("testdata", name+".golden"), got+"\n")
		})
	}
	goldens, err := filepath.Glob("testdata/*.golden")
	if err != nil || len(goldens) != len(want) {
		t.Errorf("%d golden files for %d prompts: %v", len(goldens), len(want), err)
	}
}
