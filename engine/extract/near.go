package extract

import (
	"context"
	"database/sql"
	"regexp"
	"slices"
	"strings"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/text"
)

// Of how many memories a draft is held against, and how alike they are at least: a cosine of 0.5714.
const (
	mostNear  = 5
	mostFound = 8
	leastNear = 0.7
)

// leastShared is the share of words below which vectors alone never make two statements the same: of words that it does not know a model makes anything.
const leastShared = 0.5

// statement is a text as it is compared.
type statement struct {
	folded  string
	terms   map[string]bool // without stop words
	gist    map[string]bool // also without what says that one likes it, or not
	negated bool
}

// candidate is a draft, or a memory that is planned or in the file, as it is compared.
type candidate struct {
	statement
	id       string
	memory   *memory.Memory
	vector   []float32
	proposal *memory.Proposal // nil: it is in the file
	draft    *Draft           // likewise
	stored   bool

	cosine     float64 // of its vector to that of the draft that is judged; 0: one of them has none
	similarity float64 // to the draft that is judged
}

var (
	polar = regexp.MustCompile(`(?i)\b(?:not|never|no longer|hates?|dislikes?|detests?|avoids?|stopped|gave up|nicht|keine?[nrms]?|nie|niemals|hasse|hasst)\b|\b\pL+n't\b|不|没有|讨厌`)
	// tastes say that one likes something, or not; what is left says what.
	tastes = regexp.MustCompile(`(?i)\b(?:I|me|my|really|still|also|always|now|like|likes|love|loves|enjoy|enjoys|adore|prefer|prefers|hate|hates|dislike|dislikes|detest|avoid|stand|no longer|any ?more|not|never|do|does|ich|mag|liebe|hasse|nicht|keine?[nrms]?|mehr|gerne?|bevorzuge|nie)\b|\b\pL+n't\b|不再|不喜欢|喜欢|讨厌|不爱|更|很|最|我|不`)
)

// state takes a text apart for comparing.
func (ex *Extractor) state(said string) statement {
	return statement{folded: strings.Trim(text.Fold(strings.Join(strings.Fields(said), " ")), " .!。！"), terms: ex.terms(said),
		gist: ex.terms(tastes.ReplaceAllString(said, " ")), negated: polar.MatchString(said)}
}

func (ex *Extractor) terms(said string) map[string]bool {
	terms := map[string]bool{}
	for _, token := range ex.index.Analyzer.Tokens(said) {
		if !ex.index.Analyzer.IsStop(token.Surface) {
			terms[token.Term] = true
		}
	}
	return terms
}

// overlap is the share of words that two texts have in common (Dice), 0 to 1.
func overlap(a, b map[string]bool) float64 {
	if len(a)+len(b) == 0 {
		return 0
	}
	return 2 * float64(common(a, b)) / float64(len(a)+len(b))
}

func common(a, b map[string]bool) (n int) {
	for term := range a {
		if b[term] {
			n++
		}
	}
	return n
}

// score is a cosine as a score: 1/(1+d) of the distance.
func score(cosine float64) float64 { return 1 / (2 - cosine) }

// saidBy is the text of a memory that says most.
func saidBy(m *memory.Memory) string {
	if full := m.Level(memory.Full); full != m.Text {
		return full
	}
	return m.Text
}

func (ex *Extractor) proposed(d *Draft, p *memory.Proposal) *candidate {
	m := p.Memory()
	return &candidate{statement: ex.state(saidBy(m)), id: m.ID, memory: m, vector: p.Vector(), proposal: p, draft: d}
}

// near gives the memories that a draft is to be held against, those of the file and those that are planned, most alike first.
func (x *run) near(ctx context.Context, c *duck.Conn, d *candidate) ([]*candidate, error) {
	cosines, ids := map[string]float64{}, []string{}
	at := sql.Named("at", x.file.Now())
	if d.vector != nil {
		err := c.Each(ctx, "extract_alike", func(rows *sql.Rows) error {
			var id string
			var cosine float64
			err := rows.Scan(&id, &cosine)
			cosines[id], ids = cosine, append(ids, id)
			return err
		}, sql.Named("vector", d.vector), sql.Named("scope", d.draft.Scope), at, sql.Named("limit", int64(x.wanted())))
		if err != nil {
			return nil, err
		}
	}
	var terms []string
	for term := range d.terms {
		terms = append(terms, term)
	}
	slices.Sort(terms)
	keys := slices.DeleteFunc([]string{d.draft.FactKey, d.draft.found.topicKey}, func(key string) bool { return key == "" })
	err := c.Each(ctx, "extract_sharing", func(rows *sql.Rows) error {
		var id string
		err := rows.Scan(&id)
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
		return err
	}, sql.Named("terms", append([]string{}, terms...)), sql.Named("fact_keys", append([]string{}, keys...)), sql.Named("scope", d.draft.Scope), at, sql.Named("limit", int64(x.wanted())))
	if err != nil || len(ids) == 0 && len(x.planned) == 0 {
		return nil, err
	}
	stored, err := memory.MemoriesByID(ctx, c, ids)
	if err != nil {
		return nil, err
	}
	var all []*candidate
	for _, m := range stored {
		if x.ended[m.ID] {
			continue
		}
		n := &candidate{statement: x.state(saidBy(m)), id: m.ID, memory: m}
		cosine, known := cosines[m.ID]
		n.compare(d, cosine, known)
		all = append(all, n)
	}
	for _, p := range x.planned {
		if p.memory.Scope != d.draft.Scope || x.ended[p.id] {
			continue
		}
		n := *p
		cosine, known := 0.0, len(p.vector) > 0 && len(p.vector) == len(d.vector)
		if known {
			cosine = inner(p.vector, d.vector)
		}
		n.compare(d, cosine, known)
		all = append(all, &n)
	}
	slices.SortStableFunc(all, func(a, b *candidate) int {
		switch {
		case a.similarity != b.similarity && a.similarity > b.similarity:
			return -1
		case a.similarity != b.similarity:
			return 1
		}
		return strings.Compare(a.id, b.id)
	})
	return all, nil
}

// wanted is how many memories are looked at by each way of finding them.
func (x *run) wanted() int {
	if a := x.opts.Extraction.Admission; a.On() {
		return max(mostFound, a.Gate().Pool)
	}
	return mostFound
}

// compare settles how alike a memory is to a draft.
func (n *candidate) compare(d *candidate, cosine float64, known bool) {
	if known {
		n.cosine = max(cosine, 0)
	}
	switch {
	case n.folded == d.folded:
		n.similarity = 1
	case known:
		if n.similarity = score(min(max(cosine, 0), 1)); overlap(n.terms, d.terms) < leastShared {
			n.similarity = min(n.similarity, relatedFrom-0.01)
		}
	default:
		n.similarity = overlap(n.terms, d.terms)
	}
}

func inner(a, b []float32) (sum float64) {
	for i, x := range a {
		sum += float64(x) * float64(b[i])
	}
	return sum
}
