package window_test

import (
	"testing"

	"github.com/mallardmem/mallard/engine/window"
)

func TestTail(t *testing.T) {
	for _, c := range []struct {
		label         string
		context       string
		count, tokens int
		budget        int
		want          int
	}{
		{"published: by count", "10 10 10 10 10", 2, -1, 0, 3},
		{"published: fewer messages than the count", "10 10", 5, -1, 100, 0},
		{"published: count 0 protects nothing", "10 10 10", 0, -1, 100, 3},
		{"published: a negative count neither", "10 10", -1, -1, 100, 2},
		{"published: no cap of tokens", "10 10 900 900", 2, -1, 100, 2},
		{"published: an assistant may be the newest alone", "10 10 a10", 1, -1, 100, 2},
		{"summaries do not count", "10 L(5) 10 L(5) 10", 2, -1, 0, 2},
		{"summaries before the messages are outside", "L(5) L(5) 10 10", 5, -1, 0, 2},
		{"no message at all", "L(5) D1(5)", 5, 0, 100, 2},
		{"empty", "", 5, 0, 100, 0},

		{"half the budget", "10 10 10 10 10 10", 64, 0, 60, 3},
		{"half the budget, rounded down", "10 10 10 10 10 10", 64, 0, 59, 4},
		{"a cap of its own", "10 10 10 10 10 10", 64, 20, 600, 4},
		{"half the budget is less than the cap", "10 10 10 10 10 10", 64, 500, 40, 4},
		{"no budget: only the cap", "10 10 10 10 10 10", 64, 20, 0, 4},
		{"no budget, no cap", "10 10 10 10 10 10", 4, 0, 0, 2},
		{"the walk stops at what is too large", "10 90 10 10", 64, 0, 100, 2},
		{"the newest user message stays whatever it costs", "10 10 900", 64, 0, 100, 2},
		{"and what follows it", "10 10 a900 a900", 1, 0, 100, 1},
		{"and counts", "10 10 10 a10 a10", 3, 0, 1000, 2},
		{"no user: the newest message", "a10 a900 a900", 64, 0, 100, 2},
		{"results are no user's words", "10 a10+t1 r10=t1 a10", 1, 0, 1000, 0},

		{"never between call and result: shorter", "10 10 a10+t1 r10=t1 10 10", 3, 0, 1000, 4},
		{"never between call and result: longer if a user spoke in between", "10 a10+t1 10 r10=t1", 1, 0, 1000, 1},
		{"never between the results of one call", "10 a10+t1+t2+t3 r10=t1 r10=t2 r10=t3 10", 3, 0, 1000, 5},
		{"published: not either", "10 10 a10+t1 r10=t1 10", 2, -1, 0, 4},
		{"published: the newest is a result", "10 10 a10+t1 r10=t1", 1, -1, 0, 2},
		{"result before its call", "10 r10=t1 10 a10+t1 10", 2, 0, 1000, 4},
		{"an id used again", "10 a10+t r10=t 10 a10+t r10=t 10 10", 3, 0, 1000, 6},
		{"shorter, up to a message", "10 a10+t1 r10=t1 L(5) 10", 2, -1, 0, 4},
		{"far apart: let go", "a10+t1 40*10 r10=t1 10 10", 3, 0, 10_000, 41},
		{"a pair with a summary between is let go", "a10+t1 L(5) r10=t1 10", 2, 0, 1000, 2},
	} {
		p := defaultPolicy()
		p.TailCount, p.TailTokens = c.count, c.tokens
		if got := p.Tail(contextOf(t, c.context), c.budget); got != c.want {
			t.Errorf("%s: the tail of %q begins at %d, want %d", c.label, c.context, got, c.want)
		}
	}
}

func TestSpared(t *testing.T) {
	for _, c := range []struct {
		label         string
		context       string
		count, tokens int
		budget        int
		lo, hi, tail  int
	}{
		{"within the bound: the tail alone", "10 10 a10 a10 a10", 64, 0, 80, 1, 1, 1},
		{"beyond it: what was asked for, and the newest", "10 10 a10 a10 a10 a10", 64, 0, 80, 1, 2, 3},
		{"what lies before is not spared", "10 a10 10 10 a10 a10 a10 a10", 64, 0, 60, 3, 4, 6},
		{"a cap of its own", "10 a10 a10 a10", 64, 20, 1000, 0, 1, 3},
		{"the count bounds it too", "10 a1 a1 a1 a1 a1 a1", 2, 0, 30, 0, 1, 5},
		{"more than the count alone is no reason", "10 a10 a10 a10 a10", 2, 0, 1000, 0, 0, 0},
		{"no room left: the newest message", "900 a10 a10 a10", 64, 0, 100, 0, 1, 3},
		{"the newest may be large", "10 a10 a900", 64, 0, 100, 0, 1, 2},
		{"with its call", "10 a10 a10+t r900=t", 64, 0, 100, 0, 1, 2},
		{"calls around what was asked for", "10 a10+t 10 r10=t a90 a90", 64, 0, 100, 1, 4, 5},
		{"calls around it that reach to the end", "a10+t 10 a90 r10=t", 64, 0, 100, 0, 0, 0},
		{"summaries behind it count", "10 L(50) a10 a10", 64, 0, 100, 0, 1, 2},
		{"and may be condensed", "10 L(50) L(50) a10 a10", 64, 0, 100, 0, 1, 3},
		{"the user spoke last", "10 a90 a90 10", 64, 0, 100, 3, 3, 3},
		{"no user", "a90 a90 a10", 64, 0, 100, 2, 2, 2},
		{"results are no user's words", "10 r10=t a90 r10=u a10", 64, 0, 60, 0, 1, 3},
		{"no budget, no cap: no bound", "10 a900 a900", 64, 0, 0, 0, 0, 0},
		{"published: by count", "10 a900 a900 a900", 2, -1, 100, 2, 2, 2},
		{"no tail", "10 a900 a900", -1, 0, 100, 3, 3, 3},
		{"empty", "", 64, 0, 100, 0, 0, 0},
	} {
		p := defaultPolicy()
		p.TailCount, p.TailTokens = c.count, c.tokens
		if lo, hi, tail := p.Spared(contextOf(t, c.context), c.budget); lo != c.lo || hi != c.hi || tail != c.tail {
			t.Errorf("%s: of %q [%d, %d) and the tail from %d are spared, want [%d, %d) and %d", c.label, c.context, lo, hi, tail, c.lo, c.hi, c.tail)
		}
	}
}

// An agent that works on alone is compacted behind what it was asked for, which comes along when the user speaks again.
func TestSweepSpares(t *testing.T) {
	p := published(func(p *window.Policy) {
		p.TailTokens, p.LeafChunkTokens, p.LeafMinFanout, p.CondensedTargetTokens = 0, 30, 2, 8
	})
	for _, c := range []struct{ context, want string }{
		{"10 10 10 20*a10", "L(5) m3 D1(5) m21 m22 m23"},
		{"10 10 10 20*a10 10", "D1(5) L(5) m21 m22 m23 m24"},
	} {
		s := window.NewSweep(p, window.SweepOptions{Forced: true})
		items, _ := passes(t, s, p, 80, contextOf(t, c.context), lengths(5, 5))
		if got := written(items); got != c.want {
			t.Errorf("%q becomes %s, want %s", c.context, got, c.want)
		}
	}
}
