package window

// LeafRun chooses the oldest messages before the tail to make a leaf of: items[lo:hi], adjacent, without a summary or a spared message
// among them. ok is false when there are none. A run takes messages until LeafChunkTokens are reached or the next would exceed them, and one at least.
//
// No call is split from its result. A run that would end between the two goes on to the end of the pair; if that took it beyond twice
// LeafChunkTokens it stops before the pair, unless the pair is all it has. tail may be any index: when items is only the oldest part of
// a context, give a few more of them than tail, so that results are seen.
//
// skip, if not nil, refuses runs; the one behind a refused run is offered next.
func (p Policy) LeafRun(items []Item, tail int, skip func(lo, hi int) bool) (lo, hi int, ok bool) {
	s := seamsOf(items)
	tail = s.back(clamp(tail, len(items)))
	for lo < tail {
		if items[lo].Summary || items[lo].Spared {
			lo++
			continue
		}
		hi = p.leafEnd(items[:tail], lo)
		if whole := s.ahead(hi); whole > hi {
			if before := s.back(hi); before > lo && Tokens(items[lo:whole]) > 2*p.LeafChunkTokens {
				hi = before
			} else {
				hi = whole
			}
		}
		if skip == nil || !skip(lo, hi) {
			return lo, hi, true
		}
		lo = hi
	}
	return 0, 0, false
}

// leafEnd is where a run from lo ends when pairs are not looked at.
func (p Policy) leafEnd(items []Item, lo int) int {
	hi, sum := lo+1, items[lo].Tokens
	for hi < len(items) && !items[hi].Summary && !items[hi].Spared && sum < p.LeafChunkTokens && sum+items[hi].Tokens <= p.LeafChunkTokens {
		sum += items[hi].Tokens
		hi++
	}
	return hi
}

// CondensedRun chooses summaries before the tail to make a deeper one of: items[lo:hi], adjacent and all of the depth returned. ok is
// false when there are none. Of the depths the shallowest is preferred, of its runs the oldest. A run is bounded by LeafChunkTokens as
// that of a leaf; it needs LeafMinFanout summaries at depth 0, CondensedMinFanout deeper, CondensedMinFanoutHard when hard, and
// MinCondensed tokens. One that has too little gives way to the run that begins one summary later, so that nothing blocks a depth.
// skip, if not nil, refuses runs; the one behind a refused run is offered next.
func (p Policy) CondensedRun(items []Item, tail int, hard bool, skip func(lo, hi int) bool) (lo, hi, depth int, ok bool) {
	return p.condensed(items[:clamp(tail, len(items))], anyDepth, hard, skip)
}

const anyDepth = -1

// condensed walks the stretches of summaries of equal depth and keeps the first run of the shallowest, or of the depth that is wanted.
func (p Policy) condensed(items []Item, want int, hard bool, skip func(lo, hi int) bool) (lo, hi, depth int, ok bool) {
	for at, end := 0, 0; at < len(items); at = end {
		first := items[at]
		for end = at + 1; end < len(items) && items[end].Summary == first.Summary && items[end].Depth == first.Depth; end++ {
		}
		if !first.Summary || want != anyDepth && first.Depth != want || ok && first.Depth >= depth {
			continue
		}
		if l, h, found := p.condensable(items, at, end, p.fanout(first.Depth, hard), skip); found {
			lo, hi, depth, ok = l, h, first.Depth, true
		}
	}
	return lo, hi, depth, ok
}

// condensable is the first run within one stretch that has enough summaries and tokens.
func (p Policy) condensable(items []Item, at, end, fanout int, skip func(lo, hi int) bool) (lo, hi int, ok bool) {
	sum, least := 0, p.MinCondensed()
	for lo, hi = at, at; lo < end; {
		for hi < end && (hi == lo || sum < p.LeafChunkTokens && sum+items[hi].Tokens <= p.LeafChunkTokens) {
			sum += items[hi].Tokens
			hi++
		}
		switch {
		case hi-lo < fanout || sum < least:
			sum -= items[lo].Tokens
			lo++
		case skip != nil && skip(lo, hi):
			sum, lo = 0, hi
		default:
			return lo, hi, true
		}
	}
	return 0, 0, false
}

// fanout is how many summaries of a depth make the next; never fewer than two.
func (p Policy) fanout(depth int, hard bool) int {
	switch {
	case hard:
		return max(2, p.CondensedMinFanoutHard)
	case depth == 0:
		return max(2, p.LeafMinFanout)
	}
	return max(2, p.CondensedMinFanout)
}
