package window_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine/window"
)

func TestSuffix(t *testing.T) {
	costs := []int{18, 33, 18, 33}
	for _, c := range []struct {
		most  int
		fixed string
		o     window.Oversize
		want  string
		used  int
		cut   int
		over  bool
	}{
		{102, "", window.TailCut, "xxxx", 102, -1, false},
		{101, "", window.TailCut, ".xxx", 84, -1, false}, {84, "", window.TailCut, ".xxx", 84, -1, false},
		{83, "", window.TailCut, "..xx", 51, -1, false}, {51, "", window.TailCut, "..xx", 51, -1, false},
		{50, "", window.TailCut, "...x", 33, -1, false}, {33, "", window.TailCut, "...x", 33, -1, false},
		{32, "", window.TailCut, "...x", 32, 3, false}, {5, "", window.TailCut, "...x", 5, 3, false},
		{32, "", window.Drop, "....", 0, -1, false},
		{32, "", window.Keep, "...x", 33, -1, true},
		{60, "x", window.TailCut, "x..x", 51, -1, false}, // what is fixed comes first
		{40, "x", window.TailCut, "x...", 18, -1, false}, // and is not nothing
		{17, "x", window.Keep, "x...", 18, -1, true},
	} {
		fixed := make([]bool, 4)
		for i := range c.fixed {
			fixed[i] = true
		}
		f := window.Suffix(costs, fixed, c.most, c.o)
		if got := marks(f.Kept); got != c.want || f.Used != c.used || f.Cut != c.cut || f.Over != c.over {
			t.Errorf("%d, %s: %s %+v; want %s, %d used, cut %d, over %v", c.most, c.o, got, f, c.want, c.used, c.cut, c.over)
		}
	}
}

func TestBest(t *testing.T) {
	for _, c := range []struct {
		costs     []int
		protected string
		most      int
		want      string
		used      int
	}{
		{[]int{9, 10, 69, 45}, "xx..", 88, "xx.x", 64}, // both messages and the newer note, of two notes the one that fits
		{[]int{6, 6, 6}, "...", 6, "..x", 6},
		{[]int{6, 6, 6}, "...", 200, "xxx", 18},
		{[]int{5, 50, 5}, "...", 12, "x.x", 10},     // what does not fit is passed over
		{[]int{5, 50, 5}, ".xx", 12, "x.x", 10},     // also where it is protected
		{[]int{5, 8, 5, 5}, ".x..", 13, ".x.x", 13}, // the protected first
	} {
		protected := make([]bool, len(c.costs))
		for i := range c.protected {
			protected[i] = c.protected[i] == 'x'
		}
		f := window.Best(c.costs, nil, protected, c.most)
		if got := marks(f.Kept); got != c.want || f.Used != c.used || f.Over {
			t.Errorf("%v in %d: %s, %d used; want %s, %d", c.costs, c.most, got, f.Used, c.want, c.used)
		}
	}
}

func TestCap(t *testing.T) {
	order := []string{"recall", "facts", "dated"}
	for _, c := range []struct {
		most, recall, facts, user int
		want                      []window.Part
		over                      int
	}{
		{100, 80, 30, 40, []window.Part{{Name: "recall", Chars: 30}}, 0},
		{100, 20, 60, 60, []window.Part{{Name: "recall", Chars: 0}, {Name: "facts", Chars: 40}}, 0},
		{100, 10, 10, 200, []window.Part{{Name: "recall", Chars: 0}, {Name: "facts", Chars: 0}}, 100},
		{150, 80, 30, 40, nil, 0}, {0, 80, 30, 40, nil, 0},
	} {
		cut, over := window.Cap([]window.Part{{Name: "recall", Chars: c.recall}, {Name: "facts", Chars: c.facts}, {Name: "user", Chars: c.user}}, order, c.most)
		if diff := cmp.Diff(c.want, cut); diff != "" || over != c.over {
			t.Errorf("%s: over %d, want %d (-want +got):\n%s", fmt.Sprint(c), over, c.over, diff)
		}
	}
}
