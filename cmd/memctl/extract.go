package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/extract"
	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/setup"
)

func newExtractCommand(a *app) *cobra.Command {
	var r extract.Request
	var admission string
	cmd := &cobra.Command{
		Use:   "extract [TEXT…]",
		Short: "Draw memories from a conversation or a text",
		Long: `Extract reads what users say in a conversation, or a text (arguments, or standard input for "-"), and draws memories from it: preferences, who somebody is,
contact data, decisions, deadlines, corrections, problems with what mended them. Each becomes a draft with a verdict: create, merge, support, supersede,
contextualize, contradict, skip or reject. memctl drafts shows them later.

A conversation is read on from where the last extraction stopped, or from --from to --to. What was read before gives nothing twice. No language model is
needed: rules for English, German and Chinese find the statements. With [llm] in the configuration file that model does, unless --rules says otherwise.`,
		Example: `  memctl extract --conversation standup
  memctl extract --conversation standup --from 10 --to 40 --dry-run
  memctl extract "My favorite editor is Zed, and I live in Lisbon." --scope user:ines
  pbpaste | memctl extract - --dry-run --json`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if len(args) > 0 {
				if r.Text, err = a.text(args); err != nil {
					return err
				}
			}
			if (r.Text == "") == (r.Conversation == "") {
				return usage("extract takes a text or --conversation, one of them")
			}
			r.Agent = a.agent
			need := canWrite | canEmbed
			if r.Text != "" {
				need |= canCreate
			}
			if !r.Rules {
				need |= canAsk
			}
			o := engine.Options{Extraction: setup.Extraction{Admission: setup.Admission{Preset: admission}}}
			return a.withOptions(cmd.Context(), need, o, func(e *engine.Engine) error {
				report, err := e.Extract(cmd.Context(), r)
				if err != nil {
					return err
				}
				return a.answerStored(report, "memories have", report.VectorErr, func() { a.printExtraction(report) })
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&r.Conversation, "conversation", "", "name or id of the conversation to read")
	f.IntVar(&r.From, "from", 0, "first message to read, by its number (default after the last that was read)")
	f.IntVar(&r.To, "to", 0, "last message to read (default the newest)")
	f.StringVar(&r.Scope, "scope", "", "whose memories they are (default the conversation's scope)")
	f.StringVar(&r.Session, "session", "", "a name for where the text is from")
	f.Var(dateOf(&r.At), "at", "when the text was said (default now)")
	f.BoolVar(&r.DryRun, "dry-run", false, "show drafts and verdicts, store nothing")
	f.BoolVar(&r.Rules, "rules", false, "ask no language model")
	f.StringVar((*string)(&r.Trust), "trust", "", "how far to trust what is drawn: extracted (default), untrusted, imported or stated")
	f.StringVar(&admission, "admission", "", "reject what is not worth keeping: balanced, conservative or high-recall (default keep all)")
	complete(cmd, "trust", memory.Trusts())
	complete(cmd, "admission", setup.AdmissionPresets())
	a.completeFlag(cmd, "conversation", a.conversations)
	return cmd
}

func newAdmissionCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "admission",
		Short:   "What admission let in, and what it kept out",
		Long:    "Admission rejects drafts that are not worth keeping, where memctl extract is given --admission.",
		Example: "  memctl admission stats",
	}
	var r extract.AdmissionStatsRequest
	stats := &cobra.Command{
		Use:   "stats",
		Short: "Count admitted and rejected drafts",
		Long: `Stats counts which drafts were admitted and rejected: in all, within a day and a week, by category and scope, and the five most frequent reasons. The view
report.admission has every draft with its features and score.`,
		Example: "  memctl admission stats --scope user:ines",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r.Agent = a.agent
			return a.with(cmd.Context(), 0, func(e *engine.Engine) error {
				s, err := e.AdmissionStats(cmd.Context(), r)
				if err != nil {
					return err
				}
				return a.answer(s, func() { a.printAdmission(s) })
			})
		},
	}
	stats.Flags().StringSliceVar(&r.Scopes, "scope", nil, "only of these scopes")
	cmd.AddCommand(stats)
	return cmd
}

