package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/lookup"
	"github.com/mallardmem/mallard/engine/share"
)

func newConversationGrepCommand(a *app) *cobra.Command {
	var r lookup.GrepRequest
	var regex bool
	cmd := &cobra.Command{
		Use:   "grep PATTERN [NAME]",
		Short: "Find what was said, in messages and summaries",
		Long: `Grep finds messages and summaries by words, best first, or with --regex by a regular expression in the syntax of RE2, newest first. Words
in quotation marks must stand side by side. Searched are the texts and what tools were given and gave, in the conversation NAME and in all
others of its session key, or without NAME in all.`,
		Example: `  memctl conversation grep "brake for HB-455" standup
  memctl conversation grep --regex "HB-4[0-9]+" standup --since 2026-03-01
  memctl conversation grep "brake" standup --role user --speaker Teo
  memctl conversation grep "low water" --words all --order newest`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: a.completeArgs(a.conversations, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := notZero(cmd, "limit", "deadline"); err != nil {
				return err
			}
			r.Pattern, r.Agent, r.AllConversations = args[0], a.agent, len(args) == 1
			if len(args) == 2 {
				r.Conversation = args[1]
			}
			if regex {
				r.Mode = lookup.GrepRegex
			}
			return a.asking(cmd.Context(), 0, func(file *share.Reader) error {
				v, err := share.Grep.Do(cmd.Context(), file, r)
				if err != nil {
					return err
				}
				return a.answer(v, func() { a.printGrep(v, r) })
			})
		},
	}
	f := cmd.Flags()
	f.BoolVar(&regex, "regex", false, "PATTERN is a regular expression")
	f.BoolVar(&r.IgnoreCase, "ignore-case", false, "the case of letters does not count (that of words never does)")
	f.Var(wordsOf(&r.Kinds), "kind", "message, summary, memory or note; repeatable (default message and summary)")
	f.StringVar((*string)(&r.Words), "words", string(lookup.AnyWord), "which words must be there: any or all")
	f.StringVar((*string)(&r.Order), "order", "", "relevance or newest")
	f.Var(wordsOf(&r.Roles), "role", "only messages of these roles: user, assistant, system, tool; repeatable")
	f.StringArrayVar(&r.Speakers, "speaker", nil, "only messages said by this speaker, in any case of letters; repeatable")
	f.Var(wordsOf(&r.SourceKinds), "source-kind", "only messages that this brought about, such as web, cron or talk; repeatable")
	f.Var(wordsOf(&r.NotSourceKinds), "not-source-kind", "no messages that this brought about; repeatable")
	f.Var(dateOf(&r.Since), "since", "said from then on")
	f.Var(dateOf(&r.Before), "before", "said before")
	f.IntVar(&r.Limit, "limit", 50, "at most so many of each kind, 1 to 200")
	f.DurationVar(&r.Deadline, "deadline", 2*time.Second, "then what was found so far is shown")
	complete(cmd, "kind", kinds.All())
	complete(cmd, "role", kinds.Roles())
	complete(cmd, "words", []lookup.GrepWords{lookup.AnyWord, lookup.AllWords})
	complete(cmd, "order", []lookup.GrepOrder{lookup.ByRelevance, lookup.ByNewest})
	return cmd
}

func (a *app) printGrep(v *lookup.GrepResult, r lookup.GrepRequest) {
	switch {
	case len(v.Hits) == 0 && r.Mode != lookup.GrepRegex && mayBePattern(r.Pattern):
		a.note("Nothing found. PATTERN was taken for words; --regex finds parts of words, and patterns.")
	case len(v.Hits) == 0:
		a.note("Nothing found.")
	default:
		t := a.table("id", "said", "by", "above", "text")
		for _, h := range v.Hits {
			above := ""
			if h.Summary != "" {
				above = ids.Short(h.Summary)
			}
			by := byline(h.Speaker, h.Role)
			if h.Path != "" {
				by = place(h.Path, h.FirstLine, h.LastLine)
			}
			t.AppendRow([]any{ids.Short(h.ID), minute(h.At), by, above, line(h.Snippet, a.width()-55)})
		}
		t.Render()
	}
	if v.Truncated {
		a.note("The time ran out: there may be more. --deadline gives it more.")
	}
}

