package recall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/memory"
)

// Rerank says who looks at the best candidates once more.
type Rerank string

// The ways to rerank.
const (
	AnyRerank      Rerank = ""         // by the model of Options.Reranker where there is one, else as the weights say
	ModelRerank    Rerank = "model"    // by that model
	FeaturesRerank Rerank = "features" // by what the text and what stands around it say of the question, as the weights feature_… say
	LightRerank    Rerank = "light"    // by the plain cosine
	NoRerank       Rerank = "none"
)

// Reranks lists those that a query may name.
func Reranks() []Rerank { return []Rerank{ModelRerank, FeaturesRerank, LightRerank, NoRerank} }

// Reranking is what a model did in a recall.
type Reranking struct {
	Model    string        `json:"model"`
	Texts    int           `json:"texts"`  // that it was given
	Scored   int           `json:"scored"` // of which it said something
	Duration time.Duration `json:"duration_ns"`
	// Failure says why what it said is not used: the candidates stand as the weights rerank them. Empty: it is.
	Failure string `json:"failure,omitempty"`
}

// leastForModel is how much time has to be left for a model to be asked.
const leastForModel = 100 * time.Millisecond

// settleRerank takes what the query says in the place of what the weights say.
func (r *recall) settleRerank() error {
	switch by := r.query.Rerank; {
	case by == ModelRerank && r.recaller.opts.Reranker == nil:
		return fmt.Errorf("%w: open with Options.Reranker, or ask for rerank features, light or none", fault.ErrNoReranker)
	case by != AnyRerank && by != ModelRerank:
		r.weights.Rerank = string(by)
	}
	return nil
}

// byModel reports whether a model is to be asked.
func (r *recall) byModel() bool {
	return r.recaller.opts.Reranker != nil && (r.query.Rerank == AnyRerank || r.query.Rerank == ModelRerank)
}

// rerank finds out what the rerank stage needs and the candidates don't have yet: what the model says, or else what the texts say. c is the file.
func (r *recall) rerank(ctx context.Context, c *duck.Conn) error {
	r.step = "rerank"
	if r.byModel() {
		if err := r.scoreByModel(ctx, c); err != nil || r.modelScores != nil {
			return err
		}
	}
	if r.weights.readsTexts() {
		return r.readTexts(ctx, c)
	}
	return nil
}

// window gives the best candidates, as they are fused, with what is shown of each: twice as many as hits are wanted.
func (r *recall) window(ctx context.Context, c *duck.Conn, level memory.Level) ([]int32, map[int32]Hit, error) {
	if err := ranking.Lend(ctx, func(p *duck.Conn) error { return r.order(ctx, p) }); err != nil {
		return nil, nil, err
	}
	window := slices.DeleteFunc(r.candidates, func(v Candidate) bool { return slices.Contains(beforeRerank, v.Dropped) })
	r.candidates = nil
	slices.SortFunc(window, func(a, b Candidate) int { return cmp.Compare(r.positions[a.DocNo], r.positions[b.DocNo]) })
	docNos := make([]int32, len(window))
	for i, v := range window {
		docNos[i] = v.DocNo
	}
	hits, err := hitsOf(ctx, c, r.query.Kinds, docNos, level)
	return docNos, hits, err
}

// scoreByModel has the model look at the best candidates. What it says is in modelScores; if it fails or takes too long, it says nothing, and the trace why.
func (r *recall) scoreByModel(ctx context.Context, c *duck.Conn) error {
	r.modelScores = map[int32]float64{}
	docNos, hits, err := r.window(ctx, c, r.query.Level)
	if err != nil || len(docNos) == 0 {
		return err
	}
	texts := make([]string, len(docNos))
	for i, no := range docNos {
		texts[i] = hits[no].Text
	}
	done := &Reranking{Model: r.recaller.opts.Reranker.Model(), Texts: len(texts)}
	r.result.Trace.Reranking = done
	start := time.Now()
	scores, err := r.askModel(ctx, texts)
	done.Duration = time.Since(start)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		r.modelScores = nil
		done.Failure = failureOf(err)
		r.notice("the reranker %s gave nothing (%s): hits stand as the weights rerank them", done.Model, done.Failure)
		return nil
	}
	for i, s := range scores {
		if !math.IsNaN(s) {
			r.modelScores[docNos[i]] = s
			done.Scored++
		}
	}
	return nil
}

// askModel gives a score of each text, from 0 to 1 or NaN, within the deadline.
func (r *recall) askModel(ctx context.Context, texts []string) ([]float64, error) {
	if at, ok := ctx.Deadline(); ok && time.Until(at) < leastForModel {
		return nil, context.DeadlineExceeded
	}
	limited, cancel := context.WithTimeout(ctx, r.recaller.opts.RerankDeadline)
	defer cancel()
	scores, err := r.recaller.opts.Reranker.Rerank(limited, r.query.Text, texts)
	switch {
	case err != nil:
		return nil, cmp.Or(limited.Err(), err)
	case len(scores) != len(texts):
		return nil, fmt.Errorf("it gave %d scores for %d texts", len(scores), len(texts))
	}
	told := false
	for i, s := range scores {
		if s < 0 || s > 1 || math.IsInf(s, 0) {
			return nil, fmt.Errorf("text %d has the score %g; allowed: 0 to 1", i, s)
		}
		told = told || !math.IsNaN(s)
	}
	if !told {
		return nil, errors.New("it scored no text")
	}
	return scores, nil
}

// failureOf says why a model gave nothing, in the word of the model's own if it has one (setup.Reranker).
func failureOf(err error) string {
	var why interface{ Reason() string }
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.As(err, &why):
		return why.Reason()
	}
	return err.Error()
}
