package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/ids"
)

func newConversationNewCommand(a *app) *cobra.Command {
	var retain int
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Begin a new session of a conversation",
		Long: `New takes the messages and the shallow summaries out of a conversation's context, which goes on with what is left. Nothing is lost: all
of it can still be found and expanded. --retain says from which depth on summaries stay: 0 keeps all summaries, -1 keeps everything.`,
		Example: `  memctl conversation new standup
  memctl conversation new standup --retain 1`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeArgs(a.conversations, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			r := conversation.NewSessionRequest{Conversation: args[0], Agent: a.agent, RetainDepth: given(cmd, "retain", retain)}
			return a.with(cmd.Context(), canWrite, func(e *engine.Engine) error {
				v, err := e.NewSession(cmd.Context(), r)
				if err != nil {
					return err
				}
				return a.answer(v, func() {
					if v.Skipped != "" {
						a.printf("Nothing was done: %s.\n", v.Skipped)
						return
					}
					a.printf("%d → %d tokens: %s and %s left the context, %s.\n", v.TokensBefore, v.TokensAfter,
						plural(v.Messages, "message", "messages"), plural(v.Summaries, "summary", "summaries"), plural(v.Kept, "item stays", "items stay"))
				})
			})
		},
	}
	cmd.Flags().IntVar(&retain, "retain", 0, "summaries of this depth stay, -1 for all and messages too (default that of the configuration)")
	return cmd
}

func newConversationResetCommand(a *app) *cobra.Command {
	return a.endCommand("reset NAME", "Archive a conversation and begin another of its name",
		`Reset archives a conversation; what is said next under its name goes to a new, empty one. The archived one can still be read, searched and
expanded. A conversation without a message goes on as it is.`, (*engine.Engine).ResetSession)
}

func newConversationArchiveCommand(a *app) *cobra.Command {
	return a.endCommand("archive NAME", "Archive a conversation",
		`Archive ends a conversation: what is said next under its name begins another one. The archived one can still be read, searched and
expanded.`, (*engine.Engine).Archive)
}

// endCommand makes a command that archives a conversation by one of the engine's verbs.
func (a *app) endCommand(use, short, long string, do func(*engine.Engine, context.Context, conversation.ArchiveRequest) (*conversation.Ended, error)) *cobra.Command {
	var r conversation.ArchiveRequest
	verb, _, _ := strings.Cut(use, " ")
	cmd := &cobra.Command{
		Use:               use,
		Short:             short,
		Long:              long,
		Example:           "  memctl conversation " + verb + " standup",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeArgs(a.conversations, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Conversation, r.Agent = args[0], a.agent
			return a.with(cmd.Context(), canWrite, func(e *engine.Engine) error {
				v, err := do(e, cmd.Context(), r)
				if err != nil {
					return err
				}
				return a.answer(v, func() { a.printEnded(v) })
			})
		},
	}
	cmd.Flags().StringVar((*string)(&r.Cause), "cause", string(conversation.ManualReset), "why")
	complete(cmd, "cause", conversation.ArchiveCauses())
	return cmd
}

func (a *app) printEnded(v *conversation.Ended) {
	switch {
	case v.Skipped != "":
		a.printf("Nothing was done: %s.\n", v.Skipped)
	case v.Fresh:
		a.printf("%s is empty and goes on.\n", ids.Short(v.ConversationID))
	case v.Already:
		a.printf("%s was archived before.\n", ids.Short(v.ConversationID))
	default:
		a.printf("Archived %s; %s left the context.\n", ids.Short(v.ConversationID), plural(v.Messages, "message", "messages"))
	}
	if v.Successor != "" {
		a.printf("%s takes its place.\n", ids.Short(v.Successor))
	}
}

func newConversationBackupCommand(a *app) *cobra.Command {
	cmd := newSnapshotCommand(a)
	cmd.Use, cmd.Short = "backup OUT", "Copy the whole file, before a change"
	cmd.Long = `Backup is memctl snapshot: it writes a consistent copy of the file, with all conversations, to OUT, which must not exist. Contents that
lie in the folder <file>.files go to <OUT>.files.`
	cmd.Example = `  memctl conversation backup before.db`
	return cmd
}
