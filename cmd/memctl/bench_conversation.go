package main

import (
	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/bench"
	"github.com/mallardmem/mallard/engine/setup"
)

func newBenchConversationCommand(a *app) *cobra.Command {
	var c bench.ConversationConfig
	cmd := &cobra.Command{
		Use:   "conversation",
		Short: "Measure how fast a long conversation is kept, compacted, shown and searched",
		Long: `Conversation makes up one long conversation, with calls of tools now and then, and measures appending, assembling a context of
128,000 tokens before and after compaction, compaction itself with summaries that cost nothing to write, searches for words and
for a pattern, and expansion to 4,000 tokens.`,
		Example: `  memctl bench conversation
  memctl bench conversation --n 10000 --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := notZero(cmd, "queries", "live"); err != nil {
				return err
			}
			return a.measure(func(model setup.Embedder, progress func(string, int, int)) (figures, error) {
				c.Embedder, c.Progress = model, progress
				return bench.RunConversation(cmd.Context(), c)
			})
		},
	}
	f := cmd.Flags()
	f.IntVar(&c.Messages, "n", 100_000, "messages of the conversation, 1000 to 10000000")
	f.IntVar(&c.Queries, "queries", 100, "calls of each sort that are timed")
	f.IntVar(&c.Live, "live", 500, "messages appended one at a time")
	f.Uint64Var(&c.Seed, "seed", 1, "of the made-up text")
	f.StringVar(&c.Folder, "folder", "", "where the file is made (default the system's folder for temporary files)")
	return cmd
}
