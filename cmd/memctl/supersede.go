package main

import (
	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/memory"
)

func newSupersedeCommand(a *app) *cobra.Command {
	var r memory.SupersedeRequest
	var detail *detailFlags
	cmd := &cobra.Command{
		Use:   "supersede ID TEXT…",
		Short: "Replace a memory by a newer one",
		Long: `Supersede stores a new memory and ends the older one at the same moment. The older one keeps its text, is out of recall,
and is found again with recall --as-of. Scope, category and fact key are those of the older one unless you name others.`,
		Example: `  memctl supersede k3f9x2ab "Release day is Wednesday"
  memctl recall "release day" --as-of 2026-05-01`,
		Args:              cobra.MinimumNArgs(2),
		ValidArgsFunction: a.completeArgs(a.memories, 0),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if r.By.Text, err = a.text(args[1:]); err != nil {
				return err
			}
			r.ID, r.By.Agent = args[0], a.agent
			if err := detail.fill(cmd, &r.By); err != nil {
				return err
			}
			return a.with(cmd.Context(), canWrite|canEmbed, func(e *engine.Engine) error {
				result, err := e.Supersede(cmd.Context(), r)
				if err != nil {
					return err
				}
				return a.printRemembered(result, "Superseded by")
			})
		},
	}
	detail = newDetailFlags(cmd, &r.By)
	return cmd
}
