package bench

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/setup"
)

// TestRankBiasedOverlap: by hand, from formula 32 of Webber, Moffat and Zobel with p = 0.9.
func TestRankBiasedOverlap(t *testing.T) {
	list := func(s string) []string { return strings.Fields(s) }
	for _, test := range []struct {
		a, b string
		want float64
	}{
		{"", "", 1}, {"a", "", 0}, {"a b c", "a b c", 1}, {"a b", "c d", 0},
		{"a b", "b a", 0.1/0.9*(0+0.81) + 0.81},                                // X: 0, 2
		{"a b c", "a c b", 0.1/0.9*(0.9+0.5*0.81+0.729) + 0.729},               // X: 1, 1, 3
		{"a", "a b", 0.1/0.9*(0.9+0.5*0.81+0.5*0.81) + (0.0/2+1)*0.81},         // the shorter agrees wholly, and is believed to go on so
		{"a b", "c a d", 0.1/0.9*(0+0.5*0.81+(1.0/3+1.0/6)*0.729) + 0.5*0.729}, // X: 0, 1, 1
		{"a b", "c d a", 0.1/0.9*(0+0+1.0/3*0.729) + 1.0/3*0.729},              // X: 0, 0, 1
	} {
		for _, got := range []float64{rankBiasedOverlap(list(test.a), list(test.b)), rankBiasedOverlap(list(test.b), list(test.a))} {
			if math.Abs(got-test.want) > 1e-9 {
				t.Errorf("%s and %s: %v, want %v", test.a, test.b, got, test.want)
			}
		}
	}
	if got := overlap(list("a b c"), list("c d")); math.Abs(got-1.0/3) > 1e-9 {
		t.Errorf("overlap %v, want 1/3", got)
	}
}

// TestBeside: two models of which one finds what is asked and the other finds the contrary are told apart, what is right is known by its id or the ending of it, and the
// one that asks is no answer.
func TestBeside(t *testing.T) {
	path := enginetest.NewFile(t)
	right := enginetest.Plotted{N: 3, Vectors: map[string][]float32{"what swims?": {1, 0, 0}, "The duck": {0.9, 0.1, 0}, "The stone": {0, 1, 0}, "what sinks?": {0, 1, 0}}}
	wrong := turned{right}
	e := enginetest.OpenFile(t, path, engine.Options{Embedder: right})
	for id, text := range map[string]string{"mem_duck_0001": "The duck", "mem_stone_001": "The stone", "mem_asks": "what swims?"} {
		enginetest.Remember(t, e, memory.RememberRequest{ID: id, Text: text})
	}
	if _, err := e.AddModel(t.Context(), index.AddModelRequest{Embedder: wrong}); err != nil {
		t.Fatal(err)
	}
	enginetest.CloseFile(t, e)
	c := BesideConfig{Copy: path, Models: [2]setup.Embedder{wrong, right}, Names: [2]string{"2", "1"}, Limit: 1,
		Questions: []BesideQuestion{{Text: "what swims?", IDs: []string{"k_0001"}, From: "mem_asks"}, {Text: "what sinks?", IDs: []string{"mem_stone_001"}}, {Text: "what sinks?"}}}
	r, err := RunBeside(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if r.Labelled != 2 || *r.Models[0].Recall != 0 || *r.Models[1].Recall != 1 || *r.Models[1].MRR != 1 || *r.Gain != (Gain{1, 1, 1}) {
		t.Errorf("%+v, %v of %v right: want none of the first, and all of the second", r, *r.Models[0].Recall, *r.Models[1].Recall)
	}
	if r.Agreement.Overlap != 0 || r.Agreement.RBO != 0 || r.Agreement.First != 0 || len(r.Apart) != 3 {
		t.Errorf("they agree by %+v; want nothing", r.Agreement)
	}
	if m := r.Models[1]; m.P50 <= 0 || m.P99 < m.P50 || m.Model != "plotted" || !m.Whole() {
		t.Errorf("the second: %+v", m)
	}
	c.Models, c.Names = [2]setup.Embedder{right, right}, [2]string{"1", "1"}
	if r, err = RunBeside(t.Context(), c); err != nil || r.Agreement.Overlap != 1 || math.Abs(r.Agreement.RBO-1) > 1e-9 || r.Gain.Recall != 0 || len(r.Apart) > 0 {
		t.Errorf("with itself: %+v, %v", r, err)
	}
	for what, bad := range map[string]BesideConfig{"no question": {Limit: 1}, "limit is 101": {Limit: 101, Questions: c.Questions}} {
		if _, err := RunBeside(t.Context(), bad); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%v: want %s", err, what)
		}
	}
	c.Names[1] = "third"
	if _, err := RunBeside(t.Context(), c); err == nil || !strings.Contains(err.Error(), "third") {
		t.Errorf("a model that is not there: %v", err)
	}
}

// turned is a model that takes the duck for the stone.
type turned struct{ enginetest.Plotted }

func (turned) Fingerprint() string { return "turned" }

func (m turned) EmbedTexts(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := m.Plotted.EmbedTexts(ctx, texts)
	for i, v := range vectors {
		vectors[i] = []float32{v[1], v[0], v[2]}
	}
	return vectors, err
}
