package bench

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// column makes rows of one number each: n of them, of which the first ones are as given and the rest 0.
func column(n int, first ...float64) [][]float64 {
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = []float64{0}
		if i < len(first) {
			rows[i][0] = first[i]
		}
	}
	return rows
}

func repeated(x float64, n int) []float64 {
	all := make([]float64, n)
	for i := range all {
		all[i] = x
	}
	return all
}

func TestBootstrap(t *testing.T) {
	// A fifth of 400 questions is gained: the standard deviation of the mean is √(0.2 · 0.8 / 400) = 0.02, and the interval is
	// 1.96 of it to both sides.
	const spread = 1.96 * 0.02
	mixed := append(repeated(1, 100), repeated(-1, 60)...) // of 400: mean 0.1, variance 0.4 - 0.01
	mixedSpread := 1.96 * math.Sqrt(0.39/400)
	for _, c := range []struct {
		name            string
		rows            [][]float64
		mean, low, high float64
		tolerance       float64
	}{
		{"no difference", column(50), 0, 0, 0, 0},
		{"the same everywhere", column(50, repeated(0.25, 50)...), 0.25, 0.25, 0.25, 1e-12},
		{"one question", column(1, -1), -1, -1, -1, 0},
		{"a fifth gained", column(400, repeated(1, 80)...), 0.2, 0.2 - spread, 0.2 + spread, 0.003},
		{"a fifth lost", column(400, repeated(-1, 80)...), -0.2, -0.2 - spread, -0.2 + spread, 0.003},
		{"some gained, some lost", column(400, mixed...), 0.1, 0.1 - mixedSpread, 0.1 + mixedSpread, 0.004},
	} {
		mean, low, high := bootstrap(c.rows)
		for _, x := range []struct {
			name      string
			got, want float64
		}{{"mean", mean[0], c.mean}, {"low", low[0], c.low}, {"high", high[0], c.high}} {
			if math.Abs(x.got-x.want) > c.tolerance {
				t.Errorf("%s: %s %.4f, want %.4f", c.name, x.name, x.got, x.want)
			}
		}
	}
	// Of two tables each counts the same, however long it is.
	if mean, low, high := bootstrap(column(300), column(400, repeated(1, 80)...)); math.Abs(mean[0]-0.1) > 1e-12 || math.Abs(low[0]-(0.1-spread/2)) > 0.003 || math.Abs(high[0]-(0.1+spread/2)) > 0.003 {
		t.Errorf("two tables: %.4f, %.4f to %.4f, want 0.1, %.4f less and more", mean[0], low[0], high[0], spread/2)
	}
	if mean, low, high := bootstrap(); mean != nil || low != nil || high != nil {
		t.Errorf("of nothing: %v, %v, %v, want nothing", mean, low, high)
	}
}

func TestDifference(t *testing.T) {
	at := func(rank int) Answer { return Answer{TurnRanks: []int{rank}, SessionRanks: []int{rank}} }
	a := []Answer{at(1), at(6), at(20), at(0), at(3)}
	b := []Answer{at(1), at(4), at(10), at(0), at(8)}
	there, back, same := difference(a, b), difference(b, a), difference(a, a)
	want := Figures{Questions: 5, // the second and the third question are gained, the fifth is lost; at 10 the third is gained
		SessionAny5: 0, SessionAny10: 1. / 5, SessionAll5: 0, SessionAll10: 1. / 5, SessionRecall10: 1. / 5,
		TurnAny10: 1. / 5, TurnRecall10: 1. / 5, TurnMRR10: (1./4 - 1./6 + 1./10 + 1./8 - 1./3) / 5}
	near := cmpopts.EquateApprox(0, 1e-12)
	if diff := cmp.Diff(want, there.Difference, near); diff != "" {
		t.Error(diff)
	}
	for j := range there.Low.values() {
		low, high := *there.Low.values()[j], *there.High.values()[j]
		if mean := *there.Difference.values()[j]; low > mean || mean > high || low == high {
			t.Errorf("figure %d: %g is not within %g and %g", j, mean, low, high)
		}
		if math.Abs(low+*back.High.values()[j]) > 1e-12 || math.Abs(high+*back.Low.values()[j]) > 1e-12 {
			t.Errorf("figure %d: %g to %g one way, %g to %g the other", j, low, high, *back.Low.values()[j], *back.High.values()[j])
		}
	}
	nothing := Figures{Questions: 5}
	if diff := cmp.Diff(Interval{nothing, nothing, nothing}, same); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(there, difference(a, b)); diff != "" {
		t.Errorf("another time it is another one:\n%s", diff)
	}
}
