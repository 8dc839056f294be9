package onnx_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/embed/ort"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/rerank/onnx"
	"github.com/mallardmem/mallard/testdata/crossencoder"
)

func TestConform(t *testing.T) {
	dir := folder(t, "one", nil)
	enginetest.ConformReranker(t, func(t *testing.T) setup.Reranker { return open(t, dir, onnx.Options{}) })
}

func TestReference(t *testing.T) {
	for _, name := range []string{"one", "two"} {
		crossencoder.Hold(t, name, open(t, folder(t, name, nil), onnx.Options{}).Rerank)
	}
}

// TestCaps: what is beyond the pairs of a call isn't scored, and of a long pair the text is cut before the query.
func TestCaps(t *testing.T) {
	m := open(t, folder(t, "one", nil), onnx.Options{MaxPairs: 2, MaxTokens: 16})
	const query = "the silver key of the ship"
	scores := rerank(t, m, query, "a boat", "the old boat by the river was moved at night", "never scored")
	if math.IsNaN(scores[0]) || math.IsNaN(scores[1]) || !math.IsNaN(scores[2]) {
		t.Errorf("scores %v: want the third alone to be NaN", scores)
	}
	// Sixteen tokens hold the six of the query, three marks, and seven of the text.
	if cut := rerank(t, m, query, "the old boat by the river was"); cut[0] != scores[1] {
		t.Errorf("a long text has %g, its first seven tokens %g", scores[1], cut[0])
	}
	// A query of more than ten leaves three of them to the text.
	long := "the a of to in is was and for on with at by from"
	if a, b := rerank(t, m, long, "boat ship fish garden"), rerank(t, m, "the a of to in is was and for on", "boat ship fish"); a[0] != b[0] {
		t.Errorf("a long query has %g, what is left of it %g", a[0], b[0])
	}
}

// TestCancelBetween cancels after the call has begun.
func TestCancelBetween(t *testing.T) {
	m := open(t, folder(t, "one", nil), onnx.Options{MaxPairs: 500})
	ctx, cancel := context.WithCancel(t.Context())
	texts := make([]string, 500)
	for i := range texts {
		texts[i] = fmt.Sprintf("text number %d", i)
	}
	if _, err := m.Rerank(&countdown{ctx, cancel, 510}, "which?", texts); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v: want context.Canceled", err)
	}
}

// countdown is cancelled when it was asked for its error n times.
type countdown struct {
	context.Context
	cancel context.CancelFunc
	n      int
}

func (c *countdown) Err() error {
	if c.n--; c.n == 0 {
		c.cancel()
	}
	return c.Context.Err()
}

func TestClose(t *testing.T) {
	m := open(t, folder(t, "one", nil), onnx.Options{Threads: 1})
	for range 2 {
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.Rerank(t.Context(), "a", []string{"a"}); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("after Close: error %v: want one that says closed", err)
	}
}

func TestRefusals(t *testing.T) {
	for want, options := range map[string]onnx.Options{
		"Threads is -1":   {Threads: -1},
		"MaxTokens is 7":  {MaxTokens: 7},
		"64 positions":    {MaxTokens: 65},
		"MaxPairs is -1:": {MaxPairs: -1},
	} {
		if _, err := onnx.Open(crossencoder.Folder(t, "one", nil), options); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v: want %q", options, err, want)
		}
	}
	if _, err := onnx.Open(filepath.Join(t.TempDir(), "absent"), onnx.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent folder: error %v: want fs.ErrNotExist", err)
	}
	sentences, err := os.ReadFile("../../embed/hugot/testdata/tiny/model.onnx")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		files map[string]string
		want  string // "" means that it opens
	}{
		"sentence model": {map[string]string{"model.onnx": string(sentences)}, "want float32 logits (pair, label), as a cross-encoder gives them"},
		"other labels":   {map[string]string{"config.json": `{"num_labels": 2}`}, `output "logits" has 1 numbers for a pair, config.json says 2`},
		"broken graph":   {map[string]string{"model.onnx": "not a graph"}, "incomplete download?"},
		"no config":      {map[string]string{"config.json": ""}, ""},
		"one of them":    {map[string]string{"config.json": `{"num_labels": 1, "sbert_ce_default_activation_function": "torch.nn.modules.activation.Sigmoid"}`}, ""},
	} {
		m, err := onnx.Open(folder(t, "one", test.files), onnx.Options{})
		if err == nil {
			m.Close()
		}
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v: want %q", name, err, test.want)
		}
	}
}

// BenchmarkRerank reads 20 pairs of 60 tokens. MALLARD_CROSS_ENCODER names another folder than the tiny one.
func BenchmarkRerank(b *testing.B) {
	dir := os.Getenv("MALLARD_CROSS_ENCODER")
	if dir == "" {
		dir = folder(b, "one", nil)
	}
	m := open(b, dir, onnx.Options{MaxTokens: 60})
	texts := make([]string, 20)
	for i := range texts {
		texts[i] = fmt.Sprintf("%d ", i) + strings.Repeat("the old boat by the river ", 12)
	}
	for b.Loop() {
		rerank(b, m, "who moved the silver key", texts...)
	}
	b.ReportMetric(float64(b.N*len(texts))/b.Elapsed().Seconds(), "pairs/s")
}

func rerank(t testing.TB, m *onnx.Model, query string, texts ...string) []float64 {
	t.Helper()
	scores, err := m.Rerank(t.Context(), query, texts)
	if err != nil {
		t.Fatal(err)
	}
	return scores
}

// folder gives the tiny model, or skips where nothing can run it.
func folder(t testing.TB, name string, changed map[string]string) string {
	t.Helper()
	if err := ort.Load(""); err != nil {
		t.Skipf("ONNX Runtime is not installed: %v: reranking with it is not tested", err)
	}
	return crossencoder.Folder(t, name, changed)
}

func open(t testing.TB, dir string, options onnx.Options) *onnx.Model {
	t.Helper()
	m, err := onnx.Open(dir, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}
