package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/build"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/memory"
)

// ContextConfig is what RunContext needs.
type ContextConfig struct {
	Sizes    []int // messages of one conversation, each 1000 or more, ascending. Default 1,000, 10,000 and 100,000
	Builds   int   // of each preset that are timed at each size. Default 200
	Memories int   // that are recalled from. Default 1,000
	Seed     uint64
	// Folder is where the files are made, and removed afterwards. Default the system's for temporary files.
	Folder string
	// Progress is told how far the run is. Nil: nobody is.
	Progress func(step string, done, total int)
}

// ContextReport is what RunContext measured.
type ContextReport struct {
	Builds int          `json:"builds"`
	Rows   []ContextRow `json:"rows"`
}

// ContextRow is one preset at one size. Times are in milliseconds.
type ContextRow struct {
	Messages  int     `json:"messages"`
	Preset    string  `json:"preset"`
	Shown     int     `json:"shown"` // messages and summaries
	P50       float64 `json:"ms_p50"`
	P95       float64 `json:"ms_p95"`
	RecallP50 float64 `json:"recall_ms_p50,omitzero"` // with memories recalled by their words, where the preset recalls or has hints
}

// What the contexts of goclaw and lcm are: a summary, and the messages since.
const (
	sinceCompaction = 250
	lcmBudget       = 8000
)

// RunContext makes up conversations and measures how long the context of the next call takes with every preset. No model is asked: a preset that has one select
// shows what it shows where there is none. The context holds one summary and the newest 250 messages. The files are gone afterwards.
func RunContext(ctx context.Context, c ContextConfig) (*ContextReport, error) {
	if c.Sizes == nil {
		c.Sizes = []int{1000, 10_000, 100_000}
	}
	if c.Builds == 0 {
		c.Builds = 200
	}
	if c.Memories == 0 {
		c.Memories = 1000
	}
	if c.Progress == nil {
		c.Progress = func(string, int, int) {}
	}
	report := &ContextReport{Builds: c.Builds}
	for _, n := range c.Sizes {
		if err := within("messages", n, 1000, 10_000_000); err != nil {
			return nil, fmt.Errorf("bench context: %w", err)
		}
	}
	for name, value := range map[string]int{"builds": c.Builds, "memories": c.Memories} {
		if err := within(name, value, 1, 1_000_000); err != nil {
			return nil, fmt.Errorf("bench context: %w", err)
		}
	}
	for _, n := range c.Sizes {
		rows, err := runContext(ctx, c, n)
		if err != nil {
			return nil, fmt.Errorf("bench context: %w", err)
		}
		report.Rows = append(report.Rows, rows...)
	}
	return report, nil
}

func runContext(ctx context.Context, c ContextConfig, n int) (rows []ContextRow, err error) {
	folder, err := os.MkdirTemp(c.Folder, "mallard-context-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	e, err := engine.Open(ctx, filepath.Join(folder, "context.db"), engine.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	if err := fillContext(ctx, e, c, n); err != nil {
		return nil, err
	}
	asks := newChat(c.Seed)
	for _, p := range build.Presets() {
		row := ContextRow{Messages: n, Preset: p.Name}
		r := build.Request{Conversation: chatName, Custom: &p}
		p.Snapshot = "request"
		if p.Name == build.DefaultPreset {
			r.Budget = lcmBudget
		}
		recalls, hints := p.Recall.On, p.Hints.On // hints are found by a recall too
		p.Recall.On, p.Hints.On = false, false
		times, err := timeBuilds(ctx, e, c, &row, func(int) build.Request { return r })
		if err != nil {
			return nil, err
		}
		row.P50, row.P95 = milliseconds(percentile(times, 50)), milliseconds(percentile(times, 95))
		if p.Recall.On, p.Hints.On = recalls, hints; recalls || hints {
			times, err := timeBuilds(ctx, e, c, &row, func(i int) build.Request {
				asked := r
				asked.Input, _ = asks.question(i, n)
				return asked
			})
			if err != nil {
				return nil, err
			}
			row.RecallP50 = milliseconds(percentile(times, 50))
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// fillContext makes the conversation, its summary and the memories.
func fillContext(ctx context.Context, e *engine.Engine, c ContextConfig, n int) error {
	talk := newChat(c.Seed)
	for from := 0; from < n; from += chatBatch {
		to := min(from+chatBatch, n)
		messages := talk.messages(from, to)
		for i := range messages {
			if from+i == n-sinceCompaction {
				messages[i].Key = "kept"
			}
		}
		if _, err := e.Append(ctx, conversation.AppendRequest{Conversation: chatName, Messages: messages}); err != nil {
			return err
		}
		c.Progress("messages", to, n)
	}
	if _, _, err := e.AdoptSummary(ctx, compact.AdoptRequest{Conversation: chatName, Text: freeSummary(), FirstKept: "kept"}); err != nil {
		return err
	}
	requests := make([]memory.RememberRequest, c.Memories)
	for i := range requests {
		requests[i].Text = talk.text(i)
	}
	_, err := e.RememberMany(ctx, requests)
	return err
}

// timeBuilds times builds after some that prepare the statements.
func timeBuilds(ctx context.Context, e *engine.Engine, c ContextConfig, row *ContextRow, request func(i int) build.Request) (times []time.Duration, err error) {
	for i := range warmUps + c.Builds {
		r := request(i)
		began := time.Now()
		b, err := e.Build(ctx, r)
		took := time.Since(began)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", row.Preset, err)
		}
		if row.Shown = b.Counts.Messages + b.Counts.Summaries; row.Shown == 0 {
			return nil, fmt.Errorf("%s shows nothing", row.Preset)
		}
		if i >= warmUps {
			times = append(times, took)
			c.Progress(fmt.Sprintf("%s at %d messages", row.Preset, row.Messages), len(times), c.Builds)
		}
	}
	return times, nil
}

// WriteText prints the report as a table.
func (r *ContextReport) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "%d builds of each preset; no model is asked\n\n", r.Builds)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "messages\tpreset\tshown\tp50 ms\tp95 ms\tp50 ms with recall\t")
	for _, row := range r.Rows {
		recalled := "–"
		if row.RecallP50 > 0 {
			recalled = fmt.Sprintf("%.1f", row.RecallP50)
		}
		fmt.Fprintf(t, "%d\t%s\t%d\t%.1f\t%.1f\t%s\t\n", row.Messages, row.Preset, row.Shown, row.P50, row.P95, recalled)
	}
	return t.Flush()
}
