package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/text"
	sqlfiles "github.com/mallardmem/mallard/sql"
)

// Recall finds the documents that answer a question, best first: both channels, fusion, floors, light rerank, boosts, decay,
// noise and diversity, as the weights say (docs/recall.md). The result is never nil; with an error it has the trace of what
// was done. When the model fails, a recall that did not name its mode goes on with words alone and says so in Notices. Errors:
// ErrInvalid, ErrNotFound (weights, conversation), ErrNoEmbedder, ErrBadVector.
func (e *Engine) Recall(ctx context.Context, q RecallQuery) (*RecallResult, error) {
	start := time.Now()
	r := &recall{engine: e, query: q.withDefaults(), result: &RecallResult{}}
	r.result.Trace.Query = q.Text
	err := r.run(ctx)
	r.result.Trace.Duration = time.Since(start)
	if err != nil {
		r.result.Trace.Failure, r.result.Trace.Error = r.step, err.Error()
		return r.result, fmt.Errorf("recall: %w", err)
	}
	return r.result, nil
}

// recall is one recall on its way.
type recall struct {
	engine *Engine
	query  RecallQuery
	result *RecallResult
	step   string // the stage under way

	weights       Weights
	scopes        []string
	conversations []string // ids
	terms         []string
	tags          []string
	vector        []float32
	at            time.Time
	candidates    []Candidate
}

func (r *recall) run(ctx context.Context) error {
	e, q := r.engine, r.query
	r.step = "query"
	if err := q.validate(); err != nil {
		return err
	}
	if q.Adaptive && text.SkipRecall(q.Text, q.MinLength) {
		r.result.Skipped = true
		return nil
	}
	var err error
	r.tags = text.TagTokens(q.Text, q.TagPrefixes)
	if r.result.Mode, err = e.mode(q, r.tags); err != nil {
		return err
	}
	var refused []string
	r.scopes, refused = e.scopes.Load().ForReading(q.Agent, q.Scopes)
	for _, scope := range refused {
		r.notice("scope %s is not open to agent %s", quote(scope), q.Agent)
	}
	r.at = orTime(utc(q.AsOf), e.now())
	var surfaces []string
	r.terms, surfaces = e.terms(q.lexicalText())
	r.result.Trace.LexicalQuery, r.result.Trace.Terms, r.result.Trace.Tags = q.lexicalText(), r.terms, r.tags
	rarity, err := r.prepare(ctx, surfaces)
	if err != nil {
		return err
	}
	if err := r.embed(ctx, rarity); err != nil {
		return err
	}
	return e.read(ctx, "read", func(c *connection) error {
		if err := r.gather(ctx, c); err != nil {
			return err
		}
		return r.rank(ctx, c)
	})
}

func (r *recall) notice(format string, args ...any) {
	r.result.Notices = append(r.result.Notices, fmt.Sprintf(format, args...))
}

// prepare reads the weights, the ids of conversations, and how rare the words of the query are among the documents asked.
func (r *recall) prepare(ctx context.Context, surfaces []string) (rarity func(string) float64, err error) {
	e, q := r.engine, r.query
	err = e.read(ctx, "read", func(c *connection) error {
		if q.Weights != nil {
			r.weights = *q.Weights
		} else if r.weights, err = e.weights(ctx, c, q.WeightSet); err != nil {
			return err
		} else {
			r.result.WeightSet = q.WeightSet
		}
		if q.Conversations != nil {
			r.conversations = []string{}
		}
		for _, name := range q.Conversations {
			v, err := findConversation(ctx, c, name)
			if err != nil {
				return err
			}
			if v == nil || !internal(q.Agent) && !e.scopes.Load().Allows(q.Agent, v.Scope) {
				return fmt.Errorf("%w: conversation %s", ErrNotFound, quote(name))
			}
			r.conversations = append(r.conversations, v.ID)
		}
		if r.weights.Rarity && r.result.Mode != LexicalMode {
			r.step = "rarity"
			rarity, err = r.rarity(ctx, c, surfaces)
		}
		return err
	})
	return rarity, err
}

