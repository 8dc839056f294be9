package main

import (
	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/upkeep"
)

func newCheckCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Prove that the file is intact",
		Long: `Check reads all that is stored, every block, the log and every value of every table, and names what is damaged. Then it looks for
contradictions: rows without an index, index entries without a row, vectors of a wrong length and so on; messages that are in no context
and under no summary; summaries that differ from what they were made from. It changes nothing; the exit code is 1 when there are faults.
memctl doctor explains them, and repairs most; memctl recover saves what can be read of a damaged file.`,
		Example: `  memctl check
  memctl check --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), 0, func(e *engine.Engine) error {
				faults, err := e.Check(cmd.Context())
				if err != nil {
					return err
				}
				if err := a.answer(orEmpty(faults), func() { a.printFaults(faults) }); err != nil {
					return err
				}
				if len(faults) > 0 {
					return errReported
				}
				return nil
			})
		},
	}
}

func (a *app) printFaults(faults []upkeep.Fault) {
	if len(faults) == 0 {
		a.printf("The file is intact.\n")
		return
	}
	t := a.table("fault", "subject")
	for _, f := range faults {
		t.AppendRow([]any{f.Fault, line(f.Subject, 80)})
	}
	t.Render()
	a.note("%s. `memctl doctor` explains them.", plural(len(faults), "fault", "faults"))
}
