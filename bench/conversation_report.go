package bench

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// ConversationReport is what RunConversation measured. Times are in milliseconds unless their names say otherwise, and are the middle of
// many calls. Assemble has 128,000 tokens, Expand 4,000.
type ConversationReport struct {
	Model    string `json:"model"` // of the vectors; "none" without one
	Messages int    `json:"messages"`

	IngestPerSecond float64 `json:"ingest_per_s"`  // messages, a thousand at a time, with words and vectors, durably stored
	AppendP50       float64 `json:"append_ms_p50"` // one message, likewise

	AssembleRawP50       float64 `json:"assemble_raw_ms_p50"` // nothing is compacted
	AssembleCompactedP50 float64 `json:"assemble_compacted_ms_p50"`

	CompactSeconds           float64 `json:"compact_s"`            // to the end, with a summariser that costs nothing
	CompactExtractiveSeconds float64 `json:"compact_extractive_s"` // likewise, with the built-in one
	PassP50                  float64 `json:"pass_ms_p50"`          // planning, reading and writing of one summary
	Passes                   int     `json:"passes"`
	TokensAfter              int     `json:"tokens_after"` // of the context

	GrepP50   float64 `json:"grep_ms_p50"`  // ten words as they were said, function words among them
	GrepFound float64 `json:"grep_found"`   // share of these that found the message they were of among the first fifty
	RegexP50  float64 `json:"regex_ms_p50"` // for a pattern that next to no message has
	ExpandP50 float64 `json:"expand_ms_p50"`
	PeakMB    float64 `json:"peak_mb"` // of the process, 2^20 bytes each; 0: the system does not say
}

// WriteText prints the report as a table.
func (r *ConversationReport) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "%d messages; model %s\n\n", r.Messages, r.Model)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range []struct {
		name, format string
		value        float64
	}{
		{"messages in bulk", "%.0f/s", r.IngestPerSecond},
		{"one message", "%.1f ms", r.AppendP50},
		{"context of 128,000 tokens, nothing compacted", "%.1f ms", r.AssembleRawP50},
		{"context, compacted", "%.1f ms", r.AssembleCompactedP50},
		{"compaction, free summaries", "%.2f s", r.CompactSeconds},
		{"compaction, extractive summaries", "%.2f s", r.CompactExtractiveSeconds},
		{"one pass, free summaries", "%.1f ms", r.PassP50},
		{"search for words", "%.1f ms", r.GrepP50},
		{"  which found what was asked about", "%.0f%%", 100 * r.GrepFound},
		{"search for a pattern", "%.1f ms", r.RegexP50},
		{"expansion to 4,000 tokens", "%.1f ms", r.ExpandP50},
		{"peak memory", "%.0f MB", r.PeakMB},
	} {
		fmt.Fprintf(t, "%s\t"+row.format+"\n", row.name, row.value)
	}
	return t.Flush()
}
