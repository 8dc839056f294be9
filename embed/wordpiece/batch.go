package wordpiece

import (
	"cmp"
	"slices"
)

// Batches groups sequences, none of them empty, by length, the longest first, so that little is padded. rows says how many of a length a batch may have;
// it has one at least. Each batch lists places in sequences, the first of which is the longest.
func Batches(sequences [][]int32, rows func(length int) int) [][]int {
	order := make([]int, len(sequences))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(sequences[b]), len(sequences[a])) })
	var all [][]int
	for len(order) > 0 {
		n := min(max(1, rows(len(sequences[order[0]]))), len(order))
		all = append(all, order[:n])
		order = order[n:]
	}
	return all
}
