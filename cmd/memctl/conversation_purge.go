package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
)

func newConversationPruneCommand(a *app) *cobra.Command {
	var r engine.PruneSetAsideRequest
	var days int
	cmd := &cobra.Command{
		Use:   "prune [NAME]",
		Short: "Remove for good what was set aside long ago",
		Long: `Prune purges messages that left the context without a summary --days or more ago: heartbeats, records of the host, and what was edited
away, unless --reason names others. Of each its number, role, keys and times stay. Without NAME all conversations are pruned; --dry-run only counts.`,
		Example: `  memctl conversation prune --days 90 --dry-run
  memctl conversation prune standup --days 30 --reason heartbeat`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeConversation,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				r.Conversation = args[0]
			}
			r.Agent, r.OlderThan = a.agent, time.Duration(days)*24*time.Hour
			return a.with(cmd.Context(), canWrite, func(e *engine.Engine) error {
				v, err := e.PruneSetAside(cmd.Context(), r)
				if err != nil {
					return err
				}
				return a.answer(v, func() {
					verb := "purged"
					if v.DryRun {
						verb = "would be purged"
					}
					a.printf("%s of %s %s: %d tokens, %d bytes, %s.\n", plural(v.Messages, "message", "messages"), plural(v.Conversations, "conversation", "conversations"),
						verb, v.Tokens, v.Bytes, plural(v.Payloads, "large content", "large contents"))
				})
			})
		},
	}
	f := cmd.Flags()
	f.IntVar(&days, "days", 0, "set aside so many days ago, or more")
	f.Var(wordsOf(&r.Reasons), "reason", "new, reset, heartbeat, off_branch or event; repeatable (default heartbeat, off_branch and event)")
	f.BoolVar(&r.DryRun, "dry-run", false, "only count")
	cmd.MarkFlagRequired("days")
	complete(cmd, "reason", engine.SetAsides())
	return cmd
}

func newConversationPurgeCommand(a *app) *cobra.Command {
	var r engine.PurgeMessagesRequest
	cmd := &cobra.Command{
		Use:   "purge NAME ID…",
		Short: "Remove messages for good",
		Long: `Purge removes what messages say, and all that is known of it: their parts, files, words and vectors. Of each its number, role, keys and times
stay, so that nothing brings it back. Summaries that stood for it are made anew from what is left. IDs are whole ones.`,
		Example:           "  memctl conversation purge standup msg_01m7zjezfeebdmt67q8bg3jg19",
		Args:              cobra.MinimumNArgs(2),
		ValidArgsFunction: a.completeConversation,
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Conversation, r.IDs, r.Agent = args[0], args[1:], a.agent
			return a.with(cmd.Context(), canWrite, func(e *engine.Engine) error {
				v, err := e.PurgeMessages(cmd.Context(), r)
				if err != nil {
					return err
				}
				return a.answer(v, func() {
					a.printf("%s purged; %s made anew, %s removed.\n", plural(v.Messages, "message", "messages"),
						plural(len(v.Rewritten), "summary", "summaries"), plural(len(v.Removed), "summary", "summaries"))
				})
			})
		},
	}
	return cmd
}
