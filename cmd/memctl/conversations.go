package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
)

func newConversationsCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "conversations",
		Short: "List conversations, or show one",
		Long:  `Conversations lists all conversations, the one with the newest message first.`,
		Example: `  memctl conversations
  memctl conversations show standup --from 40 --limit 20`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), 0, func(e *engine.Engine) error {
				all, err := e.Conversations(cmd.Context(), a.agent)
				if err != nil {
					return err
				}
				return a.answer(orEmpty(all), func() { a.printConversations(all) })
			})
		},
	}
	cmd.AddCommand(newConversationsShowCommand(a))
	return cmd
}

func (a *app) printConversations(all []engine.Conversation) {
	if len(all) == 0 {
		a.note("No conversations yet.")
		return
	}
	t := a.table("id", "name", "scope", "messages", "last said", "title")
	for _, c := range all {
		t.AppendRow([]any{engine.ShortID(c.ID), line(c.Name, 40), c.Scope, c.Messages, minute(c.LastSaidAt), line(c.Title, 40)})
	}
	t.Render()
}

func newConversationsShowCommand(a *app) *cobra.Command {
	var r engine.MessagesRequest
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show the messages of a conversation",
		Long:  `Show prints messages in the order they were said. NAME is the conversation's name or id.`,
		Example: `  memctl conversations show standup
  memctl conversations show standup --from 40 --limit 20 --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if r.Limit == 0 {
				return usage("limit is 0; allowed: 1 to 100000")
			}
			r.Conversation, r.Agent = args[0], a.agent
			return a.with(cmd.Context(), 0, func(e *engine.Engine) error {
				messages, err := e.Messages(cmd.Context(), r)
				if err != nil {
					return err
				}
				return a.answer(orEmpty(messages), func() { a.printMessages(messages, r) })
			})
		},
	}
	cmd.Flags().IntVar(&r.From, "from", 1, "the first message's number")
	cmd.Flags().IntVar(&r.Limit, "limit", 100, "at most so many, 1 to 100000")
	return cmd
}

func (a *app) printMessages(messages []*engine.Message, r engine.MessagesRequest) {
	if len(messages) == 0 {
		a.note("No messages from number %d on.", r.From)
	}
	for _, m := range messages {
		a.printf("%d  %s  %s\n", m.Seq, minute(m.SaidAt), printable(cmp.Or(m.Speaker, m.Role)))
		a.printf("%s", indent(m.Text, "   ", a.width()))
		if m.Caption != "" {
			a.printf("%s", indent("["+m.Caption+"]", "   ", a.width()))
		}
	}
	if len(messages) == r.Limit {
		a.note("There may be more: --from %d.", messages[len(messages)-1].Seq+1)
	}
}
