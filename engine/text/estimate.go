package text

// EstimateTokens estimates how many tokens a model makes of s: one for each CJK character and one for every four other code points,
// rounded up. It is meant for budgets, where being a little high is safe; no tokenizer of a model is consulted.
func EstimateTokens(s string) int {
	wide, narrow := 0, 0
	for _, r := range s {
		if isCJK(r) {
			wide++
		} else {
			narrow++
		}
	}
	return wide + (narrow+3)/4
}
