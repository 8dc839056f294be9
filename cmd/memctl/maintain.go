package main

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/memory"
)

func newTouchCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "touch ID…",
		Short: "Note that memories were used",
		Long: `Touch counts a use of each memory, now. How often and how lately a memory was used is part of its score and settles its tier: a
peripheral one that is used becomes working, a working one that is used much and matters becomes core. IDs may be unique endings.`,
		Example: `  memctl touch 7k3m9q2x
  memctl recall "release day" --json | jq -r '.hits[0].id' | xargs memctl touch`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, named []string) error {
			return a.with(cmd.Context(), canWrite, func(e *engine.Engine) error {
				whole := make([]string, len(named))
				for i, id := range named {
					m, err := e.Get(cmd.Context(), memory.GetRequest{ID: id, Agent: a.agent})
					if err != nil {
						return err
					}
					whole[i] = m.ID
				}
				e.Touch(whole...)
				done, err := e.FlushTouches(cmd.Context())
				if err != nil {
					return err
				}
				answer := struct {
					Touched []string            `json:"touched"`
					Tiers   []memory.TierChange `json:"tiers"`
				}{whole, orEmpty(done)}
				return a.answer(answer, func() {
					a.printf("Counted %s.\n", plural(len(whole), "use", "uses"))
					a.printTiers(answer.Tiers)
				})
			})
		},
	}
}

func newMaintainCommand(a *app) *cobra.Command {
	var r memory.MaintainRequest
	var retention string
	var days float64
	cmd := &cobra.Command{
		Use:   "maintain",
		Short: "Merge what says the same, expire, forget by policy, settle tiers",
		Long: `Maintain does what is to be done now and then, and prints what it did; --dry-run says it first.

Memories older than a week that say the same within a scope and a category become one: those of the same words, and those that are alike by --similarity, share half of their
words, and all names and numbers. The others end, name the one as their canonical_id, and are found with recall --as-of.
A peripheral memory that was used three times and is alive becomes working; a working one that was used ten times, is alive and important becomes core; a working one that has
faded, or is older than sixty days and hardly used, becomes peripheral; a core one that has faded and is hardly used becomes working: one step at a time. The view
report.tiers shows what every memory is due for.
Told are the memories that expired since the last time. Summaries that were made without the language model are made anew where there is one ([llm] in the
configuration file), and the log is taken into the file.

--retention FILE has a policy in JSON; the file keeps it, and each maintain goes by it. With --dry-run it is only tried: on what is there now, and on what is known of the past. How many
would it have taken, and how many of those were used afterwards? --retention none removes the policy. A rule takes the memories for which all that it says is so:
  {"rules": [{"name": "stale events", "categories": ["event"], "tiers": ["peripheral"], "unused_days": 180, "action": "archive"}]}
It has categories, tiers, layers, scopes, sources, unused_days, older_days and less_important; action is forget or archive.`,
		Example: `  memctl maintain --dry-run
  memctl maintain --retention policy.json --dry-run
  memctl maintain --similarity 0.95 --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			how := canWrite | canEmbed | canAsk
			if r.DryRun {
				how = 0
			}
			if cmd.Flags().Changed("min-age-days") {
				if r.MinAge = time.Duration(days * 24 * float64(time.Hour)); days <= 0 {
					r.MinAge = -1
				}
			}
			if retention != "" {
				r.Retention = &memory.Retention{}
				if retention != "none" {
					if err := a.readJSON(retention, r.Retention); err != nil {
						return err
					}
				}
			}
			return a.with(cmd.Context(), how, func(e *engine.Engine) error {
				if r.Retention != nil && !r.DryRun {
					if err := e.SetRetention(cmd.Context(), *r.Retention); err != nil {
						return err
					}
				}
				done, err := e.Maintain(cmd.Context(), r)
				if err != nil {
					return err
				}
				return a.answerStored(done, "result has, in part,", done.VectorErr, func() { a.printMaintained(done) })
			})
		},
	}
	f := cmd.Flags()
	f.BoolVar(&r.DryRun, "dry-run", false, "only say what would be done")
	f.BoolVar(&r.KeepDuplicates, "keep-duplicates", false, "merge nothing")
	f.Float64Var(&r.Similarity, "similarity", 0.88, "the least cosine of memories that are merged, above 0.5 to 1")
	f.Float64Var(&days, "min-age-days", 7, "how old memories are that are merged; 0: any age")
	f.StringVar(&retention, "retention", "", `a policy as a JSON file, which the file keeps; "none" removes it (default the file's own)`)
	return cmd
}

func (a *app) printMaintained(done *engine.Maintained) {
	would := ""
	if done.DryRun {
		would = " (dry run: nothing was changed)"
	}
	merged := 0
	for _, m := range done.Merged {
		merged += len(m.From)
	}
	a.printf("%s changed, %s merged into %d, %s expired%s.\n", plural(len(done.Tiers), "tier", "tiers"), plural(merged, "memory", "memories"), len(done.Merged),
		plural(len(done.Expired), "memory", "memories"), would)
	a.printTiers(done.Tiers)
	if len(done.Merged) > 0 {
		t := a.table("into", "from", "text")
		for _, m := range done.Merged {
			from := make([]string, len(m.From))
			for i, id := range m.From {
				from[i] = ids.Short(id)
			}
			t.AppendRow([]any{ids.Short(m.Into), line(strings.Join(from, " "), 40), line(m.Text, a.width()-60)})
		}
		t.Render()
	}
	if len(done.Retained) > 0 {
		t := a.table("rule", "action", "taken", "in the past", "used after that, at least")
		right(t, "taken", "in the past", "used after that, at least")
		for _, r := range done.Retained {
			t.AppendRow([]any{printable(r.Rule), r.Action, len(r.Taken), r.Simulated, r.Missed})
		}
		t.Render()
	}
	switch s := done.Summaries; {
	case len(s.Rewritten) > 0:
		a.printf("%s made anew, %d left.\n", plural(len(s.Rewritten), "summary", "summaries"), s.Left)
	case s.Left > 0:
		a.printf("%s without the language model that was asked.\n", plural(s.Left, "summary was made", "summaries were made"))
	}
}

func (a *app) printTiers(changes []memory.TierChange) {
	if len(changes) == 0 {
		return
	}
	t := a.table("memory", "from", "to", "because it is")
	for _, c := range changes {
		t.AppendRow([]any{ids.Short(c.ID), c.From, c.To, c.Reason})
	}
	t.Render()
}
