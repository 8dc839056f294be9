package bench

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/recall"
)

// unswitched are the numbers that shape a score or say how many, rather than add a signal to it: switching them off means
// nothing. Any other number or switch of recall.Weights is a signal.
var unswitched = []string{"pool", "whole", "k1", "b", "date_days", "chance", "min_score", "recency_days", "length_anchor", "life_days",
	"reinforcement", "max_life", "hard_min_score", "diversity", "exact_from", "half_life", "dynamic_half_life", "modulation", "core_beta", "working_beta", "peripheral_beta",
	"recency_part", "frequency_part", "intrinsic_part", "decay_floor", "core_floor", "working_floor", "peripheral_floor"}

// Ablations are a set without one of its signals each: the set itself first, then one per signal, with that weight at zero or
// false. A signal is the JSON name of a weight, or several joined by "+", which are off together. No signals: each weight of
// the set that is a signal and not off already. Errors: engine.ErrInvalid.
func Ablations(base WeightSet, signals []string) ([]WeightSet, error) {
	values, err := weightValues(base.Weights)
	if err != nil {
		return nil, err
	}
	known := slices.DeleteFunc(slices.Sorted(maps.Keys(values)), func(name string) bool {
		return off(values[name]) == nil || slices.Contains(unswitched, name)
	})
	if len(signals) == 0 {
		signals = slices.DeleteFunc(slices.Clone(known), func(name string) bool {
			return values[name] == off(values[name]) || strings.HasPrefix(name, "feature_") && base.Weights.Rerank != string(recall.FeaturesRerank)
		})
	}
	sets := []WeightSet{base}
	for _, signal := range signals {
		changed := maps.Clone(values)
		for name := range strings.SplitSeq(signal, "+") {
			if !slices.Contains(known, name) {
				return nil, fmt.Errorf("%w: signal is %q; allowed: %s, or several of them joined by +", engine.ErrInvalid, name, strings.Join(known, ", "))
			}
			changed[name] = off(values[name])
		}
		set := WeightSet{Name: "without " + signal, Rerank: base.Rerank}
		content, err := json.Marshal(changed)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(content, &set.Weights); err != nil {
			return nil, err
		}
		sets = append(sets, set)
	}
	return sets, nil
}

// weightValues gives weights by their JSON names.
func weightValues(w recall.Weights) (values map[string]any, err error) {
	content, err := json.Marshal(w)
	if err != nil {
		return nil, err
	}
	return values, json.Unmarshal(content, &values)
}

// off is the value of a weight that does nothing; nil: there is none.
func off(value any) any {
	switch value.(type) {
	case float64:
		return 0.
	case bool:
		return false
	}
	return nil
}
