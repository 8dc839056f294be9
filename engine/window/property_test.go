package window_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine/window"
)

const rolls = 1000

// each runs a property over random contexts and policies. The number of a failing one is its seed.
func each(t *testing.T, property func(t *testing.T, r *rand.Rand)) {
	t.Helper()
	for seed := range uint64(rolls) {
		property(t, rand.New(rand.NewPCG(seed, 1)))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func randomPolicy(r *rand.Rand) window.Policy {
	return window.Policy{
		Threshold:              0.1 + 0.9*r.Float64(),
		LeafChunkTokens:        1 + r.IntN(150),
		LeafTargetTokens:       1 + r.IntN(50),
		CondensedTargetTokens:  1 + r.IntN(50),
		TailCount:              r.IntN(12) - 1,
		TailTokens:             []int{-1, 0, 0, 50}[r.IntN(4)],
		LeafMinFanout:          2 + r.IntN(4),
		CondensedMinFanout:     2 + r.IntN(3),
		CondensedMinFanoutHard: 2,
		IncrementalMaxDepth:    r.IntN(4) - 1,
		OverageFactor:          3,
	}
}

// randomContext has summaries among messages, calls with results right behind them or after a few other messages, at times before, and
// ids that come again.
func randomContext(r *rand.Rand) []window.Item {
	var items []window.Item
	add := func(it window.Item) {
		it.Position = len(items) + 1
		it.Ref = fmt.Sprintf("i%d", it.Position)
		it.Tokens = r.IntN(40)
		items = append(items, it)
	}
	talk := func() { add(window.Item{Role: []string{window.User, window.Assistant}[r.IntN(2)]}) }
	for range r.IntN(30) {
		switch r.IntN(6) {
		case 0, 1:
			depth := r.IntN(3)
			for range 1 + r.IntN(6) {
				add(window.Item{Summary: true, Depth: depth})
			}
		case 2, 3:
			var calls []string
			for i := range 1 + r.IntN(3) {
				calls = append(calls, fmt.Sprintf("t%d.%d", i, r.IntN(2)*len(items)))
			}
			calls = slices.Compact(calls)
			add(window.Item{Role: window.Assistant, Calls: calls})
			r.Shuffle(len(calls), func(i, j int) { calls[i], calls[j] = calls[j], calls[i] })
			for _, id := range calls {
				if r.IntN(4) == 0 {
					talk()
				}
				add(window.Item{Role: window.Tool, Results: []string{id}})
			}
		case 4:
			id := fmt.Sprintf("early%d", len(items))
			add(window.Item{Role: window.Tool, Results: []string{id}})
			talk()
			add(window.Item{Role: window.Assistant, Calls: []string{id}})
		default:
			talk()
		}
	}
	return items
}

// partners gives the pairs of a context the slow way: for every result the newest call of its id before it, else the first behind it.
func partners(items []window.Item) [][2]int {
	var found [][2]int
	for i, it := range items {
		for _, id := range it.Results {
			calls := func(it window.Item) bool { return slices.Contains(it.Calls, id) }
			call := -1
			for j := range i {
				if calls(items[j]) {
					call = j
				}
			}
			if call < 0 {
				call = slices.IndexFunc(items, calls)
			}
			found = append(found, [2]int{call, i})
		}
	}
	return found
}

// splits reports a pair of which items[lo:hi] has only one half.
func splits(items []window.Item, lo, hi int) bool {
	within := func(i int) bool { return lo <= i && i < hi }
	return slices.ContainsFunc(partners(items), func(p [2]int) bool { return within(p[0]) != within(p[1]) })
}

func TestTailProperties(t *testing.T) {
	each(t, func(t *testing.T, r *rand.Rand) {
		p, items, budget := randomPolicy(r), randomContext(r), r.IntN(300)
		tail := p.Tail(items, budget)
		if splits(items, tail, len(items)) {
			t.Errorf("tail %d splits a pair of %+v", tail, items)
		}
		newest, user := -1, false // what stays in any case
		for i, it := range items {
			speaks := it.Role == window.User && p.TailTokens >= 0
			if !it.Summary && (speaks || !user) {
				newest, user = i, user || speaks
			}
		}
		if p.TailCount <= 0 || newest < 0 {
			if tail != len(items) {
				t.Errorf("tail %d of nothing to protect", tail)
			}
			return
		}
		if tail > newest || items[tail].Summary {
			t.Errorf("tail %d of %+v; message %d must stay", tail, items, newest)
		}
		count, tokens := 0, 0
		for _, it := range items[tail:] {
			if !it.Summary {
				count, tokens = count+1, tokens+it.Tokens
			}
		}
		room := budget / 2
		if p.TailTokens > 0 {
			room = min(room, p.TailTokens)
		}
		if tail < newest && !splits(items, newest, len(items)) && (count > p.TailCount || p.TailTokens >= 0 && budget > 0 && tokens > room) {
			t.Errorf("a tail of %d messages and %d tokens; %d and %d allowed", count, tokens, p.TailCount, room)
		}
	})
}

func TestSparedProperties(t *testing.T) {
	split := 0
	each(t, func(t *testing.T, r *rand.Rand) {
		p, items, budget := randomPolicy(r), randomContext(r), r.IntN(300)
		lo, hi, tail := p.Spared(items, budget)
		if lo == hi {
			if lo != tail || tail != p.Tail(items, budget) {
				t.Errorf("[%d, %d) and %d, where the tail begins at %d", lo, hi, tail, p.Tail(items, budget))
			}
			return
		}
		split++
		if lo > hi || hi > tail || splits(items, lo, hi) || splits(items, tail, len(items)) {
			t.Errorf("[%d, %d) and the tail %d of %+v", lo, hi, tail, items)
		}
		asked, newest := -1, -1
		for i, it := range items {
			if !it.Summary {
				newest = i
			}
			if it.Role == window.User {
				asked = i
			}
		}
		if asked < lo || asked >= hi || newest < tail {
			t.Errorf("[%d, %d) and the tail %d; messages %d and %d must stay", lo, hi, tail, asked, newest)
		}
		room := budget / 2
		if p.TailTokens > 0 {
			room = min(room, p.TailTokens)
		}
		if window.Tokens(items[asked:]) <= room {
			t.Errorf("from message %d on there are %d tokens in a room of %d", asked, window.Tokens(items[asked:]), room)
		}
		messages := func(items []window.Item) (n, tokens int) {
			for _, it := range items {
				if !it.Summary {
					n, tokens = n+1, tokens+it.Tokens
				}
			}
			return n, tokens
		}
		_, around := messages(items[lo:hi])
		if n, tokens := messages(items[tail:]); tail < newest && !splits(items, newest, len(items)) && (n > p.TailCount || tokens > room-around) {
			t.Errorf("a tail of %d messages and %d tokens, beside %d; %d and %d allowed", n, tokens, around, p.TailCount, room)
		}
	})
	if split < rolls/100 {
		t.Errorf("only %d of %d contexts had a message spared before the tail", split, rolls)
	}
}

func TestRunProperties(t *testing.T) {
	each(t, func(t *testing.T, r *rand.Rand) {
		p, items := randomPolicy(r), randomContext(r)
		tail := r.IntN(len(items) + 1)
		if lo, hi, ok := p.LeafRun(items, tail, nil); ok {
			if lo >= hi || hi > tail || splits(items, lo, hi) || slices.ContainsFunc(items[lo:hi], func(it window.Item) bool { return it.Summary }) {
				t.Errorf("leaf [%d, %d) before %d of %+v", lo, hi, tail, items)
			}
		}
		hard := r.IntN(2) == 0
		lo, hi, depth, ok := p.CondensedRun(items, tail, hard, nil)
		wantLo, wantHi, wantDepth, wantOK := slowCondensed(p, items[:tail], hard)
		if lo != wantLo || hi != wantHi || depth != wantDepth || ok != wantOK {
			t.Errorf("condensed [%d, %d) of depth %d, %v; want [%d, %d) of depth %d, %v", lo, hi, depth, ok, wantLo, wantHi, wantDepth, wantOK)
		}
	})
}

// slowCondensed tries every beginning at every depth.
func slowCondensed(p window.Policy, items []window.Item, hard bool) (int, int, int, bool) {
	for depth := range 3 {
		fanout := p.CondensedMinFanout
		if hard {
			fanout = p.CondensedMinFanoutHard
		} else if depth == 0 {
			fanout = p.LeafMinFanout
		}
		for lo := range items {
			hi, sum := lo, 0
			for ; hi < len(items) && items[hi].Summary && items[hi].Depth == depth; hi++ {
				if hi > lo && (sum >= p.LeafChunkTokens || sum+items[hi].Tokens > p.LeafChunkTokens) {
					break
				}
				sum += items[hi].Tokens
			}
			if hi-lo >= fanout && sum >= p.MinCondensed() {
				return lo, hi, depth, true
			}
		}
	}
	return 0, 0, 0, false
}

func TestSweepProperties(t *testing.T) {
	each(t, func(t *testing.T, r *rand.Rand) {
		p, items, budget := randomPolicy(r), randomContext(r), 1+r.IntN(600)
		o := window.SweepOptions{Mode: window.Mode(r.IntN(2)), Budget: budget, Forced: r.IntN(2) == 0, Target: max(0, r.IntN(400)-200)}
		// Every fifth or so does not shrink, and the same sources give the same.
		length := func(step window.Step, items []window.Item) int {
			sources := items[step.Lo:step.Hi]
			if _, _, tail := p.Spared(items, budget); step.Hi > tail {
				t.Errorf("%+v reaches into the tail", step)
			}
			if step.Kind == window.Leaf && splits(items, step.Lo, step.Hi) {
				t.Errorf("%+v splits a pair", step)
			}
			for _, it := range sources {
				if it.Spared || it.Summary != (step.Kind == window.Condensed) || it.Summary && it.Depth != step.Depth-1 {
					t.Errorf("%+v has the source %+v", step, it)
				}
			}
			for i := 1; i < len(items); i++ {
				if items[i-1].Position >= items[i].Position {
					t.Errorf("items out of order: %+v", items)
				}
			}
			return window.Tokens(sources) * (1 + sources[0].Position%5) / 5
		}
		s := window.NewSweep(p, o)
		after, _ := passes(t, s, p, budget, items, length)
		if window.Tokens(after) > window.Tokens(items) || (s.Written() > 0) != (window.Tokens(after) < window.Tokens(items)) {
			t.Errorf("%d summaries: from %d tokens to %d", s.Written(), window.Tokens(items), window.Tokens(after))
		}
		if why := s.Stopped(); why != window.Exhausted && (o.Forced && o.Target == 0 || why != window.Below && why != window.Reached) {
			t.Errorf("stopped: %s", why)
		}
		if o.Forced && o.Target == 0 && o.Mode == window.Full {
			again := window.NewSweep(p, o)
			if passes(t, again, p, budget, after, length); again.Written() != 0 {
				t.Errorf("%d more summaries the second time", again.Written())
			}
		}
	})
}

func TestSelectProperties(t *testing.T) {
	each(t, func(t *testing.T, r *rand.Rand) {
		items := randomContext(r)
		o := window.SelectOptions{Budget: r.IntN(600), Tail: r.IntN(len(items) + 1)}
		if r.IntN(2) == 0 {
			for range items {
				o.Scores = append(o.Scores, float64(r.IntN(4)))
			}
		}
		s := window.Select(items, o)
		if !slices.IsSorted(s.Indexes) || len(slices.Compact(slices.Clone(s.Indexes))) != len(s.Indexes) {
			t.Errorf("indexes %v", s.Indexes)
		}
		tokens := 0
		for _, i := range s.Indexes {
			tokens += items[i].Tokens
		}
		if tokens != s.Tokens || s.Over != (o.Budget > 0 && tokens > o.Budget) {
			t.Errorf("%d tokens, counted %d, of %d; over %v", s.Tokens, tokens, o.Budget, s.Over)
		}
		for i := o.Tail; i < len(items); i++ {
			if !items[i].Summary && !slices.Contains(s.Indexes, i) {
				t.Errorf("message %d of the tail is missing", i)
			}
		}
		for _, p := range partners(items) {
			if slices.Contains(s.Indexes, p[0]) != slices.Contains(s.Indexes, p[1]) {
				t.Errorf("the pair %v is split", p)
			}
		}
	})
}

func TestRepairProperties(t *testing.T) {
	roles := []string{window.User, window.Assistant, window.Assistant, window.System, window.Tool, window.Tool}
	each(t, func(t *testing.T, r *rand.Rand) {
		some := func() (ids []string) {
			for range r.IntN(3) {
				ids = append(ids, fmt.Sprintf("t%d", r.IntN(6)))
			}
			return ids
		}
		var turns []window.Turn
		for i := range r.IntN(14) {
			turn := window.Turn{Index: i, Role: roles[r.IntN(len(roles))], Blank: r.IntN(2) == 0}
			switch turn.Role {
			case window.Assistant:
				turn.Calls, turn.Old, turn.Failed = some(), i < 3, r.IntN(10) == 0
			case window.Tool, window.User:
				turn.Results = some()
			}
			turns = append(turns, turn)
		}
		out := window.Repair(turns)
		var due []string
		for _, turn := range out {
			if turn.Role == window.Tool {
				for _, id := range turn.Results {
					if len(due) == 0 || due[0] != id {
						t.Fatalf("result %s where %v are due: %s", id, due, shown(out))
					}
					due = due[1:]
				}
				continue
			}
			if len(due) > 0 || len(turn.Results) > 0 {
				t.Fatalf("calls %v unanswered, or results in a %s turn: %s", due, turn.Role, shown(out))
			}
			if !turn.Failed {
				due = turn.Calls
			}
		}
		if len(due) > 0 {
			t.Errorf("calls %v unanswered: %s", due, shown(out))
		}
		if diff := cmp.Diff(out, window.Repair(out)); diff != "" {
			t.Errorf("repaired again (-once +twice):\n%s", diff)
		}
	})
}
