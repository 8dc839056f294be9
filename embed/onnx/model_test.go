package onnx_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/embed/onnx"
	"github.com/mallardmem/mallard/embed/onnx/onnxtest"
	"github.com/mallardmem/mallard/embed/ort"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/testdata/minilm"
)

func TestConform(t *testing.T) {
	dir := miniLM(t)
	enginetest.ConformEmbedder(t, func(t *testing.T) setup.Embedder { return open(t, dir, onnx.Options{}) })
}

// TestReference holds vectors to ones computed by another program.
func TestReference(t *testing.T) {
	m := open(t, miniLM(t), onnx.Options{})
	var rows []struct {
		Text   string
		Vector []float32
	}
	f, err := os.Open("testdata/reference.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(z).Decode(&rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) < 40 {
		t.Fatalf("the reference has %d texts: want 40 or more", len(rows))
	}
	texts := make([]string, len(rows))
	for i, row := range rows {
		texts[i] = row.Text
	}
	vectors, err := m.EmbedTexts(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range rows {
		var worst float64
		for j, x := range row.Vector {
			worst = max(worst, math.Abs(float64(x-vectors[i][j])))
		}
		if worst > 1e-4 {
			t.Errorf("%.40q: %g off the reference", row.Text, worst)
		}
	}
}

// TestThousandTexts takes every tenth of them in short mode.
func TestThousandTexts(t *testing.T) {
	m, every := open(t, miniLM(t), onnx.Options{}), 1
	if testing.Short() {
		every = 10
	}
	minilm.Hold(t, every, m.EmbedTexts)
}

func TestEmbedIDs(t *testing.T) {
	m := open(t, miniLM(t), onnx.Options{MaxTokens: 8})
	vectors, err := m.EmbedIDs(t.Context(), [][]int32{{101, 7592, 102}, {101, 102}, {7592}})
	if err != nil || len(vectors) != 3 || len(vectors[2]) != 384 {
		t.Fatalf("EmbedIDs: %d vectors, error %v: want 3 of 384 dimensions", len(vectors), err)
	}
	for want, bad := range map[string][]int32{
		"sequence 1 has 0 tokens":     {},
		"sequence 1 has 9 tokens":     make([]int32, 9),
		"has the id -1":               {101, -1},
		"has the id 30522: want 0 to": {30522},
	} {
		if _, err := m.EmbedIDs(t.Context(), [][]int32{{101}, bad}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ids %v: error %v: want %q", bad, err, want)
		}
	}
}

// TestCancelBetween cancels after the call has begun.
func TestCancelBetween(t *testing.T) {
	m := open(t, miniLM(t), onnx.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	texts := make([]string, 500)
	for i := range texts {
		texts[i] = fmt.Sprintf("text number %d", i)
	}
	_, err := m.EmbedTexts(&countdown{ctx, cancel, 510}, texts)
	if !errors.Is(err, context.Canceled) {
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
	m := open(t, miniLM(t), onnx.Options{Threads: 1})
	for range 2 {
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.EmbedTexts(t.Context(), []string{"a"}); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("after Close: error %v: want one that says closed", err)
	}
}

// TestFolder changes one file of the folder at a time.
func TestFolder(t *testing.T) {
	plain := open(t, miniLM(t), onnx.Options{})
	for name, test := range map[string]struct {
		files map[string]string // "" takes a file out
		want  string            // "" means that it opens, with another fingerprint
	}{
		"cls":            {map[string]string{"1_Pooling/config.json": `{"pooling_mode_cls_token": true}`}, ""},
		"max":            {map[string]string{"1_Pooling/config.json": `{"pooling_mode_max_tokens": true}`}, ""},
		"length":         {map[string]string{"sentence_bert_config.json": `{"max_seq_length": 64}`}, ""},
		"two poolings":   {map[string]string{"1_Pooling/config.json": `{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": true}`}, "exactly one"},
		"last token":     {map[string]string{"1_Pooling/config.json": `{"pooling_mode_lasttoken": true}`}, "exactly one"},
		"bad length":     {map[string]string{"sentence_bert_config.json": `{"max_seq_length": 1}`}, "max_seq_length is 1"},
		"no graph":       {map[string]string{"model.onnx": ""}, "neither model.onnx nor onnx/model.onnx"},
		"broken graph":   {map[string]string{"model.onnx": "not a graph"}, "incomplete download?"},
		"no tokenizer":   {map[string]string{"tokenizer.json": "", "vocab.txt": ""}, "neither tokenizer.json nor vocab.txt"},
		"broken config":  {map[string]string{"config.json": "{"}, "config.json: unexpected end"},
		"other model's":  {map[string]string{"config.json": `{"vocab_size": 100}`}, "the tokenizer has 30522 tokens"},
		"moved to onnx/": {map[string]string{"model.onnx": "", "onnx/model.onnx": "->model.onnx", "sentence_bert_config.json": `{"max_seq_length": 100}`}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := onnx.Open(variant(t, miniLM(t), test.files), onnx.Options{})
			if err == nil {
				defer m.Close()
			}
			switch {
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("error %v: want %q", err, test.want)
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want == "" && m.Fingerprint() == plain.Fingerprint():
				t.Error("the fingerprint doesn't show the change")
			}
		})
	}
}

func TestOptions(t *testing.T) {
	for want, options := range map[string]onnx.Options{
		"Threads is -1":   {Threads: -1},
		"MaxTokens is 2":  {MaxTokens: 2},
		"MaxTokens is -5": {MaxTokens: -5},
	} {
		if _, err := onnx.Open(t.TempDir(), options); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v: want %q", options, err, want)
		}
	}
	if _, err := onnx.Open(filepath.Join(t.TempDir(), "absent"), onnx.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent folder: error %v: want os.ErrNotExist", err)
	}
	if _, err := onnx.Open(miniLM(t), onnx.Options{MaxTokens: 513}); err == nil || !strings.Contains(err.Error(), "512 positions") {
		t.Errorf("MaxTokens 513: error %v: want one that names the model's 512", err)
	}
}

func BenchmarkEmbed(b *testing.B) {
	m := open(b, miniLM(b), onnx.Options{})
	for _, size := range []int{1, 32} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			texts := make([]string, size)
			for i := range texts {
				texts[i] = fmt.Sprintf("Number %d: yesterday the retired pilot told me that she'd adopted two rescue puppies from the nearby shelter.", 10+i)
			}
			for b.Loop() {
				if _, err := m.EmbedTexts(b.Context(), texts); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "texts/s")
		})
	}
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

