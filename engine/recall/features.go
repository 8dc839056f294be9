package recall

import (
	"context"
	"math"
	"time"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/text"
)

// Features are what a document's own text, and what stands around it, say of the question, each from 0 to 1. Nil is what was not asked, or can't be told.
type Features struct {
	Coverage  *float64 `json:"coverage,omitempty"`  // how much of the question's words it has itself, by their rarity
	Proximity *float64 `json:"proximity,omitempty"` // how near words stand to each other that do so in the question
	Phrase    *float64 `json:"phrase,omitempty"`    // how much of the question stands there word for word
	Name      *float64 `json:"name,omitempty"`      // how many of the names in the question stand there, or are who said it
	Neighbour *float64 `json:"neighbour,omitempty"` // the fused score of the better one of those beside it
	Session   *float64 `json:"session,omitempty"`   // the best fused score of the others of its session
}

// said is what a text says of the question, each from 0 to 1; NaN: the question has nothing of the sort.
type said struct{ coverage, proximity, phrase, name float64 }

const (
	// mostRead is how many bytes of a text are read: what a long one says of the question beyond them, its words and passages tell.
	mostRead = 8192
	// mostWords is how many words of the question are looked for as a phrase.
	mostWords = 64
)

// beforeRerank are the stages of which what they drop is not reranked.
var beforeRerank = []string{"chance", "min_score", "expired", "rerank_window"}

// readsTexts reports whether the rerank by features has a weight for what only the texts tell.
func (w Weights) readsTexts() bool {
	return w.Rerank == string(FeaturesRerank) && w.FeatureCoverage+w.FeatureProximity+w.FeaturePhrase+w.FeatureName > 0
}

// readTexts reads the texts of the best candidates, as they are fused, and notes what each says of the question. c is the file.
func (r *recall) readTexts(ctx context.Context, c *duck.Conn) error {
	start := time.Now()
	docNos, hits, err := r.window(ctx, c, memory.Full)
	if err != nil {
		return err
	}
	q := r.phrased()
	var tokens []text.Token
	r.read = make(map[int32]said, len(docNos))
	for _, no := range docNos {
		h := hits[no]
		tokens = r.recaller.index.Analyzer.Append(tokens[:0], beginning(h.Text))
		r.read[no] = q.in(tokens, r.recaller.index.Analyzer.Tokens(h.Speaker))
	}
	r.result.Trace.Stages = append(r.result.Trace.Stages, Stage{Name: "features", Before: len(docNos), After: len(docNos), Duration: time.Since(start)})
	return nil
}

// beginning is what is read of a text.
func beginning(s string) string {
	if len(s) <= mostRead {
		return s
	}
	end := mostRead
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}

// features are those of a candidate, of which those beside it are known.
func (r *recall) features(docNo int32, beside Features) *Features {
	if s, read := r.read[docNo]; read {
		beside.Coverage, beside.Proximity, beside.Phrase, beside.Name = known(s.coverage), known(s.proximity), known(s.phrase), known(s.name)
	}
	return &beside
}

// phrased is a question as it is looked for in texts.
type phrased struct {
	terms  []string           // that are looked up, in their order
	rarity map[string]float64 // of them, above 0
	names  map[string]bool    // terms of the names in it
	at     map[string][]int   // by term, its places among the words of the question
	worth  []float64          // of the words before each place, and of all
	counts []int              // how many of them are looked up
}

// phrased takes the question apart. A word that says nothing, for it stands everywhere, still counts a little.
func (r *recall) phrased() *phrased {
	p := &phrased{rarity: map[string]float64{}, names: map[string]bool{}, at: map[string][]int{}, worth: []float64{0}, counts: []int{0}}
	q, analyzer := &r.question, r.recaller.index.Analyzer
	if !q.byWords {
		return p
	}
	p.terms = q.terms
	for i, term := range q.terms {
		p.rarity[term] = max(q.rarity(q.sources[i]), 1e-6)
	}
	for _, name := range analyzer.Names(r.query.Text) {
		for _, token := range analyzer.Tokens(name) {
			p.names[token.Term] = p.names[token.Term] || !q.dated(token.Surface)
		}
	}
	words := analyzer.Tokens(r.query.lexicalText())
	for i, word := range words[:min(len(words), mostWords)] {
		p.at[word.Term] = append(p.at[word.Term], i)
		count := p.counts[i]
		if p.rarity[word.Term] > 0 {
			count++
		}
		p.counts, p.worth = append(p.counts, count), append(p.worth, p.worth[i]+p.rarity[word.Term])
	}
	return p
}

// in gives what a text says of the question, and its speaker's name.
func (p *phrased) in(tokens, speaker []text.Token) said {
	places := make(map[string][]int, len(p.terms))
	for i, token := range tokens {
		if p.rarity[token.Term] > 0 {
			places[token.Term] = append(places[token.Term], i)
		}
	}
	return said{p.coverage(places), p.proximity(places), p.phrase(tokens), p.named(tokens, speaker)}
}

// coverage is the share of the terms that stand in the text, by their rarity.
func (p *phrased) coverage(places map[string][]int) float64 {
	var met, all float64
	for _, term := range p.terms {
		all += p.rarity[term]
		if places[term] != nil {
			met += p.rarity[term]
		}
	}
	return met / all // NaN of none
}

// proximity is the mean, over terms that follow each other in the question, of one over the least distance of both in the text: 1 side by side, 0 where one
// is missing. A pair counts as much as the commoner of both is rare.
func (p *phrased) proximity(places map[string][]int) float64 {
	var sum, all float64
	for i := 1; i < len(p.terms); i++ {
		a, b := p.terms[i-1], p.terms[i]
		weight := min(p.rarity[a], p.rarity[b])
		all += weight
		if apart := distance(places[a], places[b]); apart > 0 {
			sum += weight / float64(apart)
		}
	}
	return sum / all // NaN of a single term
}

// distance is the least one between two lists of places, which ascend and have none in common; 0: one is empty.
func distance(a, b []int) int {
	least := 0
	for len(a) > 0 && len(b) > 0 {
		if apart := max(a[0]-b[0], b[0]-a[0]); least == 0 || apart < least {
			least = apart
		}
		if a[0] < b[0] {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return least
}

// phrase is what the words are worth that stand in the text as they do in the question, of the run that is worth most and has two that are looked up, as a
// share of what all of them are.
func (p *phrased) phrase(tokens []text.Token) float64 {
	n := len(p.counts) - 1
	if p.counts[n] < 2 {
		return math.NaN()
	}
	most := 0.0
	runs, next := make([]int, n+1), make([]int, n+1) // how long the run is that ends at a word of the question, from 1, and at this token
	for _, token := range tokens {
		clear(next)
		for _, i := range p.at[token.Term] {
			next[i+1] = runs[i] + 1
			from, to := i+1-next[i+1], i+1
			if p.counts[to]-p.counts[from] >= 2 {
				most = max(most, p.worth[to]-p.worth[from])
			}
		}
		runs, next = next, runs
	}
	return most / p.worth[n]
}

// named is the share of the names that stand in the text, or in the name of who says it.
func (p *phrased) named(tokens, speaker []text.Token) float64 {
	all, met := 0, map[string]bool{}
	for _, name := range p.names {
		if name {
			all++
		}
	}
	if all == 0 {
		return math.NaN()
	}
	for _, some := range [][]text.Token{tokens, speaker} {
		for _, token := range some {
			if p.names[token.Term] {
				met[token.Term] = true
			}
		}
	}
	return float64(len(met)) / float64(all)
}
