package resident

import (
	"cmp"
	"slices"
)

// What fills an index that nobody asks yet. Documents come first, in the order of their numbers, then terms, then postings, then vectors.

// Load gives a document its slot.
func (x *Index) Load(d *Document) { x.put(d, &Words{}, nil) }

// LoadTerm gives the number of a term.
func (x *Index) LoadTerm(hash uint64) int32 {
	term, ok := x.terms[hash]
	if !ok {
		term = int32(len(x.postings))
		x.terms[hash] = term
		x.postings = append(x.postings, nil)
	}
	return term
}

// LoadPosting adds a document to those of a term.
func (x *Index) LoadPosting(term, no int32, tf float32) {
	if slot, known := x.slotOf(no); known {
		x.postings[term] = append(x.postings[term], posting{slot, tf})
		x.posted++
	}
}

// SortPostings brings the postings into the order of the slots, in which they mostly come.
func (x *Index) SortPostings() {
	bySlot := func(a, b posting) int { return cmp.Compare(a.slot, b.slot) }
	for _, list := range x.postings {
		if !slices.IsSortedFunc(list, bySlot) {
			slices.SortFunc(list, bySlot)
		}
	}
}

// LoadPassage gives a document one of its passages.
func (x *Index) LoadPassage(no int32, p Passage) {
	if slot, known := x.slotOf(no); known {
		x.passages.add(slot, p)
	}
}

// LoadVector gives a document its vector.
func (x *Index) LoadVector(no int32, vector []float32) {
	if slot, known := x.slotOf(no); known {
		x.vectors.set(slot, vector)
	}
}
