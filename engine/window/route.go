package window

import (
	"math"
	"regexp"
	"strconv"
)

// Way is how a question to the history is best answered.
type Way string

// The ways, from cheapest to dearest.
const (
	Direct   Way = "direct"   // from what was found
	Shallow  Way = "shallow"  // expand what was found here
	Delegate Way = "delegate" // have somebody else read, and report
)

// Risk says how much of its cap an expansion may use up: high from 70 %, moderate from 35 %.
type Risk string

// The risks.
const (
	Low      Risk = "low"
	Moderate Risk = "moderate"
	High     Risk = "high"
)

// RouteDecision is the way to take, and why.
type RouteDecision struct {
	Way      Way  `json:"way"`
	Estimate int  `json:"estimate"` // tokens, before the cap
	Risk     Risk `json:"risk"`
	Broad    bool `json:"broad"`     // the question spans a long time
	MultiHop bool `json:"multi_hop"` // the answer must be put together from several places
}

// mostEstimated keeps absurd requests countable.
const mostEstimated = 1e9

// Route decides how to answer a question from summaries that are expanded down to their messages, with so many tokens as the most; 0 or less is 4,000.
// The estimate is 418 tokens for each candidate (220, × 1.9 for the messages), × 1.35 if the question is broad, × 1.25 if multi-hop, rounded up. High risk,
// or broad and multi-hop at once, delegates; a question without candidates is answered directly. Five candidates are multi-hop.
func Route(question string, candidates, limit int) RouteDecision {
	candidates = max(0, candidates)
	if limit <= 0 {
		limit = 4000
	}
	d := RouteDecision{
		Broad:    broad.MatchString(question) || yearsApart(question) >= 2,
		MultiHop: candidates >= 5 || multiHop.MatchString(question),
	}
	estimate := 418 * float64(candidates)
	if d.Broad {
		estimate *= 1.35
	}
	if d.MultiHop {
		estimate *= 1.25
	}
	d.Estimate = int(math.Ceil(math.Round(min(estimate, mostEstimated)*1e6) / 1e6)) // 297.00000000000006 is 297
	switch share := float64(d.Estimate) / float64(limit); {
	case share >= 0.7:
		d.Risk = High
	case share >= 0.35:
		d.Risk = Moderate
	default:
		d.Risk = Low
	}
	switch {
	case candidates == 0:
		d.Way = Direct
	case d.Risk == High || d.Broad && d.MultiHop:
		d.Way = Delegate
	default:
		d.Way = Shallow
	}
	return d
}

var (
	multiHop = regexp.MustCompile(`(?i)\broot causes?\b|\bcausal chains?\b|\bchains? of events\b|\bmulti[- ]?(?:hop|step)\b|\bcross[- ]summary\b|` +
		`\bhow did\b.*\b(?:lead|led) to\b`)
	broad = regexp.MustCompile(`(?i)\b(?:last|past)\s+(?:\w+\s+)?(?:months?|quarters?|years?)\b|` +
		`\b(?:over|across|throughout)\s+(?:the\s+)?(?:time|months|quarters|years|(?:whole|entire)\s+\w+)\b|` +
		`\btimelines?\b|\bchronolog|\bhistor(?:y|ies|ical)\b|\blong[- ]term\b|\bbetween\b.+\band\b`)
	year = regexp.MustCompile(`\b(?:19|20)\d\d\b`)
)

// yearsApart is how far the years that a text names lie apart.
func yearsApart(text string) int {
	least, most := math.MaxInt, 0
	for _, y := range year.FindAllString(text, -1) {
		n, _ := strconv.Atoi(y) // four digits
		least, most = min(least, n), max(most, n)
	}
	return max(0, most-least)
}
