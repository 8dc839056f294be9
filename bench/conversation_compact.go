package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mallardmem/mallard/engine/compact"
)

// compact makes summaries until nothing is left to do, with the free summariser.
func (r *conversationRun) compact(ctx context.Context) error {
	took, passes, err := r.compactAll(ctx, "summaries")
	if err != nil {
		return err
	}
	r.report.CompactSeconds, r.report.PassP50, r.report.Passes = took.Seconds(), milliseconds(percentile(passes, 50)), len(passes)
	need, err := r.engine.NeedsCompaction(ctx, compact.Request{Conversation: chatName, Budget: chatBudget})
	r.report.TokensAfter = need.Stored
	return err
}

// compactCopy does the same to a copy of the file with the built-in summariser, which picks sentences.
func (r *conversationRun) compactCopy(ctx context.Context, file string) (err error) {
	if err := r.engine.Snapshot(ctx, file); err != nil {
		return err
	}
	copied := &conversationRun{config: r.config}
	if err := copied.open(ctx, file, nil); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, copied.engine.Close()) }()
	took, _, err := copied.compactAll(ctx, "summaries, extractive")
	r.report.CompactExtractiveSeconds = took.Seconds()
	return err
}

// compactAll forces compaction until nothing changes, and gives what it took and what each of its passes did.
func (r *conversationRun) compactAll(ctx context.Context, step string) (took time.Duration, passes []time.Duration, err error) {
	began := time.Now()
	last := began
	r.passes = func() {
		now := time.Now()
		passes = append(passes, now.Sub(last))
		last = now
		r.config.Progress(step, len(passes), 0)
	}
	defer func() { r.passes = nil }()
	for range mostRounds {
		result, err := r.engine.Compact(ctx, compact.Request{Conversation: chatName, Force: true})
		if err != nil {
			return 0, nil, err
		}
		if !result.Changed {
			return last.Sub(began), passes, nil
		}
	}
	return 0, nil, fmt.Errorf("compaction did not end after %d rounds", mostRounds)
}
