package bench

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// CompactionReport is what RunCompaction measured. Shares are 0 to 1: of the turns that the questions have as evidence, each as often as it
// is asked for, or of the questions.
type CompactionReport struct {
	Model         string `json:"model"` // of the vectors; "none" without one
	Conversations int    `json:"conversations"`
	Turns         int    `json:"turns"`
	Questions     int    `json:"questions"` // with evidence
	Evidence      int    `json:"evidence"`  // turns
	Summaries     int    `json:"summaries"` // that were made

	InWindow   float64 `json:"in_window"`   // of the evidence, as it is in the window
	Reachable3 float64 `json:"reachable_3"` // in the window or among what the question expands, below whatever summaries
	Recall4000 float64 `json:"recall_4000"` // among what a plain recall finds within as many tokens, for comparison
	Kept       float64 `json:"kept"`        // of the questions with an answer: its words all stand in the window
	Tokens     float64 `json:"tokens"`      // of the windows in the end, on average
	Seconds    float64 `json:"seconds"`     // that all compactions took

	took                                              time.Duration
	tokens, inWindow, expanded, recalled, kept, asked int
}

func (r *CompactionReport) add(a reached) {
	r.Questions++
	r.Evidence += a.evidence
	r.inWindow += a.window
	r.expanded += a.expanded
	r.recalled += a.recalled
	if a.asked {
		r.asked++
		if a.kept {
			r.kept++
		}
	}
}

// finish makes shares of what was counted.
func (r *CompactionReport) finish() {
	share := func(part, whole int) float64 { return float64(part) / float64(max(whole, 1)) }
	r.InWindow, r.Reachable3, r.Recall4000 = share(r.inWindow, r.Evidence), share(r.expanded, r.Evidence), share(r.recalled, r.Evidence)
	r.Kept, r.Tokens, r.Seconds = share(r.kept, r.asked), share(r.tokens, r.Conversations), r.took.Seconds()
}

// WriteText prints the report as a table, in percent.
func (r *CompactionReport) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "%d conversations, %d turns, %d questions with %d turns of evidence; model %s\n\n", r.Conversations, r.Turns, r.Questions, r.Evidence, r.Model)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range []struct {
		name, format string
		value        float64
	}{
		{"evidence in the window", "%.1f%%", 100 * r.InWindow},
		{"evidence in the window or expanded", "%.1f%%", 100 * r.Reachable3},
		{"evidence recalled without compaction", "%.1f%%", 100 * r.Recall4000},
		{"answers whose words are in the window", "%.1f%%", 100 * r.Kept},
		{"tokens of a window", "%.0f", r.Tokens},
		{"summaries made", "%.0f", float64(r.Summaries)},
		{"time of compaction", "%.1f s", r.Seconds},
	} {
		fmt.Fprintf(t, "%s\t"+row.format+"\n", row.name, row.value)
	}
	return t.Flush()
}
