package main

import (
	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
)

func newConversationHeartbeatsCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "heartbeats NAME",
		Short: "Set aside polls that came to nothing",
		Long: `Heartbeats sets aside every turn that asks for HEARTBEAT.md and was answered with HEARTBEAT_OK and nothing else. It leaves the context and
recall; grep and expand still find it.`,
		Example:           "  memctl conversation heartbeats standup",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeArgs(a.conversations, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), canWrite, func(e *engine.Engine) error {
				ids, err := e.PruneHeartbeats(cmd.Context(), conversation.PruneHeartbeatsRequest{Conversation: args[0], Agent: a.agent})
				if err != nil {
					return err
				}
				return a.answer(map[string]any{"ids": append([]string{}, ids...)}, func() { a.printf("%s set aside.\n", plural(len(ids), "message", "messages")) })
			})
		},
	}
}
