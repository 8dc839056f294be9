package window_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine/window"
)

// TestRollingDue: GoClaw's triggers. The count is reached at 500, as its document has it; its source took one more.
func TestRollingDue(t *testing.T) {
	for _, test := range []struct {
		reserve, most, tokens, budget, messages int
		due                                     bool
	}{
		{4000, 0, 195_999, 200_000, 0, false}, {4000, 0, 196_000, 200_000, 0, true},
		{30_000, 0, 169_999, 200_000, 0, false}, {30_000, 0, 170_000, 200_000, 0, true},
		{4000, 0, 10_000_000, 0, 0, false},
		{4000, 500, 0, 200_000, 499, false}, {4000, 500, 0, 200_000, 500, true}, {4000, 500, 0, 0, 501, true},
		{4000, 0, 0, 200_000, 100_000, false},
	} {
		if why := (window.Rolling{Reserve: test.reserve, MaxMessages: test.most}).Due(test.tokens, test.budget, test.messages); (why != "") != test.due {
			t.Errorf("%+v: due for %q", test, why)
		}
	}
}

// TestRollingKeep: how many messages stay, and where the cut lies among messages that are all talk.
func TestRollingKeep(t *testing.T) {
	for _, test := range []struct{ n, percent, least, keep, start int }{
		{100, 50, 20, 50, 50}, {501, 50, 20, 250, 251}, {30, 50, 20, 20, 10}, {15, 50, 20, 15, 0}, {41, 50, 20, 20, 21}, {99, 33, 20, 32, 67},
		{200, 70, 20, 140, 60}, {100, 0, 20, 50, 50}, {100, 150, 20, 100, 0}, {100, 10, 0, 20, 80}, {0, 50, 20, 0, 0}, {100, -1, -1, 50, 50},
	} {
		r := window.Rolling{MinMessages: test.least}
		if keep := r.Keep(test.n, test.percent); keep != test.keep {
			t.Errorf("%+v: %d stay", test, keep)
		}
		if cut := r.Cut(rollingItems(strings.Repeat("u", test.n)), test.percent); cut != test.start {
			t.Errorf("%+v: the cut is before %d", test, cut)
		}
	}
}

// rollingItems makes items of letters: user, assistant, call, result, Summary. A result answers the oldest call that has none.
func rollingItems(letters string) (items []window.Item) {
	var open []string
	for i, letter := range letters {
		it := window.Item{Position: i + 1, Ref: fmt.Sprint("m", i), Role: window.User, Tokens: 10}
		switch letter {
		case 'a':
			it.Role = window.Assistant
		case 'c', '2':
			it.Role = window.Assistant
			for n := range strings.Index("0c2", string(letter)) {
				it.Calls = append(it.Calls, fmt.Sprint("c", i, n))
			}
			open = append(open, it.Calls...)
		case 'r':
			it.Role, it.Results = window.Tool, open[:1]
			open = open[1:]
		case 'S':
			it.Summary, it.Role = true, ""
		}
		items = append(items, it)
	}
	return items
}

// TestRollingCut: a cut moves to older messages until it parts no call from its results. What stands before it, summaries too, gives way.
func TestRollingCut(t *testing.T) {
	for _, test := range []struct {
		turns      string
		keep       int
		cut, pairs int
	}{
		{"uauacrau", 3, 3, 4},  // on the result: before the talk that led to the call
		{"uauacrau", 4, 3, 4},  // on the call
		{"uauacrau", 2, 6, 6},  // behind the result
		{"ua2rrau", 3, 1, 2},   // a message of two calls stays with both results
		{"uacurau", 3, 1, 2},   // also when something was said in between
		{"crcrcrcr", 4, 0, 4},  // nothing but tools: no cut before talk
		{"ucrcrcrcr", 4, 0, 5}, // an agent that works on alone
		{"Suauauau", 3, 5, 5},  // the older summary gives way too
		{"Sua", 2, 0, 0},       // but not alone
	} {
		items := rollingItems(test.turns)
		r := window.Rolling{MinMessages: test.keep}
		if cut := r.Cut(items, 1); cut != test.cut {
			t.Errorf("%+v: cut before %d", test, cut)
		}
		if cut := r.CutPairs(items, 1); cut != test.pairs {
			t.Errorf("%+v: between pairs the cut is before %d", test, cut)
		}
	}
}

// TestRollingCutUpTo: a checkpoint stands only for messages that it has read.
func TestRollingCutUpTo(t *testing.T) {
	items := rollingItems("Suauacrauau")
	for _, test := range []struct{ cut, upTo, want int }{{8, 100, 8}, {8, 8, 8}, {8, 3, 3}, {8, 6, 4}, {8, 0, 0}, {8, 1, 0}, {3, 8, 3}} {
		if got := window.CutUpTo(items, test.cut, test.upTo); got != test.want {
			t.Errorf("%+v: %d", test, got)
		}
	}
}

// TestMarks: GoClaw's vectors of when a checkpoint is due.
func TestMarks(t *testing.T) {
	m := window.Marks{Thresholds: []int{25, 50, 75}, Turns: 10, Floor: 5000}
	for _, test := range []struct {
		tokens, users, covered int
		due                    bool
	}{
		{4999, 50, 0, false}, {50_000, 0, 0, true}, {49_999, 0, 0, false}, {99_999, 0, 50_000, false}, {100_000, 0, 50_000, true},
		{5000, 9, 0, false}, {5000, 10, 0, true}, {149_999, 0, 110_000, false}, {150_000, 0, 110_000, true}, {149_999, 10, 110_000, true},
	} {
		if why := m.Due(test.tokens, 200_000, test.users, test.covered); (why != "") != test.due {
			t.Errorf("%+v: due for %q", test, why)
		}
	}
	if why := m.Due(100_000, 0, 3, 0); why != "" {
		t.Errorf("without a budget: due for %q", why)
	}
}

// TestFlush: one prompt at a time, the highest; those below it have fired with it, or with catchUp come later.
func TestFlush(t *testing.T) {
	all := []int{50, 75, 90}
	none, set := map[int]bool{}, func(fired ...int) map[int]bool {
		m := map[int]bool{}
		for _, percent := range fired {
			m[percent] = true
		}
		return m
	}
	for _, test := range []struct {
		tokens  int
		fired   map[int]bool
		catchUp bool
		want    int
	}{
		{499, none, false, 0}, {500, none, false, 50}, {500, set(50), false, 0}, {920, set(50), false, 90}, {920, set(90), false, 0},
		{920, none, true, 90}, {920, set(90), true, 75}, {920, set(90, 75), true, 50}, {920, set(90, 75, 50), true, 0}, {0, none, false, 0},
	} {
		if got := window.Flush(test.tokens, 1000, all, func(percent int) bool { return test.fired[percent] }, test.catchUp); got != test.want {
			t.Errorf("%+v: %d", test, got)
		}
	}
	if window.Cleared(250, 1000) || !window.Cleared(249, 1000) || window.Cleared(249, 0) {
		t.Error("prompts fire again below a quarter of the budget")
	}
}
