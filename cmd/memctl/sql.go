package main

import (
	"math"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine/setup"
)

// sqlFlags are those of memctl sql.
type sqlFlags struct {
	csv     bool
	limit   int
	timeout time.Duration
	memory  megabytes
	child   string // this is the process that answers: the folder for a copy of the file that it may need; "": it is not
}

func newSQLCommand(a *app) *cobra.Command {
	var f sqlFlags
	cmd := &cobra.Command{
		Use:   "sql SELECT",
		Short: "Ask the file with SQL",
		Long: `Sql runs one SELECT over the file and prints a table, CSV or JSON. It only reads. The views of the schema report are the
contract for analysts, such as report.memories.

A table on a terminal has a thousand rows at most; CSV, JSON and what goes to a file or another program have all, unless --limit is given.
The statement runs in a process of its own, which ends when it takes more time or memory than --timeout and --memory say.`,
		Example: `  memctl sql "select category, count(*) as n from report.memories group by all order by n desc"
  memctl sql "select id, text from report.memories" --csv > memories.csv
  cat report.sql | memctl sql - --timeout 10m --memory 4GB`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.child != "" {
				return a.answerSQL(cmd.Context(), f)
			}
			switch {
			case f.limit < 1:
				return usage("limit is %d; allowed: 1 or more", f.limit)
			case f.csv && a.json:
				return usage("csv and json exclude each other")
			case f.timeout <= 0:
				return usage("timeout is %s; allowed: more than 0, such as 90s or 10m", f.timeout)
			}
			if err := f.allot(a, cmd); err != nil {
				return err
			}
			query, err := a.text(args)
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("limit") && (f.csv || a.json || !terminal(a.stdout.Writer)) {
				if err := cmd.Flags().Set("limit", strconv.Itoa(math.MaxInt)); err != nil {
					return err
				}
			}
			return a.askSQL(cmd, query, f)
		},
	}
	cmd.Flags().BoolVar(&f.csv, "csv", false, "print CSV")
	cmd.Flags().IntVar(&f.limit, "limit", 1000, "at most so many rows")
	cmd.Flags().DurationVar(&f.timeout, "timeout", time.Minute, "at most so long")
	cmd.Flags().Var(&f.memory, "memory", "memory of the process, of which the database has half (default 1GB, and twice what $MEMCTL_MEMORY or the configuration says where that is more)")
	cmd.Flags().StringVar(&f.child, "child", "", "")
	cmd.Flags().MarkHidden("child")
	return cmd
}

// allot settles how much memory the process may have; it is told by its flag.
func (f *sqlFlags) allot(a *app, cmd *cobra.Command) error {
	if f.memory == 0 {
		c, err := loadConfig(a.config)
		if err != nil {
			return err
		}
		if err := cmd.Flags().Set("memory", max(1024, 2*c.Database.Memory).String()); err != nil {
			return err
		}
	}
	if f.memory < leastSQLMemory {
		return usage("memory is %s; allowed: %dMB or more", f.memory, leastSQLMemory)
	}
	return nil
}

// leastSQLMemory is what the process needs for itself, and a little.
const leastSQLMemory = 2 * setup.LeastMemory
