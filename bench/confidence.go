package bench

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/recall"
)

// ConfidenceReport is how confident recall may be in its hits, with one model.
type ConfidenceReport struct {
	Model string          `json:"model"` // "none" without one
	Sets  []ConfidenceSet `json:"sets"`  // of weights
}

// ConfidenceSet is a built-in set of weights. Several data sets count the same in it.
type ConfidenceSet struct {
	Weights   string `json:"weights"`
	Questions int    `json:"questions"` // each asked where it has an answer, and where it has none
	Hits      int    `json:"hits"`
	Right     int    `json:"right"`
	// Fit is what the hits of all conversations give: what engine/recall/confidence.go has.
	Fit recall.Calibration `json:"fit"`
	// Error is how far the confidence of a hit is from the share of right ones among those of its tenth, on average. Confidence comes from the other conversations.
	Error  float64 `json:"error"`
	Tenths []Tenth `json:"tenths"`
	Floors []Floor `json:"floors"`
}

// Tenth is the hits whose confidence lies from From on and below the next tenth.
type Tenth struct {
	From      float64 `json:"from"`
	Hits      int     `json:"hits"`
	Predicted float64 `json:"predicted"` // their mean confidence
	Observed  float64 `json:"observed"`  // share of right ones
	Answered  float64 `json:"answered"`  // the same of questions that have an answer
}

// Floor is what a least confidence does.
type Floor struct {
	Least float64 `json:"least"`
	Empty float64 `json:"empty"` // share of questions without an answer in the file that find nothing
	// LostHits is the share of right hits that are lost, LostQuestions that of questions with a right hit that keep none.
	LostHits      float64 `json:"lost_hits"`
	LostQuestions float64 `json:"lost_questions"`
	Kept          float64 `json:"kept"`       // hits that a question with an answer keeps, on average
	KeptRight     float64 `json:"kept_right"` // share of right ones among these
}

// floors are the least confidences that are tried.
var floors = []float64{0, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.05, 0.1, 0.2, 0.3, 0.5}

