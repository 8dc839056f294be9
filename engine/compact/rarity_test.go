package compact

import "testing"

// TestIsSaid: a word counts where a message of the stretch has it, its ends included, and nowhere else.
func TestIsSaid(t *testing.T) {
	w := rareWord{rarity: 1, seqs: []int32{3, 7}}
	for _, test := range []struct {
		from, to int
		want     bool
	}{{1, 2, false}, {1, 3, true}, {3, 3, true}, {4, 6, false}, {4, 7, true}, {7, 9, true}, {8, 9, false}} {
		if got := w.isSaid(test.from, test.to); got != test.want {
			t.Errorf("from %d to %d: %v", test.from, test.to, got)
		}
	}
}
