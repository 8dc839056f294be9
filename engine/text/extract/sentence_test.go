package extract_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine/text/extract"
)

func TestSentences(t *testing.T) {
	tests := []struct {
		name, in string
		want     []string
	}{
		{"nothing", " \n\n - \n---\n```\n```", nil},
		{"plain", "It rains. We stay in! Do we?  Yes", []string{"It rains.", "We stay in!", "Do we?", "Yes"}},
		{"lower case", "i went home. then i slept.", []string{"i went home.", "then i slept."}},
		{"numbers", "It costs 3.5 euros, v1.2.3 or 1,000.50 at most. Really.", []string{"It costs 3.5 euros, v1.2.3 or 1,000.50 at most.", "Really."}},
		{"abbreviations", "Ask Dr. Lee, e.g. on Monday at 5 p.m. Eastern. J. Smith knows, etc. Call him.",
			[]string{"Ask Dr. Lee, e.g. on Monday at 5 p.m. Eastern.", "J. Smith knows, etc.", "Call him."}},
		{"German", "Am 7. Mai z.B. kommt Fr. Meier. Im Jahr 2023. Dann nicht.",
			[]string{"Am 7. Mai z.B. kommt Fr. Meier.", "Im Jahr 2023.", "Dann nicht."}},
		{"I", "So did I. Then we left.", []string{"So did I.", "Then we left."}},
		{"paths", "See /etc/app.conf and https://example.com/a.b?c=1. Then main.go. Done.",
			[]string{"See /etc/app.conf and https://example.com/a.b?c=1.", "Then main.go.", "Done."}},
		{"quotes", `He said "Stop!" and left. "Why?" Nobody knew (yet.) Well.`,
			[]string{`He said "Stop!" and left.`, `"Why?"`, `Nobody knew (yet.)`, `Well.`}},
		{"ellipsis", "Well... maybe. Well... Maybe… perhaps", []string{"Well... maybe.", "Well...", "Maybe… perhaps"}},
		{"signs", "What?! No way!!! Ok :)", []string{"What?!", "No way!!!", "Ok :)"}},
		{"Chinese", "今天下雨。我们在家！好吗？「好。」他说", []string{"今天下雨。", "我们在家！", "好吗？", "「好。」", "他说"}},
		{"Hindi", "यह घर है। वह जाता है।", []string{"यह घर है।", "वह जाता है।"}},
		{"list", "Buy:\n- milk\n* two eggs\n  1. first\n2) second\n- [ ] open\n> quoted", []string{"Buy:", "milk", "two eggs", "first", "second", "open", "quoted"}},
		{"heading", "# Title here\ntext\n#hashtag rocks", []string{"Title here", "text", "#hashtag rocks"}},
		{"wrapped", "one line that\ngoes on here\nAnother one\n\nnew paragraph\n\nlower case after a gap",
			[]string{"one line that\ngoes on here", "Another one", "new paragraph", "lower case after a gap"}},
		{"broken", strings.Repeat("word ", 12) + "on\n15 April.\n" + strings.Repeat("word ", 12) + "and,\nMs. Lee.",
			[]string{strings.Repeat("word ", 12) + "on\n15 April.", strings.Repeat("word ", 12) + "and,\nMs. Lee."}},
		{"log", "2026-01-02 " + strings.Repeat("word ", 12) + "\n2026-01-03 next", []string{"2026-01-02 " + strings.Repeat("word ", 11) + "word", "2026-01-03 next"}},
		{"code", "Run:\n```go\nx := a.b. c\n\ny()\n```\nThen. Stop.", []string{"Run:", "x := a.b. c", "y()", "Then.", "Stop."}},
		{"open fence", "```\nfoo. bar\n", []string{"foo. bar"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, extract.Texts(test.in, 1000)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLongSentences(t *testing.T) {
	tests := []struct {
		in   string
		most int
		want []string
	}{
		{"one two three four five, six seven eight", 30, []string{"one two three four five,", "six seven eight"}},
		{"one, two three four five six seven eight", 30, []string{"one, two three four five six", "seven eight"}},
		{"abcdefghijkl", 5, []string{"abcde", "fghij", "kl"}},
		{"今天下雨，我们在家看书", 20, []string{"今天下雨，", "我们在家看书"}},
		{"用户数据", 4, []string{"用", "户", "数", "据"}},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, extract.Texts(test.in, test.most)); diff != "" {
			t.Errorf("%q: %s", test.in, diff)
		}
	}
}
