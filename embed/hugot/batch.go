package hugot

import (
	"cmp"
	"slices"

	"github.com/knights-analytics/hugot/backends"
)

// batchTokens is how many tokens a batch has at most, padding included: half a
// second of two cores, beyond which more gain nothing and only put off
// cancelling. A single longer text is a batch all the same.
const batchTokens = 256

// Every shape is a graph of its own, compiled when it first comes up (0.5 MB,
// tens of milliseconds) and kept. Batches are filled up to these, which makes
// some thirty shapes.
func rowBuckets() []int { return []int{1, 2, 4, 8, 16, 32} }

// widthBuckets ends with the longest text of the model, since a graph may
// have no more positions than that.
func widthBuckets(maxTokens int) (widths []int) {
	for _, width := range []int{8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 1024, 2048, 4096} {
		if width < maxTokens {
			widths = append(widths, width)
		}
	}
	return append(widths, maxTokens)
}

// batches groups sequences, none of them empty, by length, the longest first,
// so that little is padded. Each batch lists places in sequences.
func batches(sequences [][]int32, widths []int) [][]int {
	order := make([]int, len(sequences))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(sequences[b]), len(sequences[a])) })
	var all [][]int
	for len(order) > 0 {
		width := bucket(widths, len(sequences[order[0]]))
		rows := 1
		for _, n := range rowBuckets() {
			if n*width <= batchTokens {
				rows = n
			}
		}
		rows = min(rows, len(order))
		all = append(all, order[:rows])
		order = order[rows:]
	}
	return all
}

// bucket gives the smallest bucket that holds n, which the last one does.
func bucket(buckets []int, n int) int {
	at, _ := slices.BinarySearch(buckets, n)
	return buckets[at]
}

// newBatch gives sequences, the longest first, the form that hugot's
// tokenizers leave them in. Padding is hugot's: ids of 0 with a mask of 0.
func newBatch(sequences [][]int32) *backends.PipelineBatch {
	batch := backends.NewBatch(len(sequences))
	batch.MaxSequenceLength = len(sequences[0])
	batch.Input = make([]backends.TokenizedInput, len(sequences))
	for i, ids := range sequences {
		input := backends.TokenizedInput{
			TokenIDs:          make([]uint32, len(ids)),
			TypeIDs:           make([]uint32, len(ids)),
			AttentionMask:     make([]uint32, len(ids)),
			MaxAttentionIndex: len(ids) - 1,
		}
		for j, id := range ids {
			input.TokenIDs[j], input.AttentionMask[j] = uint32(id), 1
		}
		batch.Input[i] = input
	}
	return batch
}
