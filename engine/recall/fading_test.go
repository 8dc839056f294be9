package recall_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
)

// TestFadingIsWeights: each number of the decay engine, and the floor of a near-exact hit, is a weight that does what its formula says; the built-in ones are what they always were.
func TestFadingIsWeights(t *testing.T) {
	enginetest.Alone(t)
	clock := &enginetest.Clock{At: enginetest.Noon}
	e := enginetest.Open(t, engine.Options{Now: clock.Now, Embedder: enginetest.Words{}})
	enginetest.Remember(t, e, memory.RememberRequest{Text: "The harbor lamp is green", CreatedAt: enginetest.Noon.AddDate(0, 0, -60), Importance: enginetest.Pointer(0.5), Confidence: enginetest.Pointer(0.8)})
	ask := func(change func(*recall.Weights)) recall.Candidate {
		t.Helper()
		w := recall.MemoryWeights()
		change(&w)
		w.HardMinScore, w.MinScore, w.Chance = 0, 0, 0
		r, err := e.Recall(t.Context(), recall.Query{Text: "harbor lamp", Weights: &w})
		if err != nil || len(r.Hits) != 1 {
			t.Fatal(r.Hits, err)
		}
		return r.Hits[0].Signals
	}
	recency := func(halfLife, modulation, beta float64) float64 {
		return math.Exp(-math.Ln2 / (halfLife * math.Exp(modulation*0.5)) * math.Pow(60, beta))
	}
	for name, test := range map[string]struct {
		change          func(*recall.Weights)
		composite, keep float64 // keep: what is left of the score
	}{
		"built in":      {func(*recall.Weights) {}, 0.4*recency(30, 1.5, 1) + 0.3*0.4, 0.79},
		"half_life":     {func(w *recall.Weights) { w.HalfLife = 90 }, 0.4*recency(90, 1.5, 1) + 0.3*0.4, 0.79},
		"modulation":    {func(w *recall.Weights) { w.Modulation = 0 }, 0.4*recency(30, 0, 1) + 0.3*0.4, 0.79},
		"working_beta":  {func(w *recall.Weights) { w.WorkingBeta = 0.5 }, 0.4*recency(30, 1.5, 0.5) + 0.3*0.4, 0.79},
		"another tier":  {func(w *recall.Weights) { w.CoreBeta, w.PeripheralBeta, w.DynamicHalfLife, w.CoreFloor = 2, 2, 1, 1 }, 0.4*recency(30, 1.5, 1) + 0.3*0.4, 0.79},
		"parts":         {func(w *recall.Weights) { w.RecencyPart, w.FrequencyPart, w.IntrinsicPart = 0.1, 0, 0.9 }, 0.1*recency(30, 1.5, 1) + 0.9*0.4, 0.79},
		"working_floor": {func(w *recall.Weights) { w.WorkingFloor = 0.8 }, 0.4*recency(30, 1.5, 1) + 0.3*0.4, 0.86},
		"decay_floor":   {func(w *recall.Weights) { w.DecayFloor = 0.5 }, 0.4*recency(30, 1.5, 1) + 0.3*0.4, 0.85},
	} {
		v := ask(test.change)
		if math.Abs(*v.Composite-test.composite) > 1e-9 || math.Abs(v.Decayed/v.LengthNorm-test.keep) > 1e-9 {
			t.Errorf("%s: composite %v, want %v; %v is left, want %v", name, *v.Composite, test.composite, v.Decayed/v.LengthNorm, test.keep)
		}
	}
	lexical := *ask(func(*recall.Weights) {}).LexicalScore
	exact := func(w *recall.Weights) { w.Vector, w.Lexical, w.ExactFrom, w.ExactShare = 0, 0, lexical-0.01, 0.5 }
	if v := ask(exact); math.Abs(v.Fused-0.5*lexical) > 1e-9 {
		t.Errorf("near-exact: fused %v, want %v", v.Fused, 0.5*lexical)
	}
	if v := ask(func(w *recall.Weights) { exact(w); w.ExactFrom = lexical + 0.01 }); v.Fused != 0 {
		t.Errorf("not near-exact: fused %v", v.Fused)
	}
	for name, bad := range map[string]func(*recall.Weights){"half_life": func(w *recall.Weights) { w.HalfLife = 0 }, "core_beta": func(w *recall.Weights) { w.CoreBeta = 6 }, "exact_share": func(w *recall.Weights) { w.ExactShare = 2 },
		"dynamic_half_life": func(w *recall.Weights) { w.DynamicHalfLife = math.NaN() }, "peripheral_floor": func(w *recall.Weights) { w.PeripheralFloor = -1 }} {
		w := recall.MemoryWeights()
		bad(&w)
		if err := e.SetWeights(t.Context(), "mine", w); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFadingOfTiers: tiers go by the set memory as it is stored, and a set that was stored before these were weights has them as they are built in.
func TestFadingOfTiers(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{})
	fading := func() (line string) {
		t.Helper()
		table, err := e.Query(t.Context(), "SELECT half_life, dynamic_half_life, modulation, core_beta, working_beta, peripheral_beta, recency_part, frequency_part, intrinsic_part FROM report.fading", 0)
		if err != nil || len(table.Rows) != 1 {
			t.Fatal(table, err)
		}
		return fmt.Sprint(table.Rows[0]...)
	}
	of := func(w recall.Weights) string {
		return fmt.Sprint(w.HalfLife, w.DynamicHalfLife, w.Modulation, w.CoreBeta, w.WorkingBeta, w.PeripheralBeta, w.RecencyPart, w.FrequencyPart, w.IntrinsicPart)
	}
	if got, want := fading(), of(recall.MemoryWeights()); got != want {
		t.Errorf("the view has %s, built in is %s", got, want)
	}
	id := enginetest.Remember(t, e, memory.RememberRequest{Text: "The lamp is green", Importance: enginetest.Pointer(0.2), Confidence: enginetest.Pointer(0.2), CreatedAt: enginetest.Noon.AddDate(0, 0, -50)}).ID
	due := func() int {
		t.Helper()
		done, err := e.Maintain(t.Context(), memory.MaintainRequest{DryRun: true})
		if err != nil {
			t.Fatal(err)
		}
		return len(done.Tiers)
	}
	if n := due(); n != 0 {
		t.Errorf("%d tiers are due for %s", n, id)
	}
	w := recall.MemoryWeights()
	w.HalfLife = 1
	if err := e.SetWeights(t.Context(), "memory", w); err != nil {
		t.Fatal(err)
	}
	if got := fading(); got != of(w) || due() != 1 {
		t.Errorf("stored: the view has %s, %d tiers are due", got, due())
	}
	var old map[string]any
	content, err := json.Marshal(recall.MemoryWeights())
	if err == nil {
		err = json.Unmarshal(content, &old)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"half_life", "dynamic_half_life", "modulation", "core_beta", "exact_from", "exact_share", "decay_floor", "core_floor"} {
		delete(old, name)
	}
	if content, err = json.Marshal(old); err != nil {
		t.Fatal(err)
	}
	if err := enginetest.TamperOpen(t.Context(), e, "UPDATE settings SET value = ?::JSON WHERE name = 'weights:memory'", string(content)); err != nil {
		t.Fatal(err)
	}
	if sets, err := e.WeightSets(t.Context()); err != nil || sets["memory"] != recall.MemoryWeights() || fading() != of(recall.MemoryWeights()) {
		t.Errorf("stored by an older version: %+v, %v; the view has %s", sets["memory"], err, fading())
	}
}
