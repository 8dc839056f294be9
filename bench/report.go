package bench

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/mallardmem/mallard/engine/setup"
)

// RecallReport is what RunRecall measured. Times are in milliseconds and megabytes have 2^20 bytes; recalls have the default
// limit and weights, and their times include the query's embedding, those of writes the memory's. What a phase did not measure
// is 0, and left out of its JSON.
type RecallReport struct {
	Model    string `json:"model,omitzero"`
	Memories int    `json:"memories,omitzero"`
	Dims     int    `json:"dims,omitzero"`
	Versions int    `json:"versions,omitzero"` // texts that each memory has had

	HybridFirst   float64 `json:"hybrid_first_ms,omitzero"` // the first recall of the process, by the file's SQL
	RecallTimes           // what a user gets: those of the resident index, which is given as much memory as it takes
	ResidentTimes         // the same under keys of their own
	SQLTimes              // the same questions to the file, in the same process
	// ResidentReadyMs is from the first recall until the resident index answered, ResidentMB what it takes, and Agreement the share of
	// questions to which both gave the same hits in the same order.
	ResidentReadyMs float64 `json:"resident_ready_ms,omitzero"`
	ResidentMB      float64 `json:"resident_mb,omitzero"`
	Agreement       float64 `json:"recall_agreement,omitzero"`

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

	// Of memories that had several texts: single edits of a text, and recalls of what was known in the midst of them, by the file's SQL.
	UpdateP50      float64 `json:"update_ms_p50,omitzero"`
	UpdateP99      float64 `json:"update_ms_p99,omitzero"`
	HybridPastP50  float64 `json:"hybrid_known_at_ms_p50,omitzero"`
	HybridPastP99  float64 `json:"hybrid_known_at_ms_p99,omitzero"`
	LexicalPastP50 float64 `json:"lexical_known_at_ms_p50,omitzero"`
	LexicalPastP99 float64 `json:"lexical_known_at_ms_p99,omitzero"`

	// Of long memories: their passages, and what each took of the bulk insert and of the file, with its share of the memory's text and words.
	Passages        int     `json:"passages,omitzero"`
	PassageMs       float64 `json:"passage_ms,omitzero"`
	BytesPerPassage float64 `json:"bytes_per_passage,omitzero"`
}

// RecallTimes are those of recalls, by what is asked.
type RecallTimes struct {
	HybridP50               float64 `json:"hybrid_ms_p50,omitzero"`
	HybridP99               float64 `json:"hybrid_ms_p99,omitzero"`
	HybridScopeP50          float64 `json:"hybrid_scope_ms_p50,omitzero"` // in one scope of sixteen
	HybridScopeP99          float64 `json:"hybrid_scope_ms_p99,omitzero"`
	LexicalP50              float64 `json:"lexical_ms_p50,omitzero"`
	LexicalP99              float64 `json:"lexical_ms_p99,omitzero"`
	LexicalMissP50          float64 `json:"lexical_miss_ms_p50,omitzero"` // no memory has a word of it
	LexicalMissP99          float64 `json:"lexical_miss_ms_p99,omitzero"`
	VectorP50               float64 `json:"vector_ms_p50,omitzero"`
	VectorP99               float64 `json:"vector_ms_p99,omitzero"`
	LexicalUnclusteredP50   float64 `json:"lexical_unclustered_ms_p50,omitzero"` // after the single writes
	LexicalUnclusteredP99   float64 `json:"lexical_unclustered_ms_p99,omitzero"`
	Hybrid8ReadersP50       float64 `json:"hybrid_8_readers_ms_p50,omitzero"` // eight ask at once while one writes
	Hybrid8ReadersPerSecond float64 `json:"hybrid_8_readers_per_s,omitzero"`  // recalls of all eight
}

// ResidentTimes are RecallTimes of the resident index, SQLTimes those of the file's SQL: the same fields, which JSON tells apart by their keys.
type ResidentTimes struct {
	HybridP50               float64 `json:"hybrid_ms_p50_resident,omitzero"`
	HybridP99               float64 `json:"hybrid_ms_p99_resident,omitzero"`
	HybridScopeP50          float64 `json:"hybrid_scope_ms_p50_resident,omitzero"`
	HybridScopeP99          float64 `json:"hybrid_scope_ms_p99_resident,omitzero"`
	LexicalP50              float64 `json:"lexical_ms_p50_resident,omitzero"`
	LexicalP99              float64 `json:"lexical_ms_p99_resident,omitzero"`
	LexicalMissP50          float64 `json:"lexical_miss_ms_p50_resident,omitzero"`
	LexicalMissP99          float64 `json:"lexical_miss_ms_p99_resident,omitzero"`
	VectorP50               float64 `json:"vector_ms_p50_resident,omitzero"`
	VectorP99               float64 `json:"vector_ms_p99_resident,omitzero"`
	LexicalUnclusteredP50   float64 `json:"lexical_unclustered_ms_p50_resident,omitzero"`
	LexicalUnclusteredP99   float64 `json:"lexical_unclustered_ms_p99_resident,omitzero"`
	Hybrid8ReadersP50       float64 `json:"hybrid_8_readers_ms_p50_resident,omitzero"`
	Hybrid8ReadersPerSecond float64 `json:"hybrid_8_readers_per_s_resident,omitzero"`
}

