package bench

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
)

const (
	clusterCount = 200
	// noise is the length of what sets a text apart from its centre, which has length 1: two texts of a cluster have a
	// cosine of about 1/(1 + noise²) = 0.61.
	noise = 0.8
)

// clusters is a model whose vectors lie in 200 clusters; a text's hash says in which and where, so the same text always has the
// same vector. It knows nothing of meaning: it is for measuring time, at microseconds per text.
type clusters struct {
	dims    int
	centres [][]float32
}

func newClusters(dims int) *clusters {
	c := &clusters{dims: dims, centres: make([][]float32, clusterCount)}
	for i := range c.centres {
		c.centres[i] = make([]float32, dims)
		scatter(c.centres[i], uint64(i)+1, 1)
	}
	return c
}

// Model is its name.
func (c *clusters) Model() string { return fmt.Sprintf("bench-clusters-%d", c.dims) }

// Dims is the length of its vectors.
func (c *clusters) Dims() int { return c.dims }

// Fingerprint is the same for all of as many dimensions.
func (c *clusters) Fingerprint() string { return c.Model() }

// EmbedTexts gives one vector per text.
func (c *clusters) EmbedTexts(ctx context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		vectors[i] = c.vector(text)
	}
	return vectors, nil
}

// EmbedQuery gives the vector of a question; its words all weigh the same.
func (c *clusters) EmbedQuery(ctx context.Context, text string, _ func(word string) float64) ([]float32, error) {
	return c.vector(text), ctx.Err()
}

func (c *clusters) vector(text string) []float32 {
	h := fnv.New64a()
	h.Write([]byte(text)) // a hash never fails
	hash := h.Sum64()
	v := make([]float32, c.dims)
	copy(v, c.centres[hash%clusterCount])
	scatter(v, hash, noise)
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	scale := float32(1 / math.Sqrt(sum))
	for i := range v {
		v[i] *= scale
	}
	return v
}

// scatter adds a vector of about the given length in a direction that the seed says.
func scatter(v []float32, seed uint64, length float64) {
	scale := float32(length * math.Sqrt(12/float64(len(v)))) // a uniform value of width 1 has variance 1/12
	for i := range v {
		seed ^= seed << 13 // xorshift (Marsaglia, 2003)
		seed ^= seed >> 7
		seed ^= seed << 17
		v[i] += scale * (float32(seed>>40)/(1<<24) - 0.5)
	}
}
