package resident

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

// Every way of this machine gives what plain Go gives: of floats to the bit, in every number of dimensions.
func TestKernels(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, dims := range []int{1, 7, 8, 15, 16, 17, 63, 64, 65, 100, 128, 200, 255, 256, 384, 1000, 1024} {
		const count = 50
		v := vectors{dims: dims, words: sketchWords(dims), bits: make([]uint64, count*sketchWords(dims)), exact: make([]float32, count*dims), values: make([]int16, count*dims)}
		for i := range v.bits {
			v.bits[i] = r.Uint64()
		}
		copy(v.bits, slices.Repeat([]uint64{math.MaxUint64}, v.words))
		random := func(floats []float32, values []int16) {
			for i := range floats {
				floats[i], values[i] = float32(r.NormFloat64()), int16(r.IntN(2*math.MaxInt16+1)-math.MaxInt16)
			}
		}
		random(v.exact, v.values)
		copy(v.values, slices.Repeat([]int16{-math.MaxInt16}, dims)) // as much as there can be
		slots := make([]int32, 0, count)
		for slot := range int32(count) {
			if slot%7 != 3 {
				slots = append(slots, slot)
			}
		}
		signs, planes := make([]uint64, v.words), slices.Repeat([]uint64{math.MaxUint64}, 4*v.words)
		for i := range signs {
			signs[i] = r.Uint64()
		}
		for i := range planes[1:] {
			planes[i] = r.Uint64()
		}
		probe, probeValues := make([]float32, dims), make([]int16, dims)
		random(probe, probeValues)
		probeValues[0] = -math.MaxInt16
		for way := range way + 1 {
			distances, likenesses, products, ofValues := make([]int32, len(slots)), make([]int32, len(slots)), make([]float32, len(slots)), make([]int64, len(slots))
			v.distances(way, slots, signs, distances)
			v.likenesses(way, slots, planes, likenesses)
			v.products(way, slots, probe, products)
			v.productsOfValues(way, slots, probeValues, ofValues)
			for i, slot := range slots {
				distance, likeness, product, sum := plainly(&v, int(slot), signs, planes, probe, probeValues)
				if distances[i] != distance || likenesses[i] != likeness || products[i] != product || ofValues[i] != sum {
					t.Fatalf("%d dimensions, way %d, slot %d: distance %d, likeness %d, products %v and %d; want %d, %d, %v, %d",
						dims, way, slot, distances[i], likenesses[i], products[i], ofValues[i], distance, likeness, product, sum)
				}
			}
		}
	}
	if way == 0 {
		t.Log("this machine has the portable way only")
	}
}

// plainly computes what kernels do for a slot.
func plainly(v *vectors, slot int, signs, planes []uint64, probe []float32, probeValues []int16) (distance, likeness int32, product float32, sum int64) {
	for i, own := range v.bits[slot*v.words:][:v.words] {
		distance += int32(bits.OnesCount64(own ^ signs[i]))
		likeness -= 30 * int32(bits.OnesCount64(own))
		for bit := range 4 {
			likeness += 4 << bit * int32(bits.OnesCount64(own&planes[bit*v.words+i]))
		}
	}
	var parts [8]float32
	for i, f := range v.exact[slot*v.dims:][:v.dims] {
		one := f * probe[i]
		parts[i%8] += one
		sum += int64(v.values[slot*v.dims+i]) * int64(probeValues[i])
	}
	product = ((parts[0] + parts[4]) + (parts[2] + parts[6])) + ((parts[1] + parts[5]) + (parts[3] + parts[7]))
	return distance, likeness, product, sum
}
