package resident

// #cgo CFLAGS: -std=c11 -O2
// #include "kernels.h"
import "C"

import "unsafe"

// way is how kernels.c computes: the best that this machine has.
var way = int(C.kernels_way())

// start is where the numbers of a slice begin, for C.
func start[To, From any](numbers []From) *To { return (*To)(unsafe.Pointer(unsafe.SliceData(numbers))) }

// distances gives how many bits of the sketches of slots differ from signs.
func (v *vectors) distances(way int, slots []int32, signs []uint64, out []int32) {
	C.kernels_distances(C.int(way), start[C.uint64_t](v.bits), C.int(v.words), start[C.int32_t](slots), C.int(len(slots)), start[C.uint64_t](signs), start[C.int32_t](out))
}

// likenesses gives how like the sketches of slots are to the planes of a question, but for what is the same for all of them.
func (v *vectors) likenesses(way int, slots []int32, planes []uint64, out []int32) {
	C.kernels_likenesses(C.int(way), start[C.uint64_t](v.bits), C.int(v.words), start[C.int32_t](slots), C.int(len(slots)), start[C.uint64_t](planes), start[C.int32_t](out))
}

// products gives the inner products of the vectors of slots and a probe, where they are few.
func (v *vectors) products(way int, slots []int32, probe, out []float32) {
	C.kernels_products(C.int(way), start[C.float](v.exact), C.int(v.dims), start[C.int32_t](slots), C.int(len(slots)), start[C.float](probe), start[C.float](out))
}

// productsOfValues gives them where they are many.
func (v *vectors) productsOfValues(way int, slots []int32, probe []int16, out []int64) {
	C.kernels_products_of_values(C.int(way), start[C.int16_t](v.values), C.int(v.dims), start[C.int32_t](slots), C.int(len(slots)), start[C.int16_t](probe), start[C.int64_t](out))
}
