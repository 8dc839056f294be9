package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/recall"
)

const (
	megabyte  = 1 << 20
	loadBatch = 10_000 // memories made at a time, so that their texts don't count as the engine's memory
	warmUps   = 5      // recalls before those that count; they prepare the statements

	noResident = -1 // no resident index: the file answers
	// askedFor is how long a sort of questions is asked at most, once askedLeast are answered: of a million memories SQL asks for a long time.
	askedFor   = 15 * time.Second
	askedLeast = 10

	residentWhole = 1 << 20 // megabytes for the resident index: however many memories there are, it may hold all of them
)

// phaseRun is one phase on its way.
type phaseRun struct {
	config RecallConfig
	corpus *corpus
	file   string
	aside  int // memories written beside readers
	report RecallReport
}

func (r *phaseRun) open(ctx context.Context) (*engine.Engine, float64, error) {
	return r.openWith(ctx, engine.Options{})
}

func (r *phaseRun) openWith(ctx context.Context, o engine.Options) (*engine.Engine, float64, error) {
	began := time.Now()
	o.Embedder = r.config.Embedder
	e, err := engine.Open(ctx, r.file, o)
	return e, milliseconds(time.Since(began)), err
}

func (r *phaseRun) load(ctx context.Context) error {
	e, _, err := r.open(ctx)
	if err != nil {
		return err
	}
	defer e.Close() // a second one does nothing
	var took time.Duration
	var ids []string
	for from := 0; from < r.config.Memories; from += loadBatch {
		to := min(from+loadBatch, r.config.Memories)
		requests := r.corpus.memories(from, to)
		r.firstTexts(requests, from)
		began := time.Now()
		results, err := e.RememberMany(ctx, requests)
		took += time.Since(began)
		if err != nil {
			return err
		}
		for _, result := range results {
			if err := errors.Join(result.Err, result.VectorErr); err != nil {
				return err
			}
			ids = append(ids, result.ID)
		}
		r.config.Progress("bulk insert", to, r.config.Memories)
	}
	r.report.BulkPerSecond = float64(r.config.Memories) / took.Seconds()
	if err := r.reword(ctx, e, ids); err != nil {
		return err
	}
	stats, err := e.Stats(ctx)
	if err != nil {
		return err
	}
	if r.report.Passages = stats.Passages; stats.Passages > 0 {
		r.report.PassageMs = milliseconds(took) / float64(stats.Passages)
	}
	began := time.Now()
	if err := e.Close(); err != nil {
		return err
	}
	r.report.CloseMs = milliseconds(time.Since(began))
	info, err := os.Stat(r.file)
	if err != nil {
		return err
	}
	r.report.FileMB = float64(info.Size()) / megabyte
	r.report.BulkPeakMB, err = peakMemory()
	return err
}

// measure opens a closed file and recalls by its SQL; then by the resident index, from which it also writes live and recalls from postings that have a
// part in the order of writing; that part again by SQL.
func (r *phaseRun) measure(ctx context.Context) error {
	p := &r.report
	var bySQL, byResident RecallTimes
	var answers [2][][]string
	err := r.with(ctx, noResident, func(e *engine.Engine) (err error) {
		first, err := r.recall(ctx, e, r.hybrid(0))
		if err != nil {
			return err
		}
		p.HybridFirst = milliseconds(first)
		if answers[0], err = r.allSorts(ctx, e, &bySQL); err != nil {
			return err
		}
		return r.knownThen(ctx, e)
	})
	if err != nil {
		return err
	}
	err = r.with(ctx, residentWhole, func(e *engine.Engine) (err error) {
		if err := r.awaitResident(ctx, e); err != nil {
			return err
		}
		if answers[1], err = r.allSorts(ctx, e, &byResident); err != nil {
			return err
		}
		if err := r.remembers(ctx, e); err != nil {
			return err
		}
		return r.afterWrites(ctx, e, &byResident)
	})
	if err != nil {
		return err
	}
	if err := r.with(ctx, noResident, func(e *engine.Engine) error { return r.afterWrites(ctx, e, &bySQL) }); err != nil {
		return err
	}
	p.RecallTimes, p.ResidentTimes, p.SQLTimes = byResident, ResidentTimes(byResident), SQLTimes(bySQL)
	p.Agreement = agreement(answers[0], answers[1])
	p.PeakMB, err = peakMemory()
	return err
}

// with opens the file with so much memory for a resident index, and closes it after do. The first open is the one that is reported.
func (r *phaseRun) with(ctx context.Context, residentMB int, do func(*engine.Engine) error) (err error) {
	e, took, err := r.openWith(ctx, engine.Options{ResidentMB: residentMB})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	if r.report.OpenMs == 0 {
		r.report.OpenMs = took
	}
	return do(e)
}

// agreement is the share of questions that have the same hits in the same order in both, of those that both were asked.
func agreement(a, b [][]string) float64 {
	asked, agreeing := 0, 0
	for i, ids := range a {
		if ids == nil || b[i] == nil {
			continue
		}
		if asked++; slices.Equal(ids, b[i]) {
			agreeing++
		}
	}
	return float64(agreeing) / float64(asked)
}

// awaitResident asks until the resident index answers.
func (r *phaseRun) awaitResident(ctx context.Context, e *engine.Engine) error {
	began := time.Now()
	if err := untilResident(ctx, e); err != nil {
		return err
	}
	r.report.ResidentReadyMs = milliseconds(time.Since(began))
	stats, err := e.Stats(ctx)
	if err != nil {
		return err
	}
	r.report.ResidentMB = float64(stats.Resident.Bytes) / megabyte
	return nil
}

