package recall

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/internal/resident"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/engine/text"
	"github.com/mallardmem/mallard/engine/text/dates"
	sqlfiles "github.com/mallardmem/mallard/sql"
)

// question is what a recall asks of the index.
type question struct {
	words   []string          // as they are written, folded
	termOf  map[string]string // by word, as the index has it
	terms   []string          // those that are looked up
	sources []string          // per term, the word that it comes from
	others  []string          // terms that are not looked up, being of words that stand everywhere
	vector  []float32
	periods []dates.Period
	rarity  func(word string) float64 // 0 to 1; nil: unknown
	counted []askedTerm               // whose rarity is asked; their words are numbered as they stand
	asked   []askedTerm               // these, and then the terms of related words
	byWords bool                      // not by the vector alone
}

// Dates in a question without a year may mean any of these years.
const (
	yearsBack  = 30
	yearsAhead = 2
)

// settle finds out what is asked, as far as that needs no database; goOn is false when the question asks for nothing.
func (r *recall) settle() (goOn bool, err error) {
	rc, q := r.recaller, r.query
	r.step = "query"
	if err := q.validate(); err != nil {
		return false, err
	}
	if q.Adaptive && text.SkipRecall(q.Text, q.MinLength) {
		r.result.Skipped = true
		return false, nil
	}
	r.tags = text.TagTokens(q.Text, q.TagPrefixes)
	r.embedder, r.model = rc.index.Embedder()
	if r.result.Mode, err = q.mode(r.tags, r.embedder != nil); err != nil {
		return false, err
	}
	var refused []string
	r.scopes, refused = rc.scopes.Now().ForReading(q.Agent, q.Scopes)
	for _, scope := range refused {
		r.notice("scope %s is not open to agent %s", fault.Quote(scope), q.Agent)
	}
	if err := duck.CheckClock(rc.file.Now()); err != nil {
		return false, err
	}
	r.at = q.moment().True(rc.file.Now())
	r.question = rc.understand(q.lexicalText())
	trace := &r.result.Trace
	trace.LexicalQuery, trace.Terms, trace.Tags = q.lexicalText(), r.question.terms, r.tags
	return true, nil
}

// understand takes the words of a question apart.
func (rc *Recaller) understand(query string) (q question) {
	for _, token := range rc.index.Analyzer.QueryTokens(query) {
		q.terms, q.sources = append(q.terms, token.Term), append(q.sources, token.Surface)
	}
	q.termOf = map[string]string{}
	for _, token := range rc.index.Analyzer.Tokens(query) {
		if _, known := q.termOf[token.Surface]; !known {
			q.words, q.termOf[token.Surface] = append(q.words, token.Surface), token.Term
			if !slices.Contains(q.terms, token.Term) && !slices.Contains(q.others, token.Term) {
				q.others = append(q.others, token.Term)
			}
		}
	}
	return q
}

// ask finds out the weights and the ids of conversations, and counts how rare the words of the question are among the documents asked. The file is
// asked for what memory has not.
func (r *recall) ask(ctx context.Context, c *duck.Conn) error {
	if err := r.weigh(ctx, c); err != nil {
		return err
	}
	if err := r.findConversations(ctx, c); err != nil {
		return err
	}
	if r.weights.Date > 0 || r.weights.Rerank == string(FeaturesRerank) && r.weights.FeatureDate > 0 {
		r.question.periods = dates.Find(r.query.Text, r.at)
		r.result.Trace.Dates = r.question.periods
	}
	r.step = "rarity"
	return r.count(ctx, c)
}

// weigh settles the weights.
func (r *recall) weigh(ctx context.Context, c *duck.Conn) (err error) {
	if w := r.query.Weights; w != nil {
		r.weights = *w
	} else if r.weights, err = r.recaller.weights(ctx, c, r.query.WeightSet); err == nil {
		r.result.WeightSet = r.query.WeightSet
	}
	r.weights.settle(r.query.Text)
	r.weights.HardMinScore = max(r.weights.HardMinScore, r.query.MinScore)
	if err == nil && r.query.RelatedTo != "" && r.weights.Relation == 0 {
		err = fault.Invalid("related_to", r.query.RelatedTo, "nothing unless the weight relation is above 0")
	}
	return cmp.Or(err, r.settleRerank())
}

