package main

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/upkeep"
)

func newDoctorCommand(a *app) *cobra.Command {
	var r upkeep.DoctorRequest
	var shred bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Explain what is wrong with the file, and repair it",
		Long: `Doctor says of every fault that memctl check finds what it means and what can be done, and of summaries that were made without the model
that they can be made anew. It changes nothing unless --apply is given: then it first puts a copy of the file beside it (or where --backup
says), repairs what it can, and says what is left. No message and no memory is ever removed.

What was purged is in no row any more, but the bytes of the file may have it until their room is used again; doctor says so. --shred writes the file
anew, without them: all of the new file takes the place of the old one, or nothing. Three times the room of the file is needed meanwhile. Copies of the
file, and what a disk keeps of removed files, are not reached.

The exit code is 1 when faults are there, or with --apply when some are left.`,
		Example: `  memctl doctor
  memctl doctor --apply --backup before.db
  memctl doctor --shred`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			how := access(0)
			if r.Apply {
				how = canWrite | canEmbed | canAsk
			} else if shred {
				return a.with(cmd.Context(), canWrite, func(e *engine.Engine) error {
					return a.answerShredding(cmd.Context(), e, true, struct{}{}, func() {})
				})
			} else if r.Backup != "" {
				return usage("backup is made only with --apply")
			}
			return a.with(cmd.Context(), how, func(e *engine.Engine) error {
				if r.Apply && r.Backup == "" {
					if e.Path() == ":memory:" {
						return usage("give a --backup")
					}
					r.Backup = strings.TrimSuffix(e.Path(), filepath.Ext(e.Path())) + time.Now().UTC().Format("-before-20060102-150405.000000") + filepath.Ext(e.Path())
				}
				d, err := e.Doctor(cmd.Context(), r)
				if err != nil {
					if d != nil && d.Backup != "" {
						a.note("The file as it was is in %s.", d.Backup)
					}
					return err
				}
				d.Findings = orEmpty(d.Findings)
				if err := a.answer(d, func() { a.printDiagnosis(d, r.Apply) }); err != nil {
					return err
				}
				rest := d.Findings
				if r.Apply {
					rest = d.Left
				}
				if slices.ContainsFunc(rest, func(f upkeep.Finding) bool { return !f.Harmless }) {
					return errReported
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&r.Apply, "apply", false, "repair what can be repaired")
	cmd.Flags().BoolVar(&shred, "shred", false, "write the file anew, without the bytes of what was purged")
	cmd.Flags().StringVar(&r.Backup, "backup", "", "with --apply: where the copy goes (default beside the file)")
	cmd.MarkFlagsMutuallyExclusive("shred", "apply")
	cmd.MarkFlagsMutuallyExclusive("shred", "backup")
	return cmd
}

func (a *app) printDiagnosis(d *upkeep.Diagnosis, applied bool) {
	if len(d.Findings) == 0 {
		a.printf("The file is intact.\n")
		return
	}
	if !applied {
		a.printFindings(d.Findings)
		a.note("Nothing was changed. `memctl doctor --apply` repairs what is marked with an asterisk.")
		return
	}
	if d.Backup != "" {
		a.printf("The file as it was is now in %s.\n", d.Backup)
	}
	for _, r := range d.Repairs {
		if r.Error != "" {
			a.printf("Not done: %s\n", printable(r.Error))
			continue
		}
		a.printf("%s: %d\n", r.Step, r.Changed)
	}
	if len(d.Left) == 0 {
		a.printf("All is repaired.\n")
		return
	}
	a.printf("\nLeft:\n")
	a.printFindings(d.Left)
}

func (a *app) printFindings(all []upkeep.Finding) {
	for _, f := range all {
		mark := " "
		if f.Repairable {
			mark = "*"
		}
		a.printf("%s %s: %d\n", mark, f.Fault, f.Count)
		a.printf("%s", indent(line(strings.Join(f.Subjects, ", "), 3*a.width()), "    ", a.width()))
		a.printf("%s", indent("It means: "+f.Means+".", "    ", a.width()))
		a.printf("%s", indent("Remedy: "+f.Remedy+".", "    ", a.width()))
	}
}
