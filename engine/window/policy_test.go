package window_test

import (
	"math"
	"strings"
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
		over, current, threshold := window.DefaultPolicy().Over(c.stored, c.live, c.budget)
		if over != c.over || current != c.current || threshold != c.threshold {
			t.Errorf("%s: got %v, %d, %d; want %v, %d, %d", c.label, over, current, threshold, c.over, c.current, c.threshold)
		}
	}
}

func TestLengths(t *testing.T) {
	p := window.DefaultPolicy()
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

func TestValidate(t *testing.T) {
	if err := window.DefaultPolicy().Validate(); err != nil {
		t.Errorf("the default: %v", err)
	}
	for _, c := range []struct {
		field string
		spoil func(*window.Policy)
	}{
		{"Threshold 0", func(p *window.Policy) { p.Threshold = 0 }},
		{"Threshold 1.5", func(p *window.Policy) { p.Threshold = 1.5 }},
		{"Threshold NaN", func(p *window.Policy) { p.Threshold = math.NaN() }},
		{"OverageFactor 0.5", func(p *window.Policy) { p.OverageFactor = 0.5 }},
		{"LeafChunkTokens 0", func(p *window.Policy) { p.LeafChunkTokens = 0 }},
		{"LeafTargetTokens -1", func(p *window.Policy) { p.LeafTargetTokens = -1 }},
		{"CondensedTargetTokens 0", func(p *window.Policy) { p.CondensedTargetTokens = 0 }},
		{"TailCount -2", func(p *window.Policy) { p.TailCount = -2 }},
		{"TailTokens -2", func(p *window.Policy) { p.TailTokens = -2 }},
		{"LeafMinFanout 1", func(p *window.Policy) { p.LeafMinFanout = 1 }},
		{"CondensedMinFanout 0", func(p *window.Policy) { p.CondensedMinFanout = 0 }},
		{"CondensedMinFanoutHard 1", func(p *window.Policy) { p.CondensedMinFanoutHard = 1 }},
		{"IncrementalMaxDepth -2", func(p *window.Policy) { p.IncrementalMaxDepth = -2 }},
		{"MaxPasses -1", func(p *window.Policy) { p.MaxPasses = -1 }},
	} {
		p := window.DefaultPolicy()
		c.spoil(&p)
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), c.field) || !strings.Contains(err.Error(), "allowed is") {
			t.Errorf("%s: got %v", c.field, err)
		}
	}
	if err := (window.Policy{}).Validate(); err == nil || strings.Count(err.Error(), "allowed is") != 8 {
		t.Errorf("the zero policy must name all eight fields that are wrong: %v", err)
	}
}
