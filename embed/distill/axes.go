package distill

import (
	"errors"

	"gonum.org/v1/gonum/mat"
)

// axes are the principal components of a cloud of vectors, the widest first.
type axes struct {
	components matrix // one per row
}

// principalAxes finds the directions in which the vectors vary most around
// their mean: eigenvectors of the covariance.
func principalAxes(vectors matrix, n int) (axes, error) {
	centred := mat.NewDense(vectors.rows, vectors.cols, nil)
	mean := columnMeans(vectors)
	for i := range vectors.rows {
		to := centred.RawRowView(i)
		for j, v := range vectors.row(i) {
			to[j] = float64(v) - mean[j]
		}
	}
	var covariance mat.SymDense
	covariance.SymOuterK(1, centred.T())
	var eigen mat.EigenSym
	if !eigen.Factorize(&covariance, true) {
		return axes{}, errors.New("the covariance of the token vectors has no eigenvectors")
	}
	var found mat.Dense
	eigen.VectorsTo(&found) // by rising eigenvalue
	a := axes{newMatrix(n, vectors.cols)}
	for i := range n {
		for j := range vectors.cols {
			a.components.row(i)[j] = float32(found.At(j, vectors.cols-1-i))
		}
	}
	return a, nil
}

// project gives the coordinates of vectors along the axes.
func (a axes) project(vectors matrix) matrix {
	out := newMatrix(vectors.rows, a.components.rows)
	parallel(vectors.rows, func(i int) {
		from, to := vectors.row(i), out.row(i)
		for j := range to {
			to[j] = dot(a.components.row(j), from)
		}
	})
	return out
}

// centre takes the mean of the rows from each.
func centre(m matrix) {
	mean := columnMeans(m)
	parallel(m.rows, func(i int) {
		for j := range m.row(i) {
			m.row(i)[j] -= float32(mean[j])
		}
	})
}

func columnMeans(m matrix) []float64 {
	mean := make([]float64, m.cols)
	for i := range m.rows {
		for j, v := range m.row(i) {
			mean[j] += float64(v) / float64(m.rows)
		}
	}
	return mean
}

func dot(a, b []float32) float32 {
	b = b[:len(a)]
	var sum float32
	for j := range a {
		sum += a[j] * b[j]
	}
	return sum
}
