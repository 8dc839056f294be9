package main

import (
	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/bench"
	"github.com/mallardmem/mallard/engine/setup"
)

func newBenchLifecycleCommand(a *app) *cobra.Command {
	var c bench.LifecycleConfig
	cmd := &cobra.Command{
		Use:   "lifecycle",
		Short: "Measure how fast memories are drawn from talk, kept in order and shown before a turn",
		Long: `Lifecycle makes up a conversation in which every fourth message has something to be remembered, and measures how fast rules draw memories from it; then it
measures maintain over made-up memories, one in a hundred of which says what another one does, and "turn before" over the same ones.

--data names files in the format of LoCoMo. Rules draw memories from their conversations, and their questions are asked: memory_recall_10 is the share of questions of which a
gold turn is a source of one of the ten best memories, turn_recall_10 that of which one is among the ten best turns. Then turns are ranked by the memories drawn
from them too, and what that changes is told with a 95 % interval by paired bootstrap.`,
		Example: `  memctl bench lifecycle
  memctl bench lifecycle --n 10000 --json
  memctl bench lifecycle --data locomo10.json,realtalk.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := notZero(cmd, "n", "messages", "turns"); err != nil {
				return err
			}
			return a.measure(func(model setup.Embedder, progress func(string, int, int)) (figures, error) {
				c.Embedder, c.Related, c.Progress = model, relatedWords, progress
				return bench.RunLifecycle(cmd.Context(), c)
			})
		},
	}
	f := cmd.Flags()
	f.IntVar(&c.Memories, "n", 100_000, "memories that maintain and turns have before them, 1000 to 10000000")
	f.IntVar(&c.Messages, "messages", 10_000, "messages that memories are drawn from, 100 to 1000000")
	f.IntVar(&c.Turns, "turns", 200, "turns that are timed")
	f.StringSliceVar(&c.Data, "data", nil, "files with conversations and their questions")
	f.Uint64Var(&c.Seed, "seed", 0, "of the made-up text")
	f.StringVar(&c.Folder, "folder", "", "where the file is made (default the system's folder for temporary files)")
	return cmd
}
