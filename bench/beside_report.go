package bench

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// WriteText prints the report as a table.
func (r *BesideReport) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "%d questions, %d of them with what answers them; the first %d hits\n\n", r.Questions, r.Labelled, r.Limit)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "model\tdims\trecall@%d\tMRR\tp50 ms\tp99 ms\tembedding p50\t\n", r.Limit)
	for _, m := range r.Models {
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%.1f\t%.1f\t%.2f\t\n", m.Model, m.Dims, percentOr(m.Recall), percentOr(m.MRR), m.P50, m.P99, m.EmbedP50)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, m := range r.Models {
		if missing := m.Missing(); missing != "" {
			fmt.Fprintf(w, "%s lacks vectors of %s.\n", m.Model, missing)
		}
	}
	if r.Gain != nil {
		fmt.Fprintf(w, "\nrecall@%d of the second is %+.1f (%+.1f to %+.1f) beside the first.\n", r.Limit, 100*r.Gain.Recall, 100*r.Gain.Low, 100*r.Gain.High)
	}
	a := r.Agreement
	_, err := fmt.Fprintf(w, "\nThey agree: overlap@%d %.3f, rank-biased overlap %.3f, the same first hit %.3f.\n", r.Limit, a.Overlap, a.RBO, a.First)
	if len(r.Apart) > 0 {
		fmt.Fprintln(w, "Most apart:")
	}
	for _, q := range r.Apart {
		_, err = fmt.Fprintf(w, "  %s\n", q)
	}
	return err
}

// percentOr is a share of one in percent; nil: unknown.
func percentOr(x *float64) string {
	if x == nil {
		return "–"
	}
	return fmt.Sprintf("%.1f", 100**x)
}
