package main

import (
	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/memory"
)

func newRelatedCommand(a *app) *cobra.Command {
	var r memory.RelatedRequest
	cmd := &cobra.Command{
		Use:   "related ID",
		Short: "Show what a memory is related to",
		Long: `Related prints the memories that relations lead to from one, in up to three steps, nearest first, whichever of two memories says so. The weight is that of
all steps, multiplied. memctl relate makes relations, and so do supersede, maintain and extract.`,
		Example: `  memctl related 8f3k2m9p
  memctl related 8f3k2m9p --depth 3 --type caused_by --type part_of`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeArgs(a.memories, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := notZero(cmd, "depth", "limit"); err != nil {
				return err
			}
			r.ID, r.Agent = args[0], a.agent
			return a.with(cmd.Context(), 0, func(e *engine.Engine) error {
				all, err := e.Related(cmd.Context(), r)
				if err != nil {
					return err
				}
				return a.answer(orEmpty(all), func() { a.printRelated(all) })
			})
		},
	}
	f := cmd.Flags()
	f.IntVar(&r.Depth, "depth", 1, "how many steps, 1 to 3")
	f.Var(wordsOf(&r.Types), "type", "only relations of this type; repeatable")
	f.IntVar(&r.Limit, "limit", 50, "at most so many, 1 to 1000")
	complete(cmd, "type", memory.RelationTypes())
	return cmd
}

func (a *app) printRelated(all []memory.Related) {
	if len(all) == 0 {
		a.note("Nothing is related to it.")
		return
	}
	t := a.table("step", "weight", "id", "relation", "text")
	for _, s := range all {
		relation := ids.Short(s.From) + " " + s.Type
		if !s.Says {
			relation = s.Type + " " + ids.Short(s.From)
		}
		t.AppendRow([]any{s.Depth, number(&s.Weight, 2), ids.Short(s.Memory.ID), printable(relation), line(s.Memory.Level(memory.Abstract), a.width()-55)})
	}
	t.Render()
}

func newRelateCommand(a *app) *cobra.Command {
	var r memory.RelateRequest
	cmd := &cobra.Command{
		Use:   "relate ID TARGET",
		Short: "Note how a memory stands to another",
		Long: `Relate notes a relation of the memory ID to the memory TARGET; one that there is gets the weight. related_to and contradicts hold both ways; updates, caused_by,
result_of, part_of, triggers, reinforces, weakens, violated, predicts, confirmed and overrides from ID to TARGET.`,
		Example: `  memctl relate 8f3k2m9p k3f9x2ab
  memctl relate 8f3k2m9p k3f9x2ab --type caused_by --weight 0.8`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: a.completeArgs(a.memories, 0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := notZero(cmd, "weight"); err != nil {
				return err
			}
			r.ID, r.TargetID, r.Agent = args[0], args[1], a.agent
			return a.with(cmd.Context(), canWrite, func(e *engine.Engine) error {
				m, err := e.Relate(cmd.Context(), r)
				if err != nil {
					return err
				}
				return a.answer(m, func() { a.printf("Related %s and %s: %s\n", args[0], args[1], r.Type) })
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&r.Type, "type", "related_to", "how it stands to the other")
	f.Var(fractionOf(&r.Weight), "weight", "how strong the relation is, above 0 and up to 1")
	r.Weight = 1
	f.Lookup("weight").DefValue = "1"
	complete(cmd, "type", memory.RelationTypes())
	return cmd
}

func newUnrelateCommand(a *app) *cobra.Command {
	var r memory.UnrelateRequest
	cmd := &cobra.Command{
		Use:   "unrelate ID TARGET",
		Short: "Take a relation of two memories back",
		Long:  `Unrelate takes back what relate noted of two memories: the relation of --type, or all.`,
		Example: `  memctl unrelate 8f3k2m9p k3f9x2ab
  memctl unrelate 8f3k2m9p k3f9x2ab --type caused_by`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: a.completeArgs(a.memories, 0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.ID, r.TargetID, r.Agent = args[0], args[1], a.agent
			return a.with(cmd.Context(), canWrite, func(e *engine.Engine) error {
				if err := e.Unrelate(cmd.Context(), r); err != nil {
					return err
				}
				return a.answer(map[string]string{"id": r.ID, "target_id": r.TargetID}, func() { a.printf("%s and %s are no longer related.\n", args[0], args[1]) })
			})
		},
	}
	cmd.Flags().StringVar(&r.Type, "type", "", "only this relation (default all)")
	complete(cmd, "type", memory.RelationTypes())
	return cmd
}
