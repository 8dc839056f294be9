package window_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine/window"
)

func TestFullSweep(t *testing.T) {
	twenty := func(p *window.Policy) { p.TailCount, p.LeafChunkTokens = 4, 50 }
	small := func(p *window.Policy) {
		p.TailCount, p.LeafChunkTokens, p.LeafMinFanout, p.CondensedMinFanout, p.CondensedTargetTokens = 2, 100, 2, 2, 10
	}
	for _, c := range []struct {
		label   string
		context string
		policy  func(*window.Policy)
		o       window.SweepOptions
		leaf    int
		cond    int
		want    string
		tokens  int
		passes  []string
		stop    window.Stop
	}{
		{"D1", "20*10", twenty, window.SweepOptions{Budget: 200}, 5, 5, "L(5) L(5) " + messages(11, 20), 110,
			[]string{"leaf 0 of 50 tokens", "leaf 0 of 50 tokens after s1.0"}, window.Reached},
		{"D2", "20*10", twenty, window.SweepOptions{Budget: 200, Forced: true}, 5, 5, "L(5) L(5) L(5) L(5) " + messages(17, 20), 60,
			[]string{"leaf 0 of 50 tokens", "leaf 0 of 50 tokens after s1.0", "leaf 0 of 50 tokens after s6.0", "leaf 0 of 10 tokens after s11.0"}, window.Exhausted},
		{"D3", "20*10", twenty, window.SweepOptions{Budget: 300}, 5, 5, "L(5) " + messages(6, 20), 155,
			[]string{"leaf 0 of 50 tokens"}, window.Reached},
		{"D4", "20*10", func(p *window.Policy) {
			twenty(p)
			p.LeafMinFanout, p.CondensedMinFanout, p.CondensedTargetTokens = 2, 2, 8
		}, window.SweepOptions{Forced: true}, 5, 3, "D1(3) " + messages(17, 20), 43,
			[]string{"leaf 0 of 50 tokens", "leaf 0 of 50 tokens after s1.0", "leaf 0 of 50 tokens after s6.0", "leaf 0 of 10 tokens after s11.0",
				"condensed 1 of 20 tokens"}, window.Exhausted},
		{"D5", "12*50", small, window.SweepOptions{Forced: true}, 10, 8, "D1(8) m11 m12", 108,
			[]string{"leaf 0 of 100 tokens", "leaf 0 of 100 tokens after s1.0", "leaf 0 of 100 tokens after s3.0", "leaf 0 of 100 tokens after s5.0",
				"leaf 0 of 100 tokens after s7.0", "condensed 1 of 50 tokens"}, window.Exhausted},
		{"D6: what does not shrink is not written, and the next is tried", "3 3 3 5 5", func(p *window.Policy) { p.TailCount, p.LeafChunkTokens = 2, 3 },
			window.SweepOptions{Forced: true}, 3, 3, messages(1, 5), 19,
			[]string{"leaf 0 of 3 tokens in vain", "leaf 0 of 3 tokens in vain", "leaf 0 of 3 tokens in vain"}, window.Exhausted},
		{"D7", "10 10 L(20) 10 10 5 5", small, window.SweepOptions{Forced: true}, 3, 3, "D1(3) m6 m7", 13,
			[]string{"leaf 0 of 20 tokens", "leaf 0 of 20 tokens after s1.0", "condensed 1 of 26 tokens"}, window.Exhausted},
		{"E1", "D1(20) D1(20) L(20) L(20) 5 5", small, window.SweepOptions{Forced: true}, 3, 3, "D2(3) m5 m6", 13,
			[]string{"condensed 1 of 40 tokens", "condensed 2 of 43 tokens"}, window.Exhausted},
		{"E2", "L(20) D1(20) L(20) L(20) L(20) 5 5", small, window.SweepOptions{Forced: true}, 3, 3, "L(20) D2(3) m6 m7", 33,
			[]string{"condensed 1 of 60 tokens after s1", "condensed 2 of 23 tokens"}, window.Exhausted},
		{"E3", "L(60) L(50) L(30) 5 5", small, window.SweepOptions{Forced: true}, 3, 3, "L(60) D1(3) m4 m5", 73,
			[]string{"condensed 1 of 80 tokens after s1"}, window.Exhausted},
		{"E4", "L(20) L(20) 5 5", func(p *window.Policy) { small(p); p.LeafMinFanout = 3 }, window.SweepOptions{Forced: true}, 3, 3,
			"L(20) L(20) m3 m4", 50, nil, window.Exhausted},
		{"E4, hard: above its threshold", "L(20) L(20) 5 5", func(p *window.Policy) { small(p); p.LeafMinFanout = 3 }, window.SweepOptions{Budget: 66}, 3, 3,
			"D1(3) m3 m4", 13, []string{"condensed 1 of 40 tokens"}, window.Reached},
		{"E4, hard: above its target", "L(20) L(20) 5 5", func(p *window.Policy) { small(p); p.LeafMinFanout = 3 }, window.SweepOptions{Forced: true, Target: 49}, 3, 3,
			"D1(3) m3 m4", 13, []string{"condensed 1 of 40 tokens"}, window.Reached},
		{"E4, just at its threshold", "L(20) L(20) 5 5", func(p *window.Policy) { small(p); p.LeafMinFanout = 3 }, window.SweepOptions{Budget: 67, Forced: true}, 3, 3,
			"L(20) L(20) m3 m4", 50, nil, window.Exhausted},
		{"hard comes last", "L(20) L(20) D1(20) D1(20) 5 5", func(p *window.Policy) { small(p); p.LeafMinFanout = 3 }, window.SweepOptions{Budget: 60}, 3, 3,
			"D1(3) D2(3) m5 m6", 16, []string{"condensed 2 of 40 tokens", "condensed 1 of 40 tokens"}, window.Reached},
		{"E5", "L(20) L(20) 5 5", func(p *window.Policy) { small(p); p.CondensedTargetTokens = 50 }, window.SweepOptions{Forced: true}, 3, 3,
			"L(20) L(20) m3 m4", 50, nil, window.Exhausted},
		{"E6", "6*L(30) 5 5", func(p *window.Policy) { small(p); p.LeafChunkTokens = 60 }, window.SweepOptions{Budget: 200}, 3, 3,
			"D1(3) L(30) L(30) L(30) L(30) m7 m8", 133, []string{"condensed 1 of 60 tokens"}, window.Reached},

		{"below, and no trigger", "20*10", func(p *window.Policy) { p.TailCount = 4 }, window.SweepOptions{Budget: 300}, 5, 5, messages(1, 20), 200,
			nil, window.Below},
		{"no budget, no trigger", "20*10", func(p *window.Policy) { p.TailCount = 4 }, window.SweepOptions{}, 5, 5, messages(1, 20), 200, nil, window.Below},
		{"a trigger goes on after what was in vain", "5 10 10 10", func(p *window.Policy) { p.TailCount, p.LeafChunkTokens = 1, 10 },
			window.SweepOptions{Budget: 1000}, 5, 5, "m1 L(5) m3 m4", 30, []string{"leaf 0 of 5 tokens in vain", "leaf 0 of 10 tokens"}, window.Reached},
		{"a forced sweep may have a target", "20*10", twenty, window.SweepOptions{Forced: true, Target: 120}, 5, 5, "L(5) L(5) " + messages(11, 20), 110,
			[]string{"leaf 0 of 50 tokens", "leaf 0 of 50 tokens after s1.0"}, window.Reached},
		{"as much as the target is enough", "20*10", twenty, window.SweepOptions{Forced: true, Target: 200}, 5, 5, messages(1, 20), 200, nil, window.Below},
		{"bounded", "20*10", func(p *window.Policy) { twenty(p); p.MaxPasses = 3 }, window.SweepOptions{Forced: true}, 5, 5,
			"L(5) L(5) L(5) " + messages(16, 20), 65,
			[]string{"leaf 0 of 50 tokens", "leaf 0 of 50 tokens after s1.0", "leaf 0 of 50 tokens after s6.0"}, window.Spent},
		{"bounded, but enough", "20*10", func(p *window.Policy) { twenty(p); p.MaxPasses = 4 }, window.SweepOptions{Forced: true}, 5, 5,
			"L(5) L(5) L(5) L(5) " + messages(17, 20), 60,
			[]string{"leaf 0 of 50 tokens", "leaf 0 of 50 tokens after s1.0", "leaf 0 of 50 tokens after s6.0", "leaf 0 of 10 tokens after s11.0"}, window.Exhausted},
		{"vain passes count", "3 3 3 5 5", func(p *window.Policy) { p.TailCount, p.LeafChunkTokens, p.MaxPasses = 2, 3, 2 },
			window.SweepOptions{Forced: true}, 3, 3, messages(1, 5), 19, []string{"leaf 0 of 3 tokens in vain", "leaf 0 of 3 tokens in vain"}, window.Spent},
		{"what was in vain before", "10 L(5) 10 10 10", func(p *window.Policy) { p.TailCount = 1 },
			window.SweepOptions{Forced: true, Avoid: []window.Span{{First: "m1", Last: "m1"}}}, 5, 5, "m1 L(5) L(5) m5", 30,
			[]string{"leaf 0 of 20 tokens"}, window.Exhausted},
		{"empty", "", twenty, window.SweepOptions{Forced: true}, 5, 5, "", 0, nil, window.Exhausted},
		{"pairs stay whole (C10)", "10 a10+t1 r10=t1 5 5", func(p *window.Policy) { p.TailCount, p.LeafChunkTokens = 2, 20 },
			window.SweepOptions{Forced: true}, 5, 5, "L(5) m4 m5", 15, []string{"leaf 0 of 30 tokens"}, window.Exhausted},
	} {
		t.Run(c.label, func(t *testing.T) {
			p := published(c.policy)
			s := window.NewSweep(p, c.o)
			items, log := passes(t, s, p, c.o.Budget, contextOf(t, c.context), lengths(c.leaf, c.cond))
			if got := written(items); got != c.want || window.Tokens(items) != c.tokens {
				t.Errorf("got %s (%d tokens), want %s (%d tokens)", got, window.Tokens(items), c.want, c.tokens)
			}
			if diff := cmp.Diff(c.passes, log); diff != "" {
				t.Errorf("passes (-want +got):\n%s", diff)
			}
			vain := strings.Count(strings.Join(log, "\n"), "in vain")
			if s.Stopped() != c.stop || s.Passes() != len(log) || s.Written() != len(log)-vain || len(s.Vain()) != len(c.o.Avoid)+vain {
				t.Errorf("stopped: %q, %d passes, %d written, vain %v; want %q", s.Stopped(), s.Passes(), s.Written(), s.Vain(), c.stop)
			}
		})
	}
}

