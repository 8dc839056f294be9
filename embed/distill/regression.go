package distill

import (
	"context"
	"fmt"
	"math"
)

const (
	rarity       = 1e-3 // a of the weight a/(a+p): a token this frequent counts half
	pull         = 10.0 // λ: how strongly regression holds on to the start
	maxSteps     = 60
	smallEnough  = 1e-3 // residual, relative to the first, at which regression ends
	shortestText = 1e-6
)

// weigh multiplies each token's row by a/(a+p), p being its share of all
// tokens in the texts (Arora et al. 2017, "A simple but tough-to-beat baseline
// for sentence embeddings").
func weigh(rows matrix, texts *bags) {
	counts := make([]int, rows.rows)
	for _, token := range texts.tokens {
		counts[token]++
	}
	for i, n := range counts {
		p := float64(n) / float64(max(len(texts.tokens), 1))
		scale(rows.row(i), float32(rarity/(rarity+p)))
	}
}

// level turns the counts of each text into shares such that the start predicts
// vectors of the length the targets have, 1 or a bit less. So a short text
// asks for as much as a long one, while λ weighs the same on a token however
// long the texts are that it stands in.
func level(rows matrix, texts *bags) {
	predicted := newMatrix(texts.rows(), rows.cols)
	texts.times(rows, predicted)
	for i := range predicted.rows {
		length := float32(math.Sqrt(float64(dot(predicted.row(i), predicted.row(i)))))
		_, shares := texts.row(i)
		scale(shares, 1/max(length, shortestText))
	}
}

// regress moves rows to the minimum of |texts·rows − targets|² + λ|rows − start|²
// by conjugate gradients on the normal equations of the difference from the
// start, every dimension on its own.
func (c Config) regress(ctx context.Context, rows matrix, texts *bags, targets matrix) error {
	tokens := texts.transpose()
	gap := newMatrix(targets.rows, targets.cols)
	texts.times(rows, gap)
	parallel(gap.rows, func(i int) {
		for j, y := range targets.row(i) {
			gap.row(i)[j] = y - gap.row(i)[j]
		}
	})
	residual := newMatrix(rows.rows, rows.cols)
	tokens.times(gap, residual)
	direction := newMatrix(rows.rows, rows.cols)
	copy(direction.data, residual.data)
	curved := newMatrix(rows.rows, rows.cols)
	size := squares(residual, residual)
	enough := sum(size) * smallEnough * smallEnough
	for step := range maxSteps {
		c.Progress("regression", step, maxSteps)
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("distill: regression: %w", err)
		}
		texts.times(direction, gap)
		tokens.times(gap, curved)
		parallel(rows.rows, func(i int) { add(curved.row(i), pull, direction.row(i)) })
		ahead := ratio(size, squares(direction, curved))
		parallel(rows.rows, func(i int) {
			addEach(rows.row(i), ahead, 1, direction.row(i))
			addEach(residual.row(i), ahead, -1, curved.row(i))
		})
		next := squares(residual, residual)
		if sum(next) <= enough {
			break
		}
		turn := ratio(next, size)
		parallel(rows.rows, func(i int) {
			d, r := direction.row(i), residual.row(i)
			for j := range d {
				d[j] = r[j] + turn[j]*d[j]
			}
		})
		size = next
	}
	c.Progress("regression", maxSteps, maxSteps)
	return nil
}

// squares gives the inner product of a and b, column by column.
func squares(a, b matrix) []float64 {
	sums := make([]float64, a.cols)
	for i := range a.rows {
		other := b.row(i)
		for j, v := range a.row(i) {
			sums[j] += float64(v) * float64(other[j])
		}
	}
	return sums
}

// ratio divides column by column; a column that is done stays as it is.
func ratio(a, b []float64) []float32 {
	out := make([]float32, len(a))
	for j := range a {
		if b[j] > 0 {
			out[j] = float32(a[j] / b[j])
		}
	}
	return out
}

func sum(values []float64) (total float64) {
	for _, v := range values {
		total += v
	}
	return total
}

// addEach adds sign·by[j]·x[j] to y[j].
func addEach(y, by []float32, sign float32, x []float32) {
	for j := range y {
		y[j] += sign * by[j] * x[j]
	}
}

func scale(x []float32, by float32) {
	for j := range x {
		x[j] *= by
	}
}
