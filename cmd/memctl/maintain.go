package main

import (
	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/memory"
)

func newTouchCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "touch ID…",
		Short: "Note that memories were used",
		Long: `Touch counts a use of each memory, now. How often and how lately a memory was used is part of its score and settles its tier: a
peripheral one that is used becomes working, a working one that is used much and matters becomes core. IDs may be unique endings.`,
		Example: `  memctl touch 7k3m9q2x
  memctl recall "release day" --json | jq -r '.hits[0].id' | xargs memctl touch`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, named []string) error {
			return a.with(cmd.Context(), canWrite, func(e *engine.Engine) error {
				whole := make([]string, len(named))
				for i, id := range named {
					m, err := e.Get(cmd.Context(), memory.GetRequest{ID: id, Agent: a.agent})
					if err != nil {
						return err
					}
					whole[i] = m.ID
				}
				e.Touch(whole...)
				done, err := e.FlushTouches(cmd.Context())
				if err != nil {
					return err
				}
				answer := struct {
					Touched []string            `json:"touched"`
					Tiers   []memory.TierChange `json:"tiers"`
				}{whole, orEmpty(done)}
				return a.answer(answer, func() {
					a.printf("Counted %s.\n", plural(len(whole), "use", "uses"))
					a.printTiers(answer.Tiers)
				})
			})
		},
	}
}

func newMaintainCommand(a *app) *cobra.Command {
	var r memory.MaintainRequest
	cmd := &cobra.Command{
		Use:   "maintain",
		Short: "Bring memories to the tier that their use and age make due",
		Long: `Maintain looks at every memory that stands and is confirmed. A peripheral one that was used three times and is alive becomes working; a
working one that was used ten times, is alive and important becomes core; a working one that has faded, or is older than sixty days and hardly used, becomes
peripheral; a core one that has faded and is hardly used becomes working. Each goes one step at a time, and its tier settles how fast it fades
and how far its score can fall. The view report.tiers shows what every memory is due for.`,
		Example: `  memctl maintain --dry-run
  memctl maintain --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			how := canWrite
			if r.DryRun {
				how = 0
			}
			return a.with(cmd.Context(), how, func(e *engine.Engine) error {
				done, err := e.Maintain(cmd.Context(), r)
				if err != nil {
					return err
				}
				return a.answer(done, func() {
					switch {
					case len(done.Tiers) == 0:
						a.printf("Every memory is in the tier that it should be in.\n")
					case r.DryRun:
						a.printf("%s to change:\n", plural(len(done.Tiers), "tier is", "tiers are"))
					default:
						a.printf("%s changed:\n", plural(len(done.Tiers), "tier", "tiers"))
					}
					a.printTiers(done.Tiers)
				})
			})
		},
	}
	cmd.Flags().BoolVar(&r.DryRun, "dry-run", false, "only say what would change")
	return cmd
}

func (a *app) printTiers(changes []memory.TierChange) {
	if len(changes) == 0 {
		return
	}
	t := a.table("memory", "from", "to", "because it is")
	for _, c := range changes {
		t.AppendRow([]any{ids.Short(c.ID), c.From, c.To, c.Reason})
	}
	t.Render()
}
