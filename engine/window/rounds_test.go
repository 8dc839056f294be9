package window_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine/window"
)

func TestRounds(t *testing.T) {
	for _, c := range []struct {
		label        string
		context      string
		target, live int
		want         window.Outcome
		contextAfter string
		tokens       int
	}{
		{"H1", "10*50", 200, 0, window.Outcome{Reached: true, Changed: true, Rounds: 1, Reason: window.ReasonCompacted}, "L(5) L(5) L(5) L(5) m9 m10", 120},
		{"H2", "50 50", 200, 0, window.Outcome{Reached: true, Reason: window.ReasonUnder}, "m1 m2", 100},
		{"H3", "50 50", 200, 200, window.Outcome{Reached: true, Rounds: 1, Reason: window.ReasonUnder}, "m1 m2", 100},
		{"H4", "6*50", 60, 0, window.Outcome{Changed: true, Rounds: 2, Reason: window.ReasonNotUnder}, "L(5) L(5) m5 m6", 110},
		{"Z4", "1", 1000, 0, window.Outcome{Reached: true, Reason: window.ReasonUnder}, "m1", 1},
		{"Z5: nothing changed is not success", "1", 1000, 5000, window.Outcome{Rounds: 1, Reason: window.ReasonLive}, "m1", 1},
		{"what the host saw falls with what is stored", "10*50", 200, 550,
			window.Outcome{Reached: true, Changed: true, Rounds: 1, Reason: window.ReasonCompacted}, "L(5) L(5) L(5) L(5) m9 m10", 120},
		{"but no further", "10*50", 200, 5000, window.Outcome{Changed: true, Rounds: 2, Reason: window.ReasonLive}, "L(5) L(5) L(5) L(5) m9 m10", 120},
	} {
		t.Run(c.label, func(t *testing.T) {
			p := published(func(p *window.Policy) { p.LeafChunkTokens, p.TailCount = 100, 2 })
			items := contextOf(t, c.context)
			rounds := window.NewRounds(c.target, window.Tokens(items), c.live)
			for rounds.Next() {
				s := window.NewSweep(p, window.SweepOptions{Budget: c.target, Forced: true})
				items, _ = passes(t, s, p, c.target, items, lengths(5, 5))
				rounds.Done(window.Tokens(items), s.Written() > 0)
			}
			if diff := cmp.Diff(c.want, rounds.Outcome()); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
			if got := written(items); got != c.contextAfter || window.Tokens(items) != c.tokens {
				t.Errorf("got %s (%d tokens), want %s (%d tokens)", got, window.Tokens(items), c.contextAfter, c.tokens)
			}
		})
	}
}

func TestRoundsEnd(t *testing.T) {
	r := window.NewRounds(10, 1000, 0)
	for stored := 999; r.Next(); stored-- {
		r.Done(stored, true)
	}
	if got := r.Outcome(); got.Rounds != 10 || got.Reached || got.Reason != window.ReasonNotUnder {
		t.Errorf("a little at a time: %+v", got)
	}
	r = window.NewRounds(10, 1000, 0)
	if r.Done(1000, true); r.Next() || r.Outcome().Reason != window.ReasonNotUnder {
		t.Errorf("written, but no smaller: %+v", r.Outcome())
	}
}
