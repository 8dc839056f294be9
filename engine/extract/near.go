package extract

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
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
	who     string // says it; empty: the text does not say
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

	cosine     float64            // of its vector to that of the draft that is judged; 0: one of them has none
	ids        []string           // of the memories of the file that are near it
	cosines    map[string]float64 // to them, as far as they are known
	stood      []*candidate       // those memories
	similarity float64            // to the draft that is judged
}

var (
	attributed = regexp.MustCompile(`(?s)^(.{1,80}?) says “(.*)”$`)
	polar      = regexp.MustCompile(`(?i)\b(?:not|never|no longer|hates?|dislikes?|detests?|avoids?|stopped|gave up|nicht|keine?[nrms]?|nie|niemals|hasse|hasst)\b|\b\pL+n't\b|不|没有|讨厌`)
	// tastes say that one likes something, or not; what is left says what.
	tastes = regexp.MustCompile(`(?i)\b(?:I|me|my|really|still|also|always|now|like|likes|love|loves|enjoy|enjoys|adore|prefer|prefers|hate|hates|dislike|dislikes|detest|avoid|stand|no longer|any ?more|not|never|do|does|ich|mag|liebe|hasse|nicht|keine?[nrms]?|mehr|gerne?|bevorzuge|nie)\b|\b\pL+n't\b|不再|不喜欢|喜欢|讨厌|不爱|更|很|最|我|不`)
)

// state takes a text apart for comparing.
func (ex *Extractor) state(said string) statement {
	s := statement{folded: strings.Trim(text.Fold(strings.Join(strings.Fields(said), " ")), " .!。！”")}
	if by := attributed.FindStringSubmatch(said); by != nil { // who says it is no word that two statements share
		s.who, said = by[1], by[2]
	}
	s.terms, s.gist, s.negated = ex.terms(said), ex.terms(tastes.ReplaceAllString(said, " ")), polar.MatchString(said)
	return s
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

// together is how many drafts are looked up at once.
const together = 64

// lookUp finds for each draft the memories of the file that are near: by vectors, by words and by fact keys.
func (x *run) lookUp(ctx context.Context, c *duck.Conn, drafts []*candidate) error {
	for part := range slices.Chunk(drafts, together) {
		if err := x.lookUpPart(ctx, c, part); err != nil {
			return err
		}
	}
	return nil
}

func (x *run) lookUpPart(ctx context.Context, c *duck.Conn, drafts []*candidate) error {
	scope, at := sql.Named("scope", x.scope), sql.Named("at", x.file.Now())
	var vectors []float32
	var embedded []*candidate
	ofTerm, ofKey, terms, keys := []int32{}, []int32{}, []string{}, []string{}
	for n, d := range drafts {
		d.cosines = map[string]float64{}
		if d.vector != nil {
			vectors, embedded = append(vectors, d.vector...), append(embedded, d)
		}
		for term := range d.terms {
			ofTerm, terms = append(ofTerm, int32(n)), append(terms, term)
		}
		for _, key := range []string{d.draft.FactKey, d.draft.found.topicKey} {
			if key != "" {
				ofKey, keys = append(ofKey, int32(n)), append(keys, key)
			}
		}
	}
	if len(embedded) > 0 {
		err := c.Each(ctx, "extract_alike", func(rows *sql.Rows) error {
			var n int
			var id string
			var cosine float64
			if err := rows.Scan(&n, &id, &cosine); err != nil {
				return err
			}
			if d := embedded[n]; len(d.ids) < x.wanted() {
				d.ids, d.cosines[id] = append(d.ids, id), cosine
			}
			return nil
		}, sql.Named("vectors", vectors), sql.Named("dims", int64(len(embedded[0].vector))), sql.Named("count", int64(len(embedded))), scope, at)
		if err != nil {
			return err
		}
	}
	wanted := map[string]bool{}
	err := c.Each(ctx, "extract_sharing", func(rows *sql.Rows) error {
		var n int
		var id string
		if err := rows.Scan(&n, &id); err != nil {
			return err
		}
		if d := drafts[n]; !slices.Contains(d.ids, id) {
			d.ids = append(d.ids, id)
		}
		return nil
	}, sql.Named("of_term", ofTerm), sql.Named("terms", terms), sql.Named("of_key", ofKey), sql.Named("fact_keys", keys), scope, at)
	if err != nil {
		return err
	}
	for _, d := range drafts {
		for _, id := range d.ids {
			wanted[id] = true
		}
	}
	list := slices.Sorted(maps.Keys(wanted))
	if len(list) == 0 {
		return nil
	}
	stored, err := memory.MemoriesByID(ctx, c, list)
	if err != nil {
		return err
	}
	byID := map[string]*candidate{}
	for _, m := range stored {
		byID[m.ID] = &candidate{statement: x.state(saidBy(m)), id: m.ID, memory: m}
	}
	for _, d := range drafts {
		for _, id := range d.ids {
			if n := byID[id]; n != nil {
				d.stood = append(d.stood, n)
			}
		}
	}
	return nil
}

// near gives the memories that a draft is to be held against, those of the file and those that are planned, most alike first.
func (x *run) near(d *candidate) (all []*candidate) {
	for _, m := range d.stood {
		if x.ended[m.id] {
			continue
		}
		n := *m
		cosine, known := d.cosines[m.id]
		n.compare(d, cosine, known)
		all = append(all, &n)
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
		return cmp.Or(cmp.Compare(b.similarity, a.similarity), strings.Compare(a.id, b.id))
	})
	return all
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
