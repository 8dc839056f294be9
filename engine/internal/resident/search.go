package resident

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/kelindar/bitmap"

	"github.com/mallardmem/mallard/engine/kinds"
)

// Search asks for what has words, among those who take part by one of some filters.
type Search struct {
	Among  []Filter
	Words  []SearchWord
	K1, B  float64
	Aside  []Aside
	Family bool  // rarity, average length and the best are of all kinds together, else of each
	Must   int64 // the bits of words that a document has to have
	Most   int   // how many of the best are given
	Newest bool  // the newest in place of the best
}

// SearchWord is a word, by the hash of its term. It may be the year, the month or the day of a date: a message is indexed with its own, which it does
// not say.
type SearchWord struct {
	Hash      uint64
	Year, Day int // 0: it is none
	Month     time.Month
}

// Aside is a word in a message that the index leaves out.
type Aside struct {
	No         int32
	Word       int
	TF, Length float32
	SaidAt     int64
}

// Match is a document with its BM25.
type Match struct {
	No        int32
	Kind      kinds.Kind
	CreatedAt int64
	Score     float64
	Mask      int64 // a bit for each of the first 63 words that it has

	kind uint8
}

// Search gives what has one of the words at least, best first, as the queries grep_rank and assemble_relevant do.
func (x *Index) Search(s *Search) []Match {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var among bitmap.Bitmap
	for i := range s.Among {
		if some := x.eligible(&s.Among[i]); len(some) > 0 { // Or panics on an empty one
			among.Or(some)
		}
	}
	kept := searched.Get().(*[]int32)
	defer searched.Put(kept)
	if len(*kept) < len(x.columns) {
		*kept = make([]int32, len(x.columns)+len(x.columns)/4)
	}
	places := *kept
	f := &search{hits: make([][]wordHit, len(s.Words))}
	for word, w := range s.Words {
		f.hits[word] = make([]wordHit, 0, len(x.of(w.Hash)))
	}
	f.populate(x, among)
	for word, w := range s.Words {
		for _, p := range x.of(w.Hash) {
			if !among.Contains(uint32(p.slot)) {
				continue
			}
			c, tf := &x.columns[p.slot], p.tf
			if c.kind == messageNo && w.of(c.created) {
				tf--
			}
			if tf <= 0 {
				continue
			}
			if places[p.slot] == 0 {
				f.slots = append(f.slots, p.slot)
				places[p.slot] = f.add(c.no, c.kind, c.created)
			}
			f.note(word, places[p.slot], tf, c.length)
		}
	}
	for _, slot := range f.slots {
		places[slot] = 0
	}
	aside := map[int32]int32{}
	for _, a := range s.Aside {
		if aside[a.No] == 0 {
			f.count(messageNo, a.Length)
			aside[a.No] = f.add(a.No, messageNo, a.SaidAt)
		}
		f.note(a.Word, aside[a.No], a.TF, a.Length)
	}
	return f.best(s)
}

// searched has for each slot its place among the matches, from 1; zeros between two searches.
var searched = sync.Pool{New: func() any { return new([]int32) }}

// search is one search on its way.
type search struct {
	Rarity
	matches []Match
	slots   []int32     // of the matches that the index has
	hits    [][]wordHit // of each word
}

// wordHit is a word in a match, by the place of that from 1.
type wordHit struct {
	place      int32
	tf, length float32
}

// add adds a match, and gives its place.
func (f *search) add(no int32, kind uint8, created int64) (place int32) {
	f.matches = append(f.matches, Match{No: no, Kind: allKinds[kind], CreatedAt: created, kind: kind})
	return int32(len(f.matches))
}

func (f *search) note(word int, place int32, tf, length float32) {
	f.matches[place-1].Mask |= 1 << word
	f.hits[word] = append(f.hits[word], wordHit{place, tf, length})
}

// best scores the matches, and gives those that are wanted.
func (f *search) best(s *Search) (found []Match) {
	if s.Family {
		f.join()
	}
	f.Documents = make([]PerKind[int64], len(f.hits))
	for word, hits := range f.hits {
		of := &f.Documents[word]
		for _, h := range hits {
			of[f.matches[h.place-1].kind]++
		}
		if s.Family {
			*of = of.joined()
		}
		var idf PerKind[float64]
		for kind := range idf {
			idf[kind] = f.IDF(word, uint8(kind))
		}
		for _, h := range hits {
			m := &f.matches[h.place-1]
			m.Score += bm25(idf[m.kind], float64(h.tf), float64(h.length), f.average[m.kind], s.K1, s.B)
		}
	}
	order := func(i, j int32) int {
		a, b := &f.matches[i], &f.matches[j]
		if s.Newest {
			return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), cmp.Compare(b.No, a.No))
		}
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.No, a.No))
	}
	var groups [kinds.Number][]int32
	for i := range f.matches {
		m := &f.matches[i]
		if m.Mask&s.Must != s.Must {
			continue
		}
		group := m.kind
		if s.Family {
			group = 0
		}
		groups[group] = append(groups[group], int32(i))
	}
	var chosen []int32
	for _, group := range groups {
		chosen = append(chosen, top(group, min(s.Most, len(group)), order)...)
	}
	slices.SortFunc(chosen, order)
	for _, i := range chosen {
		found = append(found, f.matches[i])
	}
	return found
}

// of reports whether the word is part of the date of a time.
func (w *SearchWord) of(created int64) bool {
	if w.Year == 0 && w.Month == 0 && w.Day == 0 {
		return false
	}
	year, month, day := time.UnixMicro(created).UTC().Date()
	return w.Year == year || w.Month == month || w.Day == day
}
