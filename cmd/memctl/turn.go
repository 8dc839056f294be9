package main

import (
	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/turn"
)

func newTurnCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "turn",
		Short: "What a host's hooks call around a turn of talk",
		Long: `Turn is for the hooks of a host: before the model is asked, "turn before" prints what is known that may matter for what the user says, and after it has answered "turn
after" keeps what was said, notes which memories were of use, and draws memories from the talk now and then. What a session was shown is not shown again for
some turns, also when each call is a process of its own. The table [turns] of the configuration file has all limits (memctl config show).`,
		Example: `  memctl turn before "which editor do I like?" --session s1
  memctl turn after "which editor do I like?" --answer "You told me Zed." --conversation standup --session s1`,
	}
	cmd.AddCommand(newTurnBeforeCommand(a), newTurnAfterCommand(a))
	return cmd
}

func newTurnBeforeCommand(a *app) *cobra.Command {
	var t turn.Turn
	cmd := &cobra.Command{
		Use:   "before PROMPT…",
		Short: "Print what is known that may matter for what the user says",
		Long: `Before recalls memories for what the user says (arguments, or standard input for "-"), and prints them as one block for the model's prompt: escaped, and labelled as data
that gives no orders. It prints nothing for small talk, and nothing that the session was shown within its last turns, or that was of no use three times in a row.
--json has what was held back too, and why.`,
		Example: `  memctl turn before "which editor do I like?" --session s1
  jq -r .prompt | memctl turn before - --session s1 --scope user:ines --json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if t.Prompt, err = a.text(args); err != nil {
				return err
			}
			t.Agent = a.agent
			return a.with(cmd.Context(), canWrite|canEmbed|canCreate, func(e *engine.Engine) error {
				done, err := e.BeforeTurn(cmd.Context(), t)
				if err != nil {
					return err
				}
				return a.answer(done, func() {
					for _, notice := range done.Notices {
						a.note("Note: %s.", notice)
					}
					a.printf("%s", done.Block)
					switch {
					case done.Skipped != "":
						a.note("Nothing was recalled: %s.", done.Skipped)
					case done.Block == "" && len(done.Held) > 0:
						a.note("Nothing is shown: %s was found, and held back: %s.", ids.Short(done.Held[0].ID), done.Held[0].Reason)
					case done.Block == "":
						a.note("Nothing found.")
					}
				})
			})
		},
	}
	turnFlags(a, cmd, &t)
	cmd.Flags().StringSliceVar(&t.Scopes, "scope", nil, "only memories of these scopes; repeatable")
	return cmd
}

func newTurnAfterCommand(a *app) *cobra.Command {
	var t turn.Turn
	cmd := &cobra.Command{
		Use:   "after PROMPT…",
		Short: "Keep what was said in a turn, and draw memories from the talk now and then",
		Long: `After appends what the user said (arguments, or standard input for "-") and what the model answered to the conversation, notes which of the memories that "turn before" showed
were of use, by --used or by what the answer says, and extracts memories once enough was said since the last time: four messages of the user or 8,000
characters, unless [turns] says otherwise. With [llm] in the configuration file the model finds them, unless --rules says otherwise.`,
		Example: `  memctl turn after "which editor do I like?" --answer "You told me Zed." --conversation standup
  memctl turn after "order pizza" --answer - --conversation standup --session s1 --used mem_01k4x7… < answer.txt`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if t.Answer == "-" {
				if len(args) == 1 && args[0] == "-" {
					return usage("the prompt and --answer are both \"-\"; allowed: one of them")
				}
				if t.Answer, err = a.text([]string{"-"}); err != nil {
					return err
				}
			}
			if t.Prompt, err = a.text(args); err != nil {
				return err
			}
			t.Agent = a.agent
			need := canWrite | canEmbed | canCreate
			if !t.Rules {
				need |= canAsk
			}
			return a.with(cmd.Context(), need, func(e *engine.Engine) error {
				done, err := e.AfterTurn(cmd.Context(), t)
				if err != nil {
					return err
				}
				return a.answerStored(done, "turn has, in part,", done.VectorErr, func() { a.printOutcome(done) })
			})
		},
	}
	turnFlags(a, cmd, &t)
	f := cmd.Flags()
	f.StringVar(&t.Answer, "answer", "", `what the model answered; "-": standard input`)
	f.StringSliceVar(&t.Used, "used", nil, "memories that were of use, by their whole ids; repeatable")
	f.StringVar(&t.Scope, "scope", "", "whose a new conversation is, and what is drawn from it")
	f.BoolVar(&t.Rules, "rules", false, "ask no language model")
	return cmd
}

func turnFlags(a *app, cmd *cobra.Command, t *turn.Turn) {
	cmd.Flags().StringVar(&t.Conversation, "conversation", "", "where what is said is kept; without one nothing is")
	cmd.Flags().StringVar(&t.Session, "session", "", "where nothing is shown twice within some turns (default the conversation)")
	a.completeFlag(cmd, "conversation", a.conversations)
}

func (a *app) printOutcome(done *turn.Outcome) {
	if a.printf("%s kept.\n", plural(done.Added, "message", "messages")); len(done.Used)+len(done.Unused) > 0 {
		a.printf("%s of use, %d not.\n", plural(len(done.Used), "memory was", "memories were"), len(done.Unused))
	}
	switch {
	case done.Extraction != nil:
		a.printExtraction(done.Extraction)
	case done.Waiting != "":
		a.note("Nothing was drawn from the talk: %s.", done.Waiting)
	}
}
