package main

import (
	"fmt"
	"strings"

	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/recall"
)

// printTables shows a recall in numbers: the hits with their signals and scores from stage to stage, what was dropped, and the
// trace.
func (a *app) printTables(r *recall.Result) {
	if len(r.Hits) > 0 {
		a.printSignals(r.Hits)
		a.printf("\n")
	}
	if len(r.Trace.Drops) > 0 {
		a.printDrops(r)
		a.printf("\n")
	}
	a.printTrace(r.Trace)
}

// printSignals prints a row per hit. Fused, reranked and length are the score after that stage, decay is the factor that age and
// tier put on it, and score is what came of it all.
func (a *app) printSignals(hits []recall.Hit) {
	t := a.table("rank", "score", "cosine", "BM25", "fused", "reranked", "length", "decay", "id", "text")
	right(t, "score", "cosine", "BM25", "fused", "reranked", "length", "decay")
	deferred := false
	for i, h := range hits {
		s := h.Signals
		rank := fmt.Sprint(i + 1)
		if s.Deferred {
			rank, deferred = rank+"~", true
		}
		decay := "–"
		if s.LengthNorm > 0 {
			decay = fmt.Sprintf("×%.2f", s.Decayed/s.LengthNorm)
		}
		t.AppendRow([]any{rank, number(&h.Score, 3), number(s.Cosine, 3), number(s.Raw, 2), number(&s.Fused, 3), number(&s.Reranked, 3),
			number(&s.LengthNorm, 3), decay, ids.Short(h.ID), line(h.Shown(), a.width()-84)})
	}
	t.Render()
	if deferred {
		a.printf("~ says nearly the same as a better hit, so it stands behind the others\n")
	}
}

// printDrops names the best of what each stage dropped.
func (a *app) printDrops(r *recall.Result) {
	t := a.table("dropped at", "dropped", "of", "the best of them, with fused score")
	for _, d := range r.Trace.Drops {
		var best []string
		for _, c := range r.Candidates {
			if c.Dropped == d.Stage && len(best) < 4 {
				best = append(best, fmt.Sprintf("%s %.3f", ids.Short(c.ID), c.Fused))
			}
		}
		t.AppendRow([]any{d.Stage, d.Dropped, d.Before, strings.Join(best, ", ")})
	}
	t.Render()
}

func (a *app) printTrace(trace recall.Trace) {
	t := a.table("stage", "before", "after", "scores", "ms")
	right(t, "ms")
	for _, s := range trace.Stages {
		scores, took := "", ""
		if s.Highest != 0 || s.Lowest != 0 {
			scores = fmt.Sprintf("%.3f to %.3f", s.Lowest, s.Highest)
		}
		if s.Duration > 0 {
			took = milliseconds(s.Duration)
		}
		t.AppendRow([]any{s.Name, s.Before, s.After, scores, took})
	}
	t.Render()
}
