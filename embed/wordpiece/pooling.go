package wordpiece

import (
	"errors"
	"math"
	"slices"
)

// Pooling says how the vectors of a text's tokens become one.
type Pooling string

const (
	PoolMean Pooling = "mean"
	PoolCLS  Pooling = "cls"
	PoolMax  Pooling = "max"
)

// Pool makes one vector of length 1 of the vectors of a text's own tokens,
// which stand one after the other and have dims values each.
func (p Pooling) Pool(tokens []float32, dims int) ([]float32, error) {
	vector := slices.Clone(tokens[:dims])
	if p == PoolCLS {
		return vector, Normalise(vector)
	}
	for at := dims; at < len(tokens); at += dims {
		for j, v := range tokens[at : at+dims] {
			if p == PoolMax {
				vector[j] = max(vector[j], v)
			} else {
				vector[j] += v // the mean, up to the length that Normalise takes out
			}
		}
	}
	return vector, Normalise(vector)
}

// Normalise gives a vector length 1, in place. A vector without a direction
// is an error.
func Normalise(vector []float32) error {
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
