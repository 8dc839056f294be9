package bench

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/mallardmem/mallard/engine"
)

const (
	readers = 8
	// asideFrom is the first memory that is written beside readers: no other part of the bench gets so far.
	asideFrom = 1_000_000_000
)

// readers has eight ask in hybrid mode while one writes, and notes how long an answer took in the middle and how many came in a second.
func (r *phaseRun) readers(ctx context.Context, e *engine.Engine, t *RecallTimes) error {
	if _, err := r.askAtOnce(ctx, e, 2*readers); err != nil { // so that every connection has its statements
		return err
	}
	writing, stop := context.WithCancel(ctx)
	written := make(chan error, 1)
	go func() { written <- r.writeUntil(ctx, writing.Done(), e) }()
	began := time.Now()
	times, err := r.askAtOnce(ctx, e, max(readers, r.config.Queries))
	took := time.Since(began)
	stop()
	if err := errors.Join(err, <-written); err != nil {
		return err
	}
	t.Hybrid8ReadersP50, t.Hybrid8ReadersPerSecond = milliseconds(percentile(times, 50)), float64(len(times))/took.Seconds()
	return nil
}

// askAtOnce has every reader ask its share of the questions, one after another and not for longer than askedFor, and gives how long each took.
func (r *phaseRun) askAtOnce(ctx context.Context, e *engine.Engine, questions int) ([]time.Duration, error) {
	until := time.Now().Add(askedFor)
	var group sync.WaitGroup
	var times [readers][]time.Duration
	var errs [readers]error
	for reader := range readers {
		group.Go(func() {
			for i := reader; i < questions && errs[reader] == nil && (i == reader || time.Now().Before(until)); i += readers {
				var took time.Duration
				took, errs[reader] = r.recall(ctx, e, r.hybrid(i))
				times[reader] = append(times[reader], took)
			}
		})
	}
	group.Wait()
	return slices.Concat(times[:]...), errors.Join(errs[:]...)
}

// writeUntil remembers one memory after another until done.
func (r *phaseRun) writeUntil(ctx context.Context, done <-chan struct{}, e *engine.Engine) error {
	for {
		select {
		case <-done:
			return nil
		default:
		}
		result, err := e.Remember(ctx, r.corpus.memory(asideFrom+r.aside))
		if err := errors.Join(err, result.VectorErr); err != nil {
			return err
		}
		r.aside++
	}
}
