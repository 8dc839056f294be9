package main

import (
	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/assemble"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/kinds"
)

func newConversationContextCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "context NAME",
		Short: "List what a model is shown of a conversation",
		Long: `Context lists the items of the context in their order: messages, and summaries that stand for messages. What fits into a model's
budget is chosen from these by assemble.`,
		Example: `  memctl conversation context standup
  memctl conversation context standup --json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeArgs(a.conversations, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), 0, func(e *engine.Engine) error {
				items, err := e.Context(cmd.Context(), compact.ContextRequest{Conversation: args[0], Agent: a.agent})
				if err != nil {
					return err
				}
				return a.answer(orEmpty(items), func() { a.printContext(items) })
			})
		},
	}
}

func (a *app) printContext(items []compact.ContextItem) {
	if len(items) == 0 {
		a.note("The context is empty.")
		return
	}
	t := a.table("", "what", "from message", "tokens", "said", "text")
	right(t, "from message", "tokens")
	tokens := 0
	for _, i := range items {
		what := i.Role
		if i.Kind == kinds.Summary {
			what = ids.Short(i.Ref)
		}
		t.AppendRow([]any{i.Ordinal, what, i.Position, i.Tokens, minute(i.EarliestAt), line(i.Text, a.width()-60)})
		tokens += i.Tokens
	}
	t.Render()
	a.note("%s, %s.", plural(len(items), "item", "items"), plural(tokens, "token", "tokens"))
}

// shape is a form of what is assembled.
type shape string

const (
	textShape      shape = "text"
	openAIShape    shape = "openai"
	anthropicShape shape = "anthropic"
)

func newConversationAssembleCommand(a *app) *cobra.Command {
	var r assemble.Request
	as := textShape
	cmd := &cobra.Command{
		Use:   "assemble NAME",
		Short: "Print what a model is shown within a budget",
		Long: `Assemble chooses from the context what fits into the budget, newest first, and prints it: as plain text, or with --as as the messages
that a provider takes. The newest messages are always shown. With --prompt, what answers it best is chosen from the rest.
With --json in place of --as, all figures are printed too.`,
		Example: `  memctl conversation assemble standup --budget 8000
  memctl conversation assemble standup --prompt "when does the crane come back?" --as anthropic`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeArgs(a.conversations, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Conversation, r.Agent, r.PromptAware = args[0], a.agent, r.Prompt != ""
			if as != textShape && as != openAIShape && as != anthropicShape {
				return usage("as is %q; allowed: text, openai, anthropic", string(as))
			}
			if err := notZero(cmd, "budget"); err != nil {
				return err
			}
			return a.with(cmd.Context(), 0, func(e *engine.Engine) error {
				v, err := e.Assemble(cmd.Context(), r)
				if err != nil {
					return err
				}
				return a.printAssembled(v, as)
			})
		},
	}
	f := cmd.Flags()
	f.IntVar(&r.Budget, "budget", 0, "in tokens (default 128000)")
	f.StringVar(&r.Prompt, "prompt", "", "choose by how well it is answered")
	f.StringVar((*string)(&as), "as", string(as), "text, openai or anthropic")
	complete(cmd, "as", []shape{textShape, openAIShape, anthropicShape})
	return cmd
}

func (a *app) printAssembled(v *assemble.Assembled, as shape) (err error) {
	switch as {
	case openAIShape:
		err = a.printJSON(v.OpenAI())
	case anthropicShape:
		system, messages := v.Anthropic()
		err = a.printJSON(map[string]any{"system": system, "messages": messages})
	default:
		err = a.answer(v, func() { a.printf("%s\n", printable(v.Text())) })
	}
	a.note("%s of %s, %s left out with %s.", plural(v.Tokens, "token", "tokens"), plural(v.Budget, "token", "tokens"),
		plural(v.Left.Items, "item", "items"), plural(v.Left.Tokens, "token", "tokens"))
	if v.OverBudget {
		a.note("The newest messages alone are over the budget.")
	}
	return err
}
