package window_test

import (
	"math"
	"testing"

	"github.com/mallardmem/mallard/engine/window"
)

func TestLeafRun(t *testing.T) {
	for _, c := range []struct {
		label   string
		context string
		tail    int // count of messages
		limit   int
		lo, hi  int
		ok      bool
		outside int
		trigger bool
	}{
		{"C1", "40 50 30 10 10", 2, 100, 0, 2, true, 120, true},
		{"C2", "40 60 30 10 10", 2, 100, 0, 2, true, 130, true},
		{"C3", "150 20 30 10 10", 2, 100, 0, 1, true, 200, true},
		{"C4", "90 20 30 10 10", 2, 100, 0, 1, true, 140, true},
		{"C5", "10 10", 2, 100, 0, 0, false, 0, false},
		{"C6", "10 10", 5, 100, 0, 0, false, 0, false},
		{"C7", "10 10 10", 0, 100, 0, 3, true, 30, false},
		{"C8", "10 10", -1, 100, 0, 2, true, 20, false},
		{"C9, counted as stored now", "2 2 2 5 5", 2, 3, 0, 1, true, 6, true},
		{"C10", "10 a10+t1 r10=t1 5 5", 2, 20, 0, 3, true, 30, true},

		{"summaries before are passed over", "L(5) D1(5) 10 10 10", 1, 100, 2, 4, true, 20, false},
		{"a summary ends a run", "10 L(5) 10 10", 1, 100, 0, 1, true, 20, false},
		{"nothing but summaries", "L(5) L(5)", 0, 100, 0, 0, false, 0, false},
		{"no tokens at all", "0 0 0", 0, 100, 0, 3, true, 0, false},
		{"empty", "", 2, 100, 0, 0, false, 0, false},

		{"all results of a call", "a10+t1+t2 r10=t1 r10=t2 10 10", 1, 10, 0, 3, true, 40, true},
		{"a result later on takes what lies between along", "10 a10+t1 10 r10=t1 10 10", 1, 20, 0, 4, true, 50, true},
		{"a huge result: stop before its call", "10 a10+t1 r900=t1 10 10", 1, 20, 0, 1, true, 930, true},
		{"twice the limit is not too much", "10 a10+t1 r20=t1 10 10", 1, 20, 0, 3, true, 50, true},
		{"more than twice is", "10 a10+t1 r21=t1 10 10", 1, 20, 0, 1, true, 51, true},
		{"a huge result: its pair is all there is", "a10+t1 r900=t1 10 10", 1, 20, 0, 2, true, 920, true},
		{"a tail that splits a pair", "10 10 a10+t1 r10=t1", 1, 1000, 0, 2, true, 30, false},
		{"only a pair that the tail splits", "a10+t1 r10=t1", 1, 1000, 0, 0, false, 10, false},
		{"an orphan call is compacted", "10 a10+t1 10 10", 1, 20, 0, 2, true, 30, true},
		{"an orphan result is compacted", "10 r10=t1 10 10", 1, 20, 0, 2, true, 30, true},
		{"far apart: let go", "a10+t1 40*10 r10=t1 10", 1, 50, 0, 5, true, 420, true},
	} {
		p := defaultPolicy()
		p.LeafChunkTokens = c.limit
		items := contextOf(t, c.context)
		tail := len(items) - min(max(0, c.tail), len(items))
		lo, hi, ok := p.LeafRun(items, tail, nil)
		if lo != c.lo || hi != c.hi || ok != c.ok {
			t.Errorf("%s: %q gives [%d, %d) %v, want [%d, %d) %v", c.label, c.context, lo, hi, ok, c.lo, c.hi, c.ok)
		}
		outside := p.RawOutside(items, tail)
		if trigger := outside >= p.LeafChunkTokens; outside != c.outside || trigger != c.trigger {
			t.Errorf("%s: %d tokens outside, trigger %v; want %d, %v", c.label, outside, trigger, c.outside, c.trigger)
		}
	}
}

// A tail anywhere, and limits of nothing, plan something sensible or nothing.
func TestRunsOutOfRange(t *testing.T) {
	items := contextOf(t, "10 10 L(5) L(5)")
	for _, tail := range []int{-5, 0, 4, 99, math.MaxInt} {
		lo, hi, ok := window.Policy{}.LeafRun(items, tail, nil)
		if want := tail > 0; ok != want || ok && (lo != 0 || hi != 1) {
			t.Errorf("tail %d, no limit: got [%d, %d) %v", tail, lo, hi, ok)
		}
		if lo, hi, _, ok := (window.Policy{}).CondensedRun(items, tail, false, nil); ok {
			t.Errorf("tail %d, no limit: condenses [%d, %d)", tail, lo, hi)
		}
	}
}