// rarity gives each word of the query its share of the greatest possible rarity; a word that no document has says the most.
func (r *recall) rarity(ctx context.Context, c *connection, surfaces []string) (func(string) float64, error) {
	filters := []any{sql.Named("kinds", filterArg(r.query.Kinds)), sql.Named("scopes", filterArg(r.scopes)), sql.Named("conversations", filterArg(r.conversations))}
	var population float64
	if _, err := c.one(ctx, "recall_population", []any{&population}, filters...); err != nil {
		return nil, err
	}
	documents := map[string]float64{}
	err := c.each(ctx, "recall_words", func(rows *sql.Rows) error {
		var surface string
		var n float64
		err := rows.Scan(&surface, &n)
		documents[surface] = n
		return err
	}, append(filters, sql.Named("surfaces", surfaces))...)
	if err != nil {
		return nil, err
	}
	idf := func(n float64) float64 { return math.Log(1 + (population-n+0.5)/(n+0.5)) }
	return func(word string) float64 {
		return min(max(idf(documents[word])/idf(0), 0), 1)
	}, nil
}

// embed makes the query's vector, with no transaction open. A model that fails leaves a recall of words, unless the mode was
// asked for by name.
func (r *recall) embed(ctx context.Context, rarity func(string) float64) error {
	if r.result.Mode == LexicalMode {
		return nil
	}
	r.step = "embed"
	start := time.Now()
	embedder := r.engine.opts.Embedder
	v, err := embedder.EmbedQuery(ctx, r.query.Text, rarity)
	if err == nil {
		v, err = unit(v, embedder.Dims())
	}
	r.result.Trace.Stages = append(r.result.Trace.Stages, Stage{Name: "embed", Duration: time.Since(start)})
	switch {
	case err == nil:
		r.vector = v
		return nil
	case r.query.Mode != "" || ctx.Err() != nil || errors.Is(err, ErrBadVector):
		return fmt.Errorf("embed with %s: %w", embedder.Model(), err)
	}
	r.result.Mode = LexicalMode
	r.result.Trace.Failure, r.result.Trace.Error = r.step, err.Error()
	r.notice("the model failed, so this recall went by words alone: %v", err)
	return nil
}

// A time without a bound, as a parameter.
var (
	year1    = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	year9999 = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
)

// gather runs both channels and fuses them.
func (r *recall) gather(ctx context.Context, c *connection) error {
	r.step = "gather"
	start := time.Now()
	q := r.query
	terms, vector := append([]string{}, r.terms...), append([]float32{}, r.vector...)
	if r.result.Mode == VectorMode {
		terms = []string{}
	}
	err := c.each(ctx, "recall_candidates", func(rows *sql.Rows) error {
		var v Candidate
		defer func() { r.candidates = append(r.candidates, v) }()
		return rows.Scan(&v.DocNo, &v.Cosine, &v.Raw, &v.VectorScore, &v.LexicalScore, &v.Fused)
	},
		sql.Named("weights", r.weights.arg()), sql.Named("vector", vector), sql.Named("terms", terms),
		sql.Named("tags", lowered(r.tags)), sql.Named("kinds", filterArg(q.Kinds)), sql.Named("scopes", filterArg(r.scopes)),
		sql.Named("conversations", filterArg(r.conversations)), sql.Named("categories", filterArg(q.Categories)),
		sql.Named("tiers", filterArg(q.Tiers)), sql.Named("since", orTime(utc(q.Since), year1)), sql.Named("until", orTime(utc(q.Until), year9999)),
		sql.Named("at", r.at), sql.Named("said_by", orTime(utc(q.AsOf), year9999)), sql.Named("pool", int64(max(r.weights.Pool, 2*q.Limit))))
	r.result.Trace.gathered(r.candidates, time.Since(start))
	return err
}

