package resident

import (
	"math"
	"math/bits"
)

// vectors are of unit length, by slot. While they are few they are kept as they are. Of many, a value is kept as a share of the vector's greatest one, in
// 16 bits. A sketch is the signs of the vector once it is turned, and what each of them stands for.
type vectors struct {
	dims, words int
	bits        []uint64
	reaches     []float32 // what a sign stands for
	exact       []float32 // nil: they are many
	values      []int16   // of many
	scales      []float32 // what a value of 1 stands for; 0: there is no vector
	count       int
	turned      []float32 // of the vector that comes
}

// newVectors is room for vectors of so many dimensions.
func newVectors(dims int) vectors { return vectors{dims: dims, words: sketchWords(dims)} }

// fewValues is how many values are kept as they are: 16 MB of them.
const fewValues = 4 << 20

func (v *vectors) bytes() int { return v.words*8 + v.dims*2 + 8 }

// sketchWords is how many words a sketch takes: turning wants a power of two.
func sketchWords(dims int) int {
	if dims == 0 {
		return 0
	}
	return 1 << bits.Len(uint((dims-1)/64))
}

// turn writes a vector in other axes, so that a value of one says as much as that of every other: some values change their sign, in an order like chance,
// and then all are mixed by sums and differences (Walsh and Hadamard).
func turn(vector, turned []float32) {
	clear(turned[copy(turned, vector):])
	for i, order := 0, uint64(0x9e3779b97f4a7c15); i < len(vector); i++ {
		order ^= order << 13
		order ^= order >> 7
		order ^= order << 17
		if order>>63 == 1 {
			turned[i] = -turned[i]
		}
	}
	for apart := 1; apart < len(turned); apart *= 2 {
		for from := 0; from < len(turned); from += 2 * apart {
			left, right := turned[from:from+apart], turned[from+apart:from+2*apart]
			for i, a := range left {
				left[i], right[i] = a+right[i], a-right[i]
			}
		}
	}
}

// add gives the next slot its vector, or none.
func (v *vectors) add(vector []float32) {
	if v.dims == 0 {
		return
	}
	slot := int32(len(v.scales))
	v.scales = append(v.scales, 0)
	v.bits, v.reaches = append(v.bits, make([]uint64, v.words)...), append(v.reaches, 0)
	switch {
	case v.values != nil:
		v.values = append(v.values, make([]int16, v.dims)...)
	case len(v.exact)+v.dims <= fewValues:
		v.exact = append(v.exact, make([]float32, v.dims)...)
	default:
		v.shorten()
	}
	v.set(slot, vector)
}

// shorten goes over to values of 16 bits, with room for the newest slot.
func (v *vectors) shorten() {
	v.values = make([]int16, len(v.scales)*v.dims)
	for slot := range len(v.exact) / v.dims {
		if scale := v.scales[slot]; scale != 0 {
			quantize(v.exact[slot*v.dims:][:v.dims], scale, v.values[slot*v.dims:])
		}
	}
	v.exact = nil
}

// quantize writes values in units of the scale.
func quantize(vector []float32, scale float32, values []int16) {
	for i, f := range vector {
		values[i] = int16(math.RoundToEven(float64(f) / float64(scale)))
	}
}

// set gives a slot another vector, or none.
func (v *vectors) set(slot int32, vector []float32) {
	if v.dims == 0 || len(vector) != v.dims && vector != nil {
		return
	}
	if v.scales[slot] != 0 {
		v.count--
	}
	v.scales[slot] = 0
	if vector == nil {
		return
	}
	v.count++
	at := int(slot) * v.dims
	v.scales[slot] = greatest(vector) / math.MaxInt16
	if v.turned == nil {
		v.turned = make([]float32, 64*v.words)
	}
	v.reaches[slot] = sketch(vector, v.turned, v.bits[int(slot)*v.words:][:v.words])
	if v.values == nil {
		copy(v.exact[at:], vector)
		return
	}
	quantize(vector, v.scales[slot], v.values[at:])
}

func greatest(vector []float32) (most float32) {
	for _, f := range vector {
		most = max(most, f, -f)
	}
	return most
}