func TestIncrementalSweep(t *testing.T) {
	for _, c := range []struct {
		label   string
		context string
		policy  func(*window.Policy)
		leaf    int
		cond    int
		want    []string // after each sweep
		passes  []string // of the last that did something
	}{
		{"F-a, depth 0", "8*50", func(p *window.Policy) {
			p.TailCount, p.LeafChunkTokens, p.LeafMinFanout, p.CondensedMinFanout, p.CondensedTargetTokens = 2, 100, 2, 2, 10
		}, 10, 9, []string{"L(10) " + messages(3, 8), "L(10) L(10) " + messages(5, 8), "L(10) L(10) L(10) m7 m8"},
			[]string{"leaf 0 of 100 tokens after s1.0 after s3.0"}},
		{"F-a, depth 1", "8*50", func(p *window.Policy) {
			p.TailCount, p.LeafChunkTokens, p.LeafMinFanout, p.CondensedMinFanout, p.CondensedTargetTokens = 2, 100, 2, 2, 10
			p.IncrementalMaxDepth = 1
		}, 10, 9, []string{"L(10) " + messages(3, 8), "D1(9) " + messages(5, 8), "D1(9) L(10) m7 m8"},
			[]string{"leaf 0 of 100 tokens after s1.1"}},
		{"F-b", "9*10", func(p *window.Policy) {
			p.TailCount, p.LeafChunkTokens, p.LeafMinFanout, p.CondensedMinFanout, p.CondensedTargetTokens = 1, 20, 2, 2, 4
			p.IncrementalMaxDepth = 2
		}, 6, 5, []string{"L(6) " + messages(3, 9), "D1(5) " + messages(5, 9), "D1(5) L(6) " + messages(7, 9), "D2(5) m9"},
			[]string{"leaf 0 of 20 tokens after s1.1 after s5.0", "condensed 1 of 12 tokens", "condensed 2 of 10 tokens"}},
		{"as deep as it can", "9*10", func(p *window.Policy) {
			p.TailCount, p.LeafChunkTokens, p.LeafMinFanout, p.CondensedMinFanout, p.CondensedTargetTokens = 1, 20, 2, 2, 4
			p.IncrementalMaxDepth = -1
		}, 6, 5, []string{"L(6) " + messages(3, 9), "D1(5) " + messages(5, 9), "D1(5) L(6) " + messages(7, 9), "D2(5) m9"},
			[]string{"leaf 0 of 20 tokens after s1.1 after s5.0", "condensed 1 of 12 tokens", "condensed 2 of 10 tokens"}},
		{"C10", "10 a10+t1 r10=t1 5 5", func(p *window.Policy) { p.TailCount, p.LeafChunkTokens = 2, 20 }, 5, 5,
			[]string{"L(5) m4 m5"}, []string{"leaf 0 of 30 tokens"}},
		{"one that is in vain, then the next", "5 10 10 5", func(p *window.Policy) { p.TailCount, p.LeafChunkTokens = 1, 10 }, 5, 5,
			[]string{"m1 L(5) m3 m4", "m1 L(5) L(5) m4"}, []string{"leaf 0 of 5 tokens in vain", "leaf 0 of 10 tokens after s2.0"}},
	} {
		t.Run(c.label, func(t *testing.T) {
			p := published(c.policy)
			items := contextOf(t, c.context)
			var got, last []string
			for range 10 {
				s := window.NewSweep(p, window.SweepOptions{Mode: window.Incremental, Forced: true})
				var log []string
				items, log = passes(t, s, p, 0, items, lengths(c.leaf, c.cond))
				if s.Stopped() != window.Exhausted {
					t.Errorf("stopped: %q", s.Stopped())
				}
				if s.Written() == 0 {
					break
				}
				got, last = append(got, written(items)), log
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("contexts (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.passes, last); diff != "" {
				t.Errorf("last passes (-want +got):\n%s", diff)
			}
		})
	}
}

// Asked again without Done, as after a conflict, a sweep plans for the context it is shown then.
func TestSweepPlansAnew(t *testing.T) {
	p := published(func(p *window.Policy) { p.LeafChunkTokens, p.TailCount = 20, 1 })
	s := window.NewSweep(p, window.SweepOptions{Forced: true})
	items := contextOf(t, "10 10 10 10")
	first, _ := s.Next(items, 3)
	second, ok := s.Next(items[2:], 1)
	if first.Hi != 2 || !ok || second.Lo != 0 || second.Hi != 1 || s.Passes() != 0 {
		t.Errorf("got %+v, then %+v after %d passes", first, second, s.Passes())
	}
}

// Only leaves among the four newest summaries are what a condensed summary of leaves continues; at most two of them.
func TestCondensedPrevious(t *testing.T) {
	p := published(func(p *window.Policy) {
		p.LeafChunkTokens, p.TailCount, p.LeafMinFanout, p.CondensedTargetTokens = 100, 1, 3, 10
	})
	for _, c := range []struct{ context, want string }{
		{"L(1) 10 L(2) 10 L(3) 10 3*L(20) 5", "condensed 1 of 60 tokens after s3 after s5"},
		{"L(1) 10 D1(2) 10 D1(3) 10 D1(3) 10 3*L(20) 5", "condensed 1 of 60 tokens after s1"},
		{"L(1) 10 D1(2) 10 D1(3) 10 D1(3) 10 D1(3) 10 3*L(20) 5", "condensed 1 of 60 tokens"},
	} {
		s := window.NewSweep(p, window.SweepOptions{Forced: true})
		_, log := passes(t, s, p, 0, contextOf(t, c.context), lengths(10, 5))
		if len(log) == 0 || log[len(log)-1] != c.want {
			t.Errorf("%q: got %q, want %q last", c.context, log, c.want)
		}
	}
}

// A caller that writes although nothing was gained does not go on for ever.
func TestSweepStopsWithoutGain(t *testing.T) {
	p := published(func(p *window.Policy) { p.LeafChunkTokens, p.TailCount = 20, 1 })
	s := window.NewSweep(p, window.SweepOptions{Forced: true})
	items := contextOf(t, "10 10 10 10")
	if _, ok := s.Next(items, 3); !ok {
		t.Fatal("nothing to do")
	}
	s.Done(40, 40, true)
	if _, ok := s.Next(items, 3); ok || s.Stopped() != window.NoGain {
		t.Errorf("goes on: %v, %q", ok, s.Stopped())
	}
}
