package text

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// checkPassages holds the passages of a text to what Passages promises.
func checkPassages(t *testing.T, s string) []Passage {
	t.Helper()
	all := Passages(s)
	size := quartersOf(s)
	if all == nil {
		if size > longText {
			t.Fatalf("%d quarters of a token and no passages: %.80q", size, s)
		}
		return nil
	}
	most := max(longPassage, 2*size/mostPassages+1)
	if size <= longText || len(all) < 2 || len(all) > mostPassages {
		t.Fatalf("%d passages of %d quarters of a token: %.80q", len(all), size, s)
	}
	end := 0
	for i, p := range all {
		if p.Start != end || p.End <= p.Start {
			t.Fatalf("passage %d is %d to %d, after %d: %.80q", i, p.Start, p.End, end, s)
		}
		end = p.End
		of := s[p.Start:p.End]
		if utf8.ValidString(s) && !utf8.ValidString(of) {
			t.Fatalf("passage %d is cut inside of a character: %q", i, of)
		}
		if n := quartersOf(of); n > most+most/4+8*mostMarks {
			t.Fatalf("passage %d has %d quarters of a token, at most %d: %.80q", i, n, most, of)
		}
		if i > 0 && i < len(all)-1 && quartersOf(s[all[i-1].Start:p.End]) <= most {
			t.Fatalf("passages %d and %d would be one: %.80q", i-1, i, of)
		}
	}
	if end != len(s) {
		t.Fatalf("the last passage ends at %d of %d", end, len(s))
	}
	return all
}

// randomText is made of what texts are made of, in any order.
func randomText(rng *rand.Rand, pieces int) string {
	kinds := []func() string{
		func() string { return strings.Repeat("word ", rng.IntN(200)) },
		func() string { return "A sentence of eight words stands right here. " },
		func() string { return "Is it \"one\"? (Yes, it is!) " },
		func() string { return strings.Repeat("港の朝は静かで、船が二隻入った。", rng.IntN(30)) },
		func() string { return strings.Repeat("没有空格的文字", rng.IntN(100)) },
		func() string {
			return strings.Repeat("ภาษาไทยไม่มีช่องว่าง", rng.IntN(30))
		},
		func() string { return strings.Repeat("x", rng.IntN(3000)) },
		func() string { return "\n\n" },
		func() string { return "\n" },
		func() string { return "\n\n## A heading\n\n" },
		func() string { return "\n```go\nfunc main() {\n\n\tprintln(1)\n}\n```\n" },
		func() string { return "\n```\n" },
		func() string { return "\n- one\n- two\n\n- three\n  more\n" },
		func() string { return "\n1. first\n2) second\n" },
		func() string { return "These are the steps:\n\n" },
		func() string { return "👩‍👩‍👧‍👦 e\u0301\u0302 " },
		func() string { return strings.Repeat("\u0301", rng.IntN(900)) },
		func() string { return "\xff\xfe" },
		func() string { return strings.Repeat(" ", rng.IntN(700)) },
	}
	var b strings.Builder
	for range pieces {
		b.WriteString(kinds[rng.IntN(len(kinds))]())
	}
	return b.String()
}

func TestPassagesOfRandomTexts(t *testing.T) {
	t.Parallel()
	long := 0
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		if checkPassages(t, randomText(rng, 1+rng.IntN(40))) != nil {
			long++
		}
	}
	if long < 1500 {
		t.Errorf("only %d texts were long", long)
	}
}

func FuzzPassages(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(randomText(rand.New(rand.NewPCG(seed, 2)), 30))
	}
	f.Fuzz(func(t *testing.T, s string) { checkPassages(t, s) })
}

// TestPassagesHaveABound: a very long text has longer passages, not more of them.
func TestPassagesHaveABound(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"A sentence of eight words stands right here. ", "没有空格的文字", "x", "line\n", "- item\n"} {
		if n := len(checkPassages(t, strings.Repeat(unit, 2_000_000/len(unit)))); n < mostPassages/3 {
			t.Errorf("two million bytes of %q have %d passages only", unit, n)
		}
	}
}

// TestPassagesStayWhole: what fits is not cut.
func TestPassagesStayWhole(t *testing.T) {
	t.Parallel()
	paragraph := strings.TrimSpace(strings.Repeat("The crane stood still. ", 14))
	for _, test := range []struct{ what, whole string }{
		{"a paragraph", paragraph},
		{"code with empty lines", "```go\n" + strings.Repeat("\tlift(crane)\n\n", 20) + "```"},
		{"a list with empty lines", strings.TrimSpace(strings.Repeat("- one crane\n\n- another crane\n\n", 10))},
		{"a heading with its paragraph", "## Cranes\n\n" + paragraph[:300]},
		{"an introduction with its list", "What the foreman wants:\n\n" + strings.TrimSpace(strings.Repeat("1. a crane\n", 20))},
	} {
		for before := range 12 { // wherever it stands
			s := strings.Repeat("It rained on the quay. ", 4*before) + "\n\n" + test.whole + "\n\n" + strings.Repeat("The tide came in at noon. ", 40)
			whole := false
			for _, p := range checkPassages(t, s) {
				whole = whole || strings.Contains(s[p.Start:p.End], test.whole)
			}
			if !whole {
				t.Errorf("%s is cut, %d sentences after the beginning", test.what, 4*before)
			}
		}
	}
}

// TestPassagesEndWithSentences: what has to be cut is cut after a sentence where it has any.
func TestPassagesEndWithSentences(t *testing.T) {
	t.Parallel()
	for _, sentence := range []string{"The crane on berth three was repaired on Monday. ", "港の朝は静かで、船が二隻入った。", "\"Is the crane ready?\" asked the foreman! "} {
		s := strings.Repeat(sentence, 100)
		for i, p := range checkPassages(t, s) {
			if (p.End-p.Start)%len(sentence) != 0 {
				t.Errorf("passage %d of %q ends inside of a sentence: …%q", i, sentence, s[p.End-20:p.End])
			}
		}
	}
}

func ExamplePassages() {
	s := "# Harbour\n\n" + strings.Repeat("It rained on the quay. ", 20) + "\n\n" + strings.Repeat("The tide came in. ", 20)
	for _, p := range Passages(s) {
		fmt.Printf("%d to %d: %.24q\n", p.Start, p.End, s[p.Start:p.End])
	}
	// Output:
	// 0 to 379: "# Harbour\n\nIt rained on "
	// 379 to 473: "It rained on the quay. I"
	// 473 to 833: "The tide came in. The ti"
}
