package main

import (
	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/bench"
)

func newBenchContextCommand(a *app) *cobra.Command {
	var c bench.ContextConfig
	cmd := &cobra.Command{
		Use:   "context",
		Short: "Measure how long the context of a model's next call takes, with every preset",
		Long: `Context makes up conversations of several lengths and builds the context of the next call with each preset: its middle and its slow calls, and with memories recalled by their
words. No model is asked. What was compacted is one summary; 250 messages were said since.`,
		Example: `  memctl bench context
  memctl bench context --n 1000,10000 --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := notZero(cmd, "builds", "memories"); err != nil {
				return err
			}
			bar := newProgress(a)
			defer bar.stop()
			c.Progress = bar.report
			report, err := bench.RunContext(cmd.Context(), c)
			if err != nil {
				return err
			}
			return a.printFigures(report)
		},
	}
	f := cmd.Flags()
	f.IntSliceVar(&c.Sizes, "n", []int{1000, 10_000, 100_000}, "messages of each conversation, 1000 to 10000000")
	f.IntVar(&c.Builds, "builds", 200, "builds of each preset that are timed")
	f.IntVar(&c.Memories, "memories", 1000, "memories that are recalled from")
	f.Uint64Var(&c.Seed, "seed", 1, "of the made-up text")
	f.StringVar(&c.Folder, "folder", "", "where the files are made (default the system's folder for temporary files)")
	return cmd
}
