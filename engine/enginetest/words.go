package enginetest

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"strings"
)

// Words is a model for tests: a text's vector is the sum of directions that its words hash to, so texts that share words are
// near each other, and the same text always has the same vector. The zero value has 64 dimensions.
type Words struct {
	Name string // default "words"
	N    int    // dimensions, default 64
	// Err, when it is not nil, is what every call fails with.
	Err error
}

// Model is its name.
func (w Words) Model() string {
	if w.Name == "" {
		return "words"
	}
	return w.Name
}

// Dims is the length of its vectors.
func (w Words) Dims() int {
	if w.N == 0 {
		return 64
	}
	return w.N
}

// Fingerprint tells models of different names or dimensions apart.
func (w Words) Fingerprint() string { return fmt.Sprintf("%s/%d", w.Model(), w.Dims()) }

// Instant says that nothing it says need be kept.
func (w Words) Instant() bool { return true }

// EmbedTexts gives one vector per text.
func (w Words) EmbedTexts(ctx context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		v, err := w.EmbedQuery(ctx, text, nil)
		if err != nil {
			return nil, err
		}
		vectors[i] = v
	}
	return vectors, nil
}

// EmbedQuery is the vector of one text with its words weighted.
func (w Words) EmbedQuery(ctx context.Context, text string, weight func(string) float64) ([]float32, error) {
	if w.Err != nil {
		return nil, w.Err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	sum := make([]float64, w.Dims())
	sum[0] = 1e-3 // a text without words has a direction too
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return strings.ContainsRune(" .,;:!?\n\t\"'()", r) }) {
		share := 1.0
		if weight != nil {
			share = weight(word)
		}
		h := fnv.New64a()
		h.Write([]byte(word))
		bits := h.Sum64()
		for i := range sum {
			bits = bits*6364136223846793005 + 1442695040888963407
			sum[i] += share * (float64(bits>>40)/float64(1<<24) - 0.5)
		}
	}
	var norm float64
	for _, x := range sum {
		norm += x * x
	}
	v := make([]float32, len(sum))
	for i, x := range sum {
		v[i] = float32(x / math.Sqrt(norm))
	}
	return v, nil
}
