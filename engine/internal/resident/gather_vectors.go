package resident

import (
	"math"
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
	g.among.Range(func(slot uint32) {
		if v.scales[slot] != 0 {
			slots = append(slots, int32(slot))
			if g.q.Passage > 0 {
				rows = append(rows, p.rows[int32(slot)]...)
			}
		}
	})
	if all := len(slots) + len(rows); all > fewVectors {
		slots = g.nearest(v, slots, closely(g.q.Pool, all))
		for _, row := range g.nearest(&p.vectors, rows, closely(g.q.Pool, all)) {
			slots = append(slots, p.of[row])
		}
		slices.Sort(slots)
		slots = slices.Compact(slots)
	}
	all := make([]scored, len(slots))
	for i, slot := range slots {
		all[i] = scored{slot, g.withPassages(slot, v.about(slot, g.probe), p.about)}
	}
	return g.best(all)
}

// withPassages is the macro passage_cosine.
func (g *gathering) withPassages(slot int32, whole float64, cosine func(row int32, p *probe) float64) float64 {
	if g.q.Passage > 0 {
		for _, row := range g.passages.rows[slot] {
			whole = max(whole, g.q.Passage*cosine(row, g.passageProbe))
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
	if first := max(firstShare*n, len(slots)/firstShareOf); len(slots) > 2*first {
		signs := make([]uint64, v.words)
		sketch(g.probe.exact, make([]float32, 64*v.words), signs)
		slots = mostAlike(slots, first, func(slot int32) float32 { return -float32(v.distance(slot, signs)) })
	}
	planes := v.planes(g.probe.exact)
	return mostAlike(slots, n, func(slot int32) float32 { return v.like(slot, planes) })
}

// mostAlike gives the n of slots that are most alike, and who is hardly less so.
func mostAlike(slots []int32, n int, like func(slot int32) float32) []int32 {
	likeness := make([]float32, len(slots))
	least, most := float32(math.Inf(1)), float32(math.Inf(-1))
	for i, slot := range slots {
		l := like(slot)
		likeness[i], least, most = l, min(least, l), max(most, l)
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
