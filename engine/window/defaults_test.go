package window_test

import "github.com/mallardmem/mallard/engine/window"

// defaultPolicy is what a new engine compacts by.
func defaultPolicy() window.Policy {
	return window.Policy{
		Threshold:              0.75,
		LeafChunkTokens:        20_000,
		LeafTargetTokens:       2400,
		CondensedTargetTokens:  2000,
		TailCount:              64,
		LeafMinFanout:          8,
		CondensedMinFanout:     4,
		CondensedMinFanoutHard: 2,
		IncrementalMaxDepth:    1,
		OverageFactor:          3,
		MaxPasses:              12,
	}
}
