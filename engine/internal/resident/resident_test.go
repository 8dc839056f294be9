package resident

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mallardmem/mallard/engine/kinds"
)

func unit(rng *rand.Rand, dims int, around []float32) []float32 {
	v := make([]float32, dims)
	var sum float64
	for i := range v {
		v[i] = float32(rng.NormFloat64())
		if around != nil {
			v[i] = 0.6*v[i] + around[i]*float32(math.Sqrt(float64(dims)))
		}
		sum += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / math.Sqrt(sum))
	}
	return v
}

func message(no int32) Document {
	return Document{No: no, Kind: kinds.Message, Scope: "global", Conversation: "c", SessionNo: no, CreatedAt: 1, ValidFrom: Never, InvalidatedAt: Never, Length: 1, Use: Unused}
}

func everything() Filter {
	return Filter{Kinds: kinds.All(), Since: Never, Until: Always, SaidBy: Always}
}

// TestSketchesLoseNothing: of many vectors in clusters, the best sixty by sketches are the best sixty.
func TestSketchesLoseNothing(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	const dims, documents = 256, 20_000
	x := New(dims)
	centres := make([][]float32, 200)
	for i := range centres {
		centres[i] = unit(rng, dims, nil)
	}
	all := make([][]float32, documents)
	for i := range all {
		all[i] = unit(rng, dims, centres[rng.IntN(len(centres))])
		d := message(int32(i + 1))
		x.Load(&d)
		x.LoadVector(d.No, all[i])
	}
	if x.vectors.exact != nil {
		t.Fatal("so many are kept as they are")
	}
	found, sought := 0, 0
	for range 50 {
		question := unit(rng, dims, centres[rng.IntN(len(centres))])
		order := make([]int32, documents)
		cosines := make([]float64, documents)
		for i, v := range all {
			order[i], cosines[i] = int32(i), dot(v, question)
			if got := x.vectors.cosine(int32(i), x.vectors.probe(question)); math.Abs(got-cosines[i]) > 1e-5 {
				t.Fatalf("cosine %v, want %v", got, cosines[i])
			}
		}
		slices.SortFunc(order, func(a, b int32) int {
			if cosines[a] > cosines[b] {
				return -1
			}
			return 1
		})
		best := map[int32]bool{}
		for _, f := range x.Gather(&Question{Filter: everything(), Rarity: &Rarity{}, Vector: question, Pool: 60}) {
			best[f.No-1] = true
		}
		for _, i := range order[:60] {
			if sought++; best[i] {
				found++
			}
		}
	}
	if share := float64(found) / float64(sought); share < 0.995 {
		t.Errorf("recall@60 %.4f, want 0.995", share)
	}
}

// TestFewBecomeMany: vectors that were kept as they are keep their cosines, but for the last digits, when they are shortened.
func TestFewBecomeMany(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	v := vectors{dims: 2048, words: 32}
	question := unit(rng, v.dims, nil)
	var before []float64
	for slot := int32(0); v.values == nil; slot++ {
		vector := unit(rng, v.dims, nil)
		if slot%7 == 0 {
			vector = nil
		}
		if v.add(vector); vector != nil {
			before = append(before, dot(vector, question))
		} else {
			before = append(before, math.NaN())
		}
	}
	if len(before) < 1000 {
		t.Fatalf("%d vectors are many", len(before))
	}
	for slot, want := range before {
		if v.has(int32(slot)) == math.IsNaN(want) {
			t.Fatalf("slot %d: has a vector: %t", slot, v.has(int32(slot)))
		}
		if got := v.cosine(int32(slot), v.probe(question)); !math.IsNaN(want) && math.Abs(got-want) > 1e-5 {
			t.Fatalf("slot %d: %v, want %v", slot, got, want)
		}
	}
}

// TestSlots: a document that changes its words is found by the new ones alone, one that leaves by none, and each is counted once.
func TestSlots(t *testing.T) {
	t.Parallel()
	x := New(0)
	words := func(hashes ...uint64) *Words { return &Words{hashes, make([]float32, len(hashes))} }
	put := func(no int32, hashes ...uint64) Change { return Change{Document: message(no), Words: words(hashes...)} }
	gone := func(no int32) Change { return Change{Document: Document{No: no}, Gone: true} }
	count := func(hash uint64) string {
		f := everything()
		all, asked := x.Count([]uint64{hash}, nil), x.Count([]uint64{hash}, &f)
		return fmt.Sprint(all.Documents[0][1], all.Population[1], asked.Documents[0][1], asked.Population[1])
	}
	for _, step := range []struct {
		do           []Change
		seven, eight string
	}{
		{[]Change{put(1, 7), put(2, 7, 8)}, "2 2 2 2", "1 2 1 2"},
		{[]Change{put(1, 8)}, "1 2 1 2", "2 2 2 2"},
		{[]Change{gone(2), gone(2), gone(9)}, "0 1 0 1", "1 1 1 1"},
		{[]Change{put(2, 7)}, "1 2 1 2", "1 2 1 2"},
		{[]Change{gone(1), gone(2)}, "0 0 0 0", "0 0 0 0"},
	} {
		x.Apply(step.do)
		if seven, eight := count(7), count(8); seven != step.seven || eight != step.eight {
			t.Errorf("after %+v: %s and %s, want %s and %s", step.do, seven, eight, step.seven, step.eight)
		}
	}
	if x.Worn() || x.Size().Documents != 0 {
		t.Errorf("%+v", x.Size())
	}
	for no := range int32(1100) {
		x.Apply([]Change{put(no%3+10, 7)})
	}
	if !x.Worn() {
		t.Errorf("%d of %d slots are dead, and it is not worn", x.dead, len(x.columns))
	}
}

// TestEach: strides meet what a walk through all meets.
func TestEach(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		var slots []int32
		var postings []posting
		for slot := range int32(rng.IntN(200)) {
			if rng.IntN(1+rng.IntN(20)) == 0 {
				slots = append(slots, slot)
			}
			if rng.IntN(1+rng.IntN(20)) == 0 {
				postings = append(postings, posting{slot, float32(slot)})
			}
		}
		var want, got []string
		for i, slot := range slots {
			if slices.ContainsFunc(postings, func(p posting) bool { return p.slot == slot }) {
				want = append(want, fmt.Sprint(i, slot))
			}
		}
		each(slots, postings, func(i int, tf float32) { got = append(got, fmt.Sprint(i, int32(tf))) })
		if !slices.Equal(got, want) {
			t.Fatalf("%v in %v: %v, want %v", slots, postings, got, want)
		}
	}
}

// BenchmarkNearest chooses among a hundred thousand vectors by their sketches.
func BenchmarkNearest(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 6))
	const dims, documents = 256, 100_000
	x, slots := New(dims), make([]int32, documents)
	for i := range slots {
		d := message(int32(i + 1))
		x.Load(&d)
		x.LoadVector(d.No, unit(rng, dims, nil))
		slots[i] = int32(i)
	}
	g := &gathering{Index: x, probe: x.vectors.probe(unit(rng, dims, nil))}
	for b.Loop() {
		g.nearest(&x.vectors, slots, closely(20, documents))
	}
}