// sketch sets the bits of a vector's signs, in other axes, and gives what each stands for: the share by which a vector of so many equal values is as long
// in its direction as the vector itself (RaBitQ, Gao and Long 2024).
func sketch(vector, turned []float32, bits []uint64) (reach float32) {
	clear(bits)
	turn(vector, turned)
	var sum float32
	for i, f := range turned {
		if f > 0 {
			bits[i/64] |= 1 << (i % 64)
			sum += f
		} else {
			sum -= f
		}
	}
	if sum == 0 {
		return 0
	}
	return 1 / sum
}

func (v *vectors) has(slot int32) bool { return v.dims > 0 && v.scales[slot] != 0 }

// distance is in how many axes the sketch of a slot has another sign.

// planes are a question's vector in other axes, of whose values each is a number from 0 to 15: the first words are the bits worth 1, the last those
// worth 8. sum is of all that the numbers are above their mean, twice.
func (v *vectors) planes(vector []float32) (planes []uint64, sum int32) {
	turned := make([]float32, 64*v.words)
	turn(vector, turned)
	planes, sum = make([]uint64, 4*v.words), int32(-15*len(turned))
	most := max(greatest(turned), math.SmallestNonzeroFloat32)
	for i, f := range turned {
		number := min(15, int32(8*(1+f/most)))
		sum += 2 * number
		for bit := range 4 {
			planes[bit*v.words+i/64] |= uint64(number>>bit&1) << (i % 64)
		}
	}
	return planes, sum
}

// probe is a vector of unit length that others are compared with.
type probe struct {
	exact  []float32
	values []int16 // where the others are many
	scale  float64 // of a value
}

// probe makes one.
func (v *vectors) probe(vector []float32) *probe {
	p := &probe{exact: vector}
	if v.values != nil {
		var most float32
		for _, f := range vector {
			most = max(most, f, -f)
		}
		p.values, p.scale = make([]int16, v.dims), float64(most/math.MaxInt16)
		if most > 0 {
			quantize(vector, most/math.MaxInt16, p.values)
		}
	}
	return p
}

// cosine is that of the vector of a slot and a probe, as near as the vector is kept.
func (v *vectors) cosine(slot int32, p *probe) float64 {
	at := int(slot) * v.dims
	if v.values == nil {
		return dot(v.exact[at:][:v.dims], p.exact)
	}
	var sum float64
	for i, value := range v.values[at:][:v.dims] {
		sum += float64(value) * float64(p.exact[i])
	}
	return sum * float64(v.scales[slot])
}

// abouts gives the cosines of slots and a probe, of many vectors to a few millionths.
func (v *vectors) abouts(slots []int32, p *probe) []float64 {
	all := make([]float64, len(slots))
	if v.values == nil {
		products := make([]float32, len(slots))
		v.products(way, slots, p.exact, products)
		for i, product := range products {
			all[i] = float64(product)
		}
		return all
	}
	products := make([]int64, len(slots))
	v.productsOfValues(way, slots, p.values, products)
	for i, product := range products {
		all[i] = float64(product) * float64(v.scales[slots[i]]) * p.scale
	}
	return all
}

// dot is the inner product of two vectors of the same length.
func dot(a, b []float32) float64 {
	var s0, s1, s2, s3 float32
	for len(a) >= 4 && len(b) >= 4 {
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
		a, b = a[4:], b[4:]
	}
	for i := range a {
		s0 += a[i] * b[i]
	}
	return float64(s0+s1) + float64(s2+s3)
}

// vector is that of a slot, as far as it is kept.
func (v *vectors) vector(slot int32) []float32 {
	at := int(slot) * v.dims
	if v.values == nil {
		return v.exact[at:][:v.dims]
	}
	vector := make([]float32, v.dims)
	for i, value := range v.values[at:][:v.dims] {
		vector[i] = float32(value) * v.scales[slot]
	}
	return vector
}

// Alike is two documents of a list, by their places in it from 1.
type Alike struct{ Place, Before int32 }

// Alike gives which documents, by their numbers, are more alike than the cosine most, each with the earlier ones.
func (x *Index) Alike(numbers []int32, most float64) (all []Alike) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	v := &x.vectors
	probes := make([]*probe, len(numbers))
	for i, no := range numbers {
		slot, known := x.slotOf(no)
		if !known || !v.has(slot) {
			continue
		}
		probes[i] = v.probe(v.vector(slot))
		for j := range i {
			if probes[j] != nil && v.cosine(slot, probes[j]) > most {
				all = append(all, Alike{int32(i + 1), int32(j + 1)})
			}
		}
	}
	return all
}
