// Package bench measures an engine through its public API: how well it answers the questions of a recorded data set, and how
// fast it writes and recalls. Each bench is a config, a Run function and a report that prints itself or goes into JSON.
package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/mallardmem/mallard/engine"
)

// LocomoConfig is what RunLocomo needs. Only Data is required.
type LocomoConfig struct {
	// Data is a file in the format of LoCoMo (Maharana et al., 2024): an array of conversations with questions.
	Data string
	// Embedder makes the vectors. Nil: recall is lexical.
	Embedder engine.Embedder
	// Save gets an Answer per scored question, as JSON Lines. Nil: none.
	Save io.Writer
	// Progress is told how far the run is. Nil: nobody is.
	Progress func(step string, done, total int)
}

// LocomoReport is what RunLocomo measured.
type LocomoReport struct {
	Model         string `json:"model"` // "none" without one
	Conversations int    `json:"conversations"`
	Turns         int    `json:"turns"`
	RecallFigures
	IngestPerSecond float64                  `json:"ingest_per_s"` // turns, with words and vectors, durably stored
	Categories      map[string]RecallFigures `json:"categories"`   // by the data set's number
}

// recallLimit is how many turns are walked for distinct sessions.
const recallLimit = 300

// RunLocomo appends every conversation of a data set to a new file, each in a scope of its own, and asks all of its questions
// there. Questions without a usable gold turn are not scored. The file is gone afterwards.
func RunLocomo(ctx context.Context, c LocomoConfig) (*LocomoReport, error) {
	report, err := runLocomo(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("bench locomo: %w", err)
	}
	return report, nil
}

func runLocomo(ctx context.Context, c LocomoConfig) (_ *LocomoReport, err error) {
	talks, err := readTalks(c.Data)
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "mallard-locomo-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	e, err := engine.Open(ctx, filepath.Join(folder, "locomo.db"), engine.Options{Embedder: c.Embedder})
	if err != nil {
		return nil, err
	}
	defer func() {
		if failed := e.Close(); err == nil {
			err = failed
		}
	}()

	run := locomoRun{config: c, engine: e}
	report := &LocomoReport{Model: modelName(c.Embedder), Conversations: len(talks), Categories: map[string]RecallFigures{}}
	if err := run.appendAll(ctx, talks); err != nil {
		return nil, err
	}
	for _, t := range talks {
		report.Turns += len(t.turns)
	}
	report.IngestPerSecond = float64(report.Turns) / run.appending.Seconds()
	answers, err := run.ask(ctx, talks)
	if err != nil {
		return nil, err
	}
	report.RecallFigures = figuresOf(answers)
	byCategory := map[int][]Answer{}
	for _, a := range answers {
		byCategory[a.Category] = append(byCategory[a.Category], a)
	}
	for category, answers := range byCategory {
		report.Categories[strconv.Itoa(category)] = figuresOf(answers)
	}
	return report, nil
}

func modelName(e engine.Embedder) string {
	if e == nil {
		return "none"
	}
	return e.Model()
}

// locomoRun is one run on its way.
type locomoRun struct {
	config    LocomoConfig
	engine    *engine.Engine
	ids       []map[string]int // per talk, positions of turns by message id
	appending time.Duration
}

func (r *locomoRun) progress(step string, done, total int) {
	if r.config.Progress != nil {
		r.config.Progress(step, done, total)
	}
}

func scopeOf(t talk) string { return "custom:" + t.name }

// appendAll stores the talks session by session, as a live agent would have.
func (r *locomoRun) appendAll(ctx context.Context, talks []talk) error {
	for i, t := range talks {
		r.ids = append(r.ids, map[string]int{})
		start := 0
		for start < len(t.turns) {
			end := start
			var messages []engine.Message
			for ; end < len(t.turns) && t.turns[end].session == t.turns[start].session; end++ {
				v := t.turns[end]
				messages = append(messages, engine.Message{Session: v.session, Speaker: v.speaker, Text: v.text, Caption: v.caption, SaidAt: v.at})
			}
			began := time.Now()
			appended, err := r.engine.Append(ctx, engine.AppendRequest{Conversation: t.name, Scope: scopeOf(t), Messages: messages})
			r.appending += time.Since(began)
			if err != nil {
				return err
			}
			if appended.VectorErr != nil {
				return appended.VectorErr
			}
			for j, id := range appended.IDs {
				r.ids[i][id] = start + j
			}
			start = end
		}
		r.progress("conversations", i+1, len(talks))
	}
	return nil
}

// ask recalls every question and compares what came with its gold turns.
func (r *locomoRun) ask(ctx context.Context, talks []talk) ([]Answer, error) {
	total := 0
	for _, t := range talks {
		total += len(t.questions)
	}
	mode := engine.LexicalMode
	if r.config.Embedder != nil {
		mode = engine.Hybrid // by name: a model that fails must not pass for one that answers badly
	}
	var answers []Answer
	for i, t := range talks {
		for _, q := range t.questions {
			began := time.Now()
			result, err := r.engine.Recall(ctx, engine.RecallQuery{
				Text: q.text, Mode: mode, Kinds: []engine.Kind{engine.MessageKind}, Conversations: []string{t.name}, Scopes: []string{scopeOf(t)},
				Limit: recallLimit,
			})
			took := time.Since(began)
			if err != nil {
				return nil, err
			}
			recalled := make([]int, len(result.Hits))
			for j, hit := range result.Hits {
				position, ok := r.ids[i][hit.ID]
				if !ok {
					return nil, fmt.Errorf("%q recalled %s, which is not of %s", q.text, hit.ID, t.name)
				}
				recalled[j] = position
			}
			answers = append(answers, t.answer(q, recalled, took))
			r.progress("questions", len(answers), total)
		}
	}
	return answers, r.save(answers)
}

func (r *locomoRun) save(answers []Answer) error {
	if r.config.Save == nil {
		return nil
	}
	encoder := json.NewEncoder(r.config.Save)
	for _, a := range answers {
		if err := encoder.Encode(a); err != nil {
			return fmt.Errorf("save: %w", err)
		}
	}
	return nil
}
