package resident

import (
	"math"

	"github.com/kelindar/bitmap"

	"github.com/mallardmem/mallard/engine/kinds"
)

// Rarity is how rare the words of a question are: in how many documents of each kind each stands, of how many, and how long these are on average.
type Rarity struct {
	Documents  []PerKind[int64] // by word
	Population PerKind[int64]
	lengths    PerKind[float64]
	average    PerKind[float64]
}

// PerKind is a number for each kind, in the order of kinds.All.
type PerKind[N int64 | float64] [kinds.Number]N

// Sum is that of all kinds.
func (p PerKind[N]) Sum() (sum N) {
	for _, n := range p {
		sum += n
	}
	return sum
}

// joined has the sum of all kinds for each.
func (p PerKind[N]) joined() (all PerKind[N]) {
	sum := p.Sum()
	for i := range all {
		all[i] = sum
	}
	return all
}

// IDF is the rarity of a word in a kind (Robertson and Sparck Jones, smoothed): the macro idf.
func (r *Rarity) IDF(word int, kind uint8) float64 {
	n, of := float64(r.Documents[word][kind]), float64(r.Population[kind])
	return math.Log((of-n+0.5)/(n+0.5) + 1)
}

// Count finds out how rare words are, given by the hash of their terms: among those that take part, or where f is nil among all documents of a kind.
func (x *Index) Count(hashes []uint64, f *Filter) *Rarity {
	x.mu.RLock()
	defer x.mu.RUnlock()
	r := &Rarity{Documents: make([]PerKind[int64], len(hashes))}
	among := x.live
	if f == nil {
		for i, of := range x.kinds {
			r.Population[i], r.lengths[i] = of.documents, of.length
		}
		r.settle()
	} else {
		among = x.eligible(f)
		r.populate(x, among)
	}
	for word, hash := range hashes {
		for _, p := range x.of(hash) {
			if among.Contains(uint32(p.slot)) {
				r.Documents[word][x.columns[p.slot].kind]++
			}
		}
	}
	return r
}

// populate counts those who take part.
func (r *Rarity) populate(x *Index, among bitmap.Bitmap) {
	among.Range(func(slot uint32) {
		c := &x.columns[slot]
		r.Population[c.kind]++
		r.lengths[c.kind] += float64(c.length)
	})
	r.settle()
}

// count adds a document.
func (r *Rarity) count(kind uint8, length float32) {
	r.Population[kind]++
	r.lengths[kind] += float64(length)
	r.settle()
}

// join counts the kinds as one.
func (r *Rarity) join() {
	r.Population, r.lengths = r.Population.joined(), r.lengths.joined()
	r.settle()
}

func (r *Rarity) settle() {
	for i, n := range r.Population {
		if n > 0 {
			r.average[i] = r.lengths[i] / float64(n)
		}
	}
}

// of gives the postings of a term.
func (x *Index) of(hash uint64) []posting {
	term, ok := x.terms[hash]
	if !ok {
		return nil
	}
	return x.postings[term]
}

// rarities is what the rarities of all words that are looked up add up to, in each kind.
func (q *Question) rarities() (all PerKind[float64]) {
	seen := map[int]bool{}
	for _, t := range q.Terms {
		if t.Share > 0 && !seen[t.Word] {
			seen[t.Word] = true
			for kind := range all {
				all[kind] += q.Rarity.IDF(t.Word, uint8(kind))
			}
		}
	}
	return all
}
