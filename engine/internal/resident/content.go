package resident

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
)

// Differs says what two indexes of the same documents hold otherwise, and what is wrong with the places of one; empty: nothing. It compares documents by
// number and terms by hash: an index that followed what was written has other slots than one made at once. Both are held for reading.
func (x *Index) Differs(other *Index) string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	other.mu.RLock()
	defer other.mu.RUnlock()
	got, fault := x.content()
	if fault != "" {
		return fault
	}
	want, fault := other.content()
	if fault != "" {
		return "the other one: " + fault
	}
	if x.vectors.dims != other.vectors.dims {
		return fmt.Sprintf("vectors of %d dimensions, want %d", x.vectors.dims, other.vectors.dims)
	}
	for kind, of := range x.kinds {
		if like := other.kinds[kind]; of.documents != like.documents || math.Abs(of.length-like.length) > 1e-3*(1+math.Abs(like.length)) {
			return fmt.Sprintf("%s: %+v, want %+v", allKinds[kind], of, like)
		}
	}
	if x.vectors.count != other.vectors.count || x.passages.count != other.passages.count {
		return fmt.Sprintf("vectors of %d documents and %d passages, want %d and %d", x.vectors.count, x.passages.count, other.vectors.count, other.passages.count)
	}
	return firstDifference(got, want)
}

// firstDifference is the first part, in their order by name, that two contents have otherwise.
func firstDifference(got, want map[string]string) string {
	for _, part := range slices.Sorted(maps.Keys(want)) {
		if got[part] != want[part] {
			return fmt.Sprintf("%s: %s, want %s", part, cmp.Or(got[part], "nothing"), want[part])
		}
	}
	for _, part := range slices.Sorted(maps.Keys(got)) {
		if want[part] == "" {
			return fmt.Sprintf("%s: %s, want nothing", part, got[part])
		}
	}
	return ""
}

// content is all that questions can see, written down by what it belongs to; fault is what contradicts itself. The caller holds mu.
func (x *Index) content() (parts map[string]string, fault string) {
	parts = map[string]string{}
	live := 0
	x.live.Range(func(slot uint32) {
		live++
		if int(slot) >= len(x.columns) {
			fault = fmt.Sprintf("slot %d of %d is live", slot, len(x.columns))
			return
		}
		c := &x.columns[slot]
		if of, known := x.slotOf(c.no); !known || of != int32(slot) {
			fault = fmt.Sprintf("document %d is live in slot %d, and stands in %d", c.no, slot, of)
		}
		d := Document{c.no, allKinds[c.kind], x.names.texts[c.scope], x.names.texts[c.conversation], x.names.texts[c.category], x.names.texts[c.tier],
			x.names.texts[c.speaker], roles[c.role], x.names.texts[c.sourceKind], c.session, c.place, c.created, c.validFrom, c.invalidated, c.length, c.tells, c.wishes, c.asks, c.endsAsking, c.hidden, c.characters,
			c.noise, x.uses[c.use]}
		parts[fmt.Sprint("document ", c.no)] = fmt.Sprintf("%+v, plain %t", d, x.plain.Contains(slot))
		if x.vectors.has(int32(slot)) {
			parts[fmt.Sprint("vector of ", c.no)] = fmt.Sprint(x.vectors.vector(int32(slot)), x.vectors.bits[int(slot)*x.vectors.words:][:x.vectors.words])
		}
	})
	for slot, rows := range x.passages.rows {
		if !x.live.Contains(uint32(slot)) {
			fault = fmt.Sprintf("slot %d is dead and has passages", slot)
			break
		}
		for _, row := range rows {
			bounds := x.passages.bounds[row]
			parts[fmt.Sprint("passage of ", x.columns[slot].no, " at ", bounds[0])] = fmt.Sprint(bounds[1], x.passages.vector(row), x.passages.of[row] == slot)
		}
	}
	if fault == "" && (x.live.Count() != len(x.columns)-x.dead || len(x.columns) != len(x.vectors.scales) && x.vectors.dims > 0) {
		fault = fmt.Sprintf("%d slots are live of %d, %d dead, %d for vectors", live, len(x.columns), x.dead, len(x.vectors.scales))
	}
	if fault != "" {
		return nil, fault
	}
	for no, slots := range x.conversations {
		if numbers := x.numbers(slots); len(numbers) > 0 {
			parts["conversation "+x.names.texts[no]] = fmt.Sprint(numbers)
		}
	}
	g := gathering{Index: x, among: x.live, seats: map[int32][]seat{}}
	for _, c := range x.columns {
		g.at(c.session, c.place)
	}
	for session, seats := range g.seats {
		var slots []int32
		for _, s := range seats {
			slots = append(slots, s.slot)
		}
		if len(slots) > 0 {
			parts[fmt.Sprint("session ", session)] = fmt.Sprint(x.numbers(slots)) // their places are those of the documents
		}
	}
	for hash, term := range x.terms {
		list := x.postings[term]
		if !slices.IsSortedFunc(list, func(a, b posting) int { return cmp.Compare(a.slot, b.slot) }) {
			return nil, fmt.Sprintf("term %x: postings in no order", hash)
		}
		frequency := map[int32]float32{}
		for _, p := range list {
			if x.live.Contains(uint32(p.slot)) {
				frequency[x.columns[p.slot].no] += p.tf
			}
		}
		if len(frequency) > 0 {
			parts[fmt.Sprintf("term %x", hash)] = fmt.Sprint(frequency)
		}
	}
	return parts, ""
}

// numbers are those of the live documents in some slots.
func (x *Index) numbers(slots []int32) (numbers []int32) {
	for _, slot := range slots {
		if x.live.Contains(uint32(slot)) {
			numbers = append(numbers, x.columns[slot].no)
		}
	}
	slices.Sort(numbers)
	return numbers
}
