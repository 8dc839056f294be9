package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/text"
)

// question is what a recall asks of the index.
type question struct {
	terms   []string // of the words that count, as the index has them
	words   []string // all words, as they are written, folded
	sources []string // per term, the word that it comes from
	vector  []float32
	periods []text.Period
	rarity  func(word string) float64 // 0 to 1; nil: unknown
}

// Dates in a question without a year may mean any of these years.
const (
	yearsBack  = 30
	yearsAhead = 2
)

// A time without a bound, as a parameter.
var (
	year1    = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	year9999 = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
)

// settle finds out what is asked, as far as that needs no database; goOn is false when the question asks for nothing.
func (r *recall) settle() (goOn bool, err error) {
	e, q := r.engine, r.query
	r.step = "query"
	if err := q.validate(); err != nil {
		return false, err
	}
	if q.Adaptive && text.SkipRecall(q.Text, q.MinLength) {
		r.result.Skipped = true
		return false, nil
	}
	r.tags = text.TagTokens(q.Text, q.TagPrefixes)
	if r.result.Mode, err = e.mode(q, r.tags); err != nil {
		return false, err
	}
	var refused []string
	r.scopes, refused = e.scopes.Load().ForReading(q.Agent, q.Scopes)
	for _, scope := range refused {
		r.notice("scope %s is not open to agent %s", quote(scope), q.Agent)
	}
	r.at = orTime(utc(q.AsOf), e.now())
	r.question = e.understand(q.lexicalText())
	trace := &r.result.Trace
	trace.LexicalQuery, trace.Terms, trace.Tags = q.lexicalText(), r.question.terms, r.tags
	return true, nil
}

// understand takes the words of a question apart.
func (e *Engine) understand(query string) (q question) {
	for _, token := range e.analyzer.QueryTokens(query) {
		q.terms, q.sources = append(q.terms, token.Term), append(q.sources, token.Surface)
	}
	for _, token := range e.analyzer.Tokens(query) {
		if !slices.Contains(q.words, token.Surface) {
			q.words = append(q.words, token.Surface)
		}
	}
	return q
}

// ask reads the weights and the ids of conversations, puts the question into the connection's tables, and counts how rare its
// words are among the documents asked.
func (r *recall) ask(ctx context.Context, c *connection) (err error) {
	e, q := r.engine, r.query
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
	if r.weights.Date > 0 {
		r.question.periods = text.Dates(q.Text, r.at)
		r.result.Trace.Dates = r.question.periods
	}
	if err := r.askTable(ctx, c); err != nil {
		return err
	}
	if r.weights.Rarity && !r.lexicalOnly() || r.weights.Related > 0 {
		r.step = "rarity"
		return r.question.weigh(ctx, c)
	}
	return nil
}

// askTable fills the table asking.
func (r *recall) askTable(ctx context.Context, c *connection) error {
	q := r.query
	if err := c.forgetRecall(ctx); err != nil {
		return err
	}
	froms, untils := []string{}, []string{}
	for _, period := range r.question.periods {
		for _, p := range period.Occurrences(r.at.AddDate(-yearsBack, 0, 0), r.at.AddDate(yearsAhead, 0, 0)) {
			froms, untils = append(froms, moment(p.From)), append(untils, moment(p.Until))
		}
	}
	_, err := c.exec(ctx, "recall_ask",
		sql.Named("weights", r.weights.arg()), sql.Named("asked_at", r.at), sql.Named("said_by", orTime(utc(q.AsOf), year9999)),
		sql.Named("rerankable", r.result.Mode == Hybrid), sql.Named("hits", int64(q.Limit)), sql.Named("pool", int64(max(r.weights.Pool, 2*q.Limit))),
		sql.Named("offers", int64(r.offers())), sql.Named("kinds", filterArg(q.Kinds)), sql.Named("scopes", filterArg(r.scopes)),
		sql.Named("conversations", filterArg(r.conversations)), sql.Named("categories", filterArg(q.Categories)), sql.Named("tiers", filterArg(q.Tiers)),
		sql.Named("tags", lowered(r.tags)), sql.Named("since", orTime(utc(q.Since), year1)), sql.Named("until", orTime(utc(q.Until), year9999)),
		sql.Named("words", append([]string{}, r.question.words...)), sql.Named("froms", froms), sql.Named("untils", untils))
	return err
}

