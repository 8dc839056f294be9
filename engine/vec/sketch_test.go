package vec_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/mallardmem/mallard/engine/vec"
)

// unit makes a vector's length 1.
func unit(v []float32) []float32 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

// TestNear: of pairs with a cosine of 0.9, among many that have much in common, nearly all are found, each once, and none across groups; what is found differs in no
// more bits than was asked.
func TestNear(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const dims, pairs = 384, 2000
	var vectors [][]float32
	for range pairs {
		v, w := make([]float32, dims), make([]float32, dims)
		for i := range v {
			v[i] = float32(rng.NormFloat64()) + 0.5 // in common
			w[i] = v[i] + 0.43*float32(rng.NormFloat64())
		}
		vectors = append(vectors, unit(v), unit(w))
	}
	s := vec.NewSketcher(vectors[:1000])
	sketches, groups := make([]vec.Sketch, len(vectors)), make([]int, len(vectors))
	for i, v := range vectors {
		sketches[i], groups[i] = s.Sketch(v), i/1000
	}
	met, others := 0, 0
	seen := map[[2]int]bool{}
	vec.Near(sketches, groups, 80, func(i, j int) {
		switch {
		case seen[[2]int{i, j}] || i >= j:
			t.Fatalf("%d and %d again, or the wrong way round", i, j)
		case groups[i] != groups[j]:
			t.Fatalf("%d and %d are of different groups", i, j)
		case vec.Apart(sketches[i], sketches[j]) > 80:
			t.Fatalf("%d and %d are too far apart", i, j)
		case i/2 == j/2:
			met++
		default:
			others++
		}
		seen[[2]int{i, j}] = true
	})
	if met < pairs*95/100 || others > pairs/10 {
		t.Errorf("found %d of %d pairs, and %d others", met, pairs, others)
	}
	vec.Near(nil, nil, 80, func(int, int) { t.Error("a pair of nothing") })
	if vec.NewSketcher(nil).Sketch(nil) != (vec.Sketch{}) {
		t.Error("a sketch of nothing")
	}
}
