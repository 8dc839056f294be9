package recall

import (
	"math"
	"slices"
	"strings"

	"github.com/mallardmem/mallard/engine/internal/resident"
	"github.com/mallardmem/mallard/engine/kinds"
)

// Calibration is what makes a confidence of the signals of a candidate: the logistic of Base + Meaning · the cosine with neighbours + Met · the share of
// the question that is met + Score · the fused score + Lead · the root of how far the best is ahead times that share. But for Base none is below
// 0, so that more of a signal is never less confidence. It is no part of ranking: it changes no order, and says what the order can't.
type Calibration struct {
	Base    float64 `json:"base"`
	Meaning float64 `json:"meaning"`
	Met     float64 `json:"met"`
	Score   float64 `json:"score"`
	Lead    float64 `json:"lead"`
}

// Signals are those of a candidate that its confidence is made of, in the order of the coefficients after Base. What is not known counts 0.
func (v *Candidate) Signals() [4]float64 {
	var meaning, met float64
	if v.NearCosine != nil {
		meaning = *v.NearCosine
	}
	if v.Met != nil {
		met = *v.Met
	}
	return [4]float64{meaning, met, v.Fused, math.Sqrt(v.Lead * met)} // of what has nothing of the question something is always ahead
}

// Of is the confidence in a candidate, above 0 and below 1.
func (c Calibration) Of(v *Candidate) float64 {
	s := v.Signals()
	return 1 / (1 + math.Exp(-(c.Base + c.Meaning*s[0] + c.Met*s[1] + c.Score*s[2] + c.Lead*s[3])))
}

// PromptConfidence is the least confidence of what Result.Prompt shows: of questions whose answer is not in the file it leaves out most of what is found, of
// right hits few (docs/recall.md).
const PromptConfidence = 0.02

// measured is what a calibration was measured with: a built-in set of weights, and the beginning of a model's name, or none for words alone.
type measured struct{ set, model string }

const noModel = "none"

// calibrations are what `memctl bench confidence` makes of recorded conversations; docs/recall.md says of which, and how far they hold.
var calibrations = map[measured]Calibration{
	{"memory", "static-minilm"}:        {Base: -11.19, Meaning: 1.57, Met: 2.12, Score: 8.84, Lead: 5.5},
	{"memory", "all-MiniLM-L6-v2"}:     {Base: -10.52, Meaning: 3.12, Met: 1.62, Score: 7.33, Lead: 6.44},
	{"memory", noModel}:                {Base: -12.73, Met: 2.42, Score: 10.5, Lead: 5.32},
	{"transcript", "static-minilm"}:    {Base: -7.08, Meaning: 2.68, Met: 2.15, Score: 6.35, Lead: 6.27},
	{"transcript", "all-MiniLM-L6-v2"}: {Base: -7.16, Meaning: 3.94, Met: 1.76, Score: 6.19, Lead: 6.85},
	{"transcript", noModel}:            {Base: -5.57, Met: 2.86, Score: 5.35, Lead: 9.45},
}

// Calibrations gives them all, by set of weights and the beginning of the model's name, or none.
func Calibrations() map[string]Calibration {
	all := map[string]Calibration{}
	for of, c := range calibrations {
		all[of.set+" "+of.model] = c
	}
	return all
}

// measuredKinds are the kinds that the sets were measured with: the confidence of another is not known.
var measuredKinds = map[string]kinds.Kind{"memory": kinds.Memory, "transcript": kinds.Message}

// leastMeasured is about how many documents the smallest conversation had that was measured. Among few a right one may be quite unlike the question, and
// the best is easily far ahead.
const leastMeasured = 180

// calibration gives what makes confidences, and of which kind; nil: nobody measured these weights, this model or mode, or so few documents.
func (r *recall) calibration() (*Calibration, kinds.Kind) {
	model := noModel
	switch {
	case r.query.Expand || r.result.Mode == VectorMode || len(r.question.counted) == 0: // the question has words that nobody asked, or none
		return nil, ""
	case r.result.Mode == Hybrid:
		model = r.embedder.Model()
	}
	for set, builtin := range builtinWeights() {
		w := r.weights
		builtin.settle(r.query.Text)
		w.Chance, w.MinScore, w.HardMinScore = builtin.Chance, builtin.MinScore, builtin.HardMinScore // they drop, and change no signal
		if w != builtin || r.population[measuredKinds[set]] < leastMeasured {
			continue
		}
		for of, c := range calibrations {
			if of.set == set && (of.model == noModel) == (r.result.Mode == LexicalMode) && strings.HasPrefix(model, of.model) {
				return &c, measuredKinds[set]
			}
		}
	}
	return nil, ""
}

// judge says of each candidate how confident one may be, where that is known, and drops whatever is left with less than was asked for. The candidates
// stand as they were ranked, those that are left first; left is how many are.
func (r *recall) judge(left int, found map[int32]*resident.Found) int {
	lead(r.candidates)
	c, kind := r.calibration()
	confidences := make([]float64, len(r.candidates))
	for i := range r.candidates {
		if v := &r.candidates[i]; c != nil && found[v.DocNo].Kind == kind {
			confidences[i] = c.Of(v)
			v.Confidence = &confidences[i]
		}
	}
	least := r.query.MinConfidence
	if least == 0 {
		return left
	}
	if unknown := slices.DeleteFunc(slices.Clone(r.query.Kinds), func(k kinds.Kind) bool { return c != nil && k == kind }); len(unknown) > 0 {
		names := make([]string, len(unknown))
		for i, k := range unknown {
			names[i] = string(k)
		}
		r.notice("no least confidence was kept to of any %s: none is known with these weights, this model and mode, among so many", strings.Join(names, " or "))
	}
	dropped, kept := make([]Candidate, 0, left), 0
	for i := range left {
		v := &r.candidates[i]
		if v.Confidence != nil && *v.Confidence < least {
			v.Dropped = "min_confidence"
			dropped = append(dropped, *v)
			continue
		}
		if i > kept {
			r.candidates[kept] = *v
		}
		kept++
	}
	copy(r.candidates[kept:], dropped)
	return kept
}

// lead notes by how much the candidate with the greatest fused score is ahead of the next, whatever became of that one.
func lead(candidates []Candidate) {
	if len(candidates) < 2 {
		return
	}
	best, next := 0, math.Inf(-1)
	for i := 1; i < len(candidates); i++ {
		if candidates[i].Fused > candidates[best].Fused {
			best, next = i, candidates[best].Fused
		} else {
			next = max(next, candidates[i].Fused)
		}
	}
	candidates[best].Lead = candidates[best].Fused - next
}
