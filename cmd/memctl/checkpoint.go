package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/checkpoint"
	"github.com/mallardmem/mallard/engine/ids"
)

func newCheckpointCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "checkpoint",
		Short: "Note how a conversation stands, and see it later",
		Long: `Checkpoint keeps what a conversation was about at a moment: a summary, its topics, decisions and open questions. It changes nothing of the conversation.
A compaction of the policy rolling may take a checkpoint for its summary. NAME is a conversation's name or id.`,
		Example: `  memctl checkpoint create standup
  memctl checkpoint list standup
  memctl checkpoint show 7h4k2m9q`,
	}
	cmd.AddCommand(newCheckpointCreateCommand(a), newCheckpointListCommand(a), newCheckpointShowCommand(a))
	return cmd
}

func newCheckpointCreateCommand(a *app) *cobra.Command {
	var r checkpoint.Request
	var ifDue bool
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a checkpoint now",
		Long: `Create makes a checkpoint of everything in the conversation's context, by the model that the configuration names, else of the sentences that tell most. With --if-due
only when one is due: at shares of the budget, or after so many messages of the user, as the configuration has it.`,
		Example: `  memctl checkpoint create standup
  memctl checkpoint create standup --if-due --budget 200000 --live 51200`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeArgs(a.conversations, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Conversation, r.Agent = args[0], a.agent
			return a.with(cmd.Context(), canWrite|canAsk, func(e *engine.Engine) error {
				do := e.Checkpoint
				if ifDue {
					do = e.MaybeCheckpoint
				}
				m, err := do(cmd.Context(), r)
				if err != nil {
					return err
				}
				return a.answer(m, func() {
					if m.Checkpoint == nil {
						a.printf("No checkpoint: %s. %s.\n", m.Reason, plural(m.Tokens, "token", "tokens"))
						return
					}
					a.printf("%s, for: %s.\n", ids.Short(m.Checkpoint.ID), m.Reason)
					a.printCheckpoint(m.Checkpoint)
				})
			})
		},
	}
	f := cmd.Flags()
	f.BoolVar(&ifDue, "if-due", false, "make none unless one is due")
	f.IntVar(&r.Budget, "budget", defaultBudget, "what the model's context holds, in tokens")
	f.IntVar(&r.Live, "live", 0, "tokens that the provider counted in the prompt (default as stored)")
	f.StringVar(&r.Instructions, "instructions", "", "for the model")
	return cmd
}

func newCheckpointListCommand(a *app) *cobra.Command {
	r := checkpoint.ListRequest{Limit: 100}
	cmd := &cobra.Command{
		Use:               "list NAME",
		Short:             "List a conversation's checkpoints",
		Long:              `List shows the checkpoints of a conversation, the newest first.`,
		Example:           `  memctl checkpoint list standup --limit 5`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeArgs(a.conversations, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := notZero(cmd, "limit"); err != nil {
				return err
			}
			r.Conversation, r.Agent = args[0], a.agent
			return a.with(cmd.Context(), 0, func(e *engine.Engine) error {
				all, err := e.Checkpoints(cmd.Context(), r)
				if err != nil {
					return err
				}
				return a.answer(orEmpty(all), func() {
					if len(all) == 0 {
						a.note("There are no checkpoints of it yet; `memctl checkpoint create` makes one.")
						return
					}
					t := a.table("id", "made", "up to", "tokens", "by", "summary")
					right(t, "up to", "tokens")
					for _, k := range all {
						t.AppendRow([]any{ids.Short(k.ID), minute(k.CreatedAt), k.UpTo, k.TokensAt, printable(k.By), oneLine(k.Summary)})
					}
					t.Render()
				})
			})
		},
	}
	cmd.Flags().IntVar(&r.Limit, "limit", r.Limit, "at most so many, 1 to 10000")
	return cmd
}

func newCheckpointShowCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "show ID",
		Short:   "Show a checkpoint",
		Long:    `Show prints a checkpoint, found by its id or the ending of that, of six characters or more.`,
		Example: `  memctl checkpoint show 7h4k2m9q --json`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), 0, func(e *engine.Engine) error {
				k, err := e.GetCheckpoint(cmd.Context(), args[0], a.agent)
				if err != nil {
					return err
				}
				return a.answer(k, func() {
					a.printf("%s  %s  up to message %d, %s, by %s\n", k.ID, minute(k.CreatedAt), k.UpTo, plural(k.TokensAt, "token", "tokens"), printable(k.By))
					a.printCheckpoint(k)
				})
			})
		},
	}
}

func (a *app) printCheckpoint(k *checkpoint.Checkpoint) {
	a.printf("%s", indent(k.Text(), "   ", a.width()))
}

// oneLine is the beginning of a text.
func oneLine(text string) string {
	line := strings.Join(strings.Fields(printable(text)), " ")
	if runes := []rune(line); len(runes) > 60 {
		line = string(runes[:59]) + "…"
	}
	return line
}

func newSessionRetryCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "retry",
		Short: "Write the summaries that failed",
		Long: `Retry has the model write what summaries could not tell while it failed, in every conversation: of the policy rolling range by range, the oldest first. What fails again stays
marked, and the exit code is 1. A host calls it every minute or so.`,
		Example: `  memctl session retry`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), canWrite|canEmbed|canAsk, func(e *engine.Engine) error {
				if e.Options().LLM == nil {
					return fmt.Errorf("%w; name one in the configuration, see `memctl config`", engine.ErrNoLLM)
				}
				r, err := e.RetryPending(cmd.Context())
				failing, err2 := e.FailingModels(cmd.Context())
				n := len(r.Rewritten)
				return errors.Join(a.answerStored(map[string]any{"rewritten": n, "failing": orEmpty(failing)}, "summaries have", r.VectorErr, func() {
					a.printf("%s written.\n", plural(n, "summary", "summaries"))
					for _, m := range failing {
						a.note("%s failed %s in a row, the last time at %s (%s).", printable(m.Name), plural(m.Failures, "time", "times"), minute(m.LastAttempt), m.LastClass)
					}
				}), err, err2)
			})
		},
	}
}

func newSessionFlushCommand(a *app) *cobra.Command {
	var r checkpoint.Request
	var ack bool
	cmd := &cobra.Command{
		Use:   "flush NAME",
		Short: "Ask whether it is time to write things down",
		Long: `Flush prints the prompt that asks a model to write down what it must not forget, when the conversation's context has grown to one of the configuration's
thresholds, and nothing else until it is compacted. --ack says that the prompt was given; without it the prompt comes again.`,
		Example: `  memctl session flush standup --budget 200000 --live 104000
  memctl session flush standup --budget 200000 --ack`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeArgs(a.conversations, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Conversation, r.Agent = args[0], a.agent
			return a.with(cmd.Context(), canWrite, func(e *engine.Engine) error {
				p, err := e.FlushPrompt(cmd.Context(), r)
				if err != nil {
					return err
				}
				if p != nil && ack {
					if _, err := e.AckFlush(cmd.Context(), checkpoint.AckRequest{Conversation: p.ConversationID, Agent: a.agent, Cycle: p.Cycle, Percent: p.Percent}); err != nil {
						return err
					}
				}
				return a.answer(map[string]any{"prompt": p}, func() {
					if p == nil {
						a.note("It is not time yet.")
						return
					}
					a.printf("%s, at %d %%:\n%s", p.As, p.Percent, indent(p.Text, "   ", a.width()))
				})
			})
		},
	}
	f := cmd.Flags()
	f.IntVar(&r.Budget, "budget", defaultBudget, "what the model's context holds, in tokens")
	f.IntVar(&r.Live, "live", 0, "tokens that the provider counted in the prompt (default as stored)")
	f.BoolVar(&ack, "ack", false, "note that the prompt was given")
	return cmd
}
