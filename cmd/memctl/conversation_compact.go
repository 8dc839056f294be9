package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/ids"
)

// defaultBudget is the budget of a compaction that names none, in tokens.
const defaultBudget = 128_000

func newConversationCompactCommand(a *app) *cobra.Command {
	r := compact.Request{Budget: defaultBudget}
	var pending bool
	cmd := &cobra.Command{
		Use:   "compact [NAME]",
		Short: "Make a conversation's context smaller",
		Long: `Compact makes summaries of old messages, and of old summaries, when the context is above its threshold: three quarters of the budget,
unless the configuration says otherwise. No message is lost. The modes: sweep goes on until the context is below the threshold; under until
it is below the whole budget or --target; leaf makes one summary. --force compacts in any case.

With --policy rolling one summary takes the place of all but the newest half of the messages, and of the summary before it, when the context comes within the reserve of the
budget or has too many messages. Its modes: sweep; preflight, before a model is called, also above 95 % of the budget; startup from half of it on, until there is room.

Summaries are written by the model that the configuration names, else they pick sentences. --pending does, in place of one conversation,
those whose compaction was put off.`,
		Example: `  memctl conversation compact standup --budget 32000
  memctl conversation compact standup --force
  memctl conversation compact standup --policy rolling --budget 200000 --live 196400
  memctl conversation compact --pending`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeArgs(a.conversations, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			if pending == (len(args) == 1) {
				return usage("give the name of a conversation, or --pending")
			}
			if pending {
				if err := a.wholeFile("--pending"); err != nil {
					return err
				}
			}
			return a.with(cmd.Context(), canWrite|canEmbed|canAsk, func(e *engine.Engine) error {
				if pending {
					done, err := e.CompactPending(cmd.Context())
					documents := []stored{}
					for _, v := range done {
						documents = append(documents, stored{v, a.withoutVector("summaries have", v.VectorErr)})
					}
					return errors.Join(a.answer(documents, func() { a.printPending(done, err) }), err)
				}
				r.Conversation, r.Agent = args[0], a.agent
				if _, err := e.Conversation(cmd.Context(), r.Conversation, r.Agent); err != nil {
					return err
				}
				v, err := e.Compact(cmd.Context(), r)
				if v == nil {
					return err
				}
				return errors.Join(a.answerStored(v, "summaries have", v.VectorErr, func() { a.printCompacted(v) }), err)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar((*string)(&r.Policy), "policy", "", "dag or rolling (default as configured, else dag)")
	f.StringVar((*string)(&r.Mode), "mode", string(compact.Sweep), "sweep, under or leaf; of rolling sweep, preflight or startup")
	f.IntVar(&r.Live, "live", 0, "tokens that the provider counted in the prompt")
	f.IntVar(&r.Budget, "budget", defaultBudget, "what the model's context holds, in tokens")
	f.IntVar(&r.Target, "target", 0, "with --mode under: tokens to get below (default the budget)")
	f.BoolVar(&r.Force, "force", false, "compact although the context is not above its threshold")
	f.StringVar(&r.Instructions, "instructions", "", "for the summariser")
	f.BoolVar(&pending, "pending", false, "compact the conversations whose compaction was put off")
	complete(cmd, "mode", append(compact.DAG.Modes(), compact.Preflight, compact.Startup))
	complete(cmd, "policy", compact.Policies())
	for _, name := range []string{"policy", "mode", "live", "budget", "target", "force", "instructions"} {
		cmd.MarkFlagsMutuallyExclusive("pending", name) // what was put off has its own
	}
	return cmd
}

func (a *app) printPending(done []*compact.Compacted, err error) {
	if len(done) == 0 && err == nil {
		a.note("No compaction is due.")
	}
	for _, v := range done {
		a.printf("%s  ", ids.Short(v.ConversationID))
		a.printCompacted(v)
	}
}

func (a *app) printCompacted(v *compact.Compacted) {
	if !v.Changed {
		a.printf("Nothing changed: %s. %s.\n", cmp.Or(v.Reason, "nothing to do"), plural(v.TokensAfter, "token", "tokens"))
		return
	}
	a.printf("%d → %d tokens", v.TokensBefore, v.TokensAfter)
	if v.Reason != "" {
		a.printf(" (%s)", v.Reason)
	}
	a.printf("\n")
	t := a.table("summary", "depth", "items", "tokens", "level")
	for _, p := range v.Passes {
		level := cmp.Or(p.Source, string(p.Level))
		if p.Fallback {
			level += ", fallback"
		}
		t.AppendRow([]any{ids.Short(p.SummaryID), p.Depth, p.Items, fmt.Sprintf("%d → %d", p.TokensBefore, p.TokensAfter), level})
	}
	t.Render()
}

func newConversationRewriteCommand(a *app) *cobra.Command {
	var r compact.RewriteRequest
	var fallbacks bool
	cmd := &cobra.Command{
		Use:   "rewrite ID [TEXT…]",
		Short: "Give a summary another text",
		Long: `Rewrite replaces the text of a summary by TEXT, or standard input for "-", or without TEXT by what the summariser makes of its sources
anew. It has to be shorter than what it stands for. --fallbacks rewrites, in place of one, all summaries that were made without the
model; ID is then the conversation, or nothing for all of them.`,
		Example: `  memctl conversation rewrite 7h4k2m9q "The crane stood still for two days."
  memctl conversation rewrite 7h4k2m9q --instructions "Keep the names of the ships."
  memctl conversation rewrite --fallbacks`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if len(args) == 0 && !fallbacks || len(args) > 1 && fallbacks {
				return usage("give the id of a summary, or --fallbacks")
			}
			if len(args) > 1 {
				if r.Text, err = a.text(args[1:]); err != nil {
					return err
				}
				if strings.TrimSpace(r.Text) == "" {
					return usage("the text is blank")
				}
				if r.Instructions != "" {
					return usage("instructions are for the summariser; allowed without a text")
				}
			}
			return a.with(cmd.Context(), canWrite|canEmbed|canAsk, func(e *engine.Engine) error {
				if fallbacks {
					v, err := e.RetryFallbacks(cmd.Context(), compact.RetryRequest{Conversation: strings.Join(args, ""), Agent: a.agent, Instructions: r.Instructions})
					switch {
					case errors.Is(err, engine.ErrNoLLM):
						return fmt.Errorf("%w; name one in the configuration, see `memctl config`", err)
					case err != nil && len(v.Rewritten) == 0:
						return err
					}
					return errors.Join(a.answerStored(v, "summaries have", v.VectorErr, func() {
						a.printf("%d rewritten, %d left.\n", len(v.Rewritten), v.Left)
						if v.Reason != "" {
							a.note("The others have to wait: %s.", v.Reason)
						}
					}), err)
				}
				r.ID, r.Agent = args[0], a.agent
				s, err := e.RewriteSummary(cmd.Context(), r)
				if err != nil {
					return err
				}
				return a.answerStored(s, "summary has", s.VectorErr, func() {
					a.printf("%s now has %s for %d.\n%s", ids.Short(s.ID), plural(s.Tokens, "token", "tokens"), s.SourceTokens, indent(s.Text, "   ", a.width()))
				})
			})
		},
	}
	cmd.Flags().StringVar(&r.Instructions, "instructions", "", "for the summariser")
	cmd.Flags().BoolVar(&fallbacks, "fallbacks", false, "rewrite those that were made without the model")
	return cmd
}

func newConversationDissolveCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "dissolve ID",
		Short: "Put back what a summary stands for",
		Long: `Dissolve removes a summary from the context and puts what it was made from back in its place. Only a summary that stands in the
context can be dissolved.`,
		Example: `  memctl conversation dissolve 7h4k2m9q`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), canWrite, func(e *engine.Engine) error {
				s, err := e.DissolveSummary(cmd.Context(), compact.DissolveRequest{ID: args[0], Agent: a.agent})
				if err != nil {
					return err
				}
				return a.answer(s, func() {
					a.printf("Dissolved %s into %s.\n", ids.Short(s.ID), plural(len(s.Sources), "item", "items"))
				})
			})
		},
	}
}
