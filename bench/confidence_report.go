package bench

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// WriteText prints for each set of weights the coefficients, how reliable confidence is, and what floors do.
func (r *ConfidenceReport) WriteText(w io.Writer) error {
	for i, s := range r.Sets {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s, model %s: %d questions, each with and without an answer: %d hits, %d of them right\n", s.Weights, r.Model, s.Questions, s.Hits, s.Right)
		fmt.Fprintf(w, "fit: base %g, meaning %g, met %g, score %g, lead %g\n", s.Fit.Base, s.Fit.Meaning, s.Fit.Met, s.Fit.Score, s.Fit.Lead)
		fmt.Fprintf(w, "by what the other conversations give, confidence is off by %.3f on average:\n\n", s.Error)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(t, "confidence\thits\tpredicted\tright\twith an answer\t")
		for _, v := range s.Tenths {
			if v.Hits > 0 {
				fmt.Fprintf(t, "%.1f to %.1f\t%d\t%.3f\t%.3f\t%.3f\t\n", v.From, v.From+0.1, v.Hits, v.Predicted, v.Observed, v.Answered)
			}
		}
		if err := t.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(w)
		t = tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(t, "floor\tempty %\tlost hits %\tlost questions %\tkept hits\tof them right %\t")
		for _, f := range s.Floors {
			fmt.Fprintf(t, "%.3f\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t\n", f.Least, 100*f.Empty, 100*f.LostHits, 100*f.LostQuestions, f.Kept, 100*f.KeptRight)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}
