package onnx

import (
	"cmp"
	"slices"
)

// A batch holds at most this many texts and tokens: enough to fill the cores,
// and little enough that cancelling never waits a second.
const (
	batchRows   = 32
	batchTokens = 4096
)

// batches groups sequences, none of them empty, by length, the longest first,
// so that little is padded. Each batch lists places in sequences, the first of
// which is the longest.
func batches(sequences [][]int32) [][]int {
	order := make([]int, len(sequences))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(sequences[b]), len(sequences[a])) })
	var all [][]int
	for len(order) > 0 {
		rows := max(1, min(batchRows, batchTokens/len(sequences[order[0]]), len(order)))
		all = append(all, order[:rows])
		order = order[rows:]
	}
	return all
}

func layOut(sequences [][]int32, batch []int, width int, padding int64) (ids, mask []int64) {
	ids, mask = make([]int64, len(batch)*width), make([]int64, len(batch)*width)
	for row, i := range batch {
		for column := range width {
			at := row*width + column
			if column < len(sequences[i]) {
				ids[at], mask[at] = int64(sequences[i][column]), 1
			} else {
				ids[at] = padding
			}
		}
	}
	return ids, mask
}
