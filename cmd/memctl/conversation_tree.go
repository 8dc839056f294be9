package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/ids"
)

func newConversationTreeCommand(a *app) *cobra.Command {
	var texts bool
	cmd := &cobra.Command{
		Use:   "tree NAME",
		Short: "Draw the summaries of a conversation",
		Long: `Tree draws which summaries stand for which, with the messages they cover, their tokens and the times. What stands in the context
is marked with an asterisk: that is what a model is shown.`,
		Example: `  memctl conversation tree standup
  memctl conversation tree standup --texts`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeArgs(a.conversations, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), 0, func(e *engine.Engine) error {
				t, err := e.SummaryTree(cmd.Context(), compact.TreeRequest{Conversation: args[0], Agent: a.agent})
				if err != nil {
					return err
				}
				return a.answer(t, func() { a.printTree(t, texts) })
			})
		},
	}
	cmd.Flags().BoolVar(&texts, "texts", false, "show the beginning of each summary")
	return cmd
}

func (a *app) printTree(t *compact.Tree, texts bool) {
	a.printf("%s  %s, %s in the context\n", printable(t.Conversation.Name), plural(t.Conversation.Messages, "message", "messages"),
		plural(t.Tokens, "token", "tokens"))
	a.printNodes(t.Nodes, "", texts)
}

func (a *app) printNodes(nodes []*compact.TreeNode, margin string, texts bool) {
	for i, n := range nodes {
		branch, below := "├─ ", "│  "
		if i == len(nodes)-1 {
			branch, below = "└─ ", "   "
		}
		a.printf("%s%s%s\n", margin, branch, nodeLine(n))
		if texts && n.Summary != nil {
			a.printf("%s%s  %s\n", margin, below, line(n.Summary.Text, a.width()-len(margin)-5))
		}
		a.printNodes(n.Below, margin+below, texts)
	}
}

// nodeLine is a summary, or a run of messages, on one line.
func nodeLine(n *compact.TreeNode) string {
	seqs := fmt.Sprintf("%d–%d", n.FirstSeq, n.LastSeq)
	if n.FirstSeq == n.LastSeq {
		seqs = fmt.Sprint(n.FirstSeq)
	}
	mark := " "
	if n.InContext {
		mark = "*"
	}
	if n.Summary == nil {
		return fmt.Sprintf("%s %s  %s  %s  %s", mark, plural(n.Messages, "message", "messages"), seqs, plural(n.Tokens, "token", "tokens"), stretch(n.EarliestAt, n.LatestAt))
	}
	s := n.Summary
	level := string(s.Level)
	if s.Fallback {
		level += ", fallback"
	}
	return fmt.Sprintf("%s %s  depth %d  %s  %d tokens for %d  %s  %s", mark, ids.Short(s.ID), s.Depth, seqs, s.Tokens, s.SourceTokens,
		stretch(n.EarliestAt, n.LatestAt), level)
}

// stretch is from when to when, without saying a day or a minute twice.
func stretch(from, until time.Time) string {
	switch {
	case minute(from) == minute(until):
		return minute(from)
	case day(from) == day(until):
		return minute(from) + "–" + until.UTC().Format("15:04")
	}
	return minute(from) + " – " + minute(until)
}
