package bench

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// RecallReport is what RunRecall measured. Times are in milliseconds and megabytes have 2^20 bytes; recalls have the default
// limit and weights, and their times include the query's embedding, those of writes the memory's. What a phase did not measure
// is 0, and left out of its JSON.
type RecallReport struct {
	Model    string `json:"model,omitzero"`
	Memories int    `json:"memories,omitzero"`
	Dims     int    `json:"dims,omitzero"`

	HybridFirst float64     `json:"hybrid_first_ms,omitzero"` // the first recall of the process, in the file
	RecallTimes             // of the resident index
	InFile      RecallTimes `json:"in_file,omitzero"` // the same questions to the file, in the same process before
	// ResidentReadyMs is from the first recall until the resident index answered, ResidentMB what it takes, and Agreement the share of
	// questions to which both gave the same hits in the same order.
	ResidentReadyMs float64 `json:"resident_ready_ms,omitzero"`
	ResidentMB      float64 `json:"resident_mb,omitzero"`
	Agreement       float64 `json:"recall_agreement,omitzero"`

	LexicalUnclusteredP50 float64 `json:"lexical_unclustered_ms_p50,omitzero"` // after the single writes
	LexicalUnclusteredP99 float64 `json:"lexical_unclustered_ms_p99,omitzero"`

	RememberP50   float64 `json:"remember_ms_p50,omitzero"`
	RememberP99   float64 `json:"remember_ms_p99,omitzero"`
	RememberMax   float64 `json:"remember_ms_max,omitzero"`
	BulkPerSecond float64 `json:"bulk_per_s,omitzero"`

	OpenMs           float64 `json:"open_ms,omitzero"`             // after Close, in a new process
	OpenAfterCrashMs float64 `json:"open_after_crash_ms,omitzero"` // after kill -9, in a new process
	CrashLogMB       float64 `json:"crash_log_mb,omitzero"`        // the log that it had to replay
	CrashWrites      int     `json:"crash_writes,omitzero"`        // stored before the kill, all of them found again
	CloseMs          float64 `json:"close_ms,omitzero"`            // after the bulk insert

	PeakMB         float64 `json:"peak_mb,omitzero"`      // of the process that opened, recalled and wrote live
	BulkPeakMB     float64 `json:"bulk_peak_mb,omitzero"` // of the one that filled the file
	FileMB         float64 `json:"file_mb,omitzero"`      // after the bulk insert and Close
	BytesPerMemory float64 `json:"bytes_per_memory,omitzero"`
}

// RecallTimes are those of recalls, by what is asked.
type RecallTimes struct {
	HybridP50      float64 `json:"hybrid_ms_p50,omitzero"`
	HybridP99      float64 `json:"hybrid_ms_p99,omitzero"`
	HybridScopeP50 float64 `json:"hybrid_scope_ms_p50,omitzero"` // in one scope of sixteen
	HybridScopeP99 float64 `json:"hybrid_scope_ms_p99,omitzero"`
	LexicalP50     float64 `json:"lexical_ms_p50,omitzero"`
	LexicalP99     float64 `json:"lexical_ms_p99,omitzero"`
	LexicalMissP50 float64 `json:"lexical_miss_ms_p50,omitzero"` // no memory has a word of it
	LexicalMissP99 float64 `json:"lexical_miss_ms_p99,omitzero"`
	VectorP50      float64 `json:"vector_ms_p50,omitzero"`
	VectorP99      float64 `json:"vector_ms_p99,omitzero"`
}

// WriteText prints the report as a table.
func (r *RecallReport) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%d memories, %s (%d dimensions)\n\n", r.Memories, r.Model, r.Dims)
	fmt.Fprintf(t, "recall\tp50 ms\tp99 ms\tin the file: p50\tp99\t\n")
	f := r.InFile
	for _, row := range []struct {
		name                       string
		p50, p99, fileP50, fileP99 float64
	}{
		{"hybrid", r.HybridP50, r.HybridP99, f.HybridP50, f.HybridP99},
		{"hybrid, one scope of sixteen", r.HybridScopeP50, r.HybridScopeP99, f.HybridScopeP50, f.HybridScopeP99},
		{"vector", r.VectorP50, r.VectorP99, f.VectorP50, f.VectorP99},
		{"lexical", r.LexicalP50, r.LexicalP99, f.LexicalP50, f.LexicalP99},
		{"lexical, no word known", r.LexicalMissP50, r.LexicalMissP99, f.LexicalMissP50, f.LexicalMissP99},
	} {
		fmt.Fprintf(t, "%s\t%.1f\t%.1f\t%.1f\t%.1f\t\n", row.name, row.p50, row.p99, row.fileP50, row.fileP99)
	}
	fmt.Fprintf(t, "lexical, after single writes\t%.1f\t%.1f\t\t\t\n", r.LexicalUnclusteredP50, r.LexicalUnclusteredP99)
	fmt.Fprintf(t, "write\tp50 ms\tp99 ms\tworst ms\t\t\n")
	fmt.Fprintf(t, "one memory\t%.1f\t%.1f\t%.1f\t\t\n", r.RememberP50, r.RememberP99, r.RememberMax)
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, `
bulk insert         %.0f memories/s, peak memory %.0f MB
close after it      %.0f ms
file                %.1f MB, %.0f bytes per memory
open                %.0f ms, first recall in the file %.0f ms
resident index      ready after %.0f ms, %.0f MB; it answered %.1f %% of the questions as the file does
open after kill -9  %.0f ms, with a log of %.1f MB; all %d writes were there
peak memory         %.0f MB in the process that opened, recalled and wrote live
`, r.BulkPerSecond, r.BulkPeakMB, r.CloseMs, r.FileMB, r.BytesPerMemory, r.OpenMs, r.HybridFirst, r.ResidentReadyMs, r.ResidentMB, 100*r.Agreement,
		r.OpenAfterCrashMs, r.CrashLogMB, r.CrashWrites, r.PeakMB)
	return err
}
