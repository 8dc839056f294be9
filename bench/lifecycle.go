package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/extract"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/setup"
	turns "github.com/mallardmem/mallard/engine/turn"
)

// LifecycleConfig is what RunLifecycle needs. The zero value works.
type LifecycleConfig struct {
	// Embedder makes the vectors. Nil: recall is lexical.
	Embedder setup.Embedder
	Related  setup.Related
	// Messages that memories are drawn from, 100 to 1,000,000. Default 10,000.
	Messages int
	// Memories that Maintain and BeforeTurn have before them, 1,000 to 10,000,000. Default 100,000.
	Memories int
	// Turns that are timed, 1 to 100,000. Default 200.
	Turns int
	// Data are files in the format of LoCoMo, by which is measured what extracted memories reach. Default none.
	Data []string
	// Seed of the made-up text. Default 0.
	Seed uint64
	// Folder where the file is made. Default the system's for temporary files.
	Folder string
	// Progress is told how far the run is. Nil: nobody is.
	Progress func(step string, done, total int)
}

func (c LifecycleConfig) withDefaults() LifecycleConfig {
	setup.Preset(&c.Messages, 10_000)
	setup.Preset(&c.Memories, 100_000)
	setup.Preset(&c.Turns, 200)
	if c.Progress == nil {
		c.Progress = func(string, int, int) {}
	}
	return c
}

func (c LifecycleConfig) validate() error {
	return errors.Join(within("messages", c.Messages, 100, 1_000_000), within("memories", c.Memories, 1000, 10_000_000), within("turns", c.Turns, 1, 100_000))
}

// LifecycleReport is what RunLifecycle measured.
type LifecycleReport struct {
	Model string `json:"model"` // "none" without one

	Messages         int     `json:"messages"`
	Statements       int     `json:"statements"` // of the messages have something to be remembered, by how they were made
	Stored           int     `json:"stored"`     // memories that were drawn from them
	ExtractPerSecond float64 `json:"extract_messages_per_s"`

	Memories        int     `json:"memories"`
	Merged          int     `json:"merged"`  // that say what others did, of Planted that were made so
	Planted         int     `json:"planted"` //
	TierChanges     int     `json:"tier_changes"`
	MaintainSeconds float64 `json:"maintain_s"`       // the first time
	AgainSeconds    float64 `json:"maintain_again_s"` // and once more, with little to do
	MaintainPeakMB  float64 `json:"maintain_peak_mb"` // of the process by then, 2^20 bytes each

	BeforeP50 float64 `json:"before_turn_ms_p50"`
	BeforeP95 float64 `json:"before_turn_ms_p95"`
	Shown     float64 `json:"shown"` // memories in a turn, on average

	Data []ReachReport `json:"data,omitempty"`
}

// RunLifecycle measures memories that live: how fast they are drawn from talk without a language model, how long Maintain takes with many of them, how long a turn waits for
// BeforeTurn; and with Data what extracted memories reach. The files are gone afterwards.
func RunLifecycle(ctx context.Context, c LifecycleConfig) (*LifecycleReport, error) {
	report, err := runLifecycle(ctx, c.withDefaults())
	if err != nil {
		return nil, fmt.Errorf("bench lifecycle: %w", err)
	}
	return report, nil
}

func runLifecycle(ctx context.Context, c LifecycleConfig) (*LifecycleReport, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	report := &LifecycleReport{Model: modelName(c.Embedder), Messages: c.Messages, Memories: c.Memories}
	r := &lifecycleRun{config: c, corpus: newCorpus(c.Seed), report: report}
	for _, measure := range []func(context.Context, *engine.Engine) error{r.extract, r.live} {
		if err := r.inFile(ctx, measure); err != nil {
			return nil, err
		}
	}
	for _, path := range c.Data {
		reached, err := reach(ctx, c, path)
		if err != nil {
			return nil, err
		}
		report.Data = append(report.Data, *reached)
	}
	return report, nil
}

// lifecycleRun is one run on its way.
type lifecycleRun struct {
	config LifecycleConfig
	corpus *corpus
	report *LifecycleReport
}

