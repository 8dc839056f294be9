package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/interchange"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/text"
	"github.com/mallardmem/mallard/testdata/demo"
)

// demoHits is how many answers each question gets.
const demoHits = 3

// demoNow is when the demo takes place: nothing that its questions ask about has expired.
func demoNow() time.Time { return time.Date(2026, 7, 10, 12, 0, 0, 0, time.UTC) }

func newDemoCommand(a *app) *cobra.Command {
	var keep string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "See it work on an invented history",
		Long: `Demo reads the invented history of an engineer, her agent and her brother into a temporary file, asks it five questions and
shows the answers with their scores and reasons. --keep leaves the file for you to look at.`,
		Example: `  memctl demo
  memctl demo --keep demo.db`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if keep != "" && exists(keep) {
				return usage("keep is %s, which exists; allowed: the name of a new file", keep)
			}
			folder, err := os.MkdirTemp("", "memctl-demo-")
			if err != nil {
				return err
			}
			defer os.RemoveAll(folder)
			d, err := a.playDemo(cmd.Context(), cmp.Or(keep, filepath.Join(folder, "demo.db")))
			if err != nil {
				return fmt.Errorf("demo: %w", err)
			}
			return a.answer(d, func() { a.printDemo(d, keep) })
		},
	}
	cmd.Flags().StringVar(&keep, "keep", "", "leave the demo's file under this name")
	return cmd
}

// played is a demo that took place.
type played struct {
	Memories int          `json:"memories"`
	Messages int          `json:"messages"`
	Imported float64      `json:"import_seconds"`
	Seconds  float64      `json:"seconds"`
	Answers  []demoAnswer `json:"answers"`
}

type demoAnswer struct {
	Question     string       `json:"question"`
	Milliseconds float64      `json:"milliseconds"`
	Hits         []recall.Hit `json:"hits"`
	Words        [][]string   `json:"words"` // of the question, that each hit has
}

// demoQuestion is a line of questions.jsonl.
type demoQuestion struct {
	Question     string       `json:"question"`
	Kinds        []kinds.Kind `json:"kinds"`
	Scope        string       `json:"scope"`
	Conversation string       `json:"conversation"`
	Demo         bool         `json:"demo"`
}

func (a *app) playDemo(ctx context.Context, path string) (*played, error) {
	start := time.Now()
	model, err := a.openEmbedder()
	if err != nil {
		return nil, err
	}
	defer model.Close()
	a.noteModel(model)
	e, err := engine.Open(ctx, path, engine.Options{Embedder: model.Embedder, Related: relatedWords, Now: demoNow})
	if err != nil {
		return nil, err
	}
	d, err := play(ctx, e)
	if err = errors.Join(err, e.Close()); err != nil {
		return nil, err
	}
	d.Seconds = time.Since(start).Seconds()
	return d, nil
}

// play imports the history and asks the questions.
func play(ctx context.Context, e *engine.Engine) (d *played, err error) {
	start := time.Now()
	d = &played{}
	if d.Memories, err = demoImport(ctx, "memories.jsonl", e.Import); err != nil {
		return nil, err
	}
	if d.Messages, err = demoImport(ctx, "messages.jsonl", e.ImportMessages); err != nil {
		return nil, err
	}
	d.Imported = time.Since(start).Seconds()
	questions, err := demoQuestions()
	if err != nil {
		return nil, err
	}
	for _, q := range questions {
		answer, err := ask(ctx, e, q)
		if err != nil {
			return nil, err
		}
		d.Answers = append(d.Answers, answer)
	}
	return d, nil
}

func demoImport(ctx context.Context, name string, read func(context.Context, io.Reader, interchange.ImportRequest) (*interchange.Imported, error)) (int, error) {
	in, err := demo.Files.Open(name)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	result, err := read(ctx, in, interchange.ImportRequest{})
	if err != nil {
		return 0, err
	}
	if len(result.Faults) > 0 {
		return 0, fmt.Errorf("%s: line %d: %s", name, result.Faults[0].Line, result.Faults[0].Err)
	}
	return result.Created, nil
}

