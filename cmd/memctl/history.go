package main

import (
	"encoding/json"
	"time"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/share"
)

// momentFlags gives a command --as-of and --known-at.
func momentFlags(cmd *cobra.Command, asOf, knownAt *time.Time) {
	cmd.Flags().Var(dateOf(asOf), "as-of", "what was true then, as it is known now or at --known-at (default now)")
	cmd.Flags().Var(dateOf(knownAt), "known-at", "what was known then, and true then or at --as-of (default now)")
}

func newHistoryCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "history ID",
		Short: "Show what a memory was, and what changed when",
		Long: `History shows every version of a memory, forgotten or not: since when each was known, and what differs from the one before. How often a memory was used makes
no version. ID is the whole id, or its ending of six characters or more.

What was purged has no history. What memctl index rebuild --drop-retired-before gave up is only counted.`,
		Example: `  memctl history k3f9x2ab
  memctl history k3f9x2ab --json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeArgs(a.memories, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.asking(cmd.Context(), 0, func(r *share.Reader) error {
				h, err := share.History.Do(cmd.Context(), r, memory.HistoryRequest{ID: args[0], Agent: a.agent})
				if err != nil {
					return err
				}
				return a.answer(h, func() { a.printHistory(h) })
			})
		},
	}
}

func (a *app) printHistory(h *memory.History) {
	if h.Dropped > 0 {
		a.printf("%s given up for the space; known until %s.\n", plural(h.Dropped, "version was", "versions were"), second(h.DroppedUntil))
	}
	t := a.table("known from", "field", "was", "is")
	for n, v := range h.Versions {
		if n == 0 {
			t.AppendRow([]any{second(v.KnownFrom), "text", "", line(v.Memory.Text, a.width()-40)})
			continue
		}
		known := second(v.KnownFrom)
		for _, c := range v.Changes {
			t.AppendRow([]any{known, c.Field, a.fieldValue(c.Old), a.fieldValue(c.New)})
			known = ""
		}
	}
	t.Render()
	a.note("%s of %s.", plural(len(h.Versions), "version", "versions"), ids.Short(h.ID))
}

// second is a time as a history shows it: several changes of a minute are to be told apart.
func second(at time.Time) string { return at.Format("2006-01-02 15:04:05") }

// fieldValue shows a value of a field on part of a line.
func (a *app) fieldValue(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return line(v, (a.width()-45)/2)
	}
	b, _ := json.Marshal(v) // it came out of JSON
	return line(string(b), (a.width()-45)/2)
}
