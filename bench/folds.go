package bench

import (
	"context"
	"fmt"

	"github.com/mallardmem/mallard/engine"
)

// FoldsReport is how well sets of weights answer questions about conversations that they were not chosen on.
type FoldsReport struct {
	Model       string  `json:"model"`
	Base        string  `json:"base"` // the first set
	BaseFigures Figures `json:"base_figures"`
	// Compared is of every conversation with the set that was chosen on the others, against the base. Of several data sets each counts the same.
	Compared
	Data  []FoldedData `json:"data"`
	Folds []Fold       `json:"folds"`
}

// FoldedData is what the folds of one data set are together.
type FoldedData struct {
	Name        string  `json:"name"`
	BaseFigures Figures `json:"base_figures"`
	Compared
}

// Fold is one conversation left out of the choice.
type Fold struct {
	Data         string `json:"data"`
	Conversation string `json:"conversation"`
	Chosen       string `json:"chosen"` // the set that is best on the others
	Compared
}

// RunFolds leaves out one conversation at a time, chooses the set of weights whose figures have the greatest mean over the
// questions of the others (the earlier set of equal ones), and measures it on the one left out. Of several data sets all others are looked at, and each
// counts the same. It needs two sets and two conversations or more. Errors: engine.ErrInvalid.
func RunFolds(ctx context.Context, c LocomoConfig) (*FoldsReport, error) {
	if len(c.Sets) < 2 {
		return nil, fmt.Errorf("bench locomo: %w: folds are of %d sets of weights; allowed: two or more", engine.ErrInvalid, len(c.Sets))
	}
	c = c.withDefaults()
	report := &FoldsReport{Model: modelName(c.Embedder)}
	answers := make([][]Answer, len(c.Sets)) // by set, then question
	var talks []Fold
	var of []int // by question, its talk
	err := record(ctx, c, func(r *recording) error {
		for i, set := range c.Sets {
			some, err := r.answers(ctx, set)
			if err != nil {
				return fmt.Errorf("%s: %w", set.Name, err)
			}
			answers[i] = append(answers[i], some...)
		}
		for _, q := range r.questions {
			of = append(of, len(talks)+q.talk)
		}
		for _, t := range r.talks {
			talks = append(talks, Fold{Data: r.data, Conversation: t.name})
		}
		return nil
	})
	if err == nil && len(talks) < 2 {
		err = fmt.Errorf("%w: folds are of %d conversations; allowed: two or more", engine.ErrInvalid, len(talks))
	}
	if err != nil {
		return nil, fmt.Errorf("bench locomo: %w", err)
	}
	var held []Answer
	for left, fold := range talks {
		inside := func(question int) bool { return of[question] == left }
		chosen := best(answers, func(question int) bool { return !inside(question) })
		ofFold := among(answers[chosen], inside)
		held = append(held, ofFold...)
		fold.Chosen, fold.Compared = c.Sets[chosen].Name, compare(among(answers[0], inside), ofFold)
		report.Folds = append(report.Folds, fold)
	}
	report.Base, report.BaseFigures, report.Compared = c.Sets[0].Name, meanFigures(answers[0]), compare(answers[0], held)
	bases := byData(answers[0])
	for i, part := range byData(held) {
		report.Data = append(report.Data, FoldedData{part[0].Data, figuresOf(bases[i]), compare(bases[i], part)})
	}
	return report, nil
}

// best gives the set whose answers to some of the questions have the greatest mean of all figures.
func best(answers [][]Answer, some func(question int) bool) int {
	chosen, most := 0, -1.
	for i := range answers {
		f := meanFigures(among(answers[i], some))
		sum := 0.
		for _, value := range f.values() {
			sum += *value
		}
		if sum > most {
			chosen, most = i, sum
		}
	}
	return chosen
}

// among keeps the answers to some of the questions.
func among(answers []Answer, some func(question int) bool) (kept []Answer) {
	for i, a := range answers {
		if some(i) {
			kept = append(kept, a)
		}
	}
	return kept
}
