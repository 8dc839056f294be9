package window_test

import (
	"fmt"
	"testing"

	"github.com/mallardmem/mallard/engine/window"
)

// A talk that goes on for ever stays within its budget, also where that is small beside the summaries, and most turns cost no pass.
func TestGrowth(t *testing.T) {
	const turns = 10_000
	for _, c := range []struct {
		label  string
		budget int
		policy func(*window.Policy)
		passes float64 // at most, for each turn
	}{
		{"large", 128_000, func(*window.Policy) {}, 0.02},
		{"small", 16_000, func(*window.Policy) {}, 0.25},
		{"very small, with small summaries", 8000, func(p *window.Policy) {
			p.LeafChunkTokens, p.LeafTargetTokens, p.CondensedTargetTokens = 2000, 300, 300
		}, 0.6},
	} {
		p := defaultPolicy()
		c.policy(&p)
		length := func(step window.Step, items []window.Item) int {
			input := window.Tokens(items[step.Lo:step.Hi])
			if step.Kind == window.Leaf {
				return min(input*35/100, p.LeafLength(input, false))
			}
			return min(input/2, p.CondensedTargetTokens)
		}
		var items []window.Item
		made := 0
		for n := range turns {
			items = append(items, window.Item{Position: n + 1, Ref: fmt.Sprintf("m%d", n+1), Tokens: 60, Role: []string{window.User, window.Assistant}[n%2]})
			s := window.NewSweep(p, window.SweepOptions{Budget: c.budget})
			items, _ = passes(t, s, p, c.budget, items, length)
			made += s.Passes()
			if tokens := window.Tokens(items); tokens > c.budget {
				t.Fatalf("%s: %d tokens of %d after %d turns", c.label, tokens, c.budget, n+1)
			}
		}
		if most := int(c.passes * turns); made > most || made == 0 {
			t.Errorf("%s: %d passes for %d turns, want at most %d", c.label, made, turns, most)
		}
	}
}
