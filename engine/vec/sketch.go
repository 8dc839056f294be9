// Package vec is arithmetic of vectors that no database has: sketches, by which those that are near each other are found among very many without comparing all of
// them. It is pure.
package vec

import (
	"cmp"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// Bits is how many a Sketch has.
const Bits = 256

// Sketch is on which side of 256 planes a vector lies: the smaller the angle between two vectors, the fewer bits differ.
type Sketch [Bits / 64]uint64

// Sketcher makes sketches.
type Sketcher struct {
	planes [Bits][coordinates]int // of which coordinates a plane is; those after the first half are taken off
	level  [Bits]float32          // of the plane: where the middle of the vectors is
}

// few is how many vectors a sample has of whose middle half is believed: the middle of two lies between them.
const few = 200

// coordinates is of how many coordinates a plane is.
const coordinates = 16

// NewSketcher makes one for vectors such as those of a sample, of one number of dimensions. Its planes go through the middle of the sample, so that what all
// vectors have in common tells nothing. The same sample makes the same one.
func NewSketcher(sample [][]float32) *Sketcher {
	s := &Sketcher{}
	if len(sample) == 0 {
		return s
	}
	rng := rand.New(rand.NewPCG(88, 256))
	dims := len(sample[0])
	middle := make([]float32, dims)
	for _, v := range sample {
		for i, x := range v {
			middle[i] += x / float32(len(sample)+few)
		}
	}
	for b := range s.planes {
		for i := range s.planes[b] {
			s.planes[b][i] = rng.IntN(dims)
		}
		s.level[b] = s.project(b, middle)
	}
	return s
}

func (s *Sketcher) project(plane int, v []float32) (sum float32) {
	for i, at := range s.planes[plane] {
		if i < coordinates/2 {
			sum += v[at]
		} else {
			sum -= v[at]
		}
	}
	return sum
}

// Sketch is that of a vector.
func (s *Sketcher) Sketch(v []float32) (of Sketch) {
	if len(v) == 0 {
		return of
	}
	for b := range Bits {
		if s.project(b, v) > s.level[b] {
			of[b/64] |= 1 << (b % 64)
		}
	}
	return of
}

// Apart is how many bits of two sketches differ.
func Apart(a, b Sketch) (n int) {
	for i := range a {
		n += bits.OnesCount64(a[i] ^ b[i])
	}
	return n
}

// Bounds of what Near looks at.
const (
	mostTogether = 256 // of those that agree in a band, with how many after it each is compared
	fullBand     = 64  // about how many agree in a band by chance
)

// Near gives pairs of sketches of one group that differ in no more than so many bits, each once, i before j. It compares those that agree in some band of bits, each with
// at most 256 others in each band: time grows little faster than the number of sketches. Of pairs that differ in a fifth of their bits it misses some five in a
// hundred, and more where very many are alike.
func Near(sketches []Sketch, groups []int, most int, found func(i, j int)) {
	width := min(max(bits.Len(uint(len(sketches)/fullBand)), 4), 16)
	order := make([]int, len(sketches))
	seen := map[[2]int]bool{}
	for low := 0; low+width <= Bits; low += width {
		key := func(i int) uint64 {
			k := sketches[i][low/64] >> (low % 64)
			if rest := 64 - low%64; rest < width {
				k |= sketches[i][low/64+1] << rest
			}
			return k & (1<<width - 1)
		}
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int {
			return cmp.Or(cmp.Compare(groups[a], groups[b]), cmp.Compare(key(a), key(b)), cmp.Compare(a, b))
		})
		for at, i := range order {
			for _, j := range order[at+1 : min(at+1+mostTogether, len(order))] {
				if groups[i] != groups[j] || key(i) != key(j) {
					break
				}
				if Apart(sketches[i], sketches[j]) <= most && !seen[[2]int{i, j}] {
					seen[[2]int{i, j}] = true
					found(i, j)
				}
			}
		}
	}
}
