package bench

import (
	"context"
	"fmt"
	"strconv"
)

// ComparisonReport is how sets of weights answer the same questions, of one data set or of several.
type ComparisonReport struct {
	Model     string `json:"model"`
	Questions int    `json:"questions"`
	Base      string `json:"base"` // the weights that the others are compared with
	// Data has what was found of each data set; Sets is of all of them together, each data set counting the same.
	Data []ComparedData `json:"data"`
	Sets []ComparedSet  `json:"sets"` // the base first
}

// ComparedData is one data set.
type ComparedData struct {
	Name          string        `json:"name"`
	Conversations int           `json:"conversations"`
	Turns         int           `json:"turns"`
	Questions     int           `json:"questions"`
	Sets          []ComparedSet `json:"sets"` // the base first
}

// ComparedSet is one set of weights and what it reached.
type ComparedSet struct {
	WeightSet
	Compared
	Categories map[string]Compared `json:"categories,omitempty"` // by the data set's number
	// Times within a conversation, with the default limit, of the same questions for all sets; 0: they were not taken.
	RecallP50 float64 `json:"recall_ms_p50,omitempty"`
	RecallP95 float64 `json:"recall_ms_p95,omitempty"`
}

// Compared is figures, and how far they are from those of the base on the same questions.
type Compared struct {
	Figures Figures  `json:"figures"`
	Against Interval `json:"against_base"`
}

func compare(base, other []Answer) Compared {
	return Compared{meanFigures(other), difference(base, other)}
}

// RunComparison asks the questions of RunLocomo once per set of weights, of one and the same file for each data set, and compares every set
// with the first; with Timed as to their times too.
func RunComparison(ctx context.Context, c LocomoConfig) (*ComparisonReport, error) {
	c = c.withDefaults()
	report := &ComparisonReport{Model: modelName(c.Embedder), Base: c.Sets[0].Name}
	all := make([][]Answer, len(c.Sets)) // by set of weights, then question
	err := record(ctx, c, func(r *recording) error {
		data := ComparedData{Name: r.data, Conversations: len(r.talks) * c.Scale, Turns: r.turns, Questions: len(r.questions)}
		var base []Answer
		for i, set := range c.Sets {
			answers, err := r.answers(ctx, set)
			if err != nil {
				return fmt.Errorf("%s: %w", set.Name, err)
			}
			if base == nil {
				base = answers
			}
			compared := ComparedSet{WeightSet: set, Compared: compare(base, answers), Categories: map[string]Compared{}}
			baseParts := byCategory(base)
			for category, part := range byCategory(answers) {
				compared.Categories[strconv.Itoa(category)] = compare(baseParts[category], part)
			}
			data.Sets = append(data.Sets, compared)
			all[i] = append(all[i], answers...)
		}
		if c.Timed {
			times, err := r.times(ctx, c.Sets, "recalls within a conversation", false)
			if err != nil {
				return err
			}
			for i := range data.Sets {
				data.Sets[i].RecallP50, data.Sets[i].RecallP95 = milliseconds(percentile(times[i], 50)), milliseconds(percentile(times[i], 95))
			}
		}
		report.Questions += data.Questions
		report.Data = append(report.Data, data)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("bench locomo: %w", err)
	}
	for i, set := range c.Sets {
		report.Sets = append(report.Sets, ComparedSet{WeightSet: set, Compared: compare(all[0], all[i])})
	}
	return report, nil
}