// miniLM gives the folder of the real model, or skips.
func miniLM(t testing.TB) string {
	t.Helper()
	return onnxtest.Folder(t, "all-MiniLM-L6-v2 is not tested")
}

// variant links a folder's files into another folder and changes some.
func variant(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	changed := t.TempDir()
	for _, entry := range entries {
		if _, other := files[entry.Name()]; !other {
			link(t, filepath.Join(dir, entry.Name()), filepath.Join(changed, entry.Name()))
		}
	}
	for name, content := range files {
		path := filepath.Join(changed, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if source, ok := strings.CutPrefix(content, "->"); ok {
			link(t, filepath.Join(dir, source), path)
		} else if content != "" {
			if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	return changed
}

func link(t *testing.T, from, to string) {
	t.Helper()
	absolute, err := filepath.Abs(from)
	if err == nil {
		err = os.Symlink(absolute, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestQuantised runs a graph of eight-bit numbers beside a folder's own: it has the folder's tokenizer, and a name and a fingerprint of its own.
func TestQuantised(t *testing.T) {
	if err := ort.Load(""); err != nil {
		t.Skipf("ONNX Runtime is not installed: %v: quantised graphs are not tested", err)
	}
	dir := t.TempDir()
	for to, from := range map[string]string{"model.onnx": "tiny/model.onnx", "vocab.txt": "tiny/vocab.txt", "config.json": "tiny/config.json", "model_quantized.onnx": "graphs/quantised.onnx"} {
		link(t, filepath.Join("../hugot/testdata", from), filepath.Join(dir, to))
	}
	plain, m := open(t, dir, onnx.Options{}), open(t, filepath.Join(dir, "model_quantized.onnx"), onnx.Options{})
	if m.Model() != plain.Model()+"/model_quantized" || m.Fingerprint() == plain.Fingerprint() || m.Dims() != 4 {
		t.Errorf("%s of %d dimensions, fingerprint %s; the plain one is %s, %s", m.Model(), m.Dims(), m.Fingerprint(), plain.Model(), plain.Fingerprint())
	}
	vectors, err := m.EmbedTexts(t.Context(), []string{"ships", "the tide turns at noon", ""})
	if err != nil || len(vectors) != 3 {
		t.Fatalf("%d vectors, error %v", len(vectors), err)
	}
	for _, v := range vectors {
		var square float64
		for _, x := range v {
			square += float64(x) * float64(x)
		}
		if math.Abs(square-1) > 1e-5 {
			t.Errorf("a vector has the square %g", square)
		}
	}
}
