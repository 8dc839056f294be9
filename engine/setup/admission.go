package setup

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/mallardmem/mallard/engine/internal/fault"
)

// Admission is a gate before verdicts: a draft whose score is too low is rejected. A score is the weighted sum of five features, each 0 to 1: how useful a draft
// is, how well the talk bears it out, how new it is, how long nothing like it was said, and how its category is liked. Fields that are zero, or nil, are those of
// the preset.
type Admission struct {
	// Preset is balanced, conservative or high-recall. Default "": every draft is admitted.
	Preset string `toml:"preset"`
	// Reject is the score below which a draft is rejected, Admit the one from which on it is taken for new.
	Reject *float64 `toml:"reject"`
	Admit  *float64 `toml:"admit"`
	// Weights of utility, confidence, novelty, recency and type_prior. Those that are given are made to sum up to 1 with the others.
	Weights map[string]float64 `toml:"-"`
	// Priors are how categories are liked.
	Priors map[string]float64 `toml:"-"`
	// Pool is how many memories a draft is compared with, HalfLife in how many days half of a topic's recency is back.
	Pool     int `toml:"pool"`
	HalfLife int `toml:"half_life_days"`
	// AskUtility has the model say how useful a draft is; else, and where it fails, that is 0.5.
	AskUtility bool `toml:"ask_utility"`
	// Veto rejects what is no more useful than this, whatever its score. Default 0: nothing.
	Veto float64 `toml:"veto"`
}

// Features of admission, by which weights are named.
const (
	Utility    = "utility"
	Confidence = "confidence"
	Novelty    = "novelty"
	Recency    = "recency"
	TypePrior  = "type_prior"
)

// Gate is an Admission with everything settled.
type Gate struct {
	Preset          string
	Reject, Admit   float64
	Weights, Priors map[string]float64
	Pool, HalfLife  int
	AskUtility      bool
	Veto            float64
}

func weights(u, c, n, r, t float64) map[string]float64 {
	return map[string]float64{Utility: u, Confidence: c, Novelty: n, Recency: r, TypePrior: t}
}

func priors(profile, preference, entity, event, case_, pattern float64) map[string]float64 {
	return map[string]float64{"profile": profile, "preference": preference, "entity": entity, "event": event, "case": case_, "pattern": pattern}
}

// gates are the presets.
func gates() map[string]Gate {
	return map[string]Gate{
		"balanced":     {Reject: 0.45, Admit: 0.60, Weights: weights(0.1, 0.1, 0.1, 0.1, 0.6), Pool: 8, HalfLife: 14, Priors: priors(0.95, 0.90, 0.75, 0.45, 0.80, 0.85)},
		"conservative": {Reject: 0.52, Admit: 0.68, Weights: weights(0.16, 0.16, 0.18, 0.08, 0.42), Pool: 10, HalfLife: 10, Priors: priors(0.98, 0.94, 0.78, 0.28, 0.78, 0.80)},
		"high-recall":  {Reject: 0.34, Admit: 0.52, Weights: weights(0.08, 0.10, 0.08, 0.14, 0.60), Pool: 6, HalfLife: 21, Priors: priors(0.96, 0.92, 0.80, 0.58, 0.84, 0.88)},
	}
}

// AdmissionPresets lists them all.
func AdmissionPresets() []string { return []string{"balanced", "conservative", "high-recall"} }

// On reports whether drafts are to be judged at all.
func (a Admission) On() bool { return a.Preset != "" }

// Gate is what the options come to. Numbers out of range are brought into it; Admit is no less than Reject.
func (a Admission) Gate() Gate {
	g, ok := gates()[a.Preset]
	if !ok {
		g = gates()["balanced"]
	}
	g.Preset, g.AskUtility, g.Veto = a.Preset, a.AskUtility, unit(a.Veto)
	if a.Reject != nil {
		g.Reject = unit(*a.Reject)
	}
	if a.Admit != nil {
		g.Admit = unit(*a.Admit)
	}
	g.Admit = max(g.Admit, g.Reject)
	if len(a.Weights) > 0 {
		g.Weights = normalised(a.Weights, g.Weights)
	}
	for category, prior := range a.Priors {
		g.Priors[category] = unit(prior)
	}
	if a.Pool > 0 {
		g.Pool = min(a.Pool, 20)
	}
	if a.HalfLife > 0 {
		g.HalfLife = min(a.HalfLife, 365)
	}
	return g
}

// normalised takes weights that are given, and others from the preset, and makes them sum up to 1; the preset's where the sum is 0.
func normalised(given, preset map[string]float64) map[string]float64 {
	all, sum := map[string]float64{}, 0.0
	for _, name := range slices.Sorted(maps.Keys(preset)) { // in one order, so that the sum is always the same
		w, ok := given[name]
		if !ok || math.IsNaN(w) {
			w = preset[name]
		}
		all[name] = unit(w)
		sum += all[name]
	}
	if sum == 0 {
		return preset
	}
	for name := range all {
		all[name] /= sum
	}
	return all
}

// unit clamps to 0 to 1.
func unit(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return min(max(x, 0), 1)
}

// validate names every field that is wrong.
func (a Admission) validate() error {
	var errs []error
	if a.Preset != "" {
		errs = append(errs, fault.Member("Admission.Preset", a.Preset, AdmissionPresets()))
	}
	if a.Pool < 0 || a.Pool > 20 {
		errs = append(errs, fault.Invalid("Admission.Pool", a.Pool, "1 to 20"))
	}
	if a.HalfLife < 0 || a.HalfLife > 365 {
		errs = append(errs, fault.Invalid("Admission.HalfLife", a.HalfLife, "1 to 365"))
	}
	for _, given := range []struct {
		name    string
		numbers map[string]float64
		known   map[string]float64
	}{{"Weights", a.Weights, gates()["balanced"].Weights}, {"Priors", a.Priors, gates()["balanced"].Priors}} {
		for name := range given.numbers {
			if _, ok := given.known[name]; !ok {
				errs = append(errs, fault.Invalid("Admission."+given.name, name, fmt.Sprint(slices.Sorted(maps.Keys(given.known)))))
			}
		}
	}
	return errors.Join(errs...)
}