// moment is a time as SQL reads it from text.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.999999") }

// lowered gives tags as the statement compares them: in lower case.
func lowered(tags []string) []string {
	lower := make([]string, len(tags))
	for i, tag := range tags {
		lower[i] = strings.ToLower(tag)
	}
	return lower
}

// weigh gives each word its share of the greatest possible rarity among the documents asked; a word that none has says the most.
func (q *question) weigh(ctx context.Context, c *connection) error {
	documents := map[string]float64{}
	err := c.each(ctx, "recall_words", func(rows *sql.Rows) error {
		var word string
		var n float64
		err := rows.Scan(&word, &n)
		documents[word] = n
		return err
	})
	population := documents[""]
	idf := func(n float64) float64 { return math.Log(1 + (population-n+0.5)/(n+0.5)) }
	q.rarity = func(word string) float64 {
		return min(max(idf(documents[word])/idf(0), 0), 1)
	}
	return err
}

// embed makes the question's vector, with no transaction open. A model that fails leaves a recall of words, unless the mode was
// asked for by name.
func (r *recall) embed(ctx context.Context) error {
	if r.lexicalOnly() {
		return nil
	}
	r.step = "embed"
	start := time.Now()
	embedder := r.engine.opts.Embedder
	v, err := embedder.EmbedQuery(ctx, r.query.Text, r.question.rarity)
	if err == nil {
		v, err = unit(v, embedder.Dims())
	}
	r.result.Trace.Stages = append(r.result.Trace.Stages, Stage{Name: "embed", Duration: time.Since(start)})
	switch {
	case err == nil:
		r.question.vector = v
		return nil
	case r.query.Mode != "" || ctx.Err() != nil || errors.Is(err, ErrBadVector):
		return fmt.Errorf("embed with %s: %w", embedder.Model(), err)
	}
	r.result.Mode = LexicalMode
	r.result.Trace.Failure, r.result.Trace.Error = r.step, err.Error()
	r.notice("the model failed, so this recall went by words alone: %v", err)
	return nil
}

// ask puts terms and vector beside what is asked.
func (q *question) ask(ctx context.Context, c *connection, r *recall) error {
	if len(q.terms) > 0 && r.result.Mode != VectorMode {
		ready, notice, err := r.engine.ftsReady(ctx, c)
		if err != nil {
			return err
		}
		if notice != "" {
			r.notice("%s", notice)
		}
		words, terms, shares := q.related(r)
		_, err = c.exec(ctx, "recall_ask_terms", sql.Named("words", words), sql.Named("terms", terms), sql.Named("shares", shares), sql.Named("in_postings", !ready))
		if err != nil {
			return err
		}
		if ready {
			_, err := c.exec(ctx, "recall_ask_fts", sql.Named("terms", terms), sql.Named("kinds", filterArg(r.query.Kinds)))
			if err != nil {
				return err
			}
		}
	}
	if q.vector == nil {
		return nil
	}
	_, err := c.exec(ctx, "recall_ask_vector", sql.Named("vector", q.vector))
	return err
}

// commonest is the rarity below which a word, such as the name of one who speaks, needs no related ones.
const commonest = 0.2

// related gives the terms with the number of their word and their share in its frequency: 1 for the word's own term, less for
// those of related words.
func (q *question) related(r *recall) (words []int32, terms []string, shares []float64) {
	add := func(word int, term string, share float64) {
		words, terms, shares = append(words, int32(word)), append(terms, term), append(shares, share)
	}
	for i, term := range q.terms {
		add(i, term, 1)
	}
	if r.weights.Related == 0 || r.engine.opts.Related == nil {
		return words, terms, shares
	}
	for i, source := range q.sources {
		if q.rarity(source) < commonest {
			continue
		}
		others, cosines := r.engine.opts.Related(source)
		seen := map[string]bool{q.terms[i]: true}
		for j, other := range others {
			for _, token := range r.engine.analyzer.QueryTokens(other) {
				if !seen[token.Term] { // nearest first
					seen[token.Term] = true
					add(i, token.Term, r.weights.Related*float64(cosines[j])*float64(cosines[j]))
				}
			}
		}
	}
	return words, terms, shares
}
