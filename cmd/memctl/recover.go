package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/salvage"
)

// readerCommand is the command that a recovery starts this program with.
const readerCommand = "recover-reader"

func newRecoverCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "recover FILE OUT",
		Short: "Save what can be read of a damaged file",
		Long: `Recover reads what can be read of FILE and of its log, and makes OUT of it: a new memory file with an index made anew, which is there when it is
whole. FILE, and what lies beside it, is never written to. It says what was done to make the file readable, and what is lost: by number, and by id
where that is known. What had to be read from damaged blocks is doubtful: it may differ from what was written.

The exit code is 0 when everything is in OUT as it was written, and 1 when something is lost or doubtful. As large as FILE, a copy of it is made
beside OUT meanwhile.`,
		Example: `  memctl recover mallard.db saved.db
  memctl --db saved.db check`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			model, err := a.openEmbedder()
			if err != nil {
				return err
			}
			defer model.Close()
			c, err := loadConfig(a.config)
			if err != nil {
				return err
			}
			program, err := os.Executable()
			if err != nil {
				return fmt.Errorf("recover: %w", err)
			}
			bar := newProgress(a)
			defer bar.stop()
			found, err := engine.Recover(cmd.Context(), salvage.Request{
				From: args[0], To: args[1],
				Reader: func(ctx context.Context) *exec.Cmd { return exec.CommandContext(ctx, program, readerCommand) },
				Options: engine.Options{Embedder: model.Embedder, Conversation: c.Conversation, Related: relatedWords, Progress: bar.report,
					MemoryLimit: a.memoryLimit(c)},
			})
			if err != nil {
				return err
			}
			if err := a.answer(found, func() { a.printRecovered(found) }); err != nil {
				return err
			}
			if !found.Whole() {
				return errReported
			}
			return nil
		},
	}
}

// newRecoverReaderCommand makes the command that reads a damaged file for a recovery, in a process that may be aborted.
func newRecoverReaderCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     readerCommand,
		Short:   "Read a damaged file, for recover",
		Long:    `Recover-reader does what a recovery asks by standard input. A damaged block may abort it, and not the recovery.`,
		Example: `  memctl recover mallard.db saved.db`,
		Hidden:  true,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return salvage.ServeRecovery(cmd.Context(), a.stdin, a.stdout)
		},
	}
}

func (a *app) printRecovered(r *salvage.Recovered) {
	for _, step := range r.Steps {
		a.printf("%s", indent(step, "", a.width()))
	}
	if r.Behind {
		a.printf("%s", indent("What was written since the checkpoint before the last may be lost: the header that would tell is gone.", "", a.width()))
	}
	t := a.table("table", "rows", "doubtful", "lost")
	right(t, "rows", "doubtful", "lost")
	for _, table := range r.Tables {
		if table.Rows+table.Lost > 0 {
			t.AppendRow([]any{table.Table, table.Rows, table.Doubtful, table.Lost})
		}
	}
	t.Render()
	for _, table := range r.Tables {
		if table.Why != "" {
			a.printf("%s", indent(table.Table+": "+line(table.Why, 3*a.width()), "", a.width()))
		}
		a.printIDs("Lost of "+table.Table, table.LostIDs)
		a.printIDs("Doubtful of "+table.Table, table.DoubtfulIDs)
		a.printIDs("Columns that are missing in some of "+table.Table, table.Without)
	}
	if r.Log.Bytes > 0 || r.Log.Lost > 0 {
		a.printf("Log: %s read, %d lost.\n", plural(r.Log.Transactions, "transaction", "transactions"), r.Log.Lost)
		a.printIDs("Lost with them", r.Log.LostIDs)
	}
	for _, repair := range r.Repairs {
		if repair.Error != "" {
			a.printf("Not done: %s\n", printable(repair.Error))
			continue
		}
		a.printf("Put right, %s: %d\n", repair.Step, repair.Changed)
	}
	if len(r.Left) > 0 {
		a.printf("\nContradictions that are left:\n")
		a.printFindings(r.Left)
	}
	if r.Whole() {
		a.printf("Everything is in %s.\n", r.File)
		return
	}
	a.printf("What could be read is in %s.\n", r.File)
}

func (a *app) printIDs(what string, ids []string) {
	if len(ids) > 0 {
		a.printf("%s", indent(what+": "+line(strings.Join(ids, ", "), 3*a.width()), "", a.width()))
	}
}
