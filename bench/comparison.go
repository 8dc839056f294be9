package bench

import (
	"context"
	"fmt"
	"strconv"
)

// ComparisonReport is how sets of weights answer the same questions.
type ComparisonReport struct {
	Model     string        `json:"model"`
	Questions int           `json:"questions"`
	Base      string        `json:"base"` // the set that the others are compared with
	Sets      []ComparedSet `json:"sets"` // that one first
}

// ComparedSet is one set of weights and what it reached.
type ComparedSet struct {
	WeightSet
	Compared
	Categories map[string]Compared `json:"categories"` // by the data set's number
}

// Compared is figures, and how far they are from those of the base on the same questions.
type Compared struct {
	Figures Figures  `json:"figures"`
	Against Interval `json:"against_base"`
}

func compare(base, other []Answer) Compared {
	return Compared{figuresOf(other), difference(base, other)}
}

// RunComparison asks the questions of RunLocomo once per set of weights, of one and the same file, and compares every set with
// the first.
func RunComparison(ctx context.Context, c LocomoConfig) (*ComparisonReport, error) {
	report := &ComparisonReport{Model: modelName(c.Embedder)}
	err := record(ctx, c, func(r *recording) error {
		var base []Answer
		report.Questions, report.Base = len(r.questions), r.config.Sets[0].Name
		for _, set := range r.config.Sets {
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
			report.Sets = append(report.Sets, compared)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("bench locomo: %w", err)
	}
	return report, nil
}
