package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/ids"
)

func newConversationCommand(a *app) *cobra.Command {
	list := newConversationListCommand(a)
	cmd := &cobra.Command{
		Use:     "conversation",
		Aliases: []string{"conversations"},
		Short:   "Look into conversations, compact them, find what was said",
		Long: `Conversation without a subcommand lists all conversations, the one with the newest message first.

Every message of a conversation is kept. What a model is shown of it, its context, is made smaller by compacting: summaries take the place
of old messages, and can be expanded again. NAME is a conversation's name or id, ID the id of a summary, message or file; of an id the
ending will do, of six characters or more.`,
		Example: `  memctl conversation
  memctl conversation tree standup
  memctl conversation compact standup --budget 32000`,
		Args: cobra.NoArgs,
		RunE: list.RunE,
	}
	cmd.AddCommand(list, newConversationShowCommand(a), newConversationTreeCommand(a), newConversationContextCommand(a), newConversationAssembleCommand(a),
		newConversationCompactCommand(a), newConversationRewriteCommand(a), newConversationDissolveCommand(a),
		newConversationGrepCommand(a), newConversationDescribeCommand(a), newConversationExpandCommand(a), newConversationAskCommand(a), newConversationFileCommand(a),
		newConversationNewCommand(a), newConversationResetCommand(a), newConversationArchiveCommand(a), newConversationBackupCommand(a),
		newConversationHeartbeatsCommand(a), newConversationPruneCommand(a), newConversationPurgeCommand(a))
	return cmd
}

func newConversationListCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List conversations",
		Long:    `List shows all conversations, archived ones too, the one with the newest message first.`,
		Example: `  memctl conversation list --json`,
		Args:    cobra.NoArgs,
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
}

func (a *app) printConversations(all []conversation.Conversation) {
	if len(all) == 0 {
		a.note("No conversations yet.")
		return
	}
	t := a.table("id", "name", "scope", "messages", "last said", "archived", "title")
	for _, c := range all {
		archived := minute(c.ArchivedAt)
		if c.ArchiveCause != "" {
			archived += " (" + c.ArchiveCause + ")"
		}
		t.AppendRow([]any{ids.Short(c.ID), line(c.Name, 40), c.Scope, c.Messages, minute(c.LastSaidAt), archived, line(c.Title, 40)})
	}
	t.Render()
}

func newConversationShowCommand(a *app) *cobra.Command {
	var r conversation.MessagesRequest
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show the messages of a conversation",
		Long:  `Show prints messages in the order they were said. NAME is the conversation's name or id.`,
		Example: `  memctl conversation show standup
  memctl conversation show standup --from 40 --limit 20 --json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeArgs(a.conversations, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			if r.Limit == 0 {
				return usage("limit is 0; allowed: 1 to 100000")
			}
			if r.From < 1 {
				return usage("from is %d; allowed: 1 or more", r.From)
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

func (a *app) printMessages(messages []*conversation.Message, r conversation.MessagesRequest) {
	if len(messages) == 0 {
		a.note("No messages from number %d on.", r.From)
	}
	for _, m := range messages {
		aside := ""
		if m.SetAside != "" {
			aside = "  (set aside: " + string(m.SetAside) + ")"
		}
		a.printf("%d  %s  %s%s\n", m.Seq, minute(m.SaidAt), byline(m.Speaker, m.Role), aside)
		if m.Text != "" {
			a.printf("%s", indent(m.Text, "   ", a.width()))
		}
		if m.Caption != "" {
			a.printf("%s", indent("["+m.Caption+"]", "   ", a.width()))
		}
		for _, b := range m.Blocks {
			if s := blockLine(b); s != "" {
				a.printf("   %s\n", line(s, a.width()-3))
			}
		}
	}
	if len(messages) == r.Limit {
		a.note("There may be more: --from %d.", messages[len(messages)-1].Seq+1)
	}
}

// blockLine is a block that says more than the message's text, on one line.
func blockLine(b conversation.Block) string {
	switch b.Type {
	case conversation.TextBlock:
		return ""
	case conversation.ToolCallBlock:
		return "→ " + b.Tool + " " + b.Input
	case conversation.ToolResultBlock:
		return "← " + b.Output
	}
	return strings.Join(strings.Fields(fmt.Sprintf("[%s] %s %s", b.Type, b.FileName, b.Text)), " ")
}
