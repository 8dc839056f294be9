package resident

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/embed/onnx/onnxtest"
	"github.com/mallardmem/mallard/embed/static"
)

// embedder is what the test needs of a model; the package knows none.
type embedder interface {
	EmbedTexts(ctx context.Context, texts []string) ([][]float32, error)
	EmbedQuery(ctx context.Context, text string, weight func(string) float64) ([]float32, error)
	Dims() int
}

// talks names files of recorded conversations in the format of LoCoMo, joined as paths are; MALLARD_LOCOMO names one.
const talks = "MALLARD_TALKS"

// ofMany is a size of file for which so much is to be enough.
const ofMany = 100_000

// TestSketchesOnTalk: of the turns of recorded conversations, the best twenty and the best sixty for their questions are among those whose sketches are
// most like them. The more vectors there are, the more must be looked at; so many that what is looked at of a hundred thousand is enough, if that goes on.
func TestSketchesOnTalk(t *testing.T) {
	paths := cmp.Or(os.Getenv(talks), os.Getenv("MALLARD_LOCOMO"))
	if paths == "" {
		t.Skipf("neither %s nor MALLARD_LOCOMO names files in the format of LoCoMo: sketches are not compared on real text", talks)
	}
	turns, questions := readTalks(t, filepath.SplitList(paths))
	if len(turns) < 4000 {
		t.Skipf("%d turns in %s: too few to tell", len(turns), paths)
	}
	for _, model := range []struct {
		name string
		open func(t *testing.T) embedder
	}{
		{"static", func(*testing.T) embedder { return static.New() }},
		{"all-MiniLM-L6-v2", func(t *testing.T) embedder {
			return onnxtest.MiniLM(t, "sketches of all-MiniLM-L6-v2 are not compared")
		}},
	} {
		t.Run(model.name, func(t *testing.T) {
			if long := os.Getenv("MALLARD_LONG"); model.name != "static" && long != "1" && !strings.Contains(long, "models") {
				t.Skip("takes minutes: MALLARD_LONG=models")
			}
			m := model.open(t)
			documents := embedAll(t, m, turns)
			asked := make([][]float32, len(questions))
			for i, q := range questions {
				v, err := m.EmbedQuery(t.Context(), q, nil)
				if err != nil {
					t.Fatal(err)
				}
				asked[i] = v
			}
			for _, pool := range []int{20, 60} {
				needed := [2]map[int]int{{}, {}} // by signs, and by what these stand for
				for _, n := range []int{1000, 2000, 4000, len(documents)} {
					for by, few := range measure(documents[:n], asked) {
						needed[by][n] = few.needed(pool, 0.995)
						t.Logf("pool of %d of %d vectors: %d are looked at for 0.99 of it, %d for 0.995, %d for 0.999", pool, n, few.needed(pool, 0.99), needed[by][n], few.needed(pool, 0.999))
					}
				}
				for by, looked := range []int{firstShare * closely(pool, ofMany), closely(pool, ofMany)} {
					n := len(documents)
					growth := math.Log(float64(needed[by][n])/float64(needed[by][1000])) / math.Log(float64(n)/1000)
					most := float64(needed[by][n]) * math.Pow(ofMany/float64(n), growth)
					if t.Logf("with the power %.2f of their number; of %d: %.0f", growth, ofMany, most); most > float64(looked) {
						t.Errorf("pool of %d: %.0f of %d vectors would have to be looked at, and %d are", pool, most, ofMany, looked)
					}
				}
			}
		})
	}
}

// nearness is, for each question, how many vectors have a sketch that is more like it than each of the best by cosine, in the order of these.
type nearness [][]int

// measure compares sketches and cosines: by their signs alone, and by what these stand for.
func measure(documents, questions [][]float32) (all [2]nearness) {
	x := New(len(documents[0]))
	for i, v := range documents {
		d := message(int32(i + 1))
		x.Load(&d)
		x.LoadVector(d.No, v)
	}
	v := &x.vectors
	for _, question := range questions {
		planes, sum := v.planes(question)
		signs := make([]uint64, v.words)
		sketch(question, make([]float32, 64*v.words), signs)
		slots, counts := make([]int32, len(documents)), make([]int32, len(documents))
		for slot := range slots {
			slots[slot] = int32(slot)
		}
		best, likenesses := make([]scored, len(documents)), [2][]float32{make([]float32, len(documents)), make([]float32, len(documents))}
		for slot := range documents {
			best[slot] = scored{int32(slot), dot(documents[slot], question)}
		}
		v.distances(way, slots, signs, counts)
		for slot, count := range counts {
			likenesses[0][slot] = -float32(count)
		}
		v.likenesses(way, slots, planes, counts)
		for slot, count := range counts {
			likenesses[1][slot] = v.like(int32(slot), count, sum)
		}
		best = top(best, 60, func(a, b scored) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.slot, b.slot)) })
		slices.SortFunc(best, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
		for by, likeness := range likenesses {
			order := slices.Clone(likeness)
			slices.Sort(order)
			nearer := make([]int, len(best))
			for i, b := range best {
				before, _ := slices.BinarySearch(order, math.Nextafter32(likeness[b.slot], math.MaxFloat32))
				nearer[i] = len(order) - before
			}
			all[by] = append(all[by], nearer)
		}
	}
	return all
}

// needed is how many must be looked at for such a share of the best so many.
func (all nearness) needed(pool int, share float64) int {
	var ranks []int
	for _, nearer := range all {
		ranks = append(ranks, nearer[:pool]...)
	}
	slices.Sort(ranks)
	return ranks[int(share*float64(len(ranks)))] + 1
}

// readTalks gives what was said, shuffled, and what is asked.
func readTalks(t *testing.T, paths []string) (turns, questions []string) {
	t.Helper()
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var samples []struct {
			Conversation map[string]json.RawMessage
			QA           []struct{ Question string }
		}
		if err := json.Unmarshal(content, &samples); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, s := range samples {
			for name, raw := range s.Conversation {
				var session []struct{ Text string }
				if !strings.HasPrefix(name, "session_") || strings.HasSuffix(name, "_date_time") {
					continue
				}
				if err := json.Unmarshal(raw, &session); err != nil {
					t.Fatalf("%s, %s: %v", path, name, err)
				}
				for _, turn := range session {
					turns = append(turns, turn.Text)
				}
			}
			for _, q := range s.QA {
				questions = append(questions, q.Question)
			}
		}
	}
	slices.Sort(turns)
	turns = slices.Compact(turns) // of equals, which are among the best is chance
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(turns), func(i, j int) { turns[i], turns[j] = turns[j], turns[i] })
	return turns, questions
}

func embedAll(t *testing.T, m embedder, texts []string) (vectors [][]float32) {
	t.Helper()
	for batch := range slices.Chunk(texts, 64) {
		v, err := m.EmbedTexts(t.Context(), batch)
		if err != nil {
			t.Fatal(err)
		}
		vectors = append(vectors, v...)
	}
	return vectors
}
