package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/bench"
	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/kinds"
)

func newModelCompareCommand(a *app) *cobra.Command {
	var c bench.BesideConfig
	var questions string
	var most int
	cmd := &cobra.Command{
		Use:   "compare A B",
		Short: "Ask two models of the file the same questions, before one is used",
		Long: `Compare asks both models, which the file has vectors of, the same questions, in a copy among the temporary files: the file itself is not changed. A and B are
what --model accepts. The questions are those that users asked in the file's conversations, the newest --most of them; or stand in a file, one JSON object to a line, with the ids of what
answers them, or their endings, where that is known: {"question": "who broke the crane?", "ids": ["mem_01k0"]}.

recall@k is the share of what answers a question among the first k hits, MRR one over the place of the first of it, both with labelled questions alone; the
difference has a 95 % interval by paired bootstrap. overlap@k is the share of hits that both models give, rank-biased overlap (Webber, Moffat and Zobel 2010, p = 0.9) counts the first
places most. Times are of whole recalls by the resident index, with the embedding of the question.`,
		Example: `  memctl model compare static all-MiniLM-L6-v2
  memctl model compare static all-MiniLM-L6-v2 --questions questions.jsonl --limit 5 --json`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if most < 1 {
				return usage("--most is %d; allowed: 1 or more", most)
			}
			if questions != "" {
				if c.Questions, err = a.besideQuestions(questions); err != nil {
					return err
				}
			}
			for i, name := range args {
				m, err := a.openNamed(name)
				if err != nil {
					return err
				}
				defer m.Close()
				if m.Embedder == nil {
					return usage("model %s; allowed: a model", name)
				}
				a.noteModel(m)
				c.Models[i], c.Names[i] = m.Embedder, m.Fingerprint()
			}
			folder, err := os.MkdirTemp("", "memctl-compare-")
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
			c.Copy = filepath.Join(folder, "copy.db")
			if err := a.copyForComparison(cmd.Context(), &c, args, most); err != nil {
				return err
			}
			c.Related = relatedWords
			bar := newProgress(a)
			defer bar.stop()
			c.Progress = bar.report
			report, err := bench.RunBeside(cmd.Context(), c)
			if err != nil {
				return err
			}
			return a.printFigures(report)
		},
	}
	f := cmd.Flags()
	f.StringVar(&questions, "questions", "", "a file of questions, or - for standard input")
	f.IntVar(&most, "most", 200, "how many of the file's own questions to ask")
	f.IntVar(&c.Limit, "limit", 10, "how many hits to compare, 1 to 100")
	f.Var(wordsOf(&c.Kinds), "kind", "memory (default), message, summary or note; repeatable")
	complete(cmd, "kind", kinds.All())
	return cmd
}

func (a *app) besideQuestions(name string) ([]bench.BesideQuestion, error) {
	in, err := a.input(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return bench.ReadBesideQuestions(in)
}

// copyForComparison copies the file, if it has both models, and takes its own questions where there are no others.
func (a *app) copyForComparison(ctx context.Context, c *bench.BesideConfig, names []string, most int) error {
	return a.with(ctx, canWrite, func(e *engine.Engine) error {
		states, err := e.Models(ctx)
		if err != nil {
			return err
		}
		has := map[string]bool{}
		for _, s := range states {
			has[s.Fingerprint] = true
		}
		for i, name := range names {
			if !has[c.Names[i]] {
				return usage("model %s: the file has no vectors of it; run `memctl model add %[1]s` first", name)
			}
		}
		if c.Questions == nil {
			if c.Questions, err = askedByUsers(ctx, e, most); err != nil {
				return err
			}
		}
		if len(c.Questions) == 0 {
			return usage("no user asked anything in the file's conversations; name a file with --questions")
		}
		return e.Snapshot(ctx, c.Copy)
	})
}

// askedByUsers gives the questions that users asked, those of the newest conversations first.
func askedByUsers(ctx context.Context, e *engine.Engine, most int) (all []bench.BesideQuestion, err error) {
	conversations, err := e.Conversations(ctx, "")
	if err != nil {
		return nil, err
	}
	for _, v := range conversations {
		messages, err := e.Messages(ctx, conversation.MessagesRequest{Conversation: v.ID, Limit: mostMessages})
		if err != nil {
			return nil, err
		}
		for i := len(messages) - 1; i >= 0 && len(all) < most; i-- {
			if m := messages[i]; m.Role == "user" && strings.HasSuffix(strings.TrimSpace(m.Text), "?") && len(m.Text) <= longestQuestion {
				all = append(all, bench.BesideQuestion{Text: m.Text, From: m.ID})
			}
		}
	}
	return all, nil
}

const (
	mostMessages    = 100_000
	longestQuestion = 1000 // bytes: what is longer says more than it asks
)
