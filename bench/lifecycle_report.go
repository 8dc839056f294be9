package bench

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// WriteText prints the report as tables.
func (r *LifecycleReport) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w, `%s
extraction by rules  %.0f messages/s: %d messages, of which %d have a statement, gave %d memories
maintain             %.1f s over %d memories, peak memory %.0f MB: %d of %d planted duplicates merged, %d tiers changed; once more %.1f s
before a turn        %.1f ms in the middle, %.1f ms for 95 of 100; %.1f memories shown
`, r.Model, r.ExtractPerSecond, r.Messages, r.Statements, r.Stored, r.MaintainSeconds, r.Memories, r.MaintainPeakMB, r.Merged, r.Planted, r.TierChanges, r.AgainSeconds,
		r.BeforeP50, r.BeforeP95, r.Shown)
	if err != nil || len(r.Data) == 0 {
		return err
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "data\tquestions\tturns\tmemories\treachable\tmemory_recall_10\tturn_recall_10\t\n")
	for _, d := range r.Data {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%.3f\t%.3f\t%.3f\t\n", d.Data, d.Questions, d.Turns, d.Memories, d.Reachable, d.MemoryRecall10, d.TurnRecall10)
	}
	fmt.Fprintf(t, "turns with memories as a signal\tweight\t\t\tturn_recall_10\tdifference\t95 %%\t\n")
	for _, d := range r.Data {
		for _, s := range d.Signals {
			fmt.Fprintf(t, "%s\t%g\t\t\t%.3f\t%+.3f\t%+.3f to %+.3f\t\n", d.Data, s.Weight, s.TurnRecall10, s.Difference, s.Low, s.High)
		}
	}
	return t.Flush()
}
