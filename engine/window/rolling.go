package window

// Rolling holds the numbers of the rolling policy: one summary stands in front of the newest messages, for all that came before them.
type Rolling struct {
	Reserve     int // tokens of the budget that are kept free
	MaxMessages int // so many messages in the context are reason enough; 0 or less: their number has no say
	KeepPercent int // how many of the messages stay, in per cent; 0 or less: 50, above 100: 100
	MinMessages int // and so many at least; 0 or less: 20
}

// Due says why a context of so many tokens and messages is to be compacted; empty: it is not. A budget of 0 or less is unknown, and tokens have no say then.
func (r Rolling) Due(tokens, budget, messages int) string {
	switch {
	case r.MaxMessages > 0 && messages >= r.MaxMessages:
		return ReasonMessages
	case budget > 0 && tokens >= budget-r.Reserve:
		return ReasonTokens
	}
	return ""
}

// Why a context is compacted in the rolling way.
const (
	ReasonMessages = "as many messages as the context may have"
	ReasonTokens   = "within the reserve of the budget"
)

// Exceeds reports whether tokens are more than so many per cent of a budget, in whole numbers; of an unknown budget they are not.
func Exceeds(tokens, budget, percent int) bool { return budget > 0 && tokens*100 > budget*percent }

// Reaches reports whether tokens are so many per cent of a budget, or more.
func Reaches(tokens, budget, percent int) bool { return budget > 0 && tokens*100 >= budget*percent }

// Keep is how many of n messages stay, when percent of them shall.
func (r Rolling) Keep(n, percent int) int {
	least := r.MinMessages
	if percent <= 0 {
		percent = 50
	}
	if least <= 0 {
		least = 20
	}
	return min(max(n*min(percent, 100)/100, least), n)
}

// Cut gives the index of the first item that stays, when percent of the messages shall; all before it gives way to one summary. 0: nothing would be removed. A cut
// never lies behind a call of a tool or its result, but goes on to older messages until it comes before talk, or before all: so a call stays with all its results.
func (r Rolling) Cut(items []Item, percent int) int {
	messages := messagesOf(items)
	return cutBack(items, messages, len(messages)-r.Keep(len(messages), percent), holdsTool)
}

// CutPairs is Cut for a stretch of nothing but calls and results, in which an agent has worked on alone: it may lie between two pairs.
func (r Rolling) CutPairs(items []Item, percent int) int {
	messages := messagesOf(items)
	return cutBack(items, messages, len(messages)-r.Keep(len(messages), percent), func(Item) bool { return false })
}

// CutUpTo is a cut that is no newer than one, and before the first message that comes after a position.
func CutUpTo(items []Item, cut, position int) int {
	messages := messagesOf(items)
	start := 0
	for start < len(messages) && messages[start] < cut && items[messages[start]].Position <= position {
		start++
	}
	if start < len(messages) && messages[start] == cut {
		return cut
	}
	return cutBack(items, messages, start, holdsTool)
}

// cutBack moves a cut before the message of that number to older ones, until it parts no pair and does not lie before one that passes refuses.
func cutBack(items []Item, messages []int, start int, passes func(Item) bool) int {
	s := seamsOf(items)
	for start > 0 && start < len(messages) {
		at := messages[start]
		if !passes(items[at]) && (at >= len(s) || s[at] == 0) {
			return at
		}
		start--
	}
	return 0
}

func holdsTool(it Item) bool { return len(it.Calls) > 0 || len(it.Results) > 0 || it.Role == Tool }

func messagesOf(items []Item) (at []int) {
	for i, it := range items {
		if !it.Summary {
			at = append(at, i)
		}
	}
	return at
}
