package resident

import (
	"math"
	"slices"

	"github.com/kelindar/bitmap"

	"github.com/mallardmem/mallard/engine/kinds"
)

// Always is the end of what is not bounded.
const Always = math.MaxInt64

// Filter says who may answer. A nil list is no restriction, an empty one matches nothing; times are as a Document has them.
type Filter struct {
	Kinds                                    []kinds.Kind
	Scopes, Conversations, Categories, Tiers []string
	Roles, Speakers                          []string // speakers in lower case
	SourceKinds, NotSourceKinds              []string // one of the former, none of the latter
	Since, Until                             int64    // from Since (Never: no bound), before Until (Always)
	AskedAt                                  int64
	SaidBy                                   int64   // Always: what is dated later than the question takes part as well
	Marked                                   []int32 // numbers of documents: who has the tags and the metadata that are asked
	Hidden                                   bool    // what is not to be recalled takes part too
}

// set is which numbers of a column are allowed.
type set struct {
	any     bool // all
	numbers bitmap.Bitmap
}

func (n *names) set(texts []string) set {
	s := set{any: texts == nil}
	for _, text := range texts {
		if no, ok := n.numbers[text]; ok && no != 0 {
			s.numbers.Set(no)
		}
	}
	return s
}

func (s *set) has(no uint32) bool { return s.any || s.numbers.Contains(no) }

// spoken gives the numbers of speakers by their names in lower case.
func (x *Index) spoken(folded []string) set {
	s := set{any: folded == nil}
	if !s.any {
		for no, name := range x.speakers {
			if slices.Contains(folded, name) {
				s.numbers.Set(no)
			}
		}
	}
	return s
}

// spokenAs gives the numbers of roles.
func spokenAs(names []string) set {
	s := set{any: names == nil}
	for no, role := range roles {
		if no != 0 && slices.Contains(names, role) {
			s.numbers.Set(uint32(no))
		}
	}
	return s
}

// eligible gives the slots that take part.
func (x *Index) eligible(f *Filter) bitmap.Bitmap {
	var found bitmap.Bitmap
	scopes, categories, tiers := x.names.set(f.Scopes), x.names.set(f.Categories), x.names.set(f.Tiers)
	as, by := spokenAs(f.Roles), x.spoken(f.Speakers)
	from, not := x.names.set(f.SourceKinds), x.names.set(append([]string{}, f.NotSourceKinds...))
	anySource := from.any && len(f.NotSourceKinds) == 0
	var asked [kinds.Number]bool
	for _, k := range f.Kinds {
		asked[kindNo(k)] = true
	}
	anyTime := f.Since == Never && f.Until == Always && f.SaidBy == Always
	allKinds := true
	for i, of := range x.kinds {
		allKinds = allKinds && (asked[i] || of.documents == 0)
	}
	takesPart := func(slot uint32) bool {
		c := &x.columns[slot]
		return asked[c.kind] && scopes.has(c.scope) && categories.has(c.category) && tiers.has(c.tier) && as.has(uint32(c.role)) && by.has(c.speaker) &&
			(anySource || from.has(c.sourceKind) && !not.has(c.sourceKind)) && (anyTime && x.plain.Contains(slot) || c.at(f))
	}
	switch {
	case f.Marked != nil:
		conversations := x.names.set(f.Conversations)
		for _, no := range f.Marked {
			slot, known := x.slotOf(no)
			if known && x.live.Contains(uint32(slot)) && conversations.has(x.columns[slot].conversation) && takesPart(uint32(slot)) {
				found.Set(uint32(slot))
			}
		}
	case f.Conversations != nil:
		conversations := x.names.set(f.Conversations)
		conversations.numbers.Range(func(no uint32) {
			for _, slot := range x.conversations[no] {
				if x.live.Contains(uint32(slot)) && takesPart(uint32(slot)) {
					found.Set(uint32(slot))
				}
			}
		})
	case anyTime && allKinds && scopes.any && categories.any && tiers.any && as.any && by.any && anySource:
		found = slices.Clone(x.plain)
		rest := slices.Clone(x.live)
		rest.AndNot(x.plain)
		rest.Range(func(slot uint32) {
			if x.columns[slot].at(f) {
				found.Set(slot)
			}
		})
	default:
		found = slices.Clone(x.live)
		found.Filter(takesPart)
	}
	return found
}

// at reports whether a document takes part at the time of the question.
func (c *column) at(f *Filter) bool {
	if c.hidden && !f.Hidden || c.created < f.Since || f.Until != Always && c.created >= f.Until {
		return false
	}
	if c.kind != memoryNo {
		return c.created <= f.SaidBy
	}
	by := f.AskedAt // what is said to begin later than it was made
	if c.validFrom <= c.created {
		by = f.SaidBy
	}
	return c.validFrom != Never && c.validFrom <= by && (c.invalidated == Never || c.invalidated > f.AskedAt)
}
