package main

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/lookup"
	"github.com/mallardmem/mallard/engine/share"
)

func newSearchCommand(a *app) *cobra.Command {
	var r lookup.SearchRequest
	var recent bool
	var tally string
	var least float64
	cmd := &cobra.Command{
		Use:   "search [TEXT…]",
		Short: "Find what was said: word for word, by meaning, or both",
		Long: `Search finds messages by words and meaning together, by meaning alone (--match semantic), or word for word, in any case of letters and the newest first
(--match exact); nothing in TEXT is a wildcard. --recent prints the newest messages. --tally counts them by role, speaker, source_kind, conversation, day, month, hour
or all. --kind note searches the Markdown files that memctl notes reads.`,
		Example: `  memctl search "brake for HB-455" --conversation standup
  memctl search --match exact "100%" --role user --last-days 30
  memctl search --match semantic "what broke in the gale" --human-only
  memctl search --recent --limit 5 --not-source-kind heartbeat
  memctl search --tally day --since 2026-06-01`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if err := notZero(cmd, "limit", "last-days"); err != nil {
				return err
			}
			if r.Text, err = a.text(args); err != nil {
				return err
			}
			r.Agent = a.agent
			if recent {
				r.Match = lookup.RecentMatch
			}
			if cmd.Flags().Changed("min-score") {
				r.MinScore = &least
			}
			how := canEmbed
			if tally != "" || r.Match == lookup.ExactMatch || r.Match == lookup.RecentMatch {
				how = 0
			}
			return a.asking(cmd.Context(), how, func(file *share.Reader) error {
				if tally != "" {
					if r.Text != "" || r.Match != "" {
						return usage("tally counts messages; given beside it: what to look for")
					}
					all, err := share.Tally.Do(cmd.Context(), file, lookup.TallyRequest{Said: r.Said, By: lookup.TallyBy(tally)})
					if err != nil {
						return err
					}
					return a.answer(orEmpty(all), func() { a.printTally(all, tally) })
				}
				x, err := share.Search.Do(cmd.Context(), file, r)
				if err != nil {
					return err
				}
				return a.answer(x, func() { a.printSearch(x) })
			})
		},
	}
	f := cmd.Flags()
	f.StringVar((*string)(&r.Match), "match", "", "hybrid (default), semantic or exact")
	f.BoolVar(&recent, "recent", false, "the newest messages, without TEXT")
	f.StringVar(&tally, "tally", "", "count messages by role, speaker, source_kind, conversation, day, month, hour or all")
	f.Var(wordsOf(&r.Kinds), "kind", "message (default), note, summary or memory; repeatable")
	saidFlags(cmd, &r.Said)
	f.IntVar(&r.Limit, "limit", 10, "at most so many, 1 to 200")
	f.Var(fractionOf(&least), "min-score", "only hits of this score or more, 0 to 1 (default 0.3 by meaning, 0.1 by both)")
	f.StringVar(&r.Conversation, "conversation", "", "only this conversation, by name or id, with all others of its session key")
	cmd.MarkFlagsMutuallyExclusive("recent", "match", "tally")
	complete(cmd, "match", lookup.Matches())
	complete(cmd, "tally", lookup.TallyWays())
	complete(cmd, "kind", kinds.All())
	a.completeFlag(cmd, "conversation", a.conversations)
	return cmd
}

// saidFlags say which messages are meant.
func saidFlags(cmd *cobra.Command, s *lookup.Said) {
	f := cmd.Flags()
	f.Var(wordsOf(&s.Roles), "role", "only messages of these roles: user, assistant, system, tool; repeatable")
	f.StringArrayVar(&s.Speakers, "speaker", nil, "only messages said by this speaker, in any case of letters; repeatable")
	f.Var(wordsOf(&s.SourceKinds), "source-kind", "only messages that this brought about, such as web, cron or talk; repeatable")
	f.Var(wordsOf(&s.NotSourceKinds), "not-source-kind", "no messages that this brought about; repeatable")
	f.BoolVar(&s.HumanOnly, "human-only", false, "leave out what no person began: scheduled, briefing, subtask, heartbeat, cron")
	f.Var(dateOf(&s.Since), "since", "said from then on")
	f.Var(dateOf(&s.Before), "before", "said before")
	f.IntVar(&s.LastDays, "last-days", 0, "said in the last so many days")
	cmd.MarkFlagsMutuallyExclusive("since", "last-days")
	complete(cmd, "role", kinds.Roles())
}

func (a *app) printSearch(x *lookup.SearchResult) {
	for _, notice := range x.Notices {
		a.note("Note: %s.", notice)
	}
	if len(x.Hits) == 0 {
		a.note("Nothing found.")
	} else {
		t := a.table("score", "id", "said", "by", "text")
		for _, h := range x.Hits {
			score := "–"
			if h.Score > 0 {
				score = number(&h.Score, 3)
			}
			by := byline(h.Speaker, h.Role)
			if h.Path != "" {
				by = place(h.Path, h.FirstLine, h.LastLine)
			}
			t.AppendRow([]any{score, ids.Short(h.ID), minute(h.At), by, line(h.Snippet, a.width()-57)})
		}
		t.Render()
	}
	if x.Truncated {
		a.note("The time ran out: there may be more.")
	}
}

func (a *app) printTally(all []lookup.Tallied, by string) {
	if len(all) == 0 {
		a.note("No messages.")
		return
	}
	t := a.table(strings.ReplaceAll(by, "_", " "), "messages", "tokens", "first", "last")
	for _, n := range all {
		name := n.Name
		if name == "" {
			name = "–"
		}
		t.AppendRow([]any{line(name, 40), n.Messages, n.Tokens, minute(n.FirstAt), minute(n.LastAt)})
	}
	t.Render()
}

func newGapsCommand(a *app) *cobra.Command {
	var r lookup.GapsRequest
	cmd := &cobra.Command{
		Use:   "gaps [NAME]",
		Short: "Show when nothing was said",
		Long: `Gaps prints the silences between messages of users, newest first: in the conversation NAME and all others of its session key, or without NAME in each.
The view report.gaps has all of an hour or more.`,
		Example: `  memctl gaps
  memctl gaps standup --least 24h --human-only
  memctl gaps standup --role assistant --last-days 30`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeArgs(a.conversations, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := notZero(cmd, "limit", "least", "last-days"); err != nil {
				return err
			}
			if r.Agent = a.agent; len(args) == 1 {
				r.Conversation = args[0]
			}
			return a.asking(cmd.Context(), 0, func(file *share.Reader) error {
				all, err := share.Gaps.Do(cmd.Context(), file, r)
				if err != nil {
					return err
				}
				return a.answer(orEmpty(all), func() { a.printGaps(all) })
			})
		},
	}
	cmd.Flags().DurationVar(&r.Least, "least", time.Hour, "how long a silence is at least")
	cmd.Flags().IntVar(&r.Limit, "limit", 20, "at most so many, 1 to 1000")
	saidFlags(cmd, &r.Said)
	return cmd
}

func (a *app) printGaps(all []lookup.Gap) {
	if len(all) == 0 {
		a.note("No silence as long.")
		return
	}
	t := a.table("conversation", "from", "to", "hours", "ended by")
	for _, g := range all {
		hours := g.Lasted.Hours()
		t.AppendRow([]any{line(g.Conversation, 40), minute(g.BeganAt), minute(g.EndedAt), number(&hours, 1), ids.Short(g.After)})
	}
	t.Render()
}
