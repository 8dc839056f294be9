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
		Short:   "Make the index anew",
		Long:    `Index looks after what recall searches: words and vectors. Both can always be made anew from the rows.`,
		Example: `  memctl index rebuild`,
	}
	cmd.AddCommand(newIndexRebuildCommand(a))
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
MEMCTL_FTS names the extension.`,
		Example: `  memctl index rebuild
  memctl index rebuild --vectors
  memctl index rebuild --replace-model --model static`,
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
					if result.FTS {
						a.printf("The fts index was made too.\n")
					}
				})
			})
		},
	}
	cmd.Flags().BoolVar(&r.Vectors, "vectors", false, "make all vectors anew, not only missing ones")
	cmd.Flags().BoolVar(&o.ReplaceModel, "replace-model", false, "take the model that --model names, and make all vectors anew")
	return cmd
}
