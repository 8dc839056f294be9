package probe

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"
)

// Reranker is what is asked how well texts fit a question.
type Reranker interface {
	Model() string
	Rerank(ctx context.Context, query string, texts []string) ([]float64, error)
}

// CrossEncoder probes a model that scores texts beside a question. That an answer has a better score than a stranger is a matter of training, so that a
// model which does not is told of in a note.
func CrossEncoder(ctx context.Context, m Reranker, reference []Reference) (*Report, error) {
	p := &Report{Model: m.Model(), Kind: "cross-encoder"}
	for _, step := range []func(context.Context, Reranker) error{p.scores, p.fits, p.oddPairs} {
		if err := step(ctx, m); err != nil {
			return nil, fmt.Errorf("%s: %w", m.Model(), err)
		}
	}
	if err := p.scoresByOthers(ctx, m, reference); err != nil {
		return nil, fmt.Errorf("%s: %w", m.Model(), err)
	}
	var err error
	p.PerSecondOne, p.PerSecondMany, err = speed(ctx, func(texts []string) error { _, err := m.Rerank(ctx, said().Questions[0].Question, texts); return err })
	return p, err
}

// scores looks at what every score has to be.
func (r *Report) scores(ctx context.Context, m Reranker) error {
	question, texts := said().Questions[0].Question, said().Plain
	together, err := m.Rerank(ctx, question, texts)
	if err != nil {
		return err
	}
	if len(together) != len(texts) {
		r.add("one score per text", Wrong, fmt.Sprint(len(texts)), "%d", len(together))
		return nil
	}
	again, err := m.Rerank(ctx, question, texts)
	if err != nil {
		return err
	}
	within := true
	low, high := math.Inf(1), math.Inf(-1)
	var repeated, alone float64
	for i, score := range together {
		within = within && score >= 0 && score <= 1
		low, high = min(low, score), max(high, score)
		single, err := m.Rerank(ctx, question, texts[i:i+1])
		if err != nil {
			return err
		}
		repeated, alone = worse(repeated, math.Abs(score-again[i])), worse(alone, math.Abs(score-single[0]))
	}
	among := Wrong
	if strings.Contains(m.Model(), "/") {
		among = Note
	}
	r.add("scores", judge(within, Wrong), "from 0 to 1", "from %.3g to %.3g", low, high)
	r.add("repeatable", judge(repeated <= 1e-6, Wrong), "the same score each time", "at most %.2g off", repeated)
	r.add("batches", judge(alone <= ofBatches, among), "the same score alone and among others", "at most %.2g off", alone)
	r.add("tells texts apart", judge(high > low, Wrong), "not one score for all", "%.2g between the best and the worst", high-low)
	return nil
}

// fits looks whether answers have better scores than strangers.
func (r *Report) fits(ctx context.Context, m Reranker) error {
	var languages []string
	right, all := map[string]int{}, map[string]int{}
	for _, q := range said().Questions {
		s, err := m.Rerank(ctx, q.Question, []string{q.Answer, q.Other})
		if err != nil {
			return err
		}
		if all[q.Language]++; all[q.Language] == 1 {
			languages = append(languages, q.Language)
		}
		if s[0] > s[1] {
			right[q.Language]++
		}
	}
	for _, language := range languages {
		r.add("answers, "+language, judge(right[language] == all[language], Note), "an answer has a better score than a stranger, if it was trained for that", "%d of %d", right[language], all[language])
	}
	return nil
}

// oddPairs looks whether hostile texts are scored, or left out, without a failure.
func (r *Report) oddPairs(ctx context.Context, m Reranker) error {
	bad := 0
	var first error
	for _, text := range said().Odd {
		for _, pair := range [][2]string{{"who?", text}, {text, "somebody"}} {
			s, err := m.Rerank(ctx, pair[0], pair[1:])
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil || len(s) != 1 || s[0] < 0 || s[0] > 1 { // NaN is for what was not scored
				if bad++; first == nil {
					first = fmt.Errorf("; the first is %.20q beside %.20q: %w", pair[0], pair[1], err)
				}
			}
		}
	}
	found := fmt.Sprintf("%d of %d fail", bad, 2*len(said().Odd))
	if first != nil {
		found += first.Error()
	}
	r.add("odd texts", judge(bad == 0, Wrong), "empty, very long, broken or foreign texts make no failure", "%s", found)
	return nil
}

// scoresByOthers compares with what another program made.
func (r *Report) scoresByOthers(ctx context.Context, m Reranker, reference []Reference) error {
	var most float64
	n := 0
	for _, ref := range reference {
		if ref.Score == nil {
			continue
		}
		s, err := m.Rerank(ctx, ref.Query, []string{ref.Text})
		if err != nil {
			return err
		}
		most = worse(most, math.Abs(s[0]-*ref.Score))
		n++
	}
	if n == 0 {
		r.add("reference", Skipped, "", "none is known of this model; bring one with --reference")
		return nil
	}
	r.add("reference", judge(most <= ofPrograms, Wrong), fmt.Sprintf("at most %g off", ofPrograms), "%d known scores, at most %.2g off", n, most)
	r.Checks[len(r.Checks)-1].ByOthers = true
	return nil
}

// speedFor is how long each speed is measured.
var speedFor = time.Second / 2

// speed reads plain sentences, one at a time and 32 at once.
func speed(ctx context.Context, read func(texts []string) error) (one, many float64, err error) {
	var texts []string
	for len(texts) < 32 {
		texts = append(texts, said().Plain...)
	}
	texts = texts[:32]
	for _, way := range []struct {
		size   int
		result *float64
	}{{1, &one}, {32, &many}} {
		n := 0
		began := time.Now()
		for time.Since(began) < speedFor {
			at := n % len(texts)
			if err := read(texts[at : at+way.size]); err != nil {
				return 0, 0, err
			}
			if err := ctx.Err(); err != nil {
				return 0, 0, err
			}
			n += way.size
		}
		*way.result = float64(n) / time.Since(began).Seconds()
	}
	return one, many, nil
}