// lowered gives tags as the statement compares them: in lower case.
func lowered(tags []string) []string {
	lower := make([]string, len(tags))
	for i, tag := range tags {
		lower[i] = strings.ToLower(tag)
	}
	return lower
}

// rank takes the candidates through the stages after fusion, and the first of them become the hits.
func (r *recall) rank(ctx context.Context, c *connection) error {
	r.step = "rank"
	start := time.Now()
	if len(r.candidates) == 0 {
		r.result.Trace.ranked(nil, 0)
		return nil
	}
	docNos, positions := make([]int32, len(r.candidates)), make([]int32, len(r.candidates))
	fused, cosines := make([]float64, len(r.candidates)), make([]float64, len(r.candidates))
	for i, v := range r.candidates {
		docNos[i], positions[i], fused[i], cosines[i] = v.DocNo, int32(i+1), v.Fused, math.NaN() // the driver can't bind a list with a NULL in it
		if v.Cosine != nil {
			cosines[i] = *v.Cosine
		}
	}
	if err := c.execDDL(ctx, sqlfiles.Query("recall_clear")); err != nil {
		return err
	}
	_, err := c.exec(ctx, "recall_ask", sql.Named("weights", r.weights.arg()), sql.Named("at", r.at),
		sql.Named("rerankable", r.result.Mode == Hybrid), sql.Named("limit", int64(r.query.Limit)))
	if err != nil {
		return err
	}
	_, err = c.exec(ctx, "recall_offer", sql.Named("positions", positions), sql.Named("doc_nos", docNos), sql.Named("fused", fused), sql.Named("cosines", cosines))
	if err != nil {
		return err
	}
	ranked := make([]Candidate, 0, len(r.candidates))
	err = c.each(ctx, "recall_rank", func(rows *sql.Rows) error {
		v, hit, err := scanRanked(rows, r.candidates, r.query.Level)
		if err != nil {
			return err
		}
		ranked = append(ranked, v)
		if v.Dropped == "" {
			r.result.Hits = append(r.result.Hits, hit)
		}
		return nil
	})
	r.result.Trace.ranked(ranked, time.Since(start))
	if r.query.Explain {
		r.result.Candidates = ranked
	}
	return err
}

// scanRanked reads a row of the query recall_rank and completes the candidate it speaks of.
func scanRanked(rows *sql.Rows, candidates []Candidate, level Level) (v Candidate, h Hit, err error) {
	var position int
	var m Memory
	var caption, dropped string
	var seq, rank sql.NullInt64
	var docNo int32
	err = rows.Scan(&position, &docNo, &h.ID, &h.Kind, &h.Scope, textOf(&h.Category), textOf(&h.Tier), textOf(&h.ConversationID), &h.CreatedAt,
		&m.Text, textOf(&m.L0), textOf(&m.L1), textOf(&m.L2), textOf(&h.Session), textOf(&h.Speaker), textOf(&h.Role), &seq, textOf(&caption),
		&v.Reranked, &v.Recency, &v.Importance, &v.LengthNorm, &v.Composite, &v.Decayed, textOf(&dropped), &v.Deferred, &rank)
	if err != nil {
		return v, h, err
	}
	c := candidates[position-1]
	c.ID, c.Kind, c.Reranked, c.Recency, c.Importance, c.LengthNorm = h.ID, h.Kind, v.Reranked, v.Recency, v.Importance, v.LengthNorm
	c.Composite, c.Decayed, c.Deferred, c.Dropped = v.Composite, v.Decayed, v.Deferred, dropped
	h.Score, h.Seq, h.Signals = c.Decayed, int(seq.Int64), c
	h.Text = m.Level(level)
	if h.Kind == MessageKind {
		h.Text = m.Text
		if caption != "" {
			h.Text += " [" + caption + "]"
		}
	}
	return c, h, nil
}
