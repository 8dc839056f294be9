package checkpoint

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestParse: what is made of a model's answer; no answer is an error.
func TestParse(t *testing.T) {
	list := func(all ...string) []string { return append([]string{}, all...) }
	prose := strings.Repeat("x", 5000)
	for _, test := range []struct {
		name, answer string
		want         Checkpoint
	}{
		{"an object", `{"summary":"S","topics":["a","b"],"decisions":["d"],"questions":["q"]}`, Checkpoint{Summary: "S", Topics: list("a", "b"), Decisions: list("d"), Questions: list("q")}},
		{"as other hosts name it", `{"summary":"S","topics":[],"keyDecisions":["d"],"openQuestions":["q"]}`, Checkpoint{Summary: "S", Topics: list(), Decisions: list("d"), Questions: list("q")}},
		{"in prose", "Here it is:\n```json\n{\"summary\": \"S\", \"topics\": [\"a\"]}\n```\nAnything else? {\"x\":1}", Checkpoint{Summary: "S", Topics: list("a"), Decisions: list(), Questions: list()}},
		{"braces in strings", `So: {"summary": "a } brace \" and { another", "topics": ["}"]} there.`, Checkpoint{Summary: `a } brace " and { another`, Topics: list("}"), Decisions: list(), Questions: list()}},
		{"one string for a list", `{"summary":"S","topics":"a","decisions":7}`, Checkpoint{Summary: "S", Topics: list("a"), Decisions: list(), Questions: list()}},
		{"no object", "They talked of cranes.", Checkpoint{Summary: "They talked of cranes.", Topics: list(), Decisions: list(), Questions: list()}},
		{"an object that is none", "{summary: no}", Checkpoint{Summary: "{summary: no}", Topics: list(), Decisions: list(), Questions: list()}},
		{"an object without a summary", `{"topics":["a"]}`, Checkpoint{Summary: `{"topics":["a"]}`, Topics: list(), Decisions: list(), Questions: list()}},
		{"an open brace", `a { b`, Checkpoint{Summary: `a { b`, Topics: list(), Decisions: list(), Questions: list()}},
		{"long prose", prose, Checkpoint{Summary: prose[:4000] + "…", Topics: list(), Decisions: list(), Questions: list()}},
		{"long prose of long letters", strings.Repeat("€", 2000), Checkpoint{Summary: strings.Repeat("€", 1333) + "…", Topics: list(), Decisions: list(), Questions: list()}},
	} {
		var got Checkpoint
		parse(test.answer, &got)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}
