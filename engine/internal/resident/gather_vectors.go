package resident

import (
	"math"
	"math/bits"
	"slices"
)

// How many vectors are looked at closely: where no more take part all of them, else those whose sketches are most like the question.
const (
	fewVectors   = 4000
	firstVectors = 1000
	poolVectors  = 32  // for each of the pool, where that is more
	shareVectors = 250 // one in so many, likewise
	// Of very many, signs alone choose those whose sketches are looked at: so many times as many as are wanted, or one in so many where that is more.
	firstShare   = 4
	firstShareOf = 16
)

// byVector gives the best by cosine.
func (g *gathering) byVector(n int) []int32 {
	v, p := &g.vectors, &g.passages
	if g.probe == nil {
		return nil
	}
	slots, rows := make([]int32, 0, n), []int32{}
	for i, word := range g.among {
		for ; word != 0; word &= word - 1 {
			if slot := int32(64*i + bits.TrailingZeros64(word)); v.scales[slot] != 0 {
				slots = append(slots, slot)
			}
		}
	}
	if g.q.Passage > 0 {
		for row, slot := range p.of {
			if p.scales[row] != 0 && v.scales[slot] != 0 && g.among.Contains(uint32(slot)) {
				rows = append(rows, int32(row))
			}
		}
	}
	if all := len(slots) + len(rows); all > fewVectors {
		slots = g.nearest(v, slots, closely(g.q.Pool, all))
		for _, row := range g.nearest(&p.vectors, rows, closely(g.q.Pool, all)) {
			slots = append(slots, p.of[row])
		}
		slices.Sort(slots)
		slots = slices.Compact(slots)
		rows = rows[:0]
		if g.q.Passage > 0 {
			for _, slot := range slots {
				rows = append(rows, p.rows[slot]...)
			}
		}
	}
	all := make([]scored, len(slots))
	for i, cosine := range v.abouts(slots, g.probe) {
		all[i] = scored{slots[i], cosine}
	}
	if len(rows) > 0 {
		for i, cosine := range p.abouts(rows, g.passageProbe) {
			at, _ := slices.BinarySearch(slots, p.of[rows[i]]) // they ascend
			all[at].score = max(all[at].score, g.q.Passage*cosine)
		}
	}
	return g.best(all)
}

// withPassages is the macro passage_cosine: that of a document, or of its best passage.
func (g *gathering) withPassages(slot int32, whole float64) float64 {
	if g.q.Passage > 0 {
		for _, row := range g.passages.rows[slot] {
			whole = max(whole, g.q.Passage*g.passages.cosine(row, g.passageProbe))
		}
	}
	return whole
}

// closely is how many of so many vectors are looked at closely for a pool.
func closely(pool, of int) int { return max(firstVectors, poolVectors*pool, of/shareVectors) }

// nearest gives about the n whose sketches are most like the question, or some more.
func (g *gathering) nearest(v *vectors, slots []int32, n int) []int32 {
	if n >= len(slots) {
		return slots
	}
	counts := make([]int32, len(slots))
	if first := max(firstShare*n, len(slots)/firstShareOf); len(slots) > 2*first {
		signs := make([]uint64, v.words)
		sketch(g.probe.exact, make([]float32, 64*v.words), signs)
		v.distances(way, slots, signs, counts)
		slots = closest(slots, first, counts, 64*v.words)
		counts = counts[:len(slots)]
	}
	planes, sum := v.planes(g.probe.exact)
	v.likenesses(way, slots, planes, counts)
	return v.mostAlike(slots, n, counts, sum)
}

// closest gives the n of slots with the least distances, each up to most, and who is as close as the last of them.
func closest(slots []int32, n int, distances []int32, most int) []int32 {
	at := make([]int, most+1)
	for _, d := range distances {
		at[d]++
	}
	to, sum := -1, 0
	for sum < n {
		to++
		sum += at[to]
	}
	near := make([]int32, 0, sum)
	for i, d := range distances {
		if int(d) <= to {
			near = append(near, slots[i])
		}
	}
	return near
}

// like is about the cosine of the vector of a slot and a question, in a unit of the question's own.
func (v *vectors) like(slot, likeness, sum int32) float32 {
	return float32(likeness-sum) * v.reaches[slot]
}

// mostAlike gives the n of slots that are most alike, and who is hardly less so.
func (v *vectors) mostAlike(slots []int32, n int, likenesses []int32, of int32) []int32 {
	likeness := make([]float32, len(slots))
	least, most := float32(math.Inf(1)), float32(math.Inf(-1))
	for i, slot := range slots {
		l := v.like(slot, likenesses[i], of)
		if likeness[i] = l; l < least {
			least = l
		}
		if l > most {
			most = l
		}
	}
	if most == least {
		return slots
	}
	const steps = 1 << 12
	var counts [steps + 1]int
	scale := steps / (most - least)
	for _, l := range likeness {
		counts[int((l-least)*scale)]++
	}
	from, sum := steps+1, 0
	for sum < n {
		from--
		sum += counts[from]
	}
	near := make([]int32, 0, sum)
	for i, l := range likeness {
		if int((l-least)*scale) >= from {
			near = append(near, slots[i])
		}
	}
	return near
}
