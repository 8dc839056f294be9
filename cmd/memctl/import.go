package main

import (
	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
)

func newImportCommand(a *app) *cobra.Command {
	var r engine.ImportRequest
	var messages bool
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Read memories or messages from JSON Lines",
		Long: `Import reads one JSON object per line from a file, or from standard input for "-": memories with the keys that export writes
(only text is required), or messages with conversation, text, and as they are known speaker, role, time, session, caption
and key. What is there already stays as it is, so an import can be repeated. A line with a fault is left out and reported,
and the exit code is 1.`,
		Example: `  memctl import memories.jsonl --scope user:ines
  memctl import talk.jsonl --messages --dry-run
  memctl export --db old.db | memctl import -`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := a.input(args[0])
			if err != nil {
				return err
			}
			defer in.Close()
			r.Agent = a.agent
			how := canWrite | canEmbed | canCreate | canExplore
			if r.DryRun {
				how = 0
			}
			return a.with(cmd.Context(), how, func(e *engine.Engine) error {
				do, what := e.Import, [2]string{"memory", "memories"}
				if messages {
					do, what = e.ImportMessages, [2]string{"message", "messages"}
				}
				result, err := do(cmd.Context(), in, r)
				if err != nil {
					return err
				}
				if err := a.answer(result, func() { a.printImported(result, what, r.DryRun) }); err != nil {
					return err
				}
				if len(result.Faults) > 0 {
					return errReported
				}
				return nil
			})
		},
	}
	f := cmd.Flags()
	f.BoolVar(&messages, "messages", false, "the lines are messages")
	f.BoolVar(&r.DryRun, "dry-run", false, "only look for faults")
	f.StringVar(&r.Scope, "scope", "", "the scope for all of them, whatever the lines say")
	return cmd
}

func (a *app) printImported(r *engine.Imported, what [2]string, dryRun bool) {
	for _, fault := range r.Faults {
		a.printf("line %d: %s\n", fault.Line, printable(fault.Err))
	}
	for _, fault := range r.WithoutVector {
		a.note("Line %d has no vector: %s", fault.Line, printable(fault.Err))
	}
	if r.VectorErr != "" {
		a.note("The model failed, so some have no vector until `memctl index rebuild`: %s", r.VectorErr)
	}
	if dryRun {
		a.printf("%s read, %s. Nothing was stored.\n", plural(r.Lines, "line", "lines"), plural(len(r.Faults), "fault", "faults"))
		return
	}
	if r.Excluded > 0 {
		a.printf("%s left out, of sessions that the configuration excludes.\n", plural(r.Excluded, what[0], what[1]))
	}
	a.printf("%s stored, %d known already, %s.\n", plural(r.Created, what[0], what[1]), r.Known, plural(len(r.Faults), "fault", "faults"))
}
