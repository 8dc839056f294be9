package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine/share"
	"github.com/mallardmem/mallard/engine/upkeep"
)

func newStatsCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "stats",
		Short: "Count what the file holds",
		Long: `Stats shows how much the file holds, how much of it can be found by meaning (coverage), and whether the vectors lie as they
are scanned fastest; memctl index rebuild mends both.`,
		Example: `  memctl stats
  memctl stats --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.asking(cmd.Context(), 0, func(r *share.Reader) error {
				s, err := share.Stats.Do(cmd.Context(), r, share.None{})
				if err != nil {
					return err
				}
				return a.answer(s, func() { a.printStats(s) })
			})
		},
	}
}

func (a *app) printStats(s *upkeep.Stats) {
	t := a.table()
	row := func(name, format string, args ...any) { t.AppendRow([]any{name, fmt.Sprintf(format, args...)}) }
	row("file", "%s, %s", s.Path, size(s.Bytes))
	if s.LogBytes > 0 {
		row("log", "%s of it: written and not yet taken into the file", size(s.LogBytes))
	}
	for _, name := range s.KeptLogs {
		row("kept log", "%s, as a crash left it", name)
	}
	row("schema", "%d, language %s", s.Schema, s.Language)
	row("memories", "%d%s", s.Memories, counts(s.Standings))
	row("scopes", "%s", strings.Trim(counts(s.Scopes), " ()"))
	row("categories", "%s", strings.Trim(counts(s.Categories), " ()"))
	row("tiers", "%s", strings.Trim(counts(s.Tiers), " ()"))
	row("states", "%s", strings.Trim(counts(s.States), " ()"))
	row("conversations", "%d", s.Conversations)
	row("index", "%d terms, %d postings", s.Terms, s.Postings)
	switch {
	case s.FTS != nil && s.FTS.Stale:
		row("fts", "%s, stale: made anew when it is used", plural(s.FTS.Documents, "document", "documents"))
	case s.FTS != nil:
		row("fts", "%s", plural(s.FTS.Documents, "document", "documents"))
	}
	row("lexical", "%s", s.Lexical)
	if s.Model == "" {
		row("model", "none: recall goes by words")
	} else {
		row("model", "%s, %d dimensions", s.Model, s.Dims)
	}
	for _, c := range s.Coverage {
		row("coverage", "%s: %d of %d have a vector", c.Kind, c.Vectors, c.Documents)
	}
	if s.Passages > 0 {
		row("passages", "%d of long documents", s.Passages)
	}
	if s.EmbeddingCache != nil {
		row("kept vectors", "%d, %s: the model is not asked for them again", s.EmbeddingCache.Vectors, size(s.EmbeddingCache.Bytes))
	}
	if s.Undivided > 0 {
		row("passages", "%s from before there were any; `memctl index rebuild` makes them", plural(s.Undivided, "long document is", "long documents are"))
	}
	if s.Next != nil {
		row("next model", "%s, %d dimensions: %d of %d vectors are made; `memctl index rebuild --vectors` goes on", s.Next.Model, s.Next.Dims, s.Next.Vectors, s.Next.Documents)
	}
	if s.FastVectors < 1 {
		row("layout", "%.0f %% of the vectors are scanned fast; `memctl index rebuild --vectors` mends it", 100*s.FastVectors)
	}
	t.Render()
}

// counts lists how many there are of what, the most frequent first.
func counts(of map[string]int) string {
	if len(of) == 0 {
		return ""
	}
	var parts []string
	for _, name := range slices.SortedFunc(maps.Keys(of), func(x, y string) int { return cmp.Or(of[y]-of[x], strings.Compare(x, y)) }) {
		parts = append(parts, fmt.Sprintf("%s %d", printable(name), of[name]))
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

func size(bytes int64) string {
	switch {
	case bytes >= 1<<30:
		return fmt.Sprintf("%.1f GB", float64(bytes)/(1<<30))
	case bytes >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(bytes)/(1<<20))
	}
	return fmt.Sprintf("%d KB", (bytes+1023)/1024)
}
