// Package crossencoder gives tests a tiny cross-encoder, and holds whoever runs it to the scores that ONNX Runtime gave 200 pairs.
package crossencoder

import (
	"context"
	"embed"
	"encoding/json"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"
)

//go:embed pairs.json one two
var files embed.FS

// Pair is a query, a text, and how the models in one and two score them.
type Pair struct {
	Query, Text string
	One, Two    float64
}

// Pairs gives the 200, those of a query together.
func Pairs(t testing.TB) []Pair {
	t.Helper()
	content, err := files.ReadFile("pairs.json")
	if err != nil {
		t.Fatal(err)
	}
	var pairs []Pair
	if err := json.Unmarshal(content, &pairs); err != nil || len(pairs) != 200 {
		t.Fatalf("pairs.json has %d pairs, error %v: want 200", len(pairs), err)
	}
	return pairs
}

// Folder writes the model one or two into a new folder, with some files changed; an empty one is left out.
func Folder(t testing.TB, name string, changed map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tiny-"+name)
	model, err := fs.Sub(files, name)
	if err == nil {
		err = os.CopyFS(dir, model)
	}
	for file, content := range changed {
		path := filepath.Join(dir, file)
		if content == "" {
			err = os.Remove(path)
		} else if err = os.MkdirAll(filepath.Dir(path), 0o777); err == nil {
			err = os.WriteFile(path, []byte(content), 0o666)
		}
		if err != nil {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Hold compares the scores of the model one or two, query by query, with those of ONNX Runtime.
func Hold(t *testing.T, name string, rerank func(ctx context.Context, query string, texts []string) ([]float64, error)) {
	t.Helper()
	const tolerance = 1e-4
	pairs := Pairs(t)
	var worst float64
	for len(pairs) > 0 {
		n := 1
		for n < len(pairs) && pairs[n].Query == pairs[0].Query {
			n++
		}
		texts := make([]string, n)
		for i := range texts {
			texts[i] = pairs[i].Text
		}
		scores, err := rerank(t.Context(), pairs[0].Query, texts)
		if err != nil || len(scores) != n {
			t.Fatalf("%.40q: %d scores, error %v: want %d", pairs[0].Query, len(scores), err, n)
		}
		for i, pair := range pairs[:n] {
			want := pair.One
			if name == "two" {
				want = pair.Two
			}
			off := math.Abs(scores[i] - want)
			worst = max(worst, off)
			if !(off <= tolerance) {
				t.Errorf("%.40q, %.40q: %g, want %g", pair.Query, pair.Text, scores[i], want)
			}
		}
		pairs = pairs[n:]
	}
	t.Logf("model %s: at most %.1g off", name, worst)
}
