package main

import (
	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/memory"
)

func newForgetCommand(a *app) *cobra.Command {
	var r memory.ForgetRequest
	var purge, shred bool
	cmd := &cobra.Command{
		Use:   "forget ID",
		Short: "Take a memory out of recall",
		Long: `Forget takes a memory out of recall and keeps its row, with the time and the reason, for list --standing forgotten.
--purge removes it for good: its row, its index, and what other memories say of it. With --shred the file is then written anew, so that none of its
bytes has what was purged (memctl doctor --shred does the same later, once for many purges).`,
		Example: `  memctl forget k3f9x2ab --reason "was a misunderstanding"
  memctl forget k3f9x2ab --purge
  memctl forget k3f9x2ab --purge --shred`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeArgs(a.memories, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			if shred && !purge {
				return usage("shred is done only with --purge")
			}
			r.ID, r.Agent = args[0], a.agent
			return a.with(cmd.Context(), canWrite, func(e *engine.Engine) error {
				var m *memory.Memory
				var err error
				done := "Forgot"
				if purge {
					done = "Purged"
					m, err = e.Purge(cmd.Context(), memory.PurgeRequest{ID: r.ID, Agent: r.Agent})
				} else {
					m, err = e.Forget(cmd.Context(), r)
				}
				if err != nil {
					return err
				}
				return a.answerShredding(cmd.Context(), e, shred, map[string]any{"id": m.ID, "purged": purge}, func() {
					a.printf("%s %s: %s\n", done, ids.Short(m.ID), line(m.Level(memory.Abstract), a.width()-20))
				})
			})
		},
	}
	cmd.Flags().StringVar(&r.Reason, "reason", "", "why; kept with the memory")
	cmd.Flags().BoolVar(&purge, "purge", false, "remove it for good")
	shredFlag(cmd, &shred)
	cmd.MarkFlagsMutuallyExclusive("reason", "purge")
	return cmd
}
