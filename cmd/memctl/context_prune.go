package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/build"
)

func newContextPruneCommand(a *app) *cobra.Command {
	var r build.PruneRequest
	var days int
	cmd := &cobra.Command{
		Use:   "prune [NAME]",
		Short: "Remove old snapshots of contexts",
		Long: `Prune removes snapshots of the conversation NAME, or without NAME of all: those that were built --days or more ago, but the newest --keep of each conversation.
Only what can be verified and compared gets less: a snapshot has no word of what was shown. --dry-run only counts.`,
		Example: `  memctl context prune --days 30 --keep 20 --dry-run
  memctl context prune standup --keep 100`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeArgs(a.conversations, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			if days < 0 || days > mostDays {
				return usage("days is %d; allowed: 0 to %d", days, mostDays)
			}
			if days == 0 && r.Keep == 0 {
				return usage("give --days or --keep, more than 0")
			}
			if len(args) == 1 {
				r.Conversation = args[0]
			}
			r.Agent, r.OlderThan = a.agent, time.Duration(days)*24*time.Hour
			return a.with(cmd.Context(), canWrite, func(e *engine.Engine) error {
				p, err := e.PruneContextSnapshots(cmd.Context(), r)
				if err != nil {
					return err
				}
				return a.answer(p, func() {
					verb := "removed"
					if p.DryRun {
						verb = "would be removed"
					}
					a.printf("%s of %s %s, %d of them of builds that failed.\n", plural(p.Snapshots, "snapshot", "snapshots"), plural(p.Conversations, "conversation", "conversations"), verb, p.Failed)
				})
			})
		},
	}
	cmd.Flags().IntVar(&days, "days", 0, "built so many days ago, or more")
	cmd.Flags().IntVar(&r.Keep, "keep", 0, "so many of the newest of each conversation stay")
	cmd.Flags().BoolVar(&r.DryRun, "dry-run", false, "only count")
	return cmd
}
