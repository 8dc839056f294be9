package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
)

func newConversationAskCommand(a *app) *cobra.Command {
	var r engine.ExpandQueryRequest
	cmd := &cobra.Command{
		Use:   "ask NAME QUESTION…",
		Short: "Answer a question from what summaries stand for",
		Long: `Ask finds the messages that answer a question among those that are in the context only as summaries, best first and within --cap tokens,
and has the configured model answer from them. Without a model it prints the messages. Ids in square brackets are the sources.`,
		Example: `  memctl conversation ask standup "which cranes did the gale take?"
  memctl conversation ask standup "what was ordered?" --query "order brake" --cap 8000 --json`,
		Args:              cobra.MinimumNArgs(2),
		ValidArgsFunction: a.completeConversation,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if err := notZero(cmd, "cap"); err != nil {
				return err
			}
			if r.Prompt, err = a.text(args[1:]); err != nil {
				return err
			}
			r.Conversation, r.Agent = args[0], a.agent
			return a.with(cmd.Context(), canEmbed|canAsk, func(e *engine.Engine) error {
				v, err := e.ExpandQuery(cmd.Context(), r)
				if err != nil {
					return err
				}
				document := struct {
					*engine.QueryAnswer
					ModelErr string `json:"model_error,omitempty"`
				}{QueryAnswer: v}
				if v.ModelErr != nil {
					document.ModelErr = v.ModelErr.Error()
					a.note("The model did not answer: %s", printable(document.ModelErr))
				}
				return a.answer(document, func() {
					a.printf("%s\n", printable(strings.TrimRight(v.Answer, "\n")))
					if v.Truncated {
						a.note("More was found than fits into the tokens: --cap.")
					}
				})
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&r.Query, "query", "", "what to look for (default the question)")
	f.StringArrayVar(&r.SummaryIDs, "below", nil, "look only below this summary; repeatable")
	f.IntVar(&r.TokenCap, "cap", 0, "at most so many tokens of messages (default that of the configuration)")
	return cmd
}
