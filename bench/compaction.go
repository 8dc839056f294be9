package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/assemble"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/engine/text"
)

// CompactionConfig is what RunCompaction needs. Only Data is required.
type CompactionConfig struct {
	// Data is a file in the format of LoCoMo (Maharana et al., 2024): an array of conversations with questions.
	Data string
	// Embedder makes the vectors. Nil: messages are found by their words alone.
	Embedder setup.Embedder
	// Related brings related words into the lexical channel. Default the Embedder's, if it has them.
	Related setup.Related
	// Budget of the context in tokens. Default 8,000.
	Budget int
	// Tail is how many of the newest messages stay as they are. Default 32.
	Tail int
	// Chunk is how many tokens of messages become a leaf, and Target how long a summary is to be. Default 2,000 and 300.
	Chunk, Target int
	// Cap is how many tokens the expansions of a question may have, and the recall that they are compared with. Default 4,000.
	Cap int
	// Conversations: only the first so many of the file. Default all.
	Conversations int
	// Questions: only so many of each conversation, spread evenly. Default all.
	Questions int
	// Progress is told how far the run is. Nil: nobody is.
	Progress func(step string, done, total int)
}

func (c CompactionConfig) withDefaults() CompactionConfig {
	for _, f := range []struct {
		value     *int
		otherwise int
	}{{&c.Budget, 8000}, {&c.Tail, 32}, {&c.Chunk, 2000}, {&c.Target, 300}, {&c.Cap, 4000}} {
		if *f.value == 0 {
			*f.value = f.otherwise
		}
	}
	if c.Progress == nil {
		c.Progress = func(string, int, int) {}
	}
	return c
}

func (c CompactionConfig) validate() error {
	for _, f := range []struct {
		name        string
		value, most int
	}{{"budget", c.Budget, 10_000_000}, {"tail", c.Tail, 1_000_000}, {"chunk", c.Chunk, 10_000_000}, {"target", c.Target, 10_000_000}, {"cap", c.Cap, 10_000_000}} {
		if err := within(f.name, f.value, 1, f.most); err != nil {
			return err
		}
	}
	return errors.Join(within("conversations", c.Conversations, 0, 1_000_000), within("questions", c.Questions, 0, 1_000_000))
}

// RunCompaction lets conversations of a data set grow turn by turn, compacts after each, and asks their questions in the end: what of the
// evidence is still in the context, and what of it can be reached. Summaries are made by the built-in summariser. The file is gone
// afterwards.
func RunCompaction(ctx context.Context, c CompactionConfig) (*CompactionReport, error) {
	report, err := runCompaction(ctx, c.withDefaults())
	if err != nil {
		return nil, fmt.Errorf("bench compaction: %w", err)
	}
	return report, nil
}

func runCompaction(ctx context.Context, c CompactionConfig) (_ *CompactionReport, err error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	r := &compactionRun{config: c, report: &CompactionReport{Model: modelName(c.Embedder)}}
	talks, err := readTalks(c.Data)
	if err != nil {
		return nil, err
	}
	if c.Conversations > 0 {
		talks = talks[:min(c.Conversations, len(talks))]
	}
	if r.analyzer, err = text.NewAnalyzer("english"); err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "mallard-compaction-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	depth := -1 // condense as deep as it goes
	r.engine, err = engine.Open(ctx, filepath.Join(folder, "compaction.db"), engine.Options{Embedder: c.Embedder, Related: c.Related, Conversation: setup.Conversation{
		FreshTailCount: c.Tail, LeafChunkTokens: c.Chunk, LeafTargetTokens: c.Target, CondensedTargetTokens: c.Target, IncrementalMaxDepth: &depth,
	}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.engine.Close()) }()
	for i := range talks {
		w, err := r.grow(ctx, &talks[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", talks[i].name, err)
		}
		w.questions = spread(w.questions, c.Questions)
		if err := r.ask(ctx, w); err != nil {
			return nil, fmt.Errorf("%s: %w", talks[i].name, err)
		}
		c.Progress("conversations", i+1, len(talks))
	}
	r.report.Conversations = len(talks)
	r.report.finish()
	return r.report, nil
}

// spread keeps n of some things, evenly; 0: all.
func spread[T any](all []T, n int) []T {
	if n == 0 || n >= len(all) {
		return all
	}
	some := make([]T, n)
	for i := range some {
		some[i] = all[i*len(all)/n]
	}
	return some
}

// compactionRun is one run on its way.
type compactionRun struct {
	config   CompactionConfig
	engine   *engine.Engine
	analyzer *text.Analyzer
	report   *CompactionReport
}

// grown is a talk that was appended and compacted, and what a model is shown of it in the end.
type grown struct {
	*talk
	positions map[string]int // of turns, by message id
	shown     map[int]bool   // positions of those that the window has as they are
	words     map[string]bool
	tokens    map[string]int // of messages by id
}

// grow appends a talk turn by turn and compacts after each.
func (r *compactionRun) grow(ctx context.Context, t *talk) (*grown, error) {
	w := &grown{talk: t, positions: map[string]int{}, shown: map[int]bool{}, words: map[string]bool{}, tokens: map[string]int{}}
	for i, v := range t.turns {
		m := conversation.Message{Session: v.session, Speaker: v.speaker, Text: v.text, Caption: v.caption, SaidAt: v.at}
		appended, err := r.engine.Append(ctx, conversation.AppendRequest{Conversation: t.name, Messages: []conversation.Message{m}})
		if err != nil {
			return nil, err
		}
		if appended.VectorErr != nil {
			return nil, appended.VectorErr
		}
		w.positions[appended.IDs[0]] = i
		began := time.Now()
		result, err := r.engine.Compact(ctx, compact.Request{Conversation: t.name, Budget: r.config.Budget})
		r.report.took += time.Since(began)
		if err != nil {
			return nil, err
		}
		r.report.Summaries += len(result.Passes)
		r.config.Progress("turns of "+t.name, i+1, len(t.turns))
	}
	r.report.Turns += len(t.turns)
	messages, err := r.engine.Messages(ctx, conversation.MessagesRequest{Conversation: t.name, Limit: 100_000})
	if err != nil {
		return nil, err
	}
	for _, m := range messages {
		w.tokens[m.ID] = m.Tokens
	}
	return w, r.look(ctx, w)
}

// look notes what the window shows.
func (r *compactionRun) look(ctx context.Context, w *grown) error {
	window, err := r.engine.Assemble(ctx, assemble.Request{Conversation: w.name, Budget: r.config.Budget})
	if err != nil {
		return err
	}
	if window.OverBudget {
		return fmt.Errorf("the window has %d tokens", window.Tokens)
	}
	for _, item := range window.Items {
		if item.Kind == kinds.Message {
			w.shown[w.positions[item.ID]] = true
		}
	}
	for _, token := range r.analyzer.Tokens(window.Text()) {
		w.words[token.Term] = true
	}
	r.report.tokens += window.Tokens
	return nil
}

// ask puts every question, two at a time.
func (r *compactionRun) ask(ctx context.Context, w *grown) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	answers := make([]reached, len(w.questions))
	next := make(chan int)
	var group sync.WaitGroup
	for range askers {
		group.Go(func() {
			for i := range next {
				var err error
				if answers[i], err = r.reach(ctx, w, w.questions[i]); err != nil {
					stop(err)
				}
			}
		})
	}
	for i := range w.questions {
		if ctx.Err() == nil {
			next <- i
			r.config.Progress("questions about "+w.name, i+1, len(w.questions))
		}
	}
	close(next)
	group.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	for _, a := range answers {
		r.report.add(a)
	}
	return nil
}
