package window

import "math"

// Policy holds every tunable number of compaction. Tokens are counted as the items store them.
type Policy struct {
	Threshold float64 // share of the budget above which the context is compacted, above 0, up to 1

	LeafChunkTokens       int // how much is summarised at once
	LeafTargetTokens      int // how long a leaf is to be
	CondensedTargetTokens int // how long a condensed summary is to be

	TailCount  int // how many of the newest messages stay; 0 or less: none
	TailTokens int // most tokens of the fresh tail; 0: half the budget; -1: nothing but TailCount bounds it

	LeafMinFanout          int // how many leaves make a summary of depth 1
	CondensedMinFanout     int // how many summaries of a greater depth make the next
	CondensedMinFanoutHard int // how many of any depth are enough under pressure: still above the threshold or target, and nothing else is left
	IncrementalMaxDepth    int // how deep an incremental sweep condenses; -1: as deep as it can

	OverageFactor float64 // how many times its target a summary may be long before it is cut
	MaxPasses     int     // most passes of a sweep, those in vain too; 0: no bound
}

// condensedInputRatio is the share of LeafChunkTokens that the sources of a condensed summary must have at least.
const condensedInputRatio = 0.1

// Limit is the threshold in tokens: floor(Threshold × budget).
func (p Policy) Limit(budget int) int {
	return share(p.Threshold, budget)
}

// Over reports whether a context is above its threshold: more, not as much. stored are the tokens of its items, live what the host
// saw its prompt have (0 or less: unknown), current the greater of both. Without a budget nothing is over.
func (p Policy) Over(stored, live, budget int) (over bool, current, threshold int) {
	current = max(stored, live)
	if budget <= 0 {
		return false, current, 0
	}
	threshold = p.Limit(budget)
	return current > threshold, current, threshold
}

// RawOutside is how many tokens the messages before the tail have, those that are spared left out. LeafChunkTokens of them are reason enough to make a leaf, be the
// context over its threshold or not.
func (p Policy) RawOutside(items []Item, tail int) int {
	sum := 0
	for _, it := range items[:clamp(tail, len(items))] {
		if !it.Summary && !it.Spared {
			sum += it.Tokens
		}
	}
	return sum
}

// MinCondensed is how many tokens a run of summaries must have to be condensed: the target, or a tenth of a leaf chunk if that is more.
func (p Policy) MinCondensed() int {
	return max(p.CondensedTargetTokens, share(condensedInputRatio, p.LeafChunkTokens))
}

// LeafLength is the length in tokens to ask of a model for a leaf from input tokens. Normal: 35 % of the input, from 192 up to the
// target. Aggressive: 20 % of the input, from 96 up to 55 % of the target. An answer is judged by the target, not by this.
func (p Policy) LeafLength(input int, aggressive bool) int {
	target := max(192, p.LeafTargetTokens)
	if aggressive {
		most := max(96, min(target, share(0.55, target)))
		return max(96, min(most, share(0.2, input)))
	}
	return max(192, min(target, share(0.35, input)))
}

// CondensedLength is the length in tokens to ask of a model for a condensed summary.
func (p Policy) CondensedLength() int {
	return max(512, p.CondensedTargetTokens)
}

func share(of float64, tokens int) int {
	return int(math.Floor(of * float64(tokens)))
}

func clamp(i, most int) int {
	return max(0, min(i, most))
}
