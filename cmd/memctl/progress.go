package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// quietTime is how long a step may take before a log hears of it, and the time between two lines of it.
const quietTime = 5 * time.Second

// progress shows how far long work is: a bar on a terminal, now and then a line elsewhere.
type progress struct {
	w        io.Writer // nil: nobody wants to know
	terminal bool
	bytes    bool       // what is counted are bytes
	mu       sync.Mutex // owns what is below: what other processes ask for has its progress too
	bar      *progressbar.ProgressBar
	step     string
	last     time.Time // of the last line
}

// newProgress makes the progress of a call; its answer takes the bar away.
func newProgress(a *app) *progress {
	a.progress = &progress{w: a.stderr, terminal: terminal(a.stderr), last: time.Now()}
	if a.quiet || a.json {
		a.progress.w = nil
	}
	return a.progress
}

// report is Options.Progress of an engine. A total of 0 is not known.
func (p *progress) report(step string, done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.w == nil:
	case !p.terminal:
		if time.Since(p.last) >= quietTime {
			p.last = time.Now()
			fmt.Fprintf(p.w, "%s: %s\n", step, p.amount(done, total))
		}
	default:
		if total <= 0 {
			total = -1 // nobody knows: it turns instead of growing
		}
		if p.bar == nil || step != p.step {
			p.clear()
			p.step = step
			p.bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(p.w), progressbar.OptionSetDescription(step),
				progressbar.OptionShowCount(), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(),
				progressbar.OptionSetPredictTime(true), progressbar.OptionSetWidth(30), progressbar.OptionShowBytes(p.bytes))
		}
		p.bar.Set(done) // what a bar can't show is not worth an error
	}
}

func (p *progress) amount(done, total int) string {
	format, unit := "%.0f", 1.0
	if p.bytes {
		format, unit = "%.1f MB", 1e6
	}
	text := fmt.Sprintf(format, float64(done)/unit)
	if total > 0 {
		text += " of " + fmt.Sprintf(format, float64(total)/unit)
	}
	return text
}

// stop takes the bar away, if there is one.
func (p *progress) stop() {
	if p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.clear()
	}
}

func (p *progress) clear() {
	if p.bar != nil {
		p.bar.Exit() // the bar of an unknown total turns by itself
		p.bar.Clear()
		p.bar = nil
	}
}
