package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/lineage"
)

func newRetractCommand(a *app) *cobra.Command {
	var r lineage.RetractRequest
	var undo string
	var list bool
	var limit int
	cmd := &cobra.Command{
		Use:   "retract ID",
		Short: "Withdraw a source and all that descends from it",
		Long: `Retract withdraws a message, memory, summary, import or call of a model with all that descends from it: memories that were made from it leave recall,
what these had superseded is true again, confirmations from it are taken back, summaries over it are made anew from what is left. A message is hidden from
recall, every search and extraction. What an independent source says too stays. The texts stay in the file until they are purged.

--dry-run prints what would happen, and why, and changes nothing. --undo takes a retraction back; --list shows those that there are.`,
		Example: `  memctl retract 8f3k2m9p --dry-run
  memctl retract 8f3k2m9p --reason "planted by a web page"
  memctl retract --list
  memctl retract --undo ret_01j8x4v2h6d0e3s5t7w9y1a2b3`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeArgs(a.memories, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			chosen := 0
			for _, is := range []bool{len(args) == 1, undo != "", list} {
				if is {
					chosen++
				}
			}
			switch {
			case chosen != 1:
				return usage("retract takes an ID, --undo or --list, one of them")
			case len(args) == 0 && (r.DryRun || r.Reason != ""):
				return usage("dry-run and reason are for an ID")
			case !list && cmd.Flags().Changed("limit"):
				return usage("limit is for --list")
			case list:
				return a.with(cmd.Context(), 0, func(e *engine.Engine) error {
					all, err := e.Retractions(cmd.Context(), lineage.ListRequest{Agent: a.agent, Limit: limit})
					if err != nil {
						return err
					}
					return a.answer(append([]lineage.Retraction{}, all...), func() { a.printRetractions(all) })
				})
			}
			if len(args) == 1 {
				r.ID, r.Agent = args[0], a.agent
			}
			return a.with(cmd.Context(), canWrite|canEmbed, func(e *engine.Engine) (err error) {
				var done *lineage.Retraction
				if undo != "" {
					done, err = e.UndoRetraction(cmd.Context(), lineage.UndoRequest{ID: undo, Agent: a.agent})
				} else {
					done, err = e.Retract(cmd.Context(), r)
				}
				if err != nil {
					return err
				}
				return a.answerStored(done, "text that came back has", done.VectorErr, func() { a.printRetraction(done) })
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&r.Reason, "reason", "", "why it is withdrawn; needed but with --dry-run")
	f.BoolVar(&r.DryRun, "dry-run", false, "only print what would happen")
	f.StringVar(&undo, "undo", "", "take back the retraction with this id, or its unique ending")
	f.BoolVar(&list, "list", false, "list retractions, the newest first")
	f.IntVar(&limit, "limit", 20, "at most so many, with --list")
	return cmd
}

func (a *app) printRetraction(r *lineage.Retraction) {
	if a.quiet {
		a.printf("%s\n", r.ID)
		return
	}
	t := a.table("What", "Kind", "ID", "Text", "Because")
	for _, e := range r.Effects {
		because := ids.Short(e.Because)
		if e.Note != "" {
			because = e.Note
		}
		t.AppendRow([]any{e.What, e.Kind, ids.Short(e.ID), line(e.Text, max(a.width()-75, 20)), line(because, 34)})
	}
	t.Render()
	a.printf("\n%s withdrawn, %d true again.\n", plural(r.Count(lineage.Withdrawn), "source or memory", "sources and memories"), r.Count(lineage.Restored))
	switch {
	case r.DryRun:
		a.printf("Nothing was changed: this is a dry run.\n")
	case !r.UndoneAt.IsZero():
		a.printf("%s is undone.\n", r.ID)
	default:
		a.printf("Retracted as %s; `memctl retract --undo %s` takes it back.\n", r.ID, ids.Short(r.ID))
	}
}

func (a *app) printRetractions(all []lineage.Retraction) {
	if a.quiet {
		for _, r := range all {
			a.printf("%s\n", r.ID)
		}
		return
	}
	if len(all) == 0 {
		a.printf("No retractions.\n")
		return
	}
	t := a.table("ID", "When", "What", "Reason", "Undone")
	for _, r := range all {
		undone := ""
		if !r.UndoneAt.IsZero() {
			undone = r.UndoneAt.Format(time.DateOnly)
		}
		t.AppendRow([]any{ids.Short(r.ID), r.At.Format(time.DateOnly), string(r.Source.Kind) + " " + ids.Short(r.Source.ID), line(r.Reason, max(a.width()-70, 20)), undone})
	}
	t.Render()
}
