package main

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/recall"
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
	cmd.AddCommand(newWeightsListCommand(a), newWeightsShowCommand(a), newWeightsDiffCommand(a), newWeightsSetCommand(a), newWeightsResetCommand(a))
	return cmd
}

func newWeightsListCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List all sets of weights",
		Long:    `List shows every weight in all sets, a column each.`,
		Example: `  memctl weights list`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), 0, func(e *engine.Engine) error {
				sets, err := e.WeightSets(cmd.Context())
				if err != nil {
					return err
				}
				names := slices.Sorted(maps.Keys(sets))
				columns := make([]recall.Weights, len(names))
				for i, name := range names {
					columns[i] = sets[name]
				}
				return a.answer(sets, func() { a.printWeights(names, columns) })
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
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeArgs(a.weightSets, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), 0, func(e *engine.Engine) error {
				sets, err := e.WeightSets(cmd.Context())
				if err != nil {
					return err
				}
				w, err := chosenSet(sets, args[0])
				if err != nil {
					return err
				}
				return a.answer(w, func() { a.printWeights(args, []recall.Weights{w}) })
			})
		},
	}
}

// printWeights prints a row for each weight and a column for each set.
func (a *app) printWeights(names []string, sets []recall.Weights) {
	a.printWeightRows(names, weightRows(sets))
}

func (a *app) printWeightRows(names []string, rows []weightRow) {
	header := []any{"weight"}
	for _, name := range names {
		header = append(header, name)
	}
	t := a.table(header...)
	t.Style().Format.Header = text.FormatDefault // names of sets are as they are
	for _, r := range rows {
		t.AppendRow(append([]any{r.Weight}, r.Values...))
	}
	t.Render()
}

// weightRow is one weight in several sets.
type weightRow struct {
	Weight string `json:"weight"`
	Values []any  `json:"values"`
}

func weightRows(sets []recall.Weights) (rows []weightRow) {
	fields := reflect.TypeFor[recall.Weights]()
	for i := range fields.NumField() {
		r := weightRow{Weight: fields.Field(i).Tag.Get("json")}
		for _, w := range sets {
			r.Values = append(r.Values, reflect.ValueOf(w).Field(i).Interface())
		}
		rows = append(rows, r)
	}
	return rows
}

func newWeightsDiffCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "diff A B",
		Short: "Show what differs between two sets of weights",
		Long: `Diff prints the weights that differ between two sets, each the name of a set or a JSON file. What a file leaves out is as in the other
one, or in memory when both are files.`,
		Example: `  memctl weights diff memory transcript
  memctl weights diff transcript mine.json`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: a.completeArgs(a.weightSets, 0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), 0, func(e *engine.Engine) error {
				sets, err := e.WeightSets(cmd.Context())
				if err != nil {
					return err
				}
				pair := []recall.Weights{recall.MemoryWeights(), recall.MemoryWeights()}
				for i, name := range args {
					if isFile(name) {
						continue
					}
					w, err := chosenSet(sets, name)
					if err != nil {
						return err
					}
					pair[i] = w
					if isFile(args[1-i]) {
						pair[1-i] = w
					}
				}
				for i, name := range args {
					if isFile(name) {
						if err := a.readJSON(name, &pair[i]); err != nil {
							return err
						}
					}
				}
				rows := slices.DeleteFunc(weightRows(pair), func(r weightRow) bool { return r.Values[0] == r.Values[1] })
				return a.answer(orEmpty(rows), func() {
					if len(rows) == 0 {
						a.printf("No weight differs.\n")
						return
					}
					a.printWeightRows(args, rows)
				})
			})
		},
	}
}

// isFile reports whether weights are named by a file.
func isFile(name string) bool { return strings.HasSuffix(name, ".json") }

// chosenSet gives the set of that name.
func chosenSet(sets map[string]recall.Weights, name string) (recall.Weights, error) {
	w, ok := sets[name]
	if !ok {
		return w, fmt.Errorf("%w: weights %q; there are %s", engine.ErrNotFound, name, strings.Join(slices.Sorted(maps.Keys(sets)), ", "))
	}
	return w, nil
}

func newWeightsSetCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "set NAME FILE",
		Short: "Store a set of weights",
		Long: `Set reads a JSON object from FILE, or from standard input for "-", and stores it under NAME. What it leaves out stays as it is
in the set of that name, or for a new set as in memory.`,
		Example: `  memctl weights set mine mine.json
  echo '{"lexical": 0.5, "vector": 0.5}' | memctl weights set mine -`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: a.completeArgs(a.weightSets, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), canWrite|canCreate, func(e *engine.Engine) error {
				sets, err := e.WeightSets(cmd.Context())
				if err != nil {
					return err
				}
				w, ok := sets[args[0]]
				if !ok {
					w = recall.MemoryWeights()
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
		Use:               "reset NAME",
		Short:             "Remove a stored set of weights",
		Long:              `Reset removes a stored set; a built-in one of that name is back as it was.`,
		Example:           `  memctl weights reset memory`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeArgs(a.weightSets, 0),
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
