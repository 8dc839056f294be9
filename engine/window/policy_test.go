package window_test

import (
	"testing"

	"github.com/mallardmem/mallard/engine/window"
)

func TestOver(t *testing.T) {
	for _, c := range []struct {
		label                string
		stored, live, budget int
		over                 bool
		current, threshold   int
	}{
		{"A1: as much as the threshold", 750, 0, 1000, false, 750, 750},
		{"A1b", 750, 0, 999, true, 750, 749},
		{"A2", 750, 751, 1000, true, 751, 750},
		{"A3", 750, 750, 1000, false, 750, 750},
		{"A4", 750, -5, 1000, false, 750, 750},
		{"A5", 1, 800, 1000, true, 800, 750},
		{"no budget", 5000, 0, 0, false, 5000, 0},
	} {
		over, current, threshold := defaultPolicy().Over(c.stored, c.live, c.budget)
		if over != c.over || current != c.current || threshold != c.threshold {
			t.Errorf("%s: got %v, %d, %d; want %v, %d, %d", c.label, over, current, threshold, c.over, c.current, c.threshold)
		}
	}
}

func TestLengths(t *testing.T) {
	p := defaultPolicy()
	for _, c := range []struct {
		input              int
		normal, aggressive int
	}{
		{36, 192, 96}, {600, 210, 120}, {1000, 350, 200}, {6600, 2310, 1320}, {20_000, 2400, 1320},
	} {
		if n, a := p.LeafLength(c.input, false), p.LeafLength(c.input, true); n != c.normal || a != c.aggressive {
			t.Errorf("a leaf of %d tokens: asked for %d and %d, want %d and %d", c.input, n, a, c.normal, c.aggressive)
		}
	}
	small := window.Policy{LeafTargetTokens: 10, CondensedTargetTokens: 20}
	if n, a, c := small.LeafLength(20_000, false), small.LeafLength(20_000, true), small.CondensedLength(); n != 192 || a != 105 || c != 512 {
		t.Errorf("small targets: %d, %d and %d, want 192, 105 and 512", n, a, c)
	}
	if c := p.CondensedLength(); c != 2000 {
		t.Errorf("condensed: %d, want 2000", c)
	}
	if n := p.MinCondensed(); n != 2000 {
		t.Errorf("MinCondensed %d, want 2000", n)
	}
	p.CondensedTargetTokens = 900
	if n := p.MinCondensed(); n != 2000 {
		t.Errorf("MinCondensed %d, want a tenth of the chunk: 2000", n)
	}
}
