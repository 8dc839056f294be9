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
	// Compared is of every conversation with the set that was chosen on the others, against the base.
	Compared
	Folds []Fold `json:"folds"`
}

// Fold is one conversation left out of the choice.
type Fold struct {
	Conversation string `json:"conversation"`
	Chosen       string `json:"chosen"` // the set that is best on the others
	Compared
}

// RunFolds leaves out one conversation at a time, chooses the set of weights whose figures have the greatest mean over the
// questions of the others (the earlier set of equal ones), and measures it on the one left out. It needs two sets and two
// conversations or more. Errors: engine.ErrInvalid.
func RunFolds(ctx context.Context, c LocomoConfig) (*FoldsReport, error) {
	if len(c.Sets) < 2 {
		return nil, fmt.Errorf("bench locomo: %w: folds are of %d sets of weights; allowed: two or more", engine.ErrInvalid, len(c.Sets))
	}
	report := &FoldsReport{Model: modelName(c.Embedder)}
	err := record(ctx, c, func(r *recording) error {
		sets := r.config.Sets
		if len(r.talks) < 2 {
			return fmt.Errorf("%w: folds are of %d conversations; allowed: two or more", engine.ErrInvalid, len(r.talks))
		}
		answers := make([][]Answer, len(sets)) // by set, then question
		for i, set := range sets {
			var err error
			if answers[i], err = r.answers(ctx, set); err != nil {
				return fmt.Errorf("%s: %w", set.Name, err)
			}
		}
		var held []Answer
		for left, t := range r.talks {
			chosen := best(answers, func(question int) bool { return r.questions[question].talk != left })
			inside := func(question int) bool { return r.questions[question].talk == left }
			ofFold := among(answers[chosen], inside)
			held = append(held, ofFold...)
			report.Folds = append(report.Folds, Fold{t.name, sets[chosen].Name, compare(among(answers[0], inside), ofFold)})
		}
		report.Base, report.BaseFigures, report.Compared = sets[0].Name, figuresOf(answers[0]), compare(answers[0], held)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("bench locomo: %w", err)
	}
	return report, nil
}

// best gives the set whose answers to some of the questions have the greatest mean of all figures.
func best(answers [][]Answer, some func(question int) bool) int {
	chosen, most := 0, -1.
	for i := range answers {
		f := figuresOf(among(answers[i], some))
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
