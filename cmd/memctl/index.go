package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/index"
)

func newIndexCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "index",
		Short:   "Make the index anew, or what is missing of it",
		Long:    `Index looks after what recall searches: words and vectors. Both can always be made anew from the rows.`,
		Example: `  memctl index rebuild`,
	}
	cmd.AddCommand(newIndexRebuildCommand(a), newIndexEmbedCommand(a))
	return cmd
}

func newIndexRebuildCommand(a *app) *cobra.Command {
	var r index.RebuildRequest
	var o engine.Options
	cmd := &cobra.Command{
		Use:   "rebuild",
		Short: "Make words and missing vectors anew from the rows",
		Long: `Rebuild makes the index of words anew, and the vectors of what has none. --vectors makes all vectors anew; --replace-model
does so with another model than the file's, the one that --model names. Until all are there recall goes by the old ones.
It can be interrupted: what is missing then shows in stats, and the same rebuild goes on where it was. An index of DuckDB's text extension is made too, where the file has one and
MEMCTL_FTS names the extension.

The past is kept until it is purged: every text that a memory had, with its words and vector. --drop-retired-before gives up what was known only until a date, and what
memories forgotten before it were found by; the file gets smaller when it is shredded (memctl doctor --shred).`,
		Example: `  memctl index rebuild
  memctl index rebuild --vectors
  memctl index rebuild --replace-model --model static
  memctl index rebuild --drop-retired-before 2026-01-01`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r.Vectors = r.Vectors || o.ReplaceModel
			o.FTS = os.Getenv("MEMCTL_FTS")
			return a.withOptions(cmd.Context(), canWrite|canEmbed, o, func(e *engine.Engine) error {
				result, err := e.RebuildIndex(cmd.Context(), r)
				if err != nil {
					return err
				}
				return a.answer(result, func() {
					a.printf("%s indexed, %s made.\n", plural(result.Documents, "document", "documents"), plural(result.Vectors, "vector", "vectors"))
					if result.Past > 0 {
						a.printf("%s of the past indexed, %s made.\n", plural(result.Past, "document", "documents"), plural(result.PastVectors, "vector", "vectors"))
					}
					if !r.DropRetiredBefore.IsZero() {
						a.printf("%s dropped.\n", plural(result.Dropped, "version", "versions"))
					}
					if result.FTS {
						a.printf("The fts index was made too.\n")
					}
				})
			})
		},
	}
	cmd.Flags().BoolVar(&r.Vectors, "vectors", false, "make all vectors anew, not only missing ones")
	cmd.Flags().Var(dateOf(&r.DropRetiredBefore), "drop-retired-before", "give up what memories were known to be only until then, for its space")
	cmd.Flags().BoolVar(&o.ReplaceModel, "replace-model", false, "take the model that --model names, and make all vectors anew")
	return cmd
}

func newIndexEmbedCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "embed",
		Short: "Make missing vectors, and nothing else",
		Long: `Embed gives a vector of the file's model to whatever has none: what was written without the model, or while it was down. Words are not looked at.
It can be interrupted, and the next call goes on. Those of models beside the file's own are made by memctl model add.`,
		Example: `  memctl index embed
  memctl index embed --model all-MiniLM-L6-v2 --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), canWrite|canEmbed, func(e *engine.Engine) error {
				made, err := e.EmbedMissing(cmd.Context())
				if err != nil {
					return err
				}
				return a.answer(made, func() { a.printEmbedded(made) })
			})
		},
	}
}

// printEmbedded says how many vectors were made.
func (a *app) printEmbedded(made index.Embedded) {
	a.printf("%s made.\n", plural(made.Vectors, "vector", "vectors"))
	if made.PastVectors > 0 {
		a.printf("%s of the past made.\n", plural(made.PastVectors, "vector", "vectors"))
	}
}
