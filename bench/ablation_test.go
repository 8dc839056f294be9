package bench

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/recall"
)

func TestAblations(t *testing.T) {
	base := WeightSet{Name: "mine", Weights: recall.TranscriptWeights()}
	base.Weights.Vector, base.Weights.Lexical, base.Weights.Rarity, base.Weights.Recency = 0.5, 0.4, true, 0
	without := func(change func(*recall.Weights)) recall.Weights {
		w := base.Weights
		change(&w)
		return w
	}
	noVector := WeightSet{Name: "without vector", Weights: without(func(w *recall.Weights) { w.Vector = 0 })}
	noRarity := WeightSet{Name: "without rarity", Weights: without(func(w *recall.Weights) { w.Rarity = false })}
	neither := WeightSet{Name: "without vector+rarity", Weights: without(func(w *recall.Weights) { w.Vector, w.Rarity = 0, false })}
	sets, err := Ablations(base, []string{"vector", "rarity", "vector+rarity"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]WeightSet{base, noVector, noRarity, neither}, sets); diff != "" {
		t.Error(diff)
	}

	if sets, err = Ablations(base, nil); err != nil {
		t.Fatal(err)
	}
	for i, set := range sets[1:] {
		if cmp.Equal(set.Weights, base.Weights) {
			t.Errorf("%s is the same as with it", set.Name)
		}
		if strings.Contains(set.Name, "feature_") || strings.Contains(set.Name, "recency") || strings.Contains(set.Name, "pool") || cmp.Equal(set.Name, sets[i].Name) {
			t.Errorf("%s: want what is not off, and each once", set.Name)
		}
	}
	for _, want := range []WeightSet{noVector, noRarity} {
		if !slices.ContainsFunc(sets, func(set WeightSet) bool { return cmp.Equal(set, want) }) {
			t.Errorf("no %+v among %+v", want, sets)
		}
	}

	base.Weights.Rerank, base.Weights.FeaturePhrase = "features", 0.1
	if sets, err = Ablations(base, nil); err != nil || !slices.ContainsFunc(sets, func(set WeightSet) bool { return set.Name == "without feature_phrase" }) {
		t.Errorf("no feature is left out where features rerank: %v", err)
	}

	for _, signal := range []string{"luck", "vector+luck", "", "pool", "normalise"} {
		if _, err := Ablations(base, []string{signal}); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "allowed:") {
			t.Errorf("%q: got %v, want ErrInvalid", signal, err)
		}
	}
}

// A weight that was renamed must be renamed here too, or it would pass for a signal.
func TestUnswitched(t *testing.T) {
	values, err := weightValues(recall.TranscriptWeights())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range unswitched {
		if _, ok := values[name]; !ok {
			t.Errorf("%s is no weight", name)
		}
	}
}
