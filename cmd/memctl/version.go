package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
)

func newVersionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Show the versions of memctl, Go and DuckDB",
		Long:    `Version shows what this program was made of.`,
		Example: `  memctl version --json`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			e, err := engine.Open(ctx, ":memory:", engine.Options{})
			if err != nil {
				return err
			}
			defer e.Close()
			t, err := e.Query(ctx, "SELECT version()", 1)
			if err != nil {
				return err
			}
			v := map[string]string{"memctl": moduleVersion(), "go": runtime.Version(), "duckdb": cell(t.Rows[0][0]), "platform": runtime.GOOS + "/" + runtime.GOARCH}
			return a.answer(v, func() {
				a.printf("memctl %s, %s, DuckDB %s, %s\n", v["memctl"], v["go"], v["duckdb"], v["platform"])
			})
		},
	}
}

func moduleVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "unknown"
	}
	return info.Main.Version
}
