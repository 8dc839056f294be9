package resident

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestPassagesAreFound: of many documents the best by their wholes and passages are found, also where sketches choose whom to look at closely, and one
// whose passages left with it is not.
func TestPassagesAreFound(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 8))
	const dims, documents, each, share = 64, 3000, 4, 0.9
	x := New(dims)
	wholes, parts := make([][]float32, documents), make([][][]float32, documents)
	for i := range documents {
		d := message(int32(i + 1))
		x.Load(&d)
		wholes[i] = unit(rng, dims, nil)
		x.LoadVector(d.No, wholes[i])
		for j := range each {
			v := unit(rng, dims, nil)
			parts[i] = append(parts[i], v)
			x.LoadPassage(d.No, Passage{Start: int32(10 * j), Length: 10, Vector: v})
		}
	}
	var changes []Change
	for no := int32(1); no <= 20; no++ {
		changes = append(changes, Change{Document: Document{No: no}, Gone: true})
	}
	x.Apply(changes)
	if size := x.Size(); size.Passages != (documents-20)*each {
		t.Fatalf("%d passages, want %d", size.Passages, (documents-20)*each)
	}
	found, sought, byPassage := 0, 0, 0
	for range 40 {
		question := unit(rng, dims, nil)
		type best struct {
			no        int32
			cosine    float64
			byPassage bool
		}
		var all []best
		for i := 20; i < documents; i++ {
			b := best{int32(i + 1), dot(wholes[i], question), false}
			for _, part := range parts[i] {
				if c := share * dot(part, question); c > b.cosine {
					b.cosine, b.byPassage = c, true
				}
			}
			all = append(all, b)
		}
		slices.SortFunc(all, func(a, b best) int { return cmp.Compare(b.cosine, a.cosine) })
		got := map[int32]Found{}
		for _, f := range x.Gather(&Question{Filter: everything(), Rarity: &Rarity{}, Vector: question, Pool: 20, Passage: share}) {
			if f.No <= 20 {
				t.Errorf("document %d has left", f.No)
			}
			got[f.No] = f
		}
		for _, want := range all[:20] {
			sought++
			f, ok := got[want.no]
			if !ok {
				continue
			}
			found++
			if want.byPassage {
				byPassage++
			}
			if math.Abs(f.Cosine-want.cosine) > 1e-5 || f.ByPassage != want.byPassage {
				t.Fatalf("document %d: %v, %t; want %v, %t", f.No, f.Cosine, f.ByPassage, want.cosine, want.byPassage)
			}
		}
	}
	if part := float64(found) / float64(sought); part < 0.98 || byPassage < sought/4 {
		t.Errorf("recall@20 %.4f, %d of %d by passages", part, byPassage, sought)
	}
}

// TestPassageCosines: a question is held against every passage of the documents that are named.
func TestPassageCosines(t *testing.T) {
	t.Parallel()
	x := New(2)
	for no := int32(1); no <= 3; no++ {
		d := message(no)
		x.Load(&d)
	}
	x.Apply([]Change{
		{Document: Document{No: 2}, Embedded: true, Passages: []Passage{{0, 5, []float32{1, 0}}}},
		{Document: Document{No: 2}, Embedded: true, Passages: []Passage{{5, 7, []float32{0, 1}}}},
		{Document: Document{No: 3}, Embedded: true, Passages: []Passage{{0, 9, []float32{0, 1}}}},
	})
	want := []PassageCosine{{2, 0, 5, 1}, {2, 5, 7, 0}}
	if got := x.Passages([]int32{1, 2, 99}, []float32{1, 0}); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := x.Passages([]int32{2}, []float32{1, 0, 0}); got != nil {
		t.Errorf("of a vector of another model: %v", got)
	}
}
