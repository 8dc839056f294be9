package window_test

import (
	"fmt"
	"testing"

	"github.com/mallardmem/mallard/engine/window"
)

// longContext has n items: summaries first, then messages, of which one in ten calls a tool.
func longContext(n int) []window.Item {
	items := make([]window.Item, n)
	for i := range items {
		it := &items[i]
		*it = window.Item{Position: i + 1, Ref: fmt.Sprintf("msg_%d", i), Tokens: 20 + i%50, Role: window.User}
		switch {
		case i < n/2:
			it.Summary, it.Depth = true, 1+i/7%2
		case i%10 == 4:
			it.Role, it.Calls = window.Assistant, []string{fmt.Sprintf("call_%d", i)}
		case i%10 == 5:
			it.Role, it.Results = window.Tool, []string{fmt.Sprintf("call_%d", i-1)}
		}
	}
	return items
}

func BenchmarkPlan(b *testing.B) {
	p := defaultPolicy()
	for _, n := range []int{10_000, 100_000} {
		items := longContext(n)
		tail := p.Tail(items, 128_000)
		scores := make([]float64, n)
		for i := range scores {
			scores[i] = float64(i * 7919 % 1009)
		}
		never := func(int, int) bool { return true }
		for _, c := range []struct {
			name string
			plan func()
		}{
			{"Tail", func() { p.Tail(items, 128_000) }},
			{"LeafRun", func() { p.LeafRun(items, tail, nil) }},
			{"LeafRunRefused", func() { p.LeafRun(items, tail, never) }},
			{"CondensedRun", func() { p.CondensedRun(items, tail, false, never) }},
			{"Select", func() { window.Select(items, window.SelectOptions{Budget: 128_000, Tail: tail}) }},
			{"SelectScores", func() { window.Select(items, window.SelectOptions{Budget: 128_000, Tail: tail, Scores: scores}) }},
		} {
			b.Run(fmt.Sprintf("%s/%d", c.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					c.plan()
				}
			})
		}
	}
}
