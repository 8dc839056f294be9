package bench

import "testing"

func TestBest(t *testing.T) {
	right, wrong := Answer{TurnRanks: []int{1}, SessionRanks: []int{1}}, Answer{TurnRanks: []int{0}, SessionRanks: []int{0}}
	answers := [][]Answer{
		{wrong, right, wrong, wrong},
		{right, wrong, right, wrong},
		{wrong, right, right, wrong},
	}
	for _, c := range []struct {
		name string
		some func(question int) bool
		want int
	}{
		{"all: the second and the third are equal", func(int) bool { return true }, 1},
		{"without the first", func(q int) bool { return q != 0 }, 2},
		{"none", func(int) bool { return false }, 0},
		{"only the last: all are equal", func(q int) bool { return q == 3 }, 0},
	} {
		if got := best(answers, c.some); got != c.want {
			t.Errorf("%s: set %d, want %d", c.name, got, c.want)
		}
	}
}