// untilResident asks, which has the resident index made, until that answers.
func untilResident(ctx context.Context, e *engine.Engine) error {
	for {
		result, err := e.Recall(ctx, recall.Query{Text: "ready?", Mode: recall.LexicalMode})
		if err != nil || result.Trace.Resident {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// allSorts asks all sorts of questions and gives the ids of the hits of each.
func (r *phaseRun) allSorts(ctx context.Context, e *engine.Engine, t *RecallTimes) (hits [][]string, err error) {
	for _, sort := range []struct {
		name     string
		query    func(i int) recall.Query
		p50, p99 *float64
	}{
		{"hybrid recalls", r.hybrid, &t.HybridP50, &t.HybridP99},
		{"hybrid recalls in a scope", r.hybridScope, &t.HybridScopeP50, &t.HybridScopeP99},
		{"lexical recalls", r.lexical, &t.LexicalP50, &t.LexicalP99},
		{"lexical recalls of unknown words", r.lexicalMiss, &t.LexicalMissP50, &t.LexicalMissP99},
		{"vector recalls", r.vector, &t.VectorP50, &t.VectorP99},
	} {
		found, err := r.recalls(ctx, e, sort.name, sort.query, sort.p50, sort.p99)
		if err != nil {
			return nil, err
		}
		hits = append(hits, found...)
	}
	return hits, nil
}

// afterWrites asks what is asked after the single writes.
func (r *phaseRun) afterWrites(ctx context.Context, e *engine.Engine, t *RecallTimes) error {
	if _, err := r.recalls(ctx, e, "lexical recalls after live writes", r.lexical, &t.LexicalUnclusteredP50, &t.LexicalUnclusteredP99); err != nil {
		return err
	}
	return r.readers(ctx, e, t)
}

func (r *phaseRun) question(i int) (text, scope string) {
	return r.corpus.question(i, r.config.Memories)
}

func (r *phaseRun) hybrid(i int) recall.Query {
	text, _ := r.question(i)
	return recall.Query{Text: text, Mode: recall.Hybrid}
}

func (r *phaseRun) hybridScope(i int) recall.Query {
	text, scope := r.question(i)
	return recall.Query{Text: text, Mode: recall.Hybrid, Scopes: []string{scope}}
}

func (r *phaseRun) lexical(i int) recall.Query {
	text, _ := r.question(i)
	return recall.Query{Text: text, Mode: recall.LexicalMode}
}

func (r *phaseRun) lexicalMiss(i int) recall.Query {
	return recall.Query{Text: r.corpus.miss(i), Mode: recall.LexicalMode}
}

func (r *phaseRun) vector(i int) recall.Query {
	text, _ := r.question(i)
	return recall.Query{Text: text, Mode: recall.VectorMode}
}

// recalls asks one sort of questions, notes the middle and the slowest hundredth, and gives the ids of the hits of each; nil of those for which there was
// no time.
func (r *phaseRun) recalls(ctx context.Context, e *engine.Engine, name string, query func(i int) recall.Query, p50, p99 *float64) ([][]string, error) {
	times, hits := make([]time.Duration, 0, r.config.Queries), make([][]string, r.config.Queries)
	until := time.Now().Add(askedFor)
	for i := -warmUps; i < r.config.Queries && (i < askedLeast || time.Now().Before(until)); i++ {
		began := time.Now()
		result, err := e.Recall(ctx, query(i+warmUps))
		took := time.Since(began)
		if err != nil {
			return nil, err
		}
		if i >= 0 {
			ids := make([]string, len(result.Hits))
			for n, h := range result.Hits {
				ids[n] = h.ID
			}
			times, hits[i] = append(times, took), ids
			r.config.Progress(name, i+1, r.config.Queries)
		}
	}
	*p50, *p99 = milliseconds(percentile(times, 50)), milliseconds(percentile(times, 99))
	return hits, nil
}

func (r *phaseRun) recall(ctx context.Context, e *engine.Engine, q recall.Query) (time.Duration, error) {
	began := time.Now()
	_, err := e.Recall(ctx, q)
	return time.Since(began), err
}

// remembers writes one memory at a time.
func (r *phaseRun) remembers(ctx context.Context, e *engine.Engine) error {
	times := make([]time.Duration, r.config.Live)
	for i := range times {
		request := r.corpus.memory(r.config.Memories + i)
		began := time.Now()
		result, err := e.Remember(ctx, request)
		times[i] = time.Since(began)
		if err := errors.Join(err, result.VectorErr); err != nil {
			return err
		}
		r.config.Progress("single writes", i+1, len(times))
	}
	r.report.RememberP50, r.report.RememberP99 = milliseconds(percentile(times, 50)), milliseconds(percentile(times, 99))
	r.report.RememberMax = milliseconds(percentile(times, 100))
	return nil
}

// peakMemory is the most this process ever had in memory, in megabytes; 0 where the system does not say.
func peakMemory() (float64, error) {
	f, err := os.Open("/proc/self/status")
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	content, err := io.ReadAll(f)
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(content), "VmHWM:")
	var kilobytes float64
	if _, err := fmt.Sscanf(rest, "%f kB", &kilobytes); err != nil {
		return 0, fmt.Errorf("/proc/self/status: no VmHWM: %w", err)
	}
	return kilobytes / 1024, nil
}
