package extract

import (
	"time"

	"github.com/mallardmem/mallard/engine/setup"
)

// What tests hold against the vectors of the specification.
var (
	BorneOut  = borneOut
	Supported = supported
	NoveltyOf = novelty
	RecencyOf = recency
	DoublesOf = doublesOf
	Decode    = decode
)

// Judged is what a gate makes of features: the score, whether it rejects, and its hint.
func Judged(g setup.Gate, category string, utility, confidence, greatest float64, newest, now time.Time) (score float64, rejected bool, hint string) {
	a := &Admission{gate: g, Greatest: greatest, Features: map[string]float64{setup.Utility: utility, setup.Confidence: confidence, setup.Novelty: novelty(greatest),
		setup.Recency: recency(newest, now, g.HalfLife), setup.TypePrior: g.Priors[category]}}
	a.judge()
	return a.Score, a.Rejected, a.Hint
}

// Touchstone is the text by which a model is found to tell texts apart.
var Touchstone = prototypes[touchstone]
