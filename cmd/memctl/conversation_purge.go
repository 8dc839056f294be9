package main

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
)

// mostDays is about a hundred years; a time.Duration has no room for three hundred.
const mostDays = 36_500

func newConversationPruneCommand(a *app) *cobra.Command {
	var r compact.PruneSetAsideRequest
	var days int
	var shred bool
	cmd := &cobra.Command{
		Use:   "prune [NAME]",
		Short: "Remove for good what was set aside long ago",
		Long: `Prune purges messages that left the context without a summary --days or more ago: heartbeats, records of the host, and what was edited
away, unless --reason names others. Of each its number, role, keys and times stay. Without NAME all conversations are pruned; --dry-run only counts.`,
		Example: `  memctl conversation prune --days 90 --dry-run
  memctl conversation prune standup --days 30 --reason heartbeat`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeArgs(a.conversations, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			if days < 0 || days > mostDays {
				return usage("days is %d; allowed: 0 to %d", days, mostDays)
			}
			if len(args) == 1 {
				r.Conversation = args[0]
			}
			if shred && r.DryRun {
				return usage("give --shred or --dry-run")
			}
			r.Agent, r.OlderThan = a.agent, time.Duration(days)*24*time.Hour
			return a.with(cmd.Context(), canWrite, func(e *engine.Engine) error {
				v, err := e.PruneSetAside(cmd.Context(), r)
				if err != nil {
					return err
				}
				return a.answerShredding(cmd.Context(), e, shred, v, func() {
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
	shredFlag(cmd, &shred)
	cmd.MarkFlagRequired("days")
	complete(cmd, "reason", slices.DeleteFunc(conversation.SetAsides(), func(s conversation.SetAside) bool { return s == conversation.AsidePurged }))
	return cmd
}

func newConversationPurgeCommand(a *app) *cobra.Command {
	var r compact.PurgeMessagesRequest
	var all, shred bool
	cmd := &cobra.Command{
		Use:   "purge NAME [ID…]",
		Short: "Remove messages, or a conversation, for good",
		Long: `Purge removes what messages say, and all that is known of it: their parts, files, words and vectors. Of each its number, role, keys and times
stay, so that nothing brings it back. Summaries that stood for it are made anew from what is left. IDs are whole ones. --all removes, in
place of messages, the conversation itself with everything in it; nothing of it stays. With --shred the file is then written anew, so that none of
its bytes has what was purged.`,
		Example: `  memctl conversation purge standup msg_01m7zjezfeebdmt67q8bg3jg19
  memctl conversation purge standup --all --shred`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completeArgs(a.conversations, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) > 1) {
				return usage("give the ids of messages, or --all")
			}
			r.Conversation, r.IDs, r.Agent = args[0], args[1:], a.agent
			return a.with(cmd.Context(), canWrite, func(e *engine.Engine) (err error) {
				var v *compact.Purged
				if all {
					v, err = e.PurgeConversation(cmd.Context(), r.Conversation, r.Agent)
				} else {
					v, err = e.PurgeMessages(cmd.Context(), r)
				}
				if err != nil {
					return err
				}
				return a.answerShredding(cmd.Context(), e, shred, v, func() {
					if all {
						a.printf("The conversation is purged, with %s.\n", plural(v.Messages, "message", "messages"))
						return
					}
					a.printf("%s purged; %s made anew, %s removed.\n", plural(v.Messages, "message", "messages"),
						plural(len(v.Rewritten), "summary", "summaries"), plural(len(v.Removed), "summary", "summaries"))
				})
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "remove the whole conversation")
	shredFlag(cmd, &shred)
	return cmd
}
