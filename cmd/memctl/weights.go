package main

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
)

func newWeightsCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "weights",
		Short: "Show and set the numbers that rank",
		Long: `Weights are every tunable number of ranking, kept in the file under a name. Two sets are built in: memory, for short
statements, and transcript, for turns of talk. A stored set of that name takes its place.`,
		Example: `  memctl weights show memory
  memctl weights set mine mine.json
  memctl recall "release day" --weights mine`,
	}
	cmd.AddCommand(newWeightsListCommand(a), newWeightsShowCommand(a), newWeightsSetCommand(a), newWeightsResetCommand(a))
	return cmd
}

func newWeightsListCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List all sets of weights",
		Long:    `List shows all sets with the numbers that differ most from set to set; memctl weights show has them all.`,
		Example: `  memctl weights list`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), 0, func(e *engine.Engine) error {
				sets, err := e.WeightSets(cmd.Context())
				if err != nil {
					return err
				}
				return a.answer(sets, func() {
					t := a.table("name", "vector", "lexical", "min_score", "hard_min_score", "rerank", "decay", "diversity")
					for _, name := range slices.Sorted(maps.Keys(sets)) {
						w := sets[name]
						t.AppendRow([]any{name, w.Vector, w.Lexical, w.MinScore, w.HardMinScore, w.Rerank, w.Decay, w.Diversity})
					}
					t.Render()
				})
			})
		},
	}
}

func newWeightsShowCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME",
		Short: "Show one set of weights",
		Long:  `Show prints all numbers of a set. With --json it is what weights set and recall --weights read.`,
		Example: `  memctl weights show memory
  memctl weights show memory --json > mine.json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), 0, func(e *engine.Engine) error {
				sets, err := e.WeightSets(cmd.Context())
				if err != nil {
					return err
				}
				w, ok := sets[args[0]]
				if !ok {
					return fmt.Errorf("%w: weights %q; there are %s", engine.ErrNotFound, args[0], strings.Join(slices.Sorted(maps.Keys(sets)), ", "))
				}
				return a.answer(w, func() { a.printWeights(w) })
			})
		},
	}
}

func (a *app) printWeights(w engine.Weights) {
	t := a.table()
	v := reflect.ValueOf(w)
	for i := range v.NumField() {
		t.AppendRow([]any{v.Type().Field(i).Tag.Get("json"), v.Field(i).Interface()})
	}
	t.Render()
}

func newWeightsSetCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "set NAME FILE",
		Short: "Store a set of weights",
		Long: `Set reads a JSON object from FILE, or from standard input for "-", and stores it under NAME. What it leaves out stays as it is
in the set of that name, or for a new set as in memory.`,
		Example: `  memctl weights set mine mine.json
  echo '{"lexical": 0.5, "vector": 0.5}' | memctl weights set mine -`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), canWrite|canCreate, func(e *engine.Engine) error {
				sets, err := e.WeightSets(cmd.Context())
				if err != nil {
					return err
				}
				w, ok := sets[args[0]]
				if !ok {
					w = engine.MemoryWeights()
				}
				if err := a.readJSON(args[1], &w); err != nil {
					return err
				}
				if err := e.SetWeights(cmd.Context(), args[0], w); err != nil {
					return err
				}
				return a.answer(w, func() { a.printf("Weights %s stored.\n", args[0]) })
			})
		},
	}
}

func newWeightsResetCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "reset NAME",
		Short:   "Remove a stored set of weights",
		Long:    `Reset removes a stored set; a built-in one of that name is back as it was.`,
		Example: `  memctl weights reset memory`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), canWrite, func(e *engine.Engine) error {
				if err := e.ResetWeights(cmd.Context(), args[0]); err != nil {
					return err
				}
				return a.answer(map[string]string{"reset": args[0]}, func() { a.printf("Weights %s reset.\n", args[0]) })
			})
		},
	}
}
