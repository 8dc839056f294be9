package prompts_test

import (
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine/prompts"
)

func TestGuidance(t *testing.T) {
	for _, c := range []struct {
		name  string
		in    prompts.GuidanceInput
		lines int // 0: none; 4: mild, with its heading; more: strong
	}{
		{"no summaries", prompts.GuidanceInput{MaxDepth: 3, Condensed: 5}, 0},
		{"one leaf", prompts.GuidanceInput{Summaries: 1}, 4},
		{"one of depth 1", prompts.GuidanceInput{Summaries: 3, Condensed: 1, MaxDepth: 1}, 4},
		{"one of depth 2", prompts.GuidanceInput{Summaries: 1, Condensed: 1, MaxDepth: 2}, 22},
		{"two condensed", prompts.GuidanceInput{Summaries: 2, Condensed: 2, MaxDepth: 1}, 22},
	} {
		got := prompts.Guidance(c.in)
		if lines := len(strings.Split(got, "\n")); lines != c.lines && (got != "" || c.lines != 0) {
			t.Errorf("%s: %d lines, want %d:\n%s", c.name, lines, c.lines, got)
		}
		if strong := strings.Contains(got, "Never guess"); strong != (c.lines > 4) {
			t.Errorf("%s: strong: %t", c.name, strong)
		}
		if c.lines > 0 && !strings.Contains(got, "call expand") && !strings.Contains(got, "1. grep") {
			t.Errorf("%s: no default name of a tool:\n%s", c.name, got)
		}
	}
}

// Every summary prompt says what the engine relies on.
func TestSummaryForm(t *testing.T) {
	const last = "\nExpand for details about: <comma-separated list>"
	for depth := -1; depth <= 9; depth++ {
		bare := prompts.Condensed(prompts.CondensedInput{Depth: depth, Source: talk})
		full := prompts.Condensed(prompts.CondensedInput{Depth: depth, Source: talk, Previous: earlier, TargetTokens: 777})
		if !strings.HasSuffix(bare, last) || !strings.HasSuffix(full, last) {
			t.Errorf("depth %d: last line", depth)
		}
		if strings.Contains(bare, "tokens,") || !strings.Contains(full, "about 777 tokens") {
			t.Errorf("depth %d: length", depth)
		}
		if strings.Contains(full, earlier) != (depth < 2) {
			t.Errorf("depth %d: earlier context: %t", depth, depth >= 2)
		}
		if !strings.Contains(bare, "\n(none)\n</operator-") {
			t.Errorf("depth %d: no (none) for the operator's wishes", depth)
		}
	}
	for _, aggressive := range []bool{false, true} {
		leaf := prompts.Leaf(prompts.LeafInput{Source: talk, Previous: " \n", TargetTokens: 192, Aggressive: aggressive})
		for _, want := range []string{"\nFiles: none\n", "\n(none)\n</previous-", "\n(none)\n</operator-", "about 192 tokens", talk} {
			if !strings.Contains(leaf, want) {
				t.Errorf("leaf, aggressive %t: lacks %q", aggressive, want)
			}
		}
		if !strings.HasSuffix(leaf, last) {
			t.Errorf("leaf, aggressive %t: last line", aggressive)
		}
	}
}

// An answer's ids are those of its excerpts.
func TestAnswerIDs(t *testing.T) {
	prompt := prompts.Answer(prompts.AnswerInput{Question: "q", Excerpts: []prompts.Excerpt{{ID: "sum_1\">\nx", Text: "one"}, {ID: "msg_2", Text: ""}}})
	for _, want := range []string{` id="sum_1___x">` + "\none\n", ` id="msg_2">` + "\n(none)\n", "\n" + prompts.NotInExcerpts + "\n"} {
		if !strings.Contains(prompt, want) {
			t.Errorf("lacks %q:\n%s", want, prompt)
		}
	}
}
