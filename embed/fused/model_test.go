package fused_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/embed/fused"
	"github.com/mallardmem/mallard/embed/static"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/setup"
)

var builtin = static.New()

func TestConformance(t *testing.T) {
	enginetest.ConformEmbedder(t, func(t *testing.T) setup.Embedder {
		m, err := fused.New(builtin, mirrored{builtin}, fused.Options{Share: 0.3})
		if err != nil {
			t.Fatal(err)
		}
		return m
	})
}

// mirrored is the built-in model with the values of its vectors in the opposite order.
type mirrored struct{ fused.Part }

func (m mirrored) Fingerprint() string { return "mirrored " + m.Part.Fingerprint() }

func (m mirrored) EmbedTexts(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := m.Part.EmbedTexts(ctx, texts)
	for _, v := range vectors {
		slices.Reverse(v)
	}
	return vectors, err
}

func (m mirrored) EmbedQuery(ctx context.Context, text string, weight func(string) float64) ([]float32, error) {
	v, err := m.Part.EmbedQuery(ctx, text, weight)
	slices.Reverse(v)
	return v, err
}

func cosine(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// TestCosineIsTheMean: that of two vectors is what both models say, by their shares.
func TestCosineIsTheMean(t *testing.T) {
	texts := []string{"The crane at the quay is broken", "Ines drinks green tea"}
	const question = "which crane is broken?"
	weight := func(word string) float64 { return map[string]float64{"crane": 1, "broken": 0.5}[word] }
	words := enginetest.Words{N: 32}
	cosines := func(m setup.Embedder) (all []float64) {
		vectors, err := m.EmbedTexts(t.Context(), texts)
		if err != nil {
			t.Fatal(err)
		}
		asked, err := m.EmbedQuery(t.Context(), question, weight)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range vectors {
			all = append(all, cosine(asked, v))
		}
		return append(all, cosine(vectors[0], vectors[1]))
	}
	first, second := cosines(builtin), cosines(words)
	for _, test := range []struct{ asked, share float64 }{{0, 0.5}, {0.3, 0.3}, {0.9, 0.9}} {
		m, err := fused.New(builtin, words, fused.Options{Share: test.asked})
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range cosines(m) {
			if want := (1-test.share)*first[i] + test.share*second[i]; math.Abs(got-want) > 1e-5 {
				t.Errorf("share %v: cosine %d is %v, want %v", test.share, i, got, want)
			}
		}
	}
	if math.Abs(first[0]-second[0]) < 0.05 {
		t.Error("the two models say the same: nothing is told apart")
	}
}

// TestIdentity: models of other parts, another order or another share have other vectors, and say so; none has a name that begins as one of a part does, for
// what was measured of that does not hold for both.
func TestIdentity(t *testing.T) {
	a, b := enginetest.Words{Name: "a", N: 8}, enginetest.Words{Name: "b", N: 16}
	seen := map[string]bool{}
	for _, test := range []struct {
		first, second fused.Part
		share         float64
	}{{a, b, 0}, {b, a, 0}, {a, b, 0.4}, {a, enginetest.Words{Name: "b", N: 17}, 0}} {
		m, err := fused.New(test.first, test.second, fused.Options{Share: test.share})
		if err != nil {
			t.Fatal(err)
		}
		if seen[m.Fingerprint()] || !strings.HasPrefix(m.Model(), "fused ") || m.Dims() != test.first.Dims()+test.second.Dims() {
			t.Errorf("%s of %d dimensions, fingerprint %s", m.Model(), m.Dims(), m.Fingerprint())
		}
		seen[m.Fingerprint()] = true
	}
	for share, want := range map[float64]string{-0.1: "Share is -0.1", 1: "Share is 1", math.NaN(): "Share is NaN"} {
		if _, err := fused.New(a, b, fused.Options{Share: share}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("share %v: %v", share, err)
		}
	}
	if _, err := fused.New(a, a, fused.Options{}); err == nil {
		t.Error("the same model twice was taken")
	}
}

// TestParts: what a part can't do, the whole can't, and says who.
func TestParts(t *testing.T) {
	down := errors.New("down")
	m, err := fused.New(builtin, enginetest.Words{Err: down}, fused.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range []func() error{
		func() error { _, err := m.EmbedTexts(t.Context(), []string{"x"}); return err },
		func() error { _, err := m.EmbedQuery(t.Context(), "x", nil); return err },
	} {
		if err := call(); !errors.Is(err, down) || !strings.Contains(err.Error(), "words") {
			t.Errorf("%v: want down, and of whom", err)
		}
	}
	for what, v := range map[string][]float32{"short": {1}, "zero": {0, 0}, "not a number": {float32(math.NaN()), 1}} {
		m, err := fused.New(builtin, enginetest.Plotted{N: 2, Vectors: map[string][]float32{"bad": v, "good": {0, 1}}}, fused.Options{})
		if err != nil {
			t.Fatal(err)
		}
		vectors, err := m.EmbedTexts(t.Context(), []string{"good", "bad"})
		if err != nil || vectors[0] == nil || vectors[1] != nil {
			t.Errorf("%s: %v, %v: want nothing for the bad one", what, vectors, err)
		}
	}
	if got := m.Chance([]string{"tea"}); got != 0 {
		t.Errorf("chance %v, where one part does not know its own", got)
	}
	if words, _ := m.Related("happy"); len(words) == 0 {
		t.Error("no related words, though the first part has some")
	}
	if slow, err := fused.New(builtin, mirrored{builtin}, fused.Options{}); err != nil || slow.Instant() || !m.Instant() {
		t.Errorf("%v: two that are fast are fast together, and one that does not say so is not", err)
	}
	both, err := fused.New(builtin, chancy{enginetest.Words{}}, fused.Options{Share: 0.25})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := both.Chance([]string{"tea"}), 0.75*builtin.Chance([]string{"tea"})+0.25*0.4; math.Abs(got-want) > 1e-9 {
		t.Errorf("chance %v, want %v", got, want)
	}
}

// chancy is a model that knows its cosines.
type chancy struct{ enginetest.Words }

func (chancy) Chance([]string) float64 { return 0.4 }

func Example() {
	m, err := fused.New(static.New(), enginetest.Words{N: 64}, fused.Options{})
	if err != nil {
		panic(err)
	}
	defer m.Close()
	vectors, err := m.EmbedTexts(context.Background(), []string{"Ines drinks green tea"})
	if err != nil {
		panic(err)
	}
	fmt.Println(m.Model(), len(vectors[0]))
	// Output: fused static-minilm-256 and words 320
}
