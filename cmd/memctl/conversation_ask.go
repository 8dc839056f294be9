package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/lookup"
)

func newConversationAskCommand(a *app) *cobra.Command {
	var r lookup.ExpandQueryRequest
	cmd := &cobra.Command{
		Use:   "ask NAME QUESTION…",
		Short: "Answer a question from what was said",
		Long: `Ask finds the messages of a conversation that answer a question, whether summaries stand for them or not, best first and within --cap
tokens, and has the configured model answer from them. Without a model it prints the best --limit of them. Ids in square brackets are the
sources: the summary that stands for a message, else the message.`,
		Example: `  memctl conversation ask standup "which cranes did the gale take?"
  memctl conversation ask standup "which cranes did the gale take?" --limit 3
  memctl conversation ask standup "what was ordered?" --query "order brake" --cap 8000 --json`,
		Args:              cobra.MinimumNArgs(2),
		ValidArgsFunction: a.completeArgs(a.conversations, 0),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if err := notZero(cmd, "cap", "limit"); err != nil {
				return err
			}
			if r.Prompt, err = a.text(args[1:]); err != nil {
				return err
			}
			r.Conversation, r.Agent, r.InContext = args[0], a.agent, true
			return a.with(cmd.Context(), canEmbed|canAsk, func(e *engine.Engine) error {
				v, err := e.ExpandQuery(cmd.Context(), r)
				if err != nil {
					return err
				}
				document := struct {
					*lookup.QueryAnswer
					ModelErr string `json:"model_error,omitempty"`
				}{QueryAnswer: v}
				if v.ModelErr != nil {
					document.ModelErr = v.ModelErr.Error()
					a.note("The model did not answer: %s", printable(document.ModelErr))
				}
				return a.answer(document, func() {
					a.printf("%s\n", printable(strings.TrimRight(v.Answer, "\n")))
					if v.Truncated {
						a.note("--limit and --cap let more of what was found in.")
					}
				})
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&r.Query, "query", "", "what to look for (default the question)")
	f.StringArrayVar(&r.SummaryIDs, "below", nil, "look only below this summary; repeatable")
	f.IntVar(&r.Limit, "limit", 0, "at most so many messages, 1 to 1000 (default 10 without a model, else as many as fit)")
	f.IntVar(&r.TokenCap, "cap", 0, "at most so many tokens of messages (default that of the configuration)")
	return cmd
}
