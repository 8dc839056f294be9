package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/memory"
)

func newExportCommand(a *app) *cobra.Command {
	var r memory.ExportRequest
	cmd := &cobra.Command{
		Use:   "export [FILE]",
		Short: "Write all memories as JSON Lines",
		Long: `Export writes every memory with all that is known about it, superseded and forgotten ones too, one JSON object per line, to
standard output or to a file. The file is there when it is complete, never a part of it. Import reads it again. With
--as-of or --known-at it has the memories that were true and known then, as they were.`,
		Example: `  memctl export memories.jsonl
  memctl export --scope project:harbor > harbor.jsonl
  memctl export --known-at 2026-05-01 may.jsonl`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Agent = a.agent
			return a.with(cmd.Context(), 0, func(e *engine.Engine) error {
				a.noteRefused()
				if len(args) == 0 || args[0] == "-" {
					_, err := e.Export(cmd.Context(), a.stdout, r)
					return err
				}
				n, err := exportFile(cmd.Context(), e, args[0], r)
				if err != nil {
					return err
				}
				return a.answer(map[string]any{"file": args[0], "memories": n}, func() {
					a.printf("%s written to %s.\n", plural(n, "memory", "memories"), args[0])
				})
			})
		},
	}
	cmd.Flags().Var(wordsOf(&r.Scopes), "scope", "only these scopes; repeatable")
	momentFlags(cmd, &r.AsOf, &r.KnownAt)
	return cmd
}

func exportFile(ctx context.Context, e *engine.Engine, name string, r memory.ExportRequest) (n int, err error) {
	err = writeFile(name, func(w io.Writer) error {
		n, err = e.Export(ctx, w, r)
		return err
	})
	return n, err
}

// writeFile lets write fill a file beside the one named, which takes its place when all went well. A device or a pipe keeps its place.
func writeFile(name string, write func(io.Writer) error) error {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		out, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(out), out.Close())
	}
	out, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name()) // when it could not take the place
	defer out.Close()
	if err := write(out); err != nil {
		return err
	}
	if err := out.Sync(); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	return os.Rename(out.Name(), name)
}
