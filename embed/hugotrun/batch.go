package hugotrun

import (
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

// rows says how many sequences of a length a batch may have.
func rows(widths []int, length int) int {
	n := 1
	for _, fits := range rowBuckets() {
		if fits*bucket(widths, length) <= batchTokens {
			n = fits
		}
	}
	return n
}

// bucket gives the smallest bucket that holds n, which the last one does.
func bucket(buckets []int, n int) int {
	at, _ := slices.BinarySearch(buckets, n)
	return buckets[at]
}

// newBatch gives sequences, the longest first, the form that hugot's
// tokenizers leave them in; nil types are all 0. Padding is hugot's: ids of 0
// with a mask of 0.
func newBatch(ids, types [][]int32, places []int) *backends.PipelineBatch {
	batch := backends.NewBatch(len(places))
	batch.MaxSequenceLength = len(ids[places[0]])
	batch.Input = make([]backends.TokenizedInput, len(places))
	for row, i := range places {
		length := len(ids[i])
		input := backends.TokenizedInput{
			TokenIDs:          make([]uint32, length),
			TypeIDs:           make([]uint32, length),
			AttentionMask:     make([]uint32, length),
			MaxAttentionIndex: length - 1,
		}
		for j, id := range ids[i] {
			input.TokenIDs[j], input.AttentionMask[j] = uint32(id), 1
			if types != nil {
				input.TypeIDs[j] = uint32(types[i][j])
			}
		}
		batch.Input[row] = input
	}
	return batch
}