// SQLTimes are RecallTimes of the file's SQL.
type SQLTimes struct {
	HybridP50               float64 `json:"hybrid_ms_p50_sql,omitzero"`
	HybridP99               float64 `json:"hybrid_ms_p99_sql,omitzero"`
	HybridScopeP50          float64 `json:"hybrid_scope_ms_p50_sql,omitzero"`
	HybridScopeP99          float64 `json:"hybrid_scope_ms_p99_sql,omitzero"`
	LexicalP50              float64 `json:"lexical_ms_p50_sql,omitzero"`
	LexicalP99              float64 `json:"lexical_ms_p99_sql,omitzero"`
	LexicalMissP50          float64 `json:"lexical_miss_ms_p50_sql,omitzero"`
	LexicalMissP99          float64 `json:"lexical_miss_ms_p99_sql,omitzero"`
	VectorP50               float64 `json:"vector_ms_p50_sql,omitzero"`
	VectorP99               float64 `json:"vector_ms_p99_sql,omitzero"`
	LexicalUnclusteredP50   float64 `json:"lexical_unclustered_ms_p50_sql,omitzero"`
	LexicalUnclusteredP99   float64 `json:"lexical_unclustered_ms_p99_sql,omitzero"`
	Hybrid8ReadersP50       float64 `json:"hybrid_8_readers_ms_p50_sql,omitzero"`
	Hybrid8ReadersPerSecond float64 `json:"hybrid_8_readers_per_s_sql,omitzero"`
}

// WriteText prints the report as a table.
func (r *RecallReport) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%d memories, %s (%d dimensions)\n\n", r.Memories, r.Model, r.Dims)
	fmt.Fprintf(t, "recall\tp50 ms\tp99 ms\tby SQL: p50\tp99\tratio of p50\t\n")
	got, sql := r.RecallTimes, r.SQLTimes
	for _, row := range []struct {
		name                     string
		p50, p99, sqlP50, sqlP99 float64
	}{
		{"hybrid", got.HybridP50, got.HybridP99, sql.HybridP50, sql.HybridP99},
		{"hybrid, one scope of sixteen", got.HybridScopeP50, got.HybridScopeP99, sql.HybridScopeP50, sql.HybridScopeP99},
		{"vector", got.VectorP50, got.VectorP99, sql.VectorP50, sql.VectorP99},
		{"lexical", got.LexicalP50, got.LexicalP99, sql.LexicalP50, sql.LexicalP99},
		{"lexical, no word known", got.LexicalMissP50, got.LexicalMissP99, sql.LexicalMissP50, sql.LexicalMissP99},
		{"lexical, after single writes", got.LexicalUnclusteredP50, got.LexicalUnclusteredP99, sql.LexicalUnclusteredP50, sql.LexicalUnclusteredP99},
	} {
		fmt.Fprintf(t, "%s\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f×\t\n", row.name, row.p50, row.p99, row.sqlP50, row.sqlP99, row.sqlP50/row.p50)
	}
	fmt.Fprintf(t, "hybrid, 8 readers and a writer\t%.1f\t\t%.1f\t\t%.1f×\t\n", got.Hybrid8ReadersP50, sql.Hybrid8ReadersP50, sql.Hybrid8ReadersP50/got.Hybrid8ReadersP50)
	fmt.Fprintf(t, "so many recalls a second\t%.0f\t\t%.0f\t\t%.1f×\t\n", got.Hybrid8ReadersPerSecond, sql.Hybrid8ReadersPerSecond, got.Hybrid8ReadersPerSecond/sql.Hybrid8ReadersPerSecond)
	if r.Versions > 1 {
		fmt.Fprintf(t, "hybrid, of the past\t\t\t%.1f\t%.1f\t\t\n", r.HybridPastP50, r.HybridPastP99)
		fmt.Fprintf(t, "lexical, of the past\t\t\t%.1f\t%.1f\t\t\n", r.LexicalPastP50, r.LexicalPastP99)
	}
	fmt.Fprintf(t, "write\tp50 ms\tp99 ms\tworst ms\t\t\t\n")
	fmt.Fprintf(t, "one memory\t%.1f\t%.1f\t%.1f\t\t\t\n", r.RememberP50, r.RememberP99, r.RememberMax)
	if r.Versions > 1 {
		fmt.Fprintf(t, "one other text\t%.1f\t%.1f\t\t\t\t\n", r.UpdateP50, r.UpdateP99)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	passages := ""
	if r.Passages > 0 {
		passages = fmt.Sprintf("passages            %d, %.2f ms and %.0f bytes of the file for each\n", r.Passages, r.PassageMs, r.BytesPerPassage)
	}
	_, err := fmt.Fprintf(w, `
bulk insert         %.0f memories/s, peak memory %.0f MB
close after it      %.0f ms
file                %.1f MB, %.0f bytes per memory
%sopen                %.0f ms, first recall, by SQL, %.0f ms
resident index      ready after %.0f ms, %.0f MB%s; it answered %.1f %% of the questions as the file does
open after kill -9  %.0f ms, with a log of %.1f MB; all %d writes were there
peak memory         %.0f MB in the process that opened, recalled and wrote live
`, r.BulkPerSecond, r.BulkPeakMB, r.CloseMs, r.FileMB, r.BytesPerMemory, passages, r.OpenMs, r.HybridFirst, r.ResidentReadyMs, r.ResidentMB, aboveDefault(r.ResidentMB), 100*r.Agreement,
		r.OpenAfterCrashMs, r.CrashLogMB, r.CrashWrites, r.PeakMB)
	return err
}

// aboveDefault says of a resident index that a user has to ask for it.
func aboveDefault(megabytes float64) string {
	if megabytes <= setup.DefaultResident {
		return ""
	}
	return fmt.Sprintf(" (Options.ResidentMB has to be set for it: %d by default)", setup.DefaultResident)
}
