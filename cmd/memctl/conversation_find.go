package main

import (
	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
)

func newConversationDescribeCommand(a *app) *cobra.Command {
	var r engine.DescribeRequest
	cmd := &cobra.Command{
		Use:   "describe ID",
		Short: "Say what an id names",
		Long: `Describe tells of a summary, message, file, memory or conversation what it is and where it stands. A summary comes with those below it,
and with what expanding each of them costs.`,
		Example: `  memctl conversation describe 7h4k2m9q
  memctl conversation describe sum_0c1d7h4k2m9q --cap 8000 --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.ID, r.Agent = args[0], a.agent
			return a.with(cmd.Context(), 0, func(e *engine.Engine) error {
				d, err := e.Describe(cmd.Context(), r)
				if err != nil {
					return err
				}
				return a.answer(d, func() { a.printf("%s", printable(d.Text())) })
			})
		},
	}
	cmd.Flags().IntVar(&r.TokenCap, "cap", 0, "what an expansion may cost, in tokens (default that of the configuration)")
	return cmd
}

func newConversationExpandCommand(a *app) *cobra.Command {
	r := engine.ExpandRequest{Depth: 3}
	cmd := &cobra.Command{
		Use:   "expand ID…",
		Short: "Print what summaries stand for",
		Long: `Expand walks down from summaries to what they were made from, up to --depth levels and --cap tokens, and prints that. With --messages it
goes down to the messages.`,
		Example: `  memctl conversation expand 7h4k2m9q
  memctl conversation expand 7h4k2m9q --messages --cap 8000`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.IDs, r.Agent = args, a.agent
			return a.with(cmd.Context(), 0, func(e *engine.Engine) error {
				x, err := e.Expand(cmd.Context(), r)
				if err != nil {
					return err
				}
				return a.answer(x, func() { a.printf("%s", printable(x.Text())) })
			})
		},
	}
	f := cmd.Flags()
	f.IntVar(&r.Depth, "depth", r.Depth, "how many levels down, 1 to 10")
	f.BoolVar(&r.Messages, "messages", false, "go down to the messages")
	f.IntVar(&r.TokenCap, "cap", 0, "at most so many tokens (default that of the configuration)")
	return cmd
}