// findConversations gives the ids of those that the query names.
func (r *recall) findConversations(ctx context.Context, c *duck.Conn) error {
	q := r.query
	if q.Conversations == nil {
		return nil
	}
	r.conversations = []string{}
	known := map[string]bool{}
	err := c.Each(ctx, "recall_conversations", func(rows *sql.Rows) error {
		var name, id, scope string
		err := rows.Scan(&name, &id, &scope)
		if r.recaller.scopes.Now().Sees(q.Agent, scope) {
			known[name], known[id], r.conversations = true, true, append(r.conversations, id)
		}
		return err
	}, sql.Named("names", q.Conversations))
	for _, name := range q.Conversations {
		if err == nil && !known[name] {
			err = fmt.Errorf("%w: conversation %s", fault.ErrNotFound, fault.Quote(name))
		}
	}
	return err
}

// askTable fills the table asking.
func (r *recall) askTable(ctx context.Context, c *duck.Conn) error {
	q := r.query
	froms, untils := r.periods()
	duck.Kept[recallTables](c).asked = true
	if err := weigh(ctx, c, r.weights); err != nil {
		return err
	}
	if err := r.mark(ctx, c); err != nil {
		return err
	}
	marked := r.marked()
	if marked != nil {
		duck.Kept[recallTables](c).filled = true
		rows := make([][]driver.Value, len(marked))
		for i, no := range marked {
			rows[i] = []driver.Value{no}
		}
		if err := c.AppendTemp("marked", rows...); err != nil {
			return err
		}
	}
	return c.AppendTemp("asking", []driver.Value{
		r.at, duck.OrTime(duck.UTC(q.AsOf), duck.Year10000), r.result.Mode == Hybrid, int64(q.Limit), int64(max(r.weights.Pool, 2*q.Limit)),
		duck.FilterArg(q.Kinds), duck.FilterArg(r.scopes), duck.FilterArg(r.conversations), duck.FilterArg(q.Categories), duck.FilterArg(q.Tiers),
		duck.FilterArg(q.Roles), duck.FilterArg(lowered(q.Speakers)), duck.FilterArg(q.SourceKinds), append([]string{}, q.NotSourceKinds...), marked != nil, q.apart(), false,
		duck.OrTime(duck.UTC(q.Since), duck.Year1), duck.OrTime(duck.UTC(q.Until), duck.Year10000), append([]string{}, r.question.words...), froms, untils,
	})
}

// occurrences gives the periods that the question may mean.
func (r *recall) occurrences() (all []dates.Period) {
	for _, p := range r.question.periods {
		all = append(all, p.Occurrences(r.at.AddDate(-yearsBack, 0, 0), r.at.AddDate(yearsAhead, 0, 0))...)
	}
	return all
}

// periods are the occurrences, as they stand in the tables.
func (r *recall) periods() (froms, untils []time.Time) {
	froms, untils = []time.Time{}, []time.Time{}
	for _, p := range r.occurrences() {
		froms, untils = append(froms, duck.UTC(p.From)), append(untils, duck.UTC(p.Until))
	}
	return froms, untils
}

// askedTerm is a term that is looked up: word numbers the question's words, share is what it adds to that word's frequency; 0: it is only counted.
type askedTerm struct {
	word  int32
	term  string
	share float64
}

// count finds out how rare the words of the question are; all of them, or only those that are looked up. A word that no document
// has says the most.
func (r *recall) count(ctx context.Context, c *duck.Conn) error {
	q := &r.question
	for _, term := range q.terms {
		q.asked = append(q.asked, askedTerm{int32(len(q.asked)), term, 1})
	}
	if r.weights.Rarity && !r.lexicalOnly() {
		for _, term := range q.others {
			q.asked = append(q.asked, askedTerm{int32(len(q.asked)), term, 0})
		}
	}
	q.counted = slices.Clone(q.asked)
	if err := r.mark(ctx, c); err != nil {
		return err
	}
	documents, population, ok := r.countResident()
	if !ok {
		err := c.Reading(ctx, func() (err error) {
			documents, population, err = r.countFile(ctx, c)
			return err
		})
		if err != nil {
			return err
		}
	}
	idf := func(n float64) float64 { return math.Log(1 + (population-n+0.5)/(n+0.5)) }
	q.rarity = func(word string) float64 {
		return min(max(idf(documents[q.termOf[word]])/idf(0), 0), 1)
	}
	return nil
}

