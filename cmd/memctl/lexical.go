package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/setup"
)

func newLexicalCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lexical",
		Short: "Compare the two indexes of words",
		Long: `Words are looked up in one of two indexes. postings is the file's own, and always up to date. fts is made by DuckDB's text
extension, and made anew when it is used after a write; --lexical fts chooses it. The extension is the file $MEMCTL_FTS, else the
one that DuckDB has installed, else it comes from the network.`,
		Example: `  memctl lexical check`,
	}
	cmd.AddCommand(newLexicalCheckCommand(a))
	return cmd
}

func newLexicalCheckCommand(a *app) *cobra.Command {
	var r recall.CheckLexicalRequest
	var questions string
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Ask both indexes the same questions, and compare the scores",
		Long: `Check compares the score of every document that a question hits, as postings have it and as DuckDB's text extension has it. The
questions are made from the file, or stand in a file of yours, one on each line. It makes the index of the extension first where that is
missing or stale. The exit code is 1 when scores differ by more than a millionth, or the first ten documents by their order.`,
		Example: `  memctl lexical check
  memctl lexical check --sample 100 --json
  memctl lexical check --questions questions.txt`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if questions != "" {
				var err error
				if r.Questions, err = a.lines(questions); err != nil {
					return err
				}
			}
			return a.withOptions(cmd.Context(), canWrite, engine.Options{Lexical: setup.FTSBackend}, func(e *engine.Engine) error {
				result, err := e.CheckLexical(cmd.Context(), r)
				if err != nil {
					return err
				}
				if err := a.answer(result, func() { a.printLexicalCheck(result) }); err != nil {
					return err
				}
				if !result.Agree() {
					return errReported
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&questions, "questions", "", "file with a question on each line, - for standard input (default: made from the file)")
	cmd.Flags().IntVar(&r.Sample, "sample", 25, "make questions from this many documents of each kind, 1 to 1000")
	cmd.MarkFlagsMutuallyExclusive("questions", "sample")
	return cmd
}

// lines reads a file, or standard input for "-", by its lines; blank ones do not count.
func (a *app) lines(name string) ([]string, error) {
	in, err := a.input(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	content, err := io.ReadAll(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	all := []string{}
	for l := range strings.Lines(string(content)) {
		if l = strings.TrimSpace(l); l != "" {
			all = append(all, l)
		}
	}
	return all, nil
}

func (a *app) printLexicalCheck(x *recall.LexicalCheck) {
	a.printf("%s, %s of %s; greatest relative difference %.1e\n", plural(x.Questions, "question", "questions"), plural(x.Scores, "score", "scores"),
		plural(x.Documents, "document", "documents"), x.Difference)
	a.printf("postings %s ms, fts %s ms\n", milliseconds(x.PostingsTime), milliseconds(x.FTSTime))
	if len(x.Differing) > 0 {
		t := a.table("kind", "id", "postings", "fts", "question")
		right(t, "postings", "fts")
		for _, d := range x.Differing {
			t.AppendRow([]any{d.Kind, ids.Short(d.ID), fmt.Sprintf("%.6f", d.Postings), fmt.Sprintf("%.6f", d.FTS), line(d.Question, 60)})
		}
		t.Render()
	}
	for _, question := range x.Reordered {
		a.printf("another order: %s\n", line(question, 100))
	}
	if x.Agree() {
		a.printf("Both agree.\n")
	} else {
		a.note("`memctl index rebuild` makes both indexes anew from the rows.")
	}
}
