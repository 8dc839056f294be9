package resident

import (
	"math"
	"math/bits"
)

// vectors are of unit length, by slot. A value of a vector is kept as a share of its greatest one, in 16 bits; its sign is its bit.
type vectors struct {
	dims, words int
	bits        []uint64
	values      []int16
	scales      []float32 // what a value of 1 stands for; 0: there is no vector
	count       int
}

func (v *vectors) bytes() int { return v.words*8 + v.dims*2 + 4 }

// add gives the next slot its vector, or none.
func (v *vectors) add(vector []float32) {
	if v.dims == 0 {
		return
	}
	slot := int32(len(v.scales))
	v.scales = append(v.scales, 0)
	v.bits = append(v.bits, make([]uint64, v.words)...)
	v.values = append(v.values, make([]int16, v.dims)...)
	v.set(slot, vector)
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
	values, scale := v.values[int(slot)*v.dims:][:v.dims], sketch(vector, v.bits[int(slot)*v.words:][:v.words])
	for i, f := range vector {
		values[i] = int16(math.RoundToEven(float64(f) / float64(scale)))
	}
	v.scales[slot] = scale
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
	values := v.values[int(slot)*v.dims:][:len(vector)]
	var a, b, c, d float32
	i := 0
	for ; i+4 <= len(vector); i += 4 {
		a += float32(values[i]) * vector[i]
		b += float32(values[i+1]) * vector[i+1]
		c += float32(values[i+2]) * vector[i+2]
		d += float32(values[i+3]) * vector[i+3]
	}
	for ; i < len(vector); i++ {
		a += float32(values[i]) * vector[i]
	}
	return (float64(a) + float64(b) + float64(c) + float64(d)) * float64(v.scales[slot])
}

// vector is that of a slot, as far as it is kept.
func (v *vectors) vector(slot int32) []float32 {
	vector := make([]float32, v.dims)
	for i, value := range v.values[int(slot)*v.dims:][:v.dims] {
		vector[i] = float32(value) * v.scales[slot]
	}
	return vector
}
