package window_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine/window"
)

func TestSelect(t *testing.T) {
	for _, c := range []struct {
		label   string
		context string
		tail    int // items
		budget  int
		scores  []float64
		want    []int
		tokens  int
		over    bool
	}{
		{"J1", "6*10", 2, 1000, nil, []int{0, 1, 2, 3, 4, 5}, 60, false},
		{"J2", "6*10", 2, 45, nil, []int{2, 3, 4, 5}, 40, false},
		{"J3", "6*10", 2, 30, nil, []int{3, 4, 5}, 30, false},
		{"J4", "6*10", 2, 5, nil, []int{4, 5}, 20, true},
		{"J5", "6*10", 0, 25, nil, []int{4, 5}, 20, false},
		{"exactly the budget", "6*10", 2, 60, nil, []int{0, 1, 2, 3, 4, 5}, 60, false},
		{"no budget", "6*10", 2, 0, nil, []int{0, 1, 2, 3, 4, 5}, 60, false},
		{"no budget, with scores", "3*10", 1, 0, []float64{0, 1, 0}, []int{0, 1, 2}, 30, false},
		{"empty", "", 0, 10, nil, nil, 0, false},
		{"stops at what does not fit", "10 90 10 10", 1, 40, nil, []int{2, 3}, 20, false},

		{"K1: database", "5*10", 1, 30, []float64{0, 1. / 3, 0, 1. / 3, 0}, []int{1, 3, 4}, 30, false},
		{"K1: no question", "5*10", 1, 30, nil, []int{2, 3, 4}, 30, false},
		{"K1: apple database", "5*10", 1, 30, []float64{.25, .333, 0, .667, 0}, []int{1, 3, 4}, 30, false},
		{"K1: all fit", "5*10", 1, 50, []float64{.25, .333, 0, .667, 0}, []int{0, 1, 2, 3, 4}, 50, false},
		{"with scores what does not fit is passed over", "10 90 10 10", 1, 40, []float64{.1, .9, .2, 0}, []int{0, 2, 3}, 30, false},
		{"of equals the newer", "4*10", 1, 30, []float64{1, 1, 1, 0}, []int{1, 2, 3}, 30, false},
		{"missing scores are 0", "4*10", 1, 20, []float64{1}, []int{0, 3}, 20, false},
		{"scores of none", "4*10", 1, 20, []float64{}, []int{2, 3}, 20, false},
		{"no number is the worst", "4*10", 1, 30, []float64{math.NaN(), 0, 0, 0}, []int{1, 2, 3}, 30, false},

		{"L1", "10 a10+t1 r10=t1 10", 1, 1000, nil, []int{0, 1, 2, 3}, 40, false},
		{"L2: the result comes with its call", "r10=t1 90 a10+t1 10", 2, 30, nil, []int{0, 2, 3}, 30, false},
		{"the call comes with its result", "a10+t1 90 r10=t1 10", 2, 30, nil, []int{0, 2, 3}, 30, false},
		{"L7: a pair that does not fit ends the walk", "a5+t1 r100=t1 1", 1, 60, nil, []int{2}, 1, false},
		{"L7b: and is not split for a question either", "a25+t1 r100=t1 1", 1, 60, []float64{1, 0, 0}, []int{2}, 1, false},
		{"a pair is as good as its better half", "10 a10+t1 r10=t1 10 10", 1, 30, []float64{.5, 0, .9, .1, 0}, []int{1, 2, 4}, 30, false},
		{"a pair is as new as its newer half", "10 a10+t1 10 r10=t1 10", 1, 30, nil, []int{1, 3, 4}, 30, false},
		{"all results or none", "a10+t1+t2 r10=t1 r90=t2 10 10", 1, 100, nil, []int{3, 4}, 20, false},
		{"pairs that share a message are one", "a10+t0 a10+t1+t2 10 r10=t1 r10=t0=t2 10", 1, 40, nil, []int{5}, 10, false},
		{"what belongs to the tail counts as tail", "a90+t1 10 r10=t1 10", 2, 50, nil, []int{0, 2, 3}, 110, true},
		{"summaries within the tail are shown if they fit", "L(10) 10 L(10) 10", 3, 40, nil, []int{0, 1, 2, 3}, 40, false},
		{"the newest of them first", "L(10) 10 L(10) 10", 3, 30, nil, []int{1, 2, 3}, 30, false},
		{"or not", "L(5) 10 L(10) 10", 3, 25, nil, []int{1, 3}, 20, false},
		{"ids used again are other pairs", "a10+t r10=t 10 a10+t r10=t 10", 1, 30, nil, []int{3, 4, 5}, 30, false},
		{"an orphan result is alone", "r10=t9 10 10", 1, 20, nil, []int{1, 2}, 20, false},
	} {
		items := contextOf(t, c.context)
		got := window.Select(items, window.SelectOptions{Budget: c.budget, Tail: len(items) - c.tail, Scores: c.scores})
		if diff := cmp.Diff(window.Selection{Indexes: c.want, Tokens: c.tokens, Over: c.over}, got); diff != "" {
			t.Errorf("%s: %q (-want +got):\n%s", c.label, c.context, diff)
		}
	}
	for _, tail := range []int{math.MinInt, -1, 3, math.MaxInt} {
		if got := window.Select(contextOf(t, "10 10"), window.SelectOptions{Tail: tail}); len(got.Indexes) != 2 {
			t.Errorf("tail %d: %+v", tail, got)
		}
	}
}

func TestShorten(t *testing.T) {
	for _, c := range []struct {
		label   string
		context string
		budget  int
		want    []int
		tokens  int
	}{
		{"fits", "10 a10+a r50=a", 70, nil, 70},
		{"the largest first", "a10+a+b+c r50=a r90=b r70=c 10", 160, []int{2}, 145},
		{"and more, in order", "a10+a+b+c r50=a r90=b r70=c 10", 90, []int{2, 3}, 80},
		{"the older of equals", "a10+a+b r50=a r50=b", 100, []int{1}, 65},
		{"not what would not become shorter", "a10+a+b r5=a r4=b 90", 50, nil, 109},
		{"as far as it goes", "a10+a r50=a 90", 20, []int{1}, 105},
		{"no budget", "a10+a r50=a", 0, nil, 60},
	} {
		items := contextOf(t, c.context)
		s := window.Select(items, window.SelectOptions{Budget: c.budget})
		indexes, tokens := s.Shorten(items, c.budget, 5)
		if diff := cmp.Diff(c.want, indexes); diff != "" || tokens != c.tokens {
			t.Errorf("%s: got %v and %d tokens, want %v and %d", c.label, indexes, tokens, c.want, c.tokens)
		}
	}
}
