package bench

import "math"

// observation is what a logistic regression learns from: signals, whether it was so, and how much it counts.
type observation struct {
	signals []float64
	was     bool
	counts  float64
}

// ridge keeps a coefficient of what never varies at 0; beside some hundred observations it changes nothing.
const ridge = 1e-3

// logistic is the chance that coefficients give to signals; the first coefficient is added as it is.
func logistic(coefficients, signals []float64) float64 {
	sum := coefficients[0]
	for i, x := range signals {
		sum += coefficients[i+1] * x
	}
	return 1 / (1 + math.Exp(-sum))
}

// fitLogistic gives the coefficients that make the observations likeliest, by Newton's method.
func fitLogistic(observations []observation, signals int) []float64 {
	n := signals + 1
	coefficients, row := make([]float64, n), make([]float64, n)
	for range 50 {
		slope, curve := make([]float64, n), make([][]float64, n)
		for i := range curve {
			curve[i] = make([]float64, n+1)
			curve[i][i], slope[i] = ridge, -ridge*coefficients[i]
		}
		for _, o := range observations {
			row[0] = 1
			copy(row[1:], o.signals)
			p, was := logistic(coefficients, o.signals), 0.
			if o.was {
				was = 1
			}
			for i := range n {
				slope[i] += o.counts * (was - p) * row[i]
				for j := range n {
					curve[i][j] += o.counts * p * (1 - p) * row[i] * row[j]
				}
			}
		}
		step, most := solve(curve, slope), 0.
		for i := range n {
			coefficients[i] += step[i]
			most = max(most, math.Abs(step[i]))
		}
		if most < 1e-9 {
			break
		}
	}
	return coefficients
}

// solve gives x of a·x = b, for a symmetric a that the ridge makes definite. Each row of a has room for b.
func solve(a [][]float64, b []float64) []float64 {
	n := len(b)
	for i := range n {
		a[i][n] = b[i]
	}
	for i := range n {
		for j := range n {
			if j != i {
				factor := a[j][i] / a[i][i]
				for k := i; k <= n; k++ {
					a[j][k] -= factor * a[i][k]
				}
			}
		}
	}
	x := make([]float64, n)
	for i := range n {
		x[i] = a[i][n] / a[i][i]
	}
	return x
}