// inFile lets do work on a new file.
func (r *lifecycleRun) inFile(ctx context.Context, do func(context.Context, *engine.Engine) error) (err error) {
	folder, err := os.MkdirTemp(r.config.Folder, "mallard-lifecycle-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	began := time.Now()
	later := r.corpus.start.AddDate(1, 1, 0) // than all that is made up
	e, err := engine.Open(ctx, filepath.Join(folder, "lifecycle.db"), engine.Options{Embedder: r.config.Embedder, Related: r.config.Related, ResidentMB: residentWhole,
		Now: func() time.Time { return later.Add(time.Since(began)) }, Progress: r.config.Progress})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	return do(ctx, e)
}

// statements are what a user says that is worth remembering; %[1]s and %[2]s are words.
var statements = []string{"My favorite %[1]s is %[2]s.", "We decided to move the %[1]s to %[2]s.", "I fixed the %[1]s by replacing the %[2]s.", "I switched my %[1]s from %[2]s to something else.",
	"Remember that the %[1]s needs a new %[2]s.", "Whenever we ship, we check the %[1]s and the %[2]s.", "I really like %[2]s for the %[1]s.", "The deadline for the %[1]s is March 14."}

// statementEvery is how many messages there are to one with a statement.
const statementEvery = 4

// said is message i, and whether it has something to be remembered.
func (r *lifecycleRun) said(i int) (m conversation.Message, states bool) {
	m = conversation.Message{Role: "user", Text: r.corpus.text(i) + ".", SaidAt: r.corpus.start.Add(time.Duration(i) * time.Minute)}
	if states = i%statementEvery == 0; states {
		random := r.corpus.random(-1 - i)
		word := func() string { return r.corpus.words[len(functionWords)+random.IntN(5000)] }
		m.Text = fmt.Sprintf(statements[random.IntN(len(statements))], word(), word())
	}
	return m, states
}

// extract measures how fast memories are drawn from talk by rules.
func (r *lifecycleRun) extract(ctx context.Context, e *engine.Engine) error {
	for from := 0; from < r.config.Messages; from += chatBatch {
		var messages []conversation.Message
		for i := from; i < min(from+chatBatch, r.config.Messages); i++ {
			m, states := r.said(i)
			if messages = append(messages, m); states {
				r.report.Statements++
			}
		}
		if _, err := e.Append(ctx, conversation.AppendRequest{Conversation: chatName, Messages: messages}); err != nil {
			return err
		}
	}
	began := time.Now()
	done, err := e.Extract(ctx, extract.Request{Conversation: chatName, Rules: true})
	if err != nil {
		return err
	}
	r.report.ExtractPerSecond, r.report.Stored = float64(r.config.Messages)/time.Since(began).Seconds(), done.Stored
	return nil
}

// plantEvery is how many memories there are to one that says what another one does, in other words but for a few.
const plantEvery = 100

// memories are those from one to another; some say what one before them does.
func (r *lifecycleRun) memories(from, to int) []memory.RememberRequest {
	all := r.corpus.memories(from, to)
	for i := range all {
		if n := from + i; n%plantEvery == plantEvery-1 && n >= scopeCount*len(memory.Categories()) {
			other := r.corpus.memory(n - scopeCount*len(memory.Categories())) // of the same scope and category
			all[i].Text, all[i].Category, all[i].Scope = other.Text+" "+r.corpus.words[len(functionWords)], other.Category, other.Scope
			r.report.Planted++
		}
	}
	return all
}

// live measures Maintain and BeforeTurn.
func (r *lifecycleRun) live(ctx context.Context, e *engine.Engine) error {
	for from := 0; from < r.config.Memories; from += loadBatch {
		to := min(from+loadBatch, r.config.Memories)
		results, err := e.RememberMany(ctx, r.memories(from, to))
		if err != nil {
			return err
		}
		for _, result := range results {
			if err := errors.Join(result.Err, result.VectorErr); err != nil {
				return err
			}
		}
		r.config.Progress("memories", to, r.config.Memories)
	}
	for _, took := range []*float64{&r.report.MaintainSeconds, &r.report.AgainSeconds} {
		began := time.Now()
		done, err := e.Maintain(ctx, memory.MaintainRequest{})
		if err != nil {
			return err
		}
		*took = time.Since(began).Seconds()
		r.report.TierChanges += len(done.Tiers)
		for _, m := range done.Merged {
			r.report.Merged += len(m.From)
			if m.New {
				r.report.Merged--
			}
		}
	}
	var err error
	if r.report.MaintainPeakMB, err = peakMemory(); err != nil {
		return err
	}
	if err := untilResident(ctx, e); err != nil {
		return err
	}
	return r.turns(ctx, e)
}

// turns measures BeforeTurn, each in a session of ten turns.
func (r *lifecycleRun) turns(ctx context.Context, e *engine.Engine) error {
	var times []time.Duration
	shown := 0
	for i := -warmUps; i < r.config.Turns; i++ {
		text, scope := r.corpus.question(i+warmUps, r.config.Memories)
		began := time.Now()
		done, err := e.BeforeTurn(ctx, turns.Turn{Session: fmt.Sprint("session ", (i+warmUps)/10), Scopes: []string{scope}, Prompt: "what about " + text + "?"})
		took := time.Since(began)
		if err != nil {
			return err
		}
		if i >= 0 {
			times, shown = append(times, took), shown+len(done.Hits)
			r.config.Progress("turns", i+1, r.config.Turns)
		}
	}
	r.report.BeforeP50, r.report.BeforeP95 = milliseconds(percentile(times, 50)), milliseconds(percentile(times, 95))
	r.report.Shown = float64(shown) / float64(len(times))
	return nil
}
