package main

import (
	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/share"
)

func newListCommand(a *app) *cobra.Command {
	var r memory.ListRequest
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List memories, newest first",
		Long: `List shows memories by what they are, not by what they say: for that there is recall.

--standing is current, superseded, expired, forgotten or any; without it, all but the forgotten ones are listed. --as-of and --known-at list what was true
and known then, as it was.`,
		Example: `  memctl list --scope user:ines --category preference
  memctl list --standing superseded --since 2026-05-01
  memctl list --where ticket=HB-455
  memctl list --known-at 2026-05-01
  memctl list --limit 1000 --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r.Agent = a.agent
			if r.Limit == 0 {
				return usage("limit is 0; allowed: 1 to 100000")
			}
			return a.asking(cmd.Context(), 0, func(file *share.Reader) error {
				memories, err := share.List.Do(cmd.Context(), file, r)
				if err != nil {
					return err
				}
				a.noteRefused()
				return a.answer(orEmpty(memories), func() { a.printMemories(memories, r) })
			})
		},
	}
	f := cmd.Flags()
	f.Var(wordsOf(&r.Scopes), "scope", "only these scopes; repeatable")
	f.Var(wordsOf(&r.Categories), "category", "only these categories; repeatable")
	f.Var(wordsOf(&r.Tiers), "tier", "only these tiers; repeatable")
	f.Var(wordsOf(&r.States), "state", "only these states: pending, confirmed, archived; repeatable")
	f.Var(pairsOf(&r.Where), "where", "only those with this metadata, as KEY=VALUE; repeatable: all of it")
	momentFlags(cmd, &r.AsOf, &r.KnownAt)
	f.StringVar(&r.Standing, "standing", "", "current, superseded, expired, forgotten or any")
	f.Var(dateOf(&r.Since), "since", "created from then on")
	f.Var(dateOf(&r.Until), "until", "created before")
	f.IntVar(&r.Limit, "limit", 20, "at most so many, 1 to 100000")
	f.IntVar(&r.Offset, "offset", 0, "leave out so many first")
	complete(cmd, "category", memory.Categories())
	complete(cmd, "tier", memory.Tiers())
	complete(cmd, "state", memory.States())
	complete(cmd, "standing", []string{"current", "superseded", "expired", "forgotten", "any"})
	return cmd
}

func (a *app) printMemories(memories []*memory.Memory, r memory.ListRequest) {
	if len(memories) == 0 {
		a.note("No memories match.")
		return
	}
	t := a.table("id", "created", "scope", "category", "tier", "text")
	used := 0
	for _, m := range memories {
		used = max(used, len(m.Scope))
	}
	for _, m := range memories {
		what := m.Level(memory.Abstract)
		switch {
		case !r.IsZero(): // what became of it came later
		case !m.RetiredAt.IsZero():
			what = "[forgotten] " + what
		case m.SupersededBy != "":
			what = "[superseded] " + what
		}
		t.AppendRow([]any{ids.Short(m.ID), day(m.CreatedAt), m.Scope, m.Category, m.Tier, line(what, a.width()-used-48)})
	}
	t.Render()
	if len(memories) == r.Limit {
		a.note("There may be more: --limit, --offset %d.", r.Offset+r.Limit)
	}
}