// demoQuestions gives the questions that are made for showing.
func demoQuestions() (questions []demoQuestion, err error) {
	content, err := demo.Files.ReadFile("questions.jsonl")
	if err != nil {
		return nil, err
	}
	for l := range bytes.Lines(content) {
		var q demoQuestion
		if err := json.Unmarshal(l, &q); err != nil {
			return nil, fmt.Errorf("questions.jsonl: %w", err)
		}
		if q.Demo {
			questions = append(questions, q)
		}
	}
	return questions, nil
}

// ask recalls, and finds out which words of the question each hit has.
func ask(ctx context.Context, e *engine.Engine, q demoQuestion) (demoAnswer, error) {
	r := recall.Query{Text: q.Question, Kinds: q.Kinds, Limit: demoHits}
	if q.Scope != "" {
		r.Scopes = []string{q.Scope}
	}
	if q.Conversation != "" {
		r.Conversations = []string{q.Conversation}
	}
	result, err := e.Recall(ctx, r)
	if err != nil {
		return demoAnswer{}, err
	}
	answer := demoAnswer{Question: q.Question, Milliseconds: float64(result.Trace.Duration.Microseconds()) / 1000, Hits: orEmpty(result.Hits)}
	language, err := e.Language(ctx)
	if err != nil {
		return demoAnswer{}, err
	}
	analyzer, err := text.NewAnalyzer(language)
	if err != nil {
		return demoAnswer{}, err
	}
	for _, h := range result.Hits {
		said := h.Speaker + " " + conversation.Day(h.CreatedAt) + " " + h.Text
		if h.Kind == kinds.Memory {
			m, err := e.Get(ctx, memory.GetRequest{ID: h.ID})
			if err != nil {
				return demoAnswer{}, err
			}
			said = strings.Join([]string{m.Text, m.L0, m.L1, m.L2}, " ")
		}
		answer.Words = append(answer.Words, shared(analyzer, q.Question, said))
	}
	return answer, nil
}

// shared gives the words of a question that a text has too, as the index sees them; of an identifier only the whole.
func shared(analyzer *text.Analyzer, question, said string) []string {
	terms := map[string]bool{}
	for _, token := range analyzer.Tokens(said) {
		terms[token.Term] = true
	}
	words := []string{}
	for _, token := range analyzer.QueryTokens(question) {
		known := slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, token.Surface) })
		if terms[token.Term] && !known {
			words = append(words, token.Surface)
		}
	}
	return words
}

func (a *app) printDemo(d *played, keep string) {
	a.printf("%d memories and %d messages of an invented history, read and indexed in %.1f s.\n", d.Memories, d.Messages, d.Imported)
	for _, answer := range d.Answers {
		a.printf("\n%s\n", answer.Question)
		if len(answer.Hits) == 0 {
			a.printf("   Nothing found.\n")
		}
		for i, h := range answer.Hits {
			a.printf("%s", a.demoHit(i, h, answer.Words[i]))
		}
	}
	a.printf("\n%d questions answered, %.1f s in all. No network, no server, no other program.\n\nTry next:\n", len(d.Answers), d.Seconds)
	if keep != "" {
		a.printf("  memctl --db %s recall \"who looks after the dog?\" --kind message --explain\n", keep)
		a.printf("  memctl --db %s sql \"select category, count(*) as n from report.memories group by all\"\n", keep)
	}
	a.printf("  memctl remember \"Release day is Thursday\" --scope project:mine\n")
	a.printf("  memctl recall \"on which day do we release?\"\n")
	if keep == "" {
		a.printf("  memctl demo --keep demo.db    and then look into the file: memctl --db demo.db list\n")
	}
}

// demoHit shows the first hit with its reasons, and the others on a line each.
func (a *app) demoHit(i int, h recall.Hit, words []string) string {
	if i > 0 {
		return fmt.Sprintf("   %d  %s\n", i+1, line(fmt.Sprintf("%.2f  %s", h.Score, h.Text), a.width()-8))
	}
	why := fmt.Sprintf("score %.2f, cosine %s, BM25 %s", h.Score, number(h.Signals.Cosine, 2), number(h.Signals.Raw, 2))
	if len(words) > 0 {
		why += ", words: " + strings.Join(words, ", ")
	}
	body := indent(h.Text, "      ", min(a.width(), 100))
	return "   1" + strings.TrimPrefix(body, "    ") + fmt.Sprintf("      (%s; %s, %s)\n", why, from(h), day(h.CreatedAt))
}
