package window

// TailMargin is how many messages must be known before the fresh tail for its beginning to be certain: a call and its result that are farther apart don't
// move it.
const TailMargin = 64

// Tail gives the index of the first item of the fresh tail, len(items) when there is none. items is the whole context, or its newest
// part. The tail has at most TailCount messages, and at most TailTokens and half the budget of tokens (budget 0: unknown, no half).
// The newest user message and what follows it stay whatever that costs; where no user speaks, the newest message does. A message that
// holds tool results is no user's. With TailTokens -1 the newest TailCount messages stay, and that is all.
//
// The tail never begins between a call and its result: it is made shorter there, or longer where it can't be shorter.
// Summaries count for nothing. Those that lie within the tail are not condensed meanwhile; Select shows them if they fit.
func (p Policy) Tail(items []Item, budget int) int {
	must := newestMessage(items, p.TailTokens >= 0)
	if p.TailCount <= 0 || must < 0 {
		return len(items)
	}
	room, bounded := p.tailRoom(budget)
	return p.reach(items, must, 0, room, bounded)
}

// Spared is what compaction leaves alone: the fresh tail, items[tail:], and items[lo:hi] before it, if any. As long as the tail keeps its bound of
// tokens that is Tail. When what begins with the newest user message has more, because an agent has worked on alone for long, only that
// message is spared, with the calls and results around it, and behind it a tail with room for the rest of the bound, and for the
// newest message in any case. So what was asked for stays, and what was done for it can be compacted.
func (p Policy) Spared(items []Item, budget int) (lo, hi, tail int) {
	tail = p.Tail(items, budget)
	room, bounded := p.tailRoom(budget)
	asked, newest := newestMessage(items, true), newestMessage(items, false)
	if tail == len(items) || !bounded || asked == newest || Tokens(items[asked:]) <= room {
		return tail, tail, tail
	}
	s := seamsOf(items)
	if lo, hi = s.back(asked), s.ahead(asked+1); hi > newest {
		return tail, tail, tail
	}
	return lo, hi, p.reach(items, newest, hi, room-Tokens(items[lo:hi]), true)
}

// reach is where a tail begins that has to have items[must:], and goes back no farther than items[first].
func (p Policy) reach(items []Item, must, first, room int, bounded bool) int {
	count, tokens := 0, 0
	for _, it := range items[must:] {
		if !it.Summary {
			count++
			tokens += it.Tokens
		}
	}
	start := must
	for i := must - 1; i >= first && count < p.TailCount; i-- {
		if items[i].Summary {
			continue
		}
		if tokens += items[i].Tokens; bounded && tokens > room {
			break
		}
		count++
		start = i
	}
	s := seamsOf(items)
	start = min(s.ahead(start), s.back(must))
	for start < len(items) && items[start].Summary { // made shorter up to a summary: that is none of the newest messages
		start++
	}
	return start
}

// tailRoom is how many tokens the tail may have.
func (p Policy) tailRoom(budget int) (room int, bounded bool) {
	switch {
	case p.TailTokens < 0:
		return 0, false
	case budget <= 0:
		return p.TailTokens, p.TailTokens > 0
	case p.TailTokens == 0:
		return budget / 2, true
	}
	return min(p.TailTokens, budget/2), true
}

// newestMessage gives the index of the newest message, of a user if one is asked for and found; -1 if there is no message.
func newestMessage(items []Item, ofUser bool) int {
	newest := -1
	for i := len(items) - 1; i >= 0; i-- {
		switch it := items[i]; {
		case it.Summary:
		case !ofUser || it.Role == User && len(it.Results) == 0:
			return i
		case newest < 0:
			newest = i
		}
	}
	return newest
}