// RunConfidence stores each data set as conversations and its short turns as memories too, asks every question in its own conversation and in another
// one of the data set, and fits what confidence is made of to which hits are evidence. Each conversation is judged by what the others give.
func RunConfidence(ctx context.Context, c LocomoConfig) (*ConfidenceReport, error) {
	report := &ConfidenceReport{Model: modelName(c.Embedder)}
	asked := map[kinds.Kind][]confidenceAnswer{}
	err := record(ctx, c, func(r *recording) error {
		if len(r.talks) < 2 {
			return fmt.Errorf("%w: %s has %d conversations; allowed: two or more", engine.ErrInvalid, r.data, len(r.talks))
		}
		memories, err := r.statements(ctx)
		if err != nil {
			return err
		}
		if !c.BySQL {
			if err := untilResident(ctx, r.engine); err != nil {
				return err
			}
		}
		for kind, positions := range map[kinds.Kind][]map[string]int{kinds.Message: r.positions, kinds.Memory: memories} {
			answers, err := r.confidenceAnswers(ctx, kind, positions)
			if err != nil {
				return err
			}
			asked[kind] = append(asked[kind], answers...)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("bench confidence: %w", err)
	}
	report.Sets = []ConfidenceSet{confidenceSet("memory", asked[kinds.Memory]), confidenceSet("transcript", asked[kinds.Message])}
	return report, nil
}

// confidenceSet fits the answers of one set of weights.
func confidenceSet(name string, answers []confidenceAnswer) ConfidenceSet {
	set := ConfidenceSet{Weights: name}
	hits := map[string]float64{} // by data set
	for _, a := range answers {
		hits[a.Data] += float64(len(a.Hits))
		set.Hits += len(a.Hits)
		if !a.Foreign {
			set.Questions++
		}
	}
	var talks []string
	for i := range answers {
		a := &answers[i]
		a.counts = 1000 / max(hits[a.Data], 1)
		if name := a.talk(); !slices.Contains(talks, name) {
			talks = append(talks, name)
		}
		for _, h := range a.Hits {
			if h.Right {
				set.Right++
			}
		}
	}
	all := fitConfidence(answers, "")
	set.Fit = recall.Calibration{Base: round(all[0]), Meaning: round(all[1]), Met: round(all[2]), Score: round(all[3]), Lead: round(all[4])}
	for _, talk := range talks {
		coefficients := fitConfidence(answers, talk)
		for i := range answers {
			if a := &answers[i]; a.talk() == talk {
				for j := range a.Hits {
					a.Hits[j].confidence = logistic(coefficients, a.Hits[j].signals())
				}
			}
		}
	}
	set.Tenths, set.Error = tenths(answers)
	for _, least := range floors {
		set.Floors = append(set.Floors, floorOf(answers, least))
	}
	return set
}

// round is what is worth writing down of a coefficient.
func round(x float64) float64 { return math.Round(x*100) / 100 }

// talk names a conversation among all data sets.
func (a *confidenceAnswer) talk() string { return a.Data + "\x00" + a.Talk }

// signals are what confidence is made of.
func (h *confidenceHit) signals() []float64 {
	s := h.Signal.Signals()
	return s[:]
}

// fitConfidence fits to all hits but those of questions about one conversation. More of a signal must not be less confidence: one
// that would be is left out.
func fitConfidence(answers []confidenceAnswer, without string) []float64 {
	var observations []observation
	for _, a := range answers {
		if a.talk() != without {
			for _, h := range a.Hits {
				observations = append(observations, observation{h.signals(), h.Right, a.counts})
			}
		}
	}
	for {
		coefficients := fitLogistic(observations, 4)
		worst := 1
		for i := range coefficients[1:] {
			if coefficients[i+1] < coefficients[worst] {
				worst = i + 1
			}
		}
		if coefficients[worst] >= 0 {
			return coefficients
		}
		for _, o := range observations {
			o.signals[worst-1] = 0
		}
	}
}

// tenths are the tables of reliability, and how far they are from what they say.
func tenths(answers []confidenceAnswer) (all []Tenth, off float64) {
	all = make([]Tenth, 10)
	counts, answered := make([]float64, 10), make([]float64, 10)
	for _, a := range answers {
		for _, h := range a.Hits {
			n := min(int(h.confidence*10), 9)
			counts[n] += a.counts
			if !a.Foreign {
				answered[n] += a.counts
			}
			all[n].Hits++
			all[n].Predicted += a.counts * h.confidence
			if h.Right {
				all[n].Observed += a.counts
			}
		}
	}
	sum := 0.
	for n := range all {
		all[n].From = float64(n) / 10
		off += math.Abs(all[n].Predicted - all[n].Observed)
		sum += counts[n]
		if counts[n] > 0 {
			all[n].Answered = all[n].Observed / max(answered[n], 1e-9)
			all[n].Predicted /= counts[n]
			all[n].Observed /= counts[n]
		}
	}
	return all, off / max(sum, 1e-9)
}

// floorOf is what a least confidence does, each data set counting the same.
func floorOf(answers []confidenceAnswer, least float64) Floor {
	type sums struct{ foreign, empty, right, lost, answered, without, own, kept, keptRight float64 }
	byData := map[string]*sums{}
	for _, a := range answers {
		s := byData[a.Data]
		if s == nil {
			s = &sums{}
			byData[a.Data] = s
		}
		kept, right, keptRight := 0., 0., 0.
		for _, h := range a.Hits {
			stays := 0.
			if h.confidence >= least {
				stays = 1
			}
			kept += stays
			if h.Right {
				right++
				keptRight += stays
			}
		}
		switch {
		case a.Foreign:
			s.foreign++
			if kept == 0 {
				s.empty++
			}
			continue
		case right > 0:
			s.answered++
			if keptRight == 0 {
				s.without++
			}
		}
		s.own, s.kept, s.keptRight, s.right, s.lost = s.own+1, s.kept+kept, s.keptRight+keptRight, s.right+right, s.lost+right-keptRight
	}
	f, n := Floor{Least: least}, float64(len(byData))
	for _, s := range byData {
		f.Empty += s.empty / max(s.foreign, 1) / n
		f.LostHits += s.lost / max(s.right, 1) / n
		f.LostQuestions += s.without / max(s.answered, 1) / n
		f.Kept += s.kept / max(s.own, 1) / n
		f.KeptRight += s.keptRight / cmp.Or(s.kept, 1) / n
	}
	return f
}
