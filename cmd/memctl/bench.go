package main

import "github.com/spf13/cobra"

func newBenchCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure quality and speed",
		Long:  "Bench measures in a new file among the temporary ones, which is gone afterwards; --db is not touched.",
	}
	cmd.AddCommand(newBenchLocomoCommand(a), newBenchRecallCommand(a), newBenchConversationCommand(a), newBenchCompactionCommand(a))
	return cmd
}
