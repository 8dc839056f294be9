// Package minilm holds whoever runs all-MiniLM-L6-v2, or the table made from it, to what ONNX Runtime made of a thousand texts.
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

//go:embed static.json.gz
var static []byte

// Embed makes a vector per text.
type Embed func(ctx context.Context, texts []string) ([][]float32, error)

// Hold compares the vectors of every so manieth text with the numbers that are known of it: every 24th, from the text's place modulo 24.
func Hold(t *testing.T, every int, embed Embed) {
	t.Helper()
	texts, values := known(t)
	hold(t, every, 384, texts, values, embed)
}

// HoldStatic compares those of the built-in table, of which every 16th number is known, from the text's place modulo 16.
func HoldStatic(t *testing.T, embed Embed) {
	t.Helper()
	texts, _ := known(t)
	var values [][]float64
	read(t, static, &values)
	hold(t, 1, 256, texts, values, embed)
}

// known gives the texts, and the numbers that are known of all-MiniLM-L6-v2's vectors.
func known(t *testing.T) (texts []string, values [][]float64) {
	t.Helper()
	var rows []struct {
		Text   string
		Values []float64
	}
	read(t, reference, &rows)
	for _, row := range rows {
		texts, values = append(texts, row.Text), append(values, row.Values)
	}
	return texts, values
}

func read(t *testing.T, packed []byte, into any) {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err == nil {
		err = json.NewDecoder(z).Decode(into)
	}
	if err != nil {
		t.Fatalf("the reference: %v", err)
	}
}

func hold(t *testing.T, every, dims int, all []string, known [][]float64, embed Embed) {
	t.Helper()
	const tolerance, numbers = 1e-4, 16
	if len(all) != 1000 || len(known) != 1000 {
		t.Fatalf("the reference has %d texts, numbers of %d: want 1,000", len(all), len(known))
	}
	var texts []string
	for i := 0; i < len(all); i += every {
		texts = append(texts, all[i])
	}
	vectors, err := embed(t.Context(), texts)
	if err != nil || len(vectors) != len(texts) {
		t.Fatalf("%d vectors, error %v: want %d", len(vectors), err, len(texts))
	}
	step := dims / numbers
	var worst float64
	for n, vector := range vectors {
		place := n * every
		if len(vector) != dims || len(known[place]) != numbers {
			t.Fatalf("text %d has %d dimensions, and %d known numbers", place, len(vector), len(known[place]))
		}
		for k, want := range known[place] {
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