func (a *app) printAdmission(s *extract.AdmissionStats) {
	t := a.table("Drafts", "Admitted", "Rejected")
	right(t, "Admitted", "Rejected")
	add := func(name string, c extract.AdmissionCount) { t.AppendRow([]any{name, c.Admitted, c.Rejected}) }
	add("all", s.All)
	add("last 24 hours", s.LastDay)
	add("last 7 days", s.LastWeek)
	for _, counts := range []map[string]*extract.AdmissionCount{s.ByCategory, s.ByScope} {
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			add(printable(name), *counts[name])
		}
	}
	t.Render()
	for _, reason := range s.Reasons {
		a.printf("%d rejected: %s\n", reason.Count, reason.Reason)
	}
}

func (a *app) printExtraction(r *extract.Report) {
	if a.quiet {
		for _, d := range r.Drafts {
			if d.MemoryID != "" {
				a.printf("%s\n", d.MemoryID)
			}
		}
		return
	}
	a.printDrafts(r.Drafts)
	if len(r.Drafts) > 0 {
		a.printf("\n")
	}
	a.printf("%s read, %s%s.\n", plural(r.Messages, "message", "messages"), plural(len(r.Drafts), "draft", "drafts"), verdictCounts(r))
	if r.Fallback != "" {
		a.note("Rules took the model's place: %s", r.Fallback)
	}
	if r.DryRun {
		a.printf("Nothing was stored: this is a dry run.\n")
	}
}

// verdictCounts says how often each verdict was reached, and how much was known before.
func verdictCounts(r *extract.Report) string {
	var parts []string
	for _, v := range extract.Verdicts() {
		if n := r.Counts[v]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, v))
		}
	}
	if r.Known > 0 {
		parts = append(parts, fmt.Sprintf("%d known from before", r.Known))
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

func (a *app) printDrafts(drafts []extract.Draft) {
	if len(drafts) == 0 {
		return
	}
	t := a.table("Verdict", "Category", "Text", "Why", "Memory")
	for _, d := range drafts {
		verdict, text := string(d.Verdict), d.Text
		if d.Action != d.Verdict {
			verdict += " → " + string(d.Action)
		}
		if text == "" {
			text = "(purged)"
		}
		if d.Retracted {
			text = "(retracted) " + text
		}
		t.AppendRow([]any{verdict, d.Category, line(text, a.width()-80), line(d.Reason, 40), ids.Short(d.MemoryID)})
	}
	t.Render()
}

func newDraftsCommand(a *app) *cobra.Command {
	var r extract.DraftsRequest
	var verdicts []string
	cmd := &cobra.Command{
		Use:   "drafts",
		Short: "List what was drawn from talk, and what became of it",
		Long: `Drafts lists the statements that memctl extract found, newest first: each with its verdict, the reason, and the memory that it became. Rejected and skipped
ones are among them. --json also has the memories each was compared with.`,
		Example: `  memctl drafts --conversation standup
  memctl drafts --verdict supersede,contradict --limit 50
  memctl drafts --memory mem_01j8x4v2h6d0e3s5t7w9y1a2b3`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, v := range verdicts {
				r.Verdicts = append(r.Verdicts, extract.Verdict(v))
			}
			r.Agent = a.agent
			return a.with(cmd.Context(), 0, func(e *engine.Engine) error {
				all, err := e.Drafts(cmd.Context(), r)
				if err != nil {
					return err
				}
				return a.answer(append([]extract.Draft{}, all...), func() {
					switch {
					case a.quiet:
						for _, d := range all {
							a.printf("%s\n", d.ID)
						}
					case len(all) == 0:
						a.printf("No drafts.\n")
					default:
						a.printDrafts(slices.Clone(all))
					}
				})
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&r.Conversation, "conversation", "", "only of this conversation")
	f.StringVar(&r.Memory, "memory", "", "only what became this memory, or was held against it")
	f.StringSliceVar(&verdicts, "verdict", nil, "only with these verdicts")
	f.StringSliceVar(&r.Scopes, "scope", nil, "only of these scopes")
	f.IntVar(&r.Limit, "limit", 20, "at most so many")
	f.IntVar(&r.Offset, "offset", 0, "after so many")
	complete(cmd, "verdict", extract.Verdicts())
	a.completeFlag(cmd, "conversation", a.conversations)
	return cmd
}
