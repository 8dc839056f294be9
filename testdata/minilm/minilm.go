// Package minilm holds whoever runs all-MiniLM-L6-v2 to what ONNX Runtime made of a thousand texts.
package minilm

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"encoding/json"
	"math"
	"testing"
)

//go:embed reference.json.gz
var reference []byte

// Hold compares the vectors of every so manieth text with the numbers that are known of it: every 24th, from the text's place modulo 24.
func Hold(t *testing.T, every int, embed func(ctx context.Context, texts []string) ([][]float32, error)) {
	t.Helper()
	const tolerance, step, dims = 1e-4, 24, 384
	var rows []struct {
		Text   string
		Values []float64
	}
	z, err := gzip.NewReader(bytes.NewReader(reference))
	if err == nil {
		err = json.NewDecoder(z).Decode(&rows)
	}
	if err != nil || len(rows) != 1000 {
		t.Fatalf("the reference has %d texts, error %v: want 1,000", len(rows), err)
	}
	var texts []string
	for i := 0; i < len(rows); i += every {
		texts = append(texts, rows[i].Text)
	}
	vectors, err := embed(t.Context(), texts)
	if err != nil || len(vectors) != len(texts) {
		t.Fatalf("%d vectors, error %v: want %d", len(vectors), err, len(texts))
	}
	var worst float64
	for n, vector := range vectors {
		place := n * every
		if len(vector) != dims || len(rows[place].Values) != dims/step {
			t.Fatalf("text %d has %d dimensions, and %d known numbers", place, len(vector), len(rows[place].Values))
		}
		for k, want := range rows[place].Values {
			off := math.Abs(float64(vector[place%step+k*step]) - want)
			worst = max(worst, off)
			if !(off <= tolerance) {
				t.Errorf("text %d, %.40q: %g off in dimension %d", place, texts[n], off, place%step+k*step)
				break
			}
		}
	}
	t.Logf("%d texts: at most %.1g off", len(texts), worst)
}
