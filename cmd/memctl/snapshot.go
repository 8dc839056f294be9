package main

import (
	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
)

func newSnapshotCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "snapshot OUT",
		Short: "Copy the whole file, for readers",
		Long: `Snapshot writes a consistent copy of the file to OUT, which must not exist. Other programs can read the copy, a plain DuckDB
shell too, while the file itself is written.`,
		Example: `  memctl snapshot today.db
  memctl --db today.db stats`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), canWrite, func(e *engine.Engine) error {
				if err := e.Snapshot(cmd.Context(), args[0]); err != nil {
					return err
				}
				return a.answer(map[string]string{"file": args[0]}, func() { a.printf("Copied to %s.\n", args[0]) })
			})
		},
	}
}
