package main

import (
	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/bench"
	"github.com/mallardmem/mallard/engine/setup"
)

func newBenchCompactionCommand(a *app) *cobra.Command {
	var c bench.CompactionConfig
	cmd := &cobra.Command{
		Use:   "compaction --data FILE",
		Short: "Measure what of a long conversation can still be found after compaction",
		Long: `Compaction reads a file in the format of the LoCoMo data set and appends its conversations turn by turn, compacting after each with
the built-in summariser. In the end it asks the questions: how much of the evidence is in the context as it was said (in_window),
how much is there or among what the question expands (reachable_3), how much a plain recall finds within as many tokens
(recall_4000), and how many answers have all their words in the context (kept).`,
		Example: `  memctl bench compaction --data locomo10.json
  memctl bench compaction --data locomo10.json --budget 16000 --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if c.Data == "" {
				return usage("--data is missing: a file in the format of LoCoMo")
			}
			if err := notZero(cmd, "budget", "tail", "chunk", "target", "cap"); err != nil {
				return err
			}
			return a.measure(func(model setup.Embedder, progress func(string, int, int)) (figures, error) {
				c.Embedder, c.Related, c.Progress = model, relatedWords, progress
				return bench.RunCompaction(cmd.Context(), c)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.Data, "data", "", "the conversations and their questions")
	f.IntVar(&c.Conversations, "conversations", 0, "only the first so many (default all)")
	f.IntVar(&c.Questions, "questions", 0, "only so many of each conversation, spread evenly (default all)")
	f.IntVar(&c.Budget, "budget", 8000, "tokens of the context")
	f.IntVar(&c.Tail, "tail", 32, "newest messages that stay as they are")
	f.IntVar(&c.Chunk, "chunk", 2000, "tokens of messages that become a summary")
	f.IntVar(&c.Target, "target", 300, "tokens of a summary")
	f.IntVar(&c.Cap, "cap", 4000, "tokens that a question may expand")
	return cmd
}
