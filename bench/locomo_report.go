package bench

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
)

// figuresHeader names the figures in the order of Figures.values, as cells of a table.
const figuresHeader = "session any@5\tany@10\tall@5\tall@10\trecall@10\tturn any@10\trecall@10\tMRR@10\t\n"

func newFiguresTable(w io.Writer, columns string) *tabwriter.Writer {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "%s\t%s", columns, figuresHeader)
	return t
}

// figuresRow prints figures in percent.
func figuresRow(t io.Writer, columns string, f Figures) {
	fmt.Fprint(t, columns)
	for _, value := range f.values() {
		fmt.Fprintf(t, "\t%.1f", 100**value)
	}
	fmt.Fprint(t, "\t\n")
}

// intervalRows print differences in points of percent, and below them their bounds.
func intervalRows(t io.Writer, columns, blank string, v Interval) {
	fmt.Fprint(t, columns)
	for _, value := range v.Difference.values() {
		fmt.Fprintf(t, "\t%+.1f", 100**value)
	}
	fmt.Fprintf(t, "\t\n%s", blank)
	for j, low := range v.Low.values() {
		fmt.Fprintf(t, "\t%+.1f…%+.1f", 100**low, 100**v.High.values()[j])
	}
	fmt.Fprint(t, "\t\n")
}

// WriteText prints the report as a table, in percent.
func (r *LocomoReport) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "%d conversations, %d turns, %d questions with evidence; model %s, weights %s\n\n", r.Conversations, r.Turns, r.Questions, r.Model, r.Weights)
	t := newFiguresTable(w, "category\tquestions")
	for _, category := range slices.Sorted(maps.Keys(r.Categories)) {
		f := r.Categories[category]
		figuresRow(t, fmt.Sprintf("%s\t%d", category, f.Questions), f)
	}
	figuresRow(t, fmt.Sprintf("all\t%d", r.Questions), r.Figures)
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, `
recall within a conversation  %.1f ms in the middle, %.1f ms at the 95th percentile
recall across all             %.1f ms in the middle, %.1f ms at the 95th percentile
stored                        %.0f turns/s
peak memory                   %.0f MB
`, r.RecallP50, r.RecallP95, r.RecallAllP50, r.RecallAllP95, r.IngestPerSecond, r.PeakMB)
	return err
}

// WriteText prints the figures of the base in percent, and the differences of the others in points with their intervals.
func (r *ComparisonReport) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "%d questions with evidence; model %s; differences to %s, 95 %% of them by paired bootstrap\n\n", r.Questions, r.Model, r.Base)
	t := newFiguresTable(w, "weights")
	for i, set := range r.Sets {
		if i == 0 {
			figuresRow(t, set.Name, set.Figures)
		} else {
			intervalRows(t, set.Name, "", set.Against)
		}
	}
	return t.Flush()
}

// WriteText prints the folds in percent, and the difference to the base over all of them.
func (r *FoldsReport) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "%d questions with evidence; model %s; each conversation with the weights chosen on the others\n\n", r.Figures.Questions, r.Model)
	t := newFiguresTable(w, "conversation\tchosen\tquestions")
	for _, f := range r.Folds {
		figuresRow(t, fmt.Sprintf("%s\t%s\t%d", f.Conversation, f.Chosen, f.Figures.Questions), f.Figures)
	}
	figuresRow(t, fmt.Sprintf("all\t\t%d", r.Figures.Questions), r.Figures)
	figuresRow(t, fmt.Sprintf("all\t%s\t%d", r.Base, r.BaseFigures.Questions), r.BaseFigures)
	intervalRows(t, "difference\t\t", "\t\t", r.Against)
	return t.Flush()
}
