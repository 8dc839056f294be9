package bench

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mallardmem/mallard/engine/recall"
)

// TestFitLogistic finds the coefficients that made-up observations were made with, and 0 for a signal that never varies.
func TestFitLogistic(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(18, 2))
	want := []float64{-2, 3, 0, 1.5}
	var all []observation
	for range 40_000 {
		o := observation{signals: []float64{rng.Float64(), 0, 2*rng.Float64() - 1}, counts: 1}
		o.was = rng.Float64() < logistic(want, o.signals)
		all = append(all, o)
	}
	got := fitLogistic(all, 3)
	for i := range want {
		if math.Abs(got[i]-want[i]) > 0.1 {
			t.Fatalf("%v, want %v", got, want)
		}
	}
	for i := range all {
		if all[i].counts = 0; i < 20_000 {
			all[i].counts = 2
		}
	}
	if half := fitLogistic(all[:20_000], 3); !cmp.Equal(half, fitLogistic(all, 3), cmpopts.EquateApprox(0, 1e-6)) {
		t.Errorf("what does not count, counts: %v", half)
	}
}

// TestConfidenceTables counts by hand.
func TestConfidenceTables(t *testing.T) {
	t.Parallel()
	hit := func(confidence float64, right bool) confidenceHit {
		return confidenceHit{Right: right, confidence: confidence}
	}
	answers := []confidenceAnswer{
		{Data: "a", counts: 1, Hits: []confidenceHit{hit(0.85, true), hit(0.25, false), hit(0.05, true)}},
		{Data: "a", counts: 1, Hits: []confidenceHit{hit(0.05, true), hit(0.05, false)}},
		{Data: "a", counts: 1, Foreign: true, Hits: []confidenceHit{hit(0.25, false)}},
		{Data: "a", counts: 1, Foreign: true},
		{Data: "b", counts: 2, Hits: []confidenceHit{hit(1, true)}},
		{Data: "b", counts: 2, Foreign: true, Hits: []confidenceHit{hit(0.05, false)}},
	}
	got, off := tenths(answers)
	want := map[int]Tenth{0: {0, 4, 0.05, 0.4, 2. / 3}, 2: {0.2, 2, 0.25, 0, 0}, 8: {0.8, 1, 0.85, 1, 1}, 9: {0.9, 1, 1, 1, 1}}
	for i, tenth := range got {
		if v, some := want[i]; some && !cmp.Equal(v, tenth, cmpopts.EquateApprox(0, 1e-9)) || !some && tenth.Hits != 0 {
			t.Errorf("%+v, want %+v", tenth, want[i])
		}
	}
	if wanted := (1.75 + 0.5 + 0.15) / 10; math.Abs(off-wanted) > 1e-9 {
		t.Errorf("off by %v, want %v", off, wanted)
	}
	floor := Floor{Least: 0.2, Empty: 0.75, LostHits: (2. / 3) / 2, LostQuestions: 0.25, Kept: 1, KeptRight: 0.75}
	if diff := cmp.Diff(floor, floorOf(answers, 0.2), cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if fit := confidenceSet("memory", answers).Fit; fit != (recall.Calibration{Base: fit.Base}) {
		t.Errorf("of no signals at all: %+v", fit)
	}
}