// countFile puts the question into the connection's tables and counts in the file: in how many documents each term stands, of how many. The caller
// is in a transaction.
func (r *recall) countFile(ctx context.Context, c *duck.Conn) (documents map[string]float64, population float64, err error) {
	q := &r.question
	r.rarity, r.asksFile = nil, true
	if err := clearTables(ctx, c); err != nil {
		return nil, 0, err
	}
	if err := r.askTable(ctx, c); err != nil || len(q.counted) == 0 {
		return nil, 0, err
	}
	if err := askTerms(c, q.counted); err != nil {
		return nil, 0, err
	}
	if _, err := c.ExecTemp(ctx, "recall_count_words"); err != nil {
		return nil, 0, err
	}
	if err := r.countKinds(ctx, c); err != nil {
		return nil, 0, err
	}
	documents = map[string]float64{}
	err = c.Each(ctx, "recall_rarity", func(rows *sql.Rows) error {
		var word int
		var n, of float64
		err := rows.Scan(&word, &n, &of)
		if word < 0 {
			population = of
		} else {
			documents[q.counted[word].term] = n
		}
		return err
	})
	return documents, population, err
}

// countKinds notes how many documents of each kind the file was asked of.
func (r *recall) countKinds(ctx context.Context, c *duck.Conn) error {
	r.population = map[kinds.Kind]int64{}
	return c.Each(ctx, "recall_population", func(rows *sql.Rows) error {
		var kind kinds.Kind
		var n int64
		err := rows.Scan(&kind, &n)
		r.population[kind] = n
		return err
	})
}

// askTerms puts terms into the table that the index is asked from.
func askTerms(c *duck.Conn, asked []askedTerm) error {
	rows := make([][]driver.Value, len(asked))
	for i, t := range asked {
		rows[i] = []driver.Value{t.word, t.term, t.share}
	}
	return c.AppendTemp("asked_terms", rows...)
}

// embed makes the question's vector, with no transaction open. A model that fails leaves a recall of words, unless the mode was
// asked for by name.
func (r *recall) embed(ctx context.Context) error {
	if r.lexicalOnly() {
		return nil
	}
	r.step = "embed"
	start := time.Now()
	embedder := r.embedder
	var rarity func(string) float64
	if r.weights.Rarity {
		rarity = r.question.rarity
	}
	v, err := embedder.EmbedQuery(ctx, r.query.Text, rarity)
	if err == nil {
		v, err = index.Unit(v, embedder.Dims())
	}
	r.result.Trace.Stages = append(r.result.Trace.Stages, Stage{Name: "embed", Duration: time.Since(start)})
	switch {
	case err == nil:
		r.question.vector = v
		return nil
	case r.query.Mode != "" || ctx.Err() != nil || errors.Is(err, fault.ErrBadVector):
		return fmt.Errorf("embed with %s: %w", embedder.Model(), err)
	}
	r.result.Mode = LexicalMode
	r.result.Trace.Failure, r.result.Trace.Error = r.step, err.Error()
	r.notice("the model failed, so this recall went by words alone: %v", err)
	return nil
}

// relate adds the terms of related words to those that are asked.
func (q *question) relate(r *recall) {
	if q.byWords = len(q.terms) > 0 && r.result.Mode != VectorMode; q.byWords {
		q.asked = append(q.asked, q.related(r)...)
	}
}

// gatherFile has the file find the candidates, by the words and the vector that stand in the connection's tables.
func (r *recall) gatherFile(ctx context.Context, c *duck.Conn) (err error) {
	if err := r.askFile(ctx, c); err != nil {
		return err
	}
	if err := r.fillBesides(ctx, c); err != nil {
		return err
	}
	r.found, err = duck.List(ctx, c, "recall_gather", scanFound)
	return err
}

// askFile puts the whole question into the connection's tables.
func (r *recall) askFile(ctx context.Context, c *duck.Conn) error {
	q := &r.question
	if q.vector != nil {
		models, err := index.ModelsOf(ctx, c)
		if err != nil {
			return err
		}
		if models.Chosen != r.model {
			return errModelChanged
		}
	}
	if !r.asksFile { // the resident index had counted them, and is gone since
		if _, _, err := r.countFile(ctx, c); err != nil {
			return err
		}
	}
	if q.byWords {
		if err := askTerms(c, q.asked[len(q.counted):]); err != nil {
			return err
		}
		ready, notice, err := r.recaller.index.FTSReady(ctx, c)
		if err != nil {
			return err
		}
		if notice != "" {
			r.notice("%s", notice)
		}
		if ready && !r.result.Trace.Past { // that index is of the present
			if err := askFTS(ctx, c, r.query.Kinds); err != nil {
				return err
			}
		}
	}
	if r.result.Mode == VectorMode {
		if err := c.ExecTempDDL(ctx, sqlfiles.Query("recall_clear_terms")); err != nil {
			return err
		}
	}
	return r.askVector(c)
}

