package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine/setup"
)

func newBenchCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure quality and speed",
		Long:  "Bench measures in a new file among the temporary ones, which is gone afterwards; --db is not touched.",
		Example: `  memctl bench recall
  memctl bench conversation --json`,
	}
	cmd.AddCommand(newBenchLocomoCommand(a), newBenchConfidenceCommand(a), newBenchRecallCommand(a), newBenchConversationCommand(a), newBenchContextCommand(a), newBenchCompactionCommand(a), newBenchLifecycleCommand(a), newBenchModelsCommand(a))
	return cmd
}

// figures are what a bench measured.
type figures interface{ WriteText(io.Writer) error }

// measure opens the model that --model names, lets do measure with it while a bar shows how far it is, and prints the figures.
func (a *app) measure(do func(model setup.Embedder, progress func(step string, done, total int)) (figures, error)) error {
	model, err := a.openEmbedder()
	if err != nil {
		return err
	}
	defer model.Close()
	a.noteModel(model)
	bar := newProgress(a)
	defer bar.stop()
	report, err := do(model.Embedder, bar.report)
	if err != nil {
		return err
	}
	return a.printFigures(report)
}

func (a *app) printFigures(report figures) error {
	a.progress.stop()
	if a.json {
		return a.printJSON(report)
	}
	return report.WriteText(a.stdout)
}
