package bench

import (
	"context"
	"math"
	"strings"
	"testing"
)

func TestCorpus(t *testing.T) {
	c, again := newCorpus(3), newCorpus(3)
	distinct := map[string]bool{}
	for _, w := range c.words {
		distinct[w] = true
	}
	if len(distinct) != vocabularySize {
		t.Errorf("%d distinct words, want %d", len(distinct), vocabularySize)
	}
	if c.text(17) != again.text(17) || c.text(17) == c.text(18) || c.text(17) == newCorpus(4).text(17) {
		t.Error("a memory's text must depend on the seed and its number, and on nothing else")
	}
	words, counts := 0, map[string]int{}
	const n = 2000
	for i := range n {
		for _, w := range strings.Fields(c.text(i)) {
			words++
			counts[w]++
		}
	}
	if mean := float64(words) / n; mean < 43 || mean > 47 {
		t.Errorf("%.1f words a memory, want about 45", mean)
	}
	if first, tenth := counts[c.words[0]], counts[c.words[9]]; first < 2*tenth || first > 6*tenth {
		t.Errorf("the first word came %d times, the tenth %d: want 4.8 times as often, by Zipf's law", first, tenth)
	}
	question, scope := c.question(5, 100)
	found := false
	for i := range 100 {
		found = found || strings.Contains(c.text(i), question) && c.scope(i) == scope
	}
	if !found || len(strings.Fields(question)) != questionWords {
		t.Errorf("question %q: want ten words of a memory", question)
	}
	for _, w := range strings.Fields(c.miss(0)) {
		if distinct[w] {
			t.Errorf("%s is in the vocabulary, and so no miss", w)
		}
	}
}

func TestClusters(t *testing.T) {
	m := newClusters(384)
	vectors, err := m.EmbedTexts(context.Background(), []string{"a", "a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	query, err := m.EmbedQuery(context.Background(), "a", nil)
	if err != nil {
		t.Fatal(err)
	}
	cosine := func(a, b []float32) (sum float64) {
		for i := range a {
			sum += float64(a[i]) * float64(b[i])
		}
		return sum
	}
	if same := cosine(vectors[0], vectors[1]); math.Abs(same-1) > 1e-5 || cosine(vectors[0], query) != same || cosine(vectors[0], vectors[2]) > 0.9 {
		t.Error("one text must have one vector of length 1, another text another")
	}
	var near []float64 // of texts in one cluster
	first := map[int][]float32{}
	for i := range 2000 {
		v := m.vector(strings.Repeat("x", i))
		for j, centre := range m.centres {
			if cosine(v, centre) > 0.6 {
				if w, ok := first[j]; ok {
					near = append(near, cosine(v, w))
				}
				first[j] = v
			}
		}
	}
	if len(near) < 1000 {
		t.Fatalf("%d pairs within a cluster, want most of 1800", len(near))
	}
	var sum float64
	for _, x := range near {
		sum += x
	}
	if mean := sum / float64(len(near)); math.Abs(mean-1/(1+noise*noise)) > 0.03 {
		t.Errorf("texts of a cluster have a cosine of %.2f on average, want %.2f", mean, 1/(1+noise*noise))
	}
}
