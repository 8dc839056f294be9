package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
)

// firstTexts gives memories that are to have several texts another one to begin with.
func (r *phaseRun) firstTexts(requests []memory.RememberRequest, from int) {
	for i := range requests {
		if r.config.Versions > 1 {
			requests[i].Text = r.corpus.text(r.config.Memories + from + i)
		}
	}
}

// reword gives memories other texts, one after another, until each has had so many; the last is that which it has where there is one only, so that the present is the same.
func (r *phaseRun) reword(ctx context.Context, e *engine.Engine, ids []string) error {
	if r.config.Versions < 2 {
		return nil
	}
	var times []time.Duration
	for version := 1; version < r.config.Versions; version++ {
		for i, id := range ids {
			of := i
			if version < r.config.Versions-1 {
				of += (version + 1) * r.config.Memories
			}
			text := r.corpus.text(of)
			began := time.Now()
			done, err := e.Update(ctx, memory.UpdateRequest{ID: id, Text: &text})
			times = append(times, time.Since(began))
			if err := errors.Join(err, done.VectorErr); err != nil {
				return err
			}
		}
		r.config.Progress("versions", version+1, r.config.Versions)
	}
	r.report.UpdateP50, r.report.UpdateP99 = milliseconds(percentile(times, 50)), milliseconds(percentile(times, 99))
	return nil
}

// knownThen recalls what was known in the middle of all that was changed.
func (r *phaseRun) knownThen(ctx context.Context, e *engine.Engine) error {
	if r.config.Versions < 2 {
		return nil
	}
	rows, err := e.Query(ctx, "SELECT quantile_disc(known_from, 0.5) FROM memory_versions", 1)
	if err != nil {
		return err
	}
	at, ok := rows.Rows[0][0].(time.Time)
	if !ok {
		return fmt.Errorf("%w: %v is no time", engine.ErrInternal, rows.Rows[0][0])
	}
	then := func(query func(i int) recall.Query) func(i int) recall.Query {
		return func(i int) recall.Query {
			q := query(i)
			q.KnownAt = at
			return q
		}
	}
	p := &r.report
	if _, err := r.recalls(ctx, e, "hybrid recalls of the past", then(r.hybrid), &p.HybridPastP50, &p.HybridPastP99); err != nil {
		return err
	}
	_, err = r.recalls(ctx, e, "lexical recalls of the past", then(r.lexical), &p.LexicalPastP50, &p.LexicalPastP99)
	return err
}