// scanFound reads a row of the query recall_gather.
func scanFound(rows *sql.Rows, f *resident.Found) error {
	times := []struct {
		is   sql.NullInt64
		into *int64
	}{{into: &f.CreatedAt}, {into: &f.ValidFrom}, {into: &f.Use.ValidUntil}, {into: &f.Use.LastAccessedAt}}
	numbers := []struct {
		is   sql.NullFloat64
		into *float64
	}{{into: &f.Cosine}, {into: &f.NearCosine}, {into: &f.Raw}, {into: &f.Met}, {into: &f.Use.Importance}, {into: &f.Use.Confidence}}
	var accesses sql.NullInt32
	err := rows.Scan(&f.No, &f.SessionNo, &f.Place, duck.TextOf(&f.Conversation), duck.TextOf(&f.Speaker), duck.TextOf(&f.Role), &f.Wishes, &f.Asks, &f.EndsAsking, &f.Tells, &f.Kind, duck.TextOf(&f.Tier),
		&times[0].is, &times[1].is, &times[2].is, &f.Characters, &f.Noise,
		&numbers[4].is, &numbers[5].is, &accesses, &times[3].is, duck.TextOf(&f.Use.TemporalType), duck.TextOf(&f.Use.Trust),
		&numbers[0].is, &numbers[1].is, &numbers[2].is, &numbers[3].is, &f.ByPassage)
	for _, t := range times {
		if *t.into = t.is.Int64; !t.is.Valid {
			*t.into = resident.Never
		}
	}
	for _, n := range numbers {
		if *n.into = n.is.Float64; !n.is.Valid {
			*n.into = math.NaN()
		}
	}
	f.Use.AccessCount = accesses.Int32
	return err
}

// askVector puts the vector beside what is asked.
func (r *recall) askVector(c *duck.Conn) error {
	return c.AppendTemp("asked_vector", []driver.Value{append([]float32{}, r.question.vector...), r.question.byWords, r.chance()})
}

// allChance is more than any cosine: without a model, what has no word, in its session neither, is there by chance.
const allChance = 2

// chance is the cosine that random text reaches, as the weights want it; 0 where the model does not know.
func (r *recall) chance() float64 {
	q := &r.question
	switch {
	case r.weights.Chance == 0:
		return 0
	case q.vector == nil:
		return allChance
	}
	if m, ok := r.embedder.(setup.Chancy); ok {
		return r.weights.Chance * m.Chance(q.sources)
	}
	return 0
}

// askFTS takes the hits of the terms asked from the extension's index, in place of those that postings has.
func askFTS(ctx context.Context, c *duck.Conn, kinds []kinds.Kind) error {
	duck.Kept[recallTables](c).filled = true
	if _, err := c.ExecTemp(ctx, "recall_ask_fts", sql.Named("kinds", duck.FilterArg(kinds))); err != nil {
		return err
	}
	return c.ExecTempDDL(ctx, sqlfiles.Query("recall_by_fts"))
}

// commonest is the rarity below which a word, such as the name of one who speaks, needs no related ones.
const commonest = 0.2

// dated reports whether a word is one of those that name a period.
func (q *question) dated(word string) bool {
	return slices.ContainsFunc(q.periods, func(p dates.Period) bool { return strings.Contains(strings.ToLower(p.Phrase), word) })
}

// related gives the terms of related words, each with the number of the word that it is related to and its share in that word's
// frequency: the square of their cosine, as far as the weights let it.
func (q *question) related(r *recall) (all []askedTerm) {
	if r.weights.Related == 0 || r.recaller.opts.Related == nil {
		return nil
	}
	for i, source := range q.sources {
		if q.rarity(source) < commonest || q.dated(source) {
			continue
		}
		others, cosines := r.recaller.opts.Related(source)
		seen := map[string]bool{q.terms[i]: true}
		for j, other := range others {
			for _, token := range r.recaller.index.Analyzer.QueryTokens(source + " " + other) { // beside a word that counts, one that does not is dropped
				if !seen[token.Term] { // nearest first
					seen[token.Term] = true
					all = append(all, askedTerm{int32(i), token.Term, r.weights.Related * float64(cosines[j]) * float64(cosines[j])})
				}
			}
		}
	}
	return all
}