func TestLeafRunSkip(t *testing.T) {
	p := defaultPolicy()
	p.LeafChunkTokens = 20
	items := contextOf(t, "10 10 L(5) 10 10 10 a5+t r10=t 10")
	var offered [][2]int
	_, _, ok := p.LeafRun(items, len(items), func(lo, hi int) bool {
		offered = append(offered, [2]int{lo, hi})
		return true
	})
	want := [][2]int{{0, 2}, {3, 5}, {5, 8}, {8, 9}}
	if ok || len(offered) != len(want) {
		t.Fatalf("offered %v, want %v", offered, want)
	}
	for i := range want {
		if offered[i] != want[i] {
			t.Errorf("offered %v, want %v", offered, want)
		}
	}
}

func TestCondensedRun(t *testing.T) {
	for _, c := range []struct {
		label   string
		context string
		change  func(*window.Policy)
		hard    bool
		skip    [2]int
		lo, hi  int
		depth   int
		ok      bool
	}{
		{label: "E1, first", context: "D1(20) D1(20) L(20) L(20)", lo: 2, hi: 4, depth: 0, ok: true},
		{label: "E1, second", context: "D1(20) D1(20) D1(3)", lo: 0, hi: 3, depth: 1, ok: true},
		{label: "E2", context: "L(20) D1(20) L(20) L(20) L(20)", lo: 2, hi: 5, depth: 0, ok: true},
		{label: "E3", context: "L(60) L(50) L(30)", lo: 1, hi: 3, depth: 0, ok: true},
		{label: "E4", context: "L(20) L(20)", change: func(p *window.Policy) { p.LeafMinFanout = 3 }},
		{label: "E4, hard", context: "L(20) L(20)", change: func(p *window.Policy) { p.LeafMinFanout = 3 }, hard: true, hi: 2, ok: true},
		{label: "E5", context: "L(20) L(20)", change: func(p *window.Policy) { p.CondensedTargetTokens = 50 }},
		{label: "E6", context: "6*L(30)", change: func(p *window.Policy) { p.LeafChunkTokens = 60 }, hi: 2, ok: true},
		{label: "a message parts runs", context: "L(20) 10 L(20)"},
		{label: "later of the same depth", context: "L(20) 10 L(20) L(20)", lo: 2, hi: 4, ok: true},
		{label: "the shallowest, though newer", context: "D2(20) D2(20) D1(20) D1(20) L(9)", lo: 2, hi: 4, depth: 1, ok: true},
		{label: "deeper fanout", context: "D1(20) D1(20)", change: func(p *window.Policy) { p.CondensedMinFanout = 3 }},
		{label: "ends when the limit is reached", context: "L(50) L(50) L(0)", hi: 2, ok: true},
		{label: "one oversize summary blocks nothing", context: "L(500) L(20) L(20)", lo: 1, hi: 3, ok: true},
		{label: "refused: the run behind it", context: "L(50) L(50) L(40) L(40)", skip: [2]int{0, 2}, lo: 2, hi: 4, ok: true},
		{label: "refused: the next depth", context: "L(20) L(20) D1(20) D1(20)", skip: [2]int{0, 2}, lo: 2, hi: 4, depth: 1, ok: true},
		{label: "a fanout of one is two", context: "L(20) D1(30)", change: func(p *window.Policy) {
			p.LeafMinFanout, p.CondensedMinFanout = 1, 1
		}},
	} {
		p := published(func(p *window.Policy) {
			p.LeafChunkTokens, p.CondensedTargetTokens, p.LeafMinFanout, p.CondensedMinFanout = 100, 10, 2, 2
		})
		if c.change != nil {
			c.change(&p)
		}
		items := contextOf(t, c.context+" 5 5")
		skip := func(lo, hi int) bool { return c.skip == [2]int{lo, hi} }
		lo, hi, depth, ok := p.CondensedRun(items, len(items)-2, c.hard, skip)
		if lo != c.lo || hi != c.hi || depth != c.depth || ok != c.ok {
			t.Errorf("%s: %q gives [%d, %d) of depth %d, %v; want [%d, %d) of depth %d, %v", c.label, c.context, lo, hi, depth, ok, c.lo, c.hi, c.depth, c.ok)
		}
	}
}