// mayBePattern reports whether a regular expression may find what words did not: one word may be a part of others.
func mayBePattern(pattern string) bool {
	return len(strings.Fields(pattern)) == 1 || strings.ContainsAny(pattern, `\[](){}*+|^$`)
}

func newConversationDescribeCommand(a *app) *cobra.Command {
	var r lookup.DescribeRequest
	cmd := &cobra.Command{
		Use:   "describe ID",
		Short: "Say what an id names",
		Long: `Describe tells of a summary, message, file, memory, note or conversation what it is and where it stands. A summary comes with those below it,
and with what expanding each of them costs.`,
		Example: `  memctl conversation describe 7h4k2m9q
  memctl conversation describe sum_0c1d7h4k2m9q --cap 8000 --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := notZero(cmd, "cap"); err != nil {
				return err
			}
			r.ID, r.Agent = args[0], a.agent
			return a.with(cmd.Context(), 0, func(e *engine.Engine) error {
				d, err := e.Describe(cmd.Context(), r)
				if err != nil {
					return err
				}
				return a.answer(d, func() { a.printf("%s", printable(d.Text())) })
			})
		},
	}
	cmd.Flags().IntVar(&r.TokenCap, "cap", 0, "what an expansion may cost, in tokens (default that of the configuration)")
	return cmd
}

func newConversationExpandCommand(a *app) *cobra.Command {
	r := lookup.ExpandRequest{Depth: 3, Messages: true}
	cmd := &cobra.Command{
		Use:   "expand ID…",
		Short: "Print what summaries stand for",
		Long: `Expand walks down from summaries to what they were made from, down to the messages, up to --depth levels and --cap tokens, and prints that.
With --messages=false it stops at the lowest summaries.`,
		Example: `  memctl conversation expand 7h4k2m9q
  memctl conversation expand 7h4k2m9q --messages=false --cap 8000`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if r.Depth < 1 {
				return usage("depth is %d; allowed: 1 to 10", r.Depth)
			}
			if err := notZero(cmd, "cap"); err != nil {
				return err
			}
			r.IDs, r.Agent = args, a.agent
			return a.with(cmd.Context(), 0, func(e *engine.Engine) error {
				x, err := e.Expand(cmd.Context(), r)
				if err != nil {
					return err
				}
				if len(x.Unknown) == len(r.IDs) {
					return fmt.Errorf("%w: %s; give whole ids, or their endings", engine.ErrNotFound, strings.Join(x.Unknown, ", "))
				}
				return a.answer(x, func() { a.printf("%s", printable(x.Text())) })
			})
		},
	}
	f := cmd.Flags()
	f.IntVar(&r.Depth, "depth", r.Depth, "how many levels down, 1 to 10")
	f.BoolVar(&r.Messages, "messages", r.Messages, "go down to the messages")
	f.IntVar(&r.TokenCap, "cap", 0, "at most so many tokens (default that of the configuration)")
	return cmd
}

func newConversationFileCommand(a *app) *cobra.Command {
	var r conversation.ReadLargeFileRequest
	cmd := &cobra.Command{
		Use:   "file ID",
		Short: "Read back a large file",
		Long: `File prints a content that was too large for a context, from --from-line to --to-line, or a piece of --bytes from --from on. With --json
it is encoded as base64.`,
		Example: `  memctl conversation file 7h4k2m9q --from-line 100 --to-line 120
  memctl conversation file 7h4k2m9q --bytes 1000000 > report.txt`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := notZero(cmd, "bytes", "from-line", "to-line"); err != nil {
				return err
			}
			r.ID, r.Agent = args[0], a.agent
			return a.with(cmd.Context(), 0, func(e *engine.Engine) error {
				piece, err := e.ReadLargeFile(cmd.Context(), r)
				if err != nil {
					return err
				}
				return a.answer(piece, func() {
					a.stdout.Write(piece.Content)
					if piece.More {
						a.note("There is more: --from %d.", piece.To)
					}
				})
			})
		},
	}
	f := cmd.Flags()
	f.Int64Var(&r.From, "from", 0, "first byte, from 0")
	f.IntVar(&r.MaxBytes, "bytes", 65536, "at most so many, 4 to 16777216")
	f.Int64Var(&r.StartLine, "from-line", 0, "first line, from 1")
	f.Int64Var(&r.EndLine, "to-line", 0, "last line")
	return cmd
}
