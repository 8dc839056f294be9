package onnx

import (
	"cmp"
	"errors"
	"math"
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

// pool makes one vector of the vectors of a text's own tokens.
func (p pooling) pool(tokens []float32, dims int) []float32 {
	vector := slices.Clone(tokens[:dims])
	if p == poolCLS {
		return vector
	}
	for at := dims; at < len(tokens); at += dims {
		for j, v := range tokens[at : at+dims] {
			if p == poolMax {
				vector[j] = max(vector[j], v)
			} else {
				vector[j] += v // the mean, up to the length that normalise takes out
			}
		}
	}
	return vector
}

// normalise gives a vector length 1, in place.
func normalise(vector []float32) error {
	var sum float64
	for _, v := range vector {
		sum += float64(v) * float64(v)
	}
	if sum == 0 || math.IsNaN(sum) || math.IsInf(sum, 0) {
		return errors.New("the model gave a vector without a direction (zero, infinite or not a number)")
	}
	scale := float32(1 / math.Sqrt(sum))
	for i := range vector {
		vector[i] *= scale
	}
	return nil
}
