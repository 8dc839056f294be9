package main

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine/share"
)

func newSnapshotCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "snapshot OUT",
		Short: "Copy the whole file, for readers",
		Long: `Snapshot writes a consistent copy of the file to OUT, which must not exist. Other programs can read the copy, a plain DuckDB
shell too, while the file itself is written. Where a process has the file and shares it, as memctl session watch does, that one makes the copy.`,
		Example: `  memctl snapshot today.db
  memctl --db today.db stats`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.asking(cmd.Context(), canWrite, func(r *share.Reader) error {
				out := args[0]
				if abs, err := filepath.Abs(out); err == nil && out != "" { // the process that has the file may be in another folder
					out = abs
				}
				if _, err := share.Snapshot.Do(cmd.Context(), r, out); err != nil {
					return err
				}
				return a.answer(map[string]string{"file": args[0]}, func() { a.printf("Copied to %s.\n", args[0]) })
			})
		},
	}
}
