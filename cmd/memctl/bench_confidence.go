package main

import (
	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/bench"
	"github.com/mallardmem/mallard/engine/setup"
)

func newBenchConfidenceCommand(a *app) *cobra.Command {
	var c bench.LocomoConfig
	cmd := &cobra.Command{
		Use:   "confidence --data FILE[,FILE…]",
		Short: "Measure how likely hits are right, and fit what says so",
		Long: `Confidence reads files in the format of the LoCoMo data set and stores each in a file of its own: its conversations as they are, and their turns of
up to 500 characters as memories too. It asks every question that has evidence twice, in its own conversation and in the next one of the data set,
where nothing is right, each time for ten hits with the built-in weights of the kind.

For each set of weights it prints the coefficients that the hits of all conversations give, which stand in the engine; how reliable confidence is, for
each conversation by what the others give; and what a least confidence does: how many questions without an answer find nothing, and what is lost of those that
have one. Several data sets count the same.`,
		Example: `  memctl bench confidence --data locomo10.json
  memctl bench confidence --data locomo10.json,realtalk.json,beam.json --model none --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(c.Data) == 0 {
				return usage("--data is missing: a file in the format of LoCoMo")
			}
			return a.measure(func(model setup.Embedder, progress func(string, int, int)) (figures, error) {
				c.Embedder, c.Related, c.Progress = model, relatedWords, progress
				return bench.RunConfidence(cmd.Context(), c)
			})
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&c.Data, "data", nil, "files with conversations and their questions")
	f.BoolVar(&c.BySQL, "by-sql", false, "find by the file's SQL, without the resident index")
	return cmd
}
