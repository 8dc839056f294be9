package hugot_test

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
	"time"

	"go.uber.org/goleak"

	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/rerank/hugot"
	"github.com/mallardmem/mallard/testdata/crossencoder"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConform(t *testing.T) {
	dir := crossencoder.Folder(t, "one", nil)
	enginetest.ConformReranker(t, func(t *testing.T) setup.Reranker { return open(t, dir, hugot.Options{}) })
}

func TestReference(t *testing.T) {
	for _, name := range []string{"one", "two"} {
		crossencoder.Hold(t, name, open(t, crossencoder.Folder(t, name, nil), hugot.Options{}).Rerank)
	}
}

func TestMaxPairs(t *testing.T) {
	m := open(t, crossencoder.Folder(t, "one", nil), hugot.Options{MaxPairs: 2})
	scores, err := m.Rerank(t.Context(), "who", []string{"a", "b", "c"})
	if err != nil || math.IsNaN(scores[0]) || math.IsNaN(scores[1]) || !math.IsNaN(scores[2]) {
		t.Errorf("scores %v, error %v: want the third alone to be NaN", scores, err)
	}
}

// TestCancel cancels a call that has begun, beside another one.
func TestCancel(t *testing.T) {
	m := open(t, crossencoder.Folder(t, "one", nil), hugot.Options{MaxPairs: 10_000})
	texts := make([]string, 10_000)
	for i := range texts {
		texts[i] = fmt.Sprintf("text number %d, and a few words to fill it", i)
	}
	busy, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for busy.Err() == nil {
			m.Rerank(busy, "which?", texts[:50])
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := m.Rerank(ctx, "which?", texts); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v: want context.DeadlineExceeded", err)
	}
	stop()
	<-done
}

func TestClose(t *testing.T) {
	m := open(t, crossencoder.Folder(t, "one", nil), hugot.Options{})
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
	for want, options := range map[string]hugot.Options{
		"MaxTokens is 7":  {MaxTokens: 7},
		"64 positions":    {MaxTokens: 65},
		"MaxPairs is -1:": {MaxPairs: -1},
	} {
		if _, err := hugot.Open(crossencoder.Folder(t, "one", nil), options); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v: want %q", options, err, want)
		}
	}
	if _, err := hugot.Open(filepath.Join(t.TempDir(), "absent"), hugot.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent folder: error %v: want fs.ErrNotExist", err)
	}
	graph := func(path string) map[string]string {
		changed := map[string]string{}
		for file, from := range map[string]string{"model.onnx": path, "vocab.txt": "tiny/vocab.txt"} {
			content, err := os.ReadFile(filepath.Join("../../embed/hugot/testdata", from))
			if err != nil {
				t.Fatal(err)
			}
			changed[file] = string(content)
		}
		return changed
	}
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"sentence model": {graph("tiny/model.onnx"), "want float32 logits (pair, label), as a cross-encoder gives them"},
		"four labels":    {graph("graphs/other_output.onnx"), `output "logits" has 4 numbers for a pair`},
		"quantised":      {graph("graphs/quantised.onnx"), "quantised"},
		"positions":      {graph("graphs/positions.onnx"), `input "position_ids"`},
		"other labels":   {map[string]string{"config.json": `{"num_labels": 2}`}, `output "logits" has 1 numbers for a pair, config.json says 2`},
		"broken graph":   {map[string]string{"model.onnx": "not a graph"}, "incomplete download?"},
	} {
		m, err := hugot.Open(crossencoder.Folder(t, "one", test.files), hugot.Options{})
		if err == nil {
			m.Close()
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v: want %q", name, err, test.want)
		}
	}
}

// BenchmarkRerank reads 20 pairs of 60 tokens. MALLARD_CROSS_ENCODER names another folder than the tiny one.
func BenchmarkRerank(b *testing.B) {
	dir := os.Getenv("MALLARD_CROSS_ENCODER")
	if dir == "" {
		dir = crossencoder.Folder(b, "one", nil)
	}
	m := open(b, dir, hugot.Options{MaxTokens: 60})
	texts := make([]string, 20)
	for i := range texts {
		texts[i] = fmt.Sprintf("%d ", i) + strings.Repeat("the old boat by the river ", 12)
	}
	for b.Loop() {
		if _, err := m.Rerank(b.Context(), "who moved the silver key", texts); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*len(texts))/b.Elapsed().Seconds(), "pairs/s")
}

func open(t testing.TB, dir string, options hugot.Options) *hugot.Model {
	t.Helper()
	m, err := hugot.Open(dir, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}
