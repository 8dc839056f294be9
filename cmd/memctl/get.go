package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/share"
)

func newGetCommand(a *app) *cobra.Command {
	r := memory.GetRequest{}
	cmd := &cobra.Command{
		Use:   "get ID",
		Short: "Show a memory with everything that is known about it",
		Long: `Get shows one memory, forgotten or not. ID is the whole id, or its ending of six characters or more. With --as-of or --known-at it is shown as it was
then, if it was true and known.`,
		Example: `  memctl get k3f9x2ab
  memctl get k3f9x2ab --known-at 2026-05-01
  memctl get k3f9x2ab --json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeArgs(a.memories, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.ID, r.Agent = args[0], a.agent
			return a.asking(cmd.Context(), 0, func(file *share.Reader) error {
				m, err := share.Get.Do(cmd.Context(), file, r)
				if err != nil {
					return err
				}
				return a.answer(m, func() { a.printMemory(m) })
			})
		},
	}
	momentFlags(cmd, &r.AsOf, &r.KnownAt)
	return cmd
}

// printMemory shows a memory as a sheet: what it says, then what is known about it.
func (a *app) printMemory(m *memory.Memory) {
	a.printf("%s\n", indent(m.Text, "", a.width()))
	if m.L1 != "" {
		a.printf("%s\n", indent(m.L1, "  ", a.width()))
	}
	if m.L2 != "" {
		a.printf("%s\n", indent(m.L2, "  ", a.width()))
	}
	t := a.table()
	row := func(name, value string) {
		if value != "" {
			t.AppendRow([]any{name, line(value, a.width()-16)})
		}
	}
	row("id", m.ID)
	row("key", m.Key)
	row("scope", m.Scope)
	row("category", string(m.Category))
	row("tier", string(m.Tier))
	row("state", fmt.Sprintf("%s, layer %s", m.State, m.Layer))
	row("importance", fmt.Sprintf("%.2f, confidence %.2f", m.Importance, m.Confidence))
	row("one line", m.L0)
	row("created", minute(m.CreatedAt))
	if !m.ValidFrom.Equal(m.CreatedAt) {
		row("valid from", minute(m.ValidFrom))
	}
	row("valid until", minute(m.ValidUntil))
	row("no longer true", minute(m.InvalidatedAt))
	row("superseded by", m.SupersededBy)
	row("supersedes", m.Supersedes)
	row("fact key", m.FactKey)
	row("source", strings.TrimSpace(m.Source+" "+m.SourceSession))
	row("trust", string(m.Trust))
	for _, r := range m.Relations {
		if r.TargetID != m.Supersedes && r.TargetID != m.SupersededBy {
			to := r.TargetID
			if r.Weight > 0 {
				to += fmt.Sprintf(" (weight %g)", r.Weight)
			}
			row(r.Type, to)
		}
	}
	if m.AccessCount > 0 {
		row("recalled", plural(m.AccessCount, "time, last ", "times, last ")+minute(m.LastAccessedAt))
	}
	if !m.RetiredAt.IsZero() {
		gone := "forgotten"
		if m.RetractedBy != "" {
			gone = "retracted"
		}
		row(gone, strings.TrimSpace(minute(m.RetiredAt)+" "+m.RetiredReason))
	}
	t.Render()
}
