package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/index"
)

func newModelAddCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "add NAME",
		Short: "Embed the whole file with a further model, beside its own",
		Long: `Add makes vectors of another model for all that the file has: documents, passages of long ones, and the past. NAME is what --model accepts. Recall goes on
by the file's own model, also that of other programs, which read through this one meanwhile; what is written is caught up with. It can be interrupted or killed at
any moment: the next add goes on where it was. Add again makes what is missing: what is written later has a vector of the file's own model alone.`,
		Example: `  memctl model add all-MiniLM-L6-v2
  memctl model add static+all-MiniLM-L6-v2 --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := a.openNamed(args[0])
			if err != nil {
				return err
			}
			defer m.Close()
			if m.Embedder == nil {
				return usage("model none; allowed: a model")
			}
			a.noteModel(m)
			return a.withOwnModel(cmd.Context(), func(e *engine.Engine) error {
				stop := a.share(e)
				defer stop()
				added, err := e.AddModel(cmd.Context(), index.AddModelRequest{Embedder: m.Embedder})
				if err != nil {
					return err
				}
				return a.answer(added, func() {
					a.printEmbedded(added.Embedded)
					a.printModels([]index.ModelState{added.ModelState})
				})
			})
		},
	}
}

// withOwnModel opens the file for long, with its own model where that is at hand, so that others may go on asking it.
func (a *app) withOwnModel(ctx context.Context, do func(*engine.Engine) error) error {
	var has bool
	err := a.with(ctx, 0, func(e *engine.Engine) error {
		states, err := e.Models(ctx)
		has = len(states) > 0
		return err
	})
	if err != nil {
		return err
	}
	if !has { // it takes the first that it is given
		return a.with(ctx, canWrite|holds, do)
	}
	begun := false
	err = a.with(ctx, canWrite|canEmbed|holds, func(e *engine.Engine) error {
		begun = true
		return do(e)
	})
	if begun || !errors.Is(err, engine.ErrModelMismatch) {
		return err
	}
	a.note("The file's own model is not at hand (--model names it): others can ask by words alone meanwhile.")
	return a.with(ctx, canWrite|holds, do)
}

func newModelUseCommand(a *app) *cobra.Command {
	var r index.UseModelRequest
	cmd := &cobra.Command{
		Use:   "use NAME",
		Short: "Let recall go by another model that the file has",
		Long: `Use lets recall go by the vectors of a model that was added, from one moment to the next. NAME is its name, its number (memctl model list has both), or
what --model accepts. The vectors of the former stay, so that one can go back; memctl model drop removes them. Where vectors are missing, it says how many and how
to make them, and changes nothing, unless --allow-missing is given: what has none is found by its words alone.`,
		Example: `  memctl model use all-MiniLM-L6-v2
  memctl model use 2 --allow-missing`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeArgs(a.modelNames, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), canWrite, func(e *engine.Engine) error {
				name, err := a.modelNamed(cmd.Context(), e, args[0])
				if err != nil {
					return err
				}
				r.Model = name
				s, err := e.UseModel(cmd.Context(), r)
				if err != nil {
					return err
				}
				return a.answer(s, func() {
					a.printf("Recall goes by %s. Other commands want it with --model, or in MEMCTL_MODEL.\n", s.Model)
				})
			})
		},
	}
	cmd.Flags().BoolVar(&r.AllowMissing, "allow-missing", false, "also where documents have no vector of it")
	return cmd
}

func newModelDropCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "drop NAME",
		Short:             "Remove the vectors of a model beside the file's own",
		Long:              `Drop removes a model with all its vectors. NAME is its name, its number, or what --model accepts. The one that recall goes by stays.`,
		Example:           `  memctl model drop static`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeArgs(a.modelNames, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), canWrite, func(e *engine.Engine) error {
				name, err := a.modelNamed(cmd.Context(), e, args[0])
				if err != nil {
					return err
				}
				s, err := e.DropModel(cmd.Context(), index.DropModelRequest{Model: name})
				if err != nil {
					return err
				}
				return a.answer(s, func() {
					a.printf("%s dropped, with %s.\n", s.Model, plural(s.Documents.Has+s.Passages.Has+s.Past.Has, "vector", "vectors"))
				})
			})
		},
	}
}

func newModelCoverageCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "coverage",
		Short: "Count the vectors of each of the file's models",
		Long: `Coverage counts, for each model that the file has vectors of, how many there are of how many that are wanted: for live documents, for passages of long
ones, and for documents and passages of the past.`,
		Example: `  memctl model coverage
  memctl model coverage --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), 0, func(e *engine.Engine) error {
				states, err := e.Models(cmd.Context())
				if err != nil {
					return err
				}
				return a.answer(orEmpty(states), func() {
					if len(states) == 0 {
						a.printf("The file has no vectors.\n")
						return
					}
					a.printModels(states)
				})
			})
		},
	}
}

// printModels prints the models of a file, and how far their vectors are.
func (a *app) printModels(states []index.ModelState) {
	of := func(c index.Covered) string { return fmt.Sprintf("%d of %d", c.Has, c.Wants) }
	t := a.table("n", "model", "dims", "", "documents", "passages", "past")
	for _, s := range states {
		what := ""
		switch {
		case s.Chosen:
			what = "in use"
		case s.Next:
			what = "to be in use: index rebuild --vectors goes on"
		case !s.Whole():
			what = "lacks vectors: model add goes on"
		}
		t.AppendRow([]any{s.N, s.Model, s.Dims, what, of(s.Documents), of(s.Passages), of(s.Past)})
	}
	right(t, "n", "dims", "documents", "passages", "past")
	t.Render()
}

// modelNamed is what the file calls a model: a name or number of its own as it is, or else what --model accepts, by its fingerprint.
func (a *app) modelNamed(ctx context.Context, e *engine.Engine, name string) (string, error) {
	states, err := e.Models(ctx)
	if err != nil {
		return "", err
	}
	for _, s := range states {
		if name == s.Model || name == fmt.Sprint(s.N) {
			return name, nil
		}
	}
	m, err := a.openNamed(name)
	if err != nil || m.Embedder == nil {
		return name, nil // the file knows what it has
	}
	return m.Fingerprint(), m.Close()
}

// modelNames offers the names of the file's models.
func (a *app) modelNames(ctx context.Context, e *engine.Engine) (names []string, err error) {
	states, err := e.Models(ctx)
	for _, s := range states {
		names = append(names, s.Model)
	}
	return names, err
}
