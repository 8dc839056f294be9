package window

import (
	"cmp"
	"slices"
)

// SelectOptions say what is to be shown.
type SelectOptions struct {
	Budget int // tokens; 0 or less: no bound
	Tail   int // index of the first item of the fresh tail, of Policy.Tail
	// Scores say how well each item answers the question at hand; what is missing scores 0. Nil: there is no question.
	Scores []float64
}

// Selection is what is shown of a context.
type Selection struct {
	Indexes []int // ascending
	Tokens  int   // of the items at Indexes
	Over    bool  // the messages of the fresh tail alone are over the budget; none was left out
}

// Select chooses the items to show. The messages of the fresh tail are always shown, with the calls and results before it that belong to
// them. The rest is shown whole if it fits. If it doesn't, without scores the newest are taken up to the first that does not fit; with
// scores the best, of equals the newer, passing over what does not fit. Calls and results that belong together are chosen together or
// not at all, by the best score and the newest place of any of them.
func Select(items []Item, o SelectOptions) Selection {
	tail := clamp(o.Tail, len(items))
	owner := bundles(items)
	bundle := make([]struct {
		tokens int
		newest int // index
		score  float64
		shown  bool
	}, len(items))
	total, shown := 0, 0
	for i, it := range items {
		b := &bundle[owner[i]]
		if i < len(o.Scores) && (owner[i] == i || o.Scores[i] > b.score) {
			b.score = o.Scores[i]
		}
		b.tokens += it.Tokens
		b.newest = i
		b.shown = b.shown || i >= tail && !it.Summary
		total += it.Tokens
	}
	for i := range items {
		if owner[i] == i && bundle[i].shown {
			shown += bundle[i].tokens
		}
	}
	bounded := o.Budget > 0
	s := Selection{Over: bounded && shown > o.Budget}
	fits := func(at int) bool { return !bounded || shown+bundle[at].tokens <= o.Budget }

	order := newestFirst(owner)
	if o.Scores != nil && bounded && total > o.Budget {
		slices.SortFunc(order, func(i, j int) int {
			a, b := &bundle[i], &bundle[j]
			return cmp.Or(cmp.Compare(b.score, a.score), b.newest-a.newest)
		})
	}
	for _, at := range order {
		b := &bundle[at]
		if b.shown {
			continue
		}
		if fits(at) {
			b.shown = true
			shown += b.tokens
		} else if o.Scores == nil {
			break
		}
	}
	for i := range items {
		if bundle[owner[i]].shown {
			s.Indexes = append(s.Indexes, i)
			s.Tokens += items[i].Tokens
		}
	}
	return s
}

// Shorten says which tool results of a selection over its budget are to be shown as references, each for reference tokens: the largest
// first, the older of equals, until the rest fits or none is left that would become shorter. tokens is what the selection has then.
func (s Selection) Shorten(items []Item, budget, reference int) (indexes []int, tokens int) {
	tokens = s.Tokens
	if budget <= 0 {
		return nil, tokens
	}
	var results []int
	for _, i := range s.Indexes {
		if len(items[i].Results) > 0 && items[i].Tokens > reference {
			results = append(results, i)
		}
	}
	slices.SortStableFunc(results, func(a, b int) int { return cmp.Compare(items[b].Tokens, items[a].Tokens) })
	for _, i := range results {
		if tokens <= budget {
			break
		}
		tokens -= items[i].Tokens - reference
		indexes = append(indexes, i)
	}
	slices.Sort(indexes)
	return indexes, tokens
}

// bundles gives for every item the oldest of those that are shown together with it; most are alone.
func bundles(items []Item) []int {
	owner := make([]int, len(items))
	for i := range owner {
		owner[i] = i
	}
	root := func(i int) int {
		for owner[i] != i {
			owner[i] = owner[owner[i]]
			i = owner[i]
		}
		return i
	}
	for _, p := range itemPairs(items) {
		a, b := root(p.call), root(p.result)
		owner[max(a, b)] = min(a, b)
	}
	for i := range owner {
		owner[i] = owner[owner[i]] // owners come before what they own, so theirs are final
	}
	return owner
}

// newestFirst lists the owners once each, by the newest item of each.
func newestFirst(owner []int) []int {
	seen := make([]bool, len(owner))
	order := make([]int, 0, len(owner))
	for i := len(owner) - 1; i >= 0; i-- {
		if at := owner[i]; !seen[at] {
			seen[at] = true
			order = append(order, at)
		}
	}
	return order
}
