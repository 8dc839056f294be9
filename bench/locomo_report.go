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

// WriteText prints the figures of each data set with the base, in percent, and the differences of the others in points with their intervals.
func (r *ComparisonReport) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "%d questions with evidence; model %s", r.Questions, r.Model)
	if len(r.Sets) > 1 {
		fmt.Fprintf(w, "; differences to %s, 95 %% of them by paired bootstrap", r.Base)
	}
	fmt.Fprint(w, "\n\n")
	t := newFiguresTable(w, "data\tquestions\tweights")
	for _, data := range r.Data {
		comparedRows(t, data.Name, data.Sets)
	}
	if len(r.Data) > 1 {
		comparedRows(t, "mean", r.Sets)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, data := range r.Data {
		for i, set := range data.Sets {
			if set.RecallP50 == 0 {
				continue
			}
			if i == 0 {
				fmt.Fprintf(w, "\nrecall within a conversation of %s, in the middle and at the 95th percentile\n", data.Name)
			}
			fmt.Fprintf(w, "  %.1f ms, %.1f ms, %.2f times the first  %s\n", set.RecallP50, set.RecallP95, set.RecallP50/data.Sets[0].RecallP50, set.Name)
		}
	}
	return nil
}

// comparedRows prints sets of weights on the same questions, the base first.
func comparedRows(t io.Writer, name string, sets []ComparedSet) {
	for i, set := range sets {
		columns := fmt.Sprintf("%s\t%d\t%s", name, set.Figures.Questions, set.Name)
		if i == 0 {
			figuresRow(t, columns, set.Figures)
		} else {
			intervalRows(t, columns, "\t\t", set.Against)
		}
	}
}

// WriteText prints the folds in percent, and the difference to the base over those of each data set and over all of them.
func (r *FoldsReport) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "%d questions with evidence; model %s; each conversation with the weights chosen on the others\n\n", r.Figures.Questions, r.Model)
	t := newFiguresTable(w, "conversation\tchosen\tquestions")
	for _, f := range r.Folds {
		figuresRow(t, fmt.Sprintf("%s\t%s\t%d", f.Conversation, f.Chosen, f.Figures.Questions), f.Figures)
	}
	together := func(name string, base Figures, c Compared) {
		figuresRow(t, fmt.Sprintf("%s\t\t%d", name, c.Figures.Questions), c.Figures)
		figuresRow(t, fmt.Sprintf("%s\t%s\t%d", name, r.Base, base.Questions), base)
		intervalRows(t, "difference\t\t", "\t\t", c.Against)
	}
	if len(r.Data) > 1 {
		for _, data := range r.Data {
			together(data.Name, data.BaseFigures, data.Compared)
		}
	}
	together("all", r.BaseFigures, r.Compared)
	return t.Flush()
}
