package resident

import (
	"math"
	"math/bits"
)

// vectors are of unit length, by slot. While they are few they are kept as they are. Of many, a value is kept as a share of the vector's greatest one, in
// 16 bits. The sign of a value is its bit.
type vectors struct {
	dims, words int
	bits        []uint64
	exact       []float32 // nil: they are many
	values      []int16   // of many
	scales      []float32 // what a value of 1 stands for; 0: there is no vector
	count       int
}

// fewValues is how many values are kept as they are: 16 MB of them.
const fewValues = 4 << 20

func (v *vectors) bytes() int { return v.words*8 + v.dims*2 + 4 }

// add gives the next slot its vector, or none.
func (v *vectors) add(vector []float32) {
	if v.dims == 0 {
		return
	}
	slot := int32(len(v.scales))
	v.scales = append(v.scales, 0)
	v.bits = append(v.bits, make([]uint64, v.words)...)
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
	v.scales[slot] = sketch(vector, v.bits[int(slot)*v.words:][:v.words])
	if v.values == nil {
		copy(v.exact[at:], vector)
		return
	}
	quantize(vector, v.scales[slot], v.values[at:])
}

// sketch sets the bits of a vector's signs and gives the unit of its values.
func sketch(vector []float32, bits []uint64) (scale float32) {
	clear(bits)
	var most float32
	for i, f := range vector {
		if f > 0 {
			bits[i/64] |= 1 << (i % 64)
		}
		most = max(most, f, -f)
	}
	return most / math.MaxInt16
}

func (v *vectors) has(slot int32) bool { return v.dims > 0 && v.scales[slot] != 0 }

// distance is in how many dimensions a vector has another sign.
func (v *vectors) distance(slot int, signs []uint64) (n int) {
	own := v.bits[slot*v.words:][:len(signs)]
	for i, word := range signs {
		n += bits.OnesCount64(word ^ own[i])
	}
	return n
}

// cosine is that of the vector of a slot and one of unit length.
func (v *vectors) cosine(slot int32, vector []float32) float64 {
	at := int(slot) * v.dims
	if v.values == nil {
		return dot(v.exact[at:][:len(vector)], vector)
	}
	return dot(v.values[at:][:len(vector)], vector) * float64(v.scales[slot])
}

// dot is the inner product of two vectors of the same length.
func dot[T int16 | float32](a []T, b []float32) float64 {
	var sums [4]float64
	i := 0
	for ; i+4 <= len(b) && i+4 <= len(a); i += 4 {
		x, y := a[i:i+4:i+4], b[i:i+4:i+4]
		sums[0] += float64(float32(x[0]) * y[0])
		sums[1] += float64(float32(x[1]) * y[1])
		sums[2] += float64(float32(x[2]) * y[2])
		sums[3] += float64(float32(x[3]) * y[3])
	}
	for ; i < len(b); i++ {
		sums[0] += float64(float32(a[i]) * b[i])
	}
	return sums[0] + sums[1] + sums[2] + sums[3]
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
