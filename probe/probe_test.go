package probe_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/embed/hugot"
	"github.com/mallardmem/mallard/embed/onnx"
	"github.com/mallardmem/mallard/embed/onnx/onnxtest"
	"github.com/mallardmem/mallard/embed/wordpiece"
	"github.com/mallardmem/mallard/probe"
	rehugot "github.com/mallardmem/mallard/rerank/hugot"
	"github.com/mallardmem/mallard/testdata/crossencoder"
)

const tiny = "../embed/hugot/testdata/tiny"

// statuses gives the checks of a report by their names.
func statuses(t *testing.T, r *probe.Report) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, c := range r.Checks {
		if _, twice := all[c.Name]; twice {
			t.Errorf("%s is there twice", c.Name)
		}
		all[c.Name] = c.Status
		t.Logf("%-22s %-7s %s (%s)", c.Name, c.Status, c.Found, c.Wanted)
	}
	return all
}

// copyOf makes a folder with some files changed; an empty one is left out.
func copyOf(t *testing.T, folder string, changed map[string]string) string {
	t.Helper()
	copied := filepath.Join(t.TempDir(), filepath.Base(folder))
	if err := os.CopyFS(copied, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	for name, content := range changed {
		path := filepath.Join(copied, name)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil {
			err = os.WriteFile(path, []byte(content), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return copied
}

func tinyReference(t *testing.T) []probe.Reference {
	t.Helper()
	content, err := os.ReadFile("../embed/hugot/testdata/tiny.json")
	if err != nil {
		t.Fatal(err)
	}
	reference, err := probe.ReadReference(content)
	if err != nil || len(reference) < 5 {
		t.Fatalf("tiny.json has %d rows, error %v", len(reference), err)
	}
	return reference
}

// renamed gives tokens of a vocabulary other names.
func renamed(vocab []byte, names map[string]string) string {
	tokens := strings.Split(string(vocab), "\n")
	for i, token := range tokens {
		if name, ok := names[token]; ok {
			tokens[i] = name
		}
	}
	return strings.Join(tokens, "\n")
}

// stretched gives vectors that are not of length 1.
type stretched struct{ probe.Embedder }

func (m stretched) EmbedTexts(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := m.Embedder.EmbedTexts(ctx, texts)
	for _, v := range vectors {
		for i := range v {
			v[i] *= 3
		}
	}
	return vectors, err
}

// TestEmbedding breaks copies of a tiny model, each in one way. It was never trained, so that what says the same need not be near; all else holds.
func TestEmbedding(t *testing.T) {
	vocab, err := os.ReadFile(filepath.Join(tiny, "vocab.txt"))
	if err != nil {
		t.Fatal(err)
	}
	swapped := renamed(vocab, map[string]string{"a": "s", "s": "a", "t": "n", "n": "t", "##e": "##o", "##o": "##e"})
	foreign := renamed(vocab, map[string]string{"a": "α", "e": "ε", "##a": "##α", "##e": "##ε"})
	for name, test := range map[string]struct {
		files    map[string]string
		expected probe.Expected
		stretch  bool
		wrong    []string
	}{
		"as it should be":  {expected: probe.Expected{Known: true, Dims: 16, Pooling: "mean"}},
		"wrong tokenizer":  {files: map[string]string{"vocab.txt": swapped}, wrong: []string{"reference"}},
		"foreign alphabet": {files: map[string]string{"vocab.txt": foreign}, wrong: []string{"reference", "tokenizer", "tells texts apart"}},
		"case kept":        {files: map[string]string{"tokenizer_config.json": `{"do_lower_case": false}`}, wrong: []string{"tokenizer"}},
		"wrong pooling":    {files: map[string]string{"1_Pooling/config.json": `{"pooling_mode_cls_token": true}`}, expected: probe.Expected{Pooling: "mean"}, wrong: []string{"reference", "pooling"}},
		"not of length 1":  {stretch: true, wrong: []string{"unit length", "reference"}},
		"other dimensions": {expected: probe.Expected{Dims: 384}, wrong: []string{"dimensions"}},
		"no prefix":        {expected: probe.Expected{Known: true, Query: "query: "}, wrong: []string{"prefixes"}},
		"the prefix": {files: map[string]string{"config_sentence_transformers.json": `{"prompts": {"query": "query: "}}`},
			expected: probe.Expected{Known: true, Query: "query: "}},
	} {
		t.Run(name, func(t *testing.T) {
			folder := copyOf(t, tiny, test.files)
			m, err := hugot.Open(folder, hugot.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			said, err := wordpiece.OpenSentenceModel(folder, 0)
			if err != nil {
				t.Fatal(err)
			}
			test.expected.Reference = tinyReference(t)
			var asked probe.Embedder = m
			if test.stretch {
				asked = stretched{m}
			}
			report, err := probe.Embedding(t.Context(), asked, said, test.expected)
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]bool{}
			for _, check := range test.wrong {
				want[check] = true
			}
			got := statuses(t, report)
			for _, check := range []string{"reference", "tokenizer", "pooling", "unit length", "dimensions", "prefixes", "repeatable", "batches", "odd texts", "tells texts apart"} {
				if (got[check] == probe.Wrong) != want[check] {
					t.Errorf("%s is %q: want wrong to be %v", check, got[check], want[check])
				}
			}
			if report.PerSecondOne <= 0 || report.PerSecondMany <= 0 {
				t.Errorf("speeds %g and %g", report.PerSecondOne, report.PerSecondMany)
			}
		})
	}
}

// TestMiniLM holds a real model, and another graph of it, to the reference that comes with the program.
func TestMiniLM(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of a real model")
	}
	folder := onnxtest.Folder(t, "a real model is not probed")
	m := onnxtest.MiniLM(t, "a real model is not probed")
	said, err := wordpiece.OpenSentenceModel(folder, 0)
	if err != nil {
		t.Fatal(err)
	}
	expected := probe.Expected{Known: true, Dims: 384, Pooling: "mean", Tokens: 256, Reference: probe.KnownReference(m.Model())}
	report, err := probe.Embedding(t.Context(), m, said, expected)
	if err != nil {
		t.Fatal(err)
	}
	if got := statuses(t, report); report.Faults() != 0 || got["reference"] != probe.OK || got["meaning, English"] != probe.OK || got["questions"] != probe.OK {
		t.Errorf("%d faults", report.Faults())
	}
	link := filepath.Join(t.TempDir(), "all-MiniLM-L6-v2")
	for _, file := range []string{"model.onnx", "tokenizer.json", "config.json"} {
		err := os.MkdirAll(link, 0o700)
		if err == nil {
			err = os.Symlink(filepath.Join(folder, file), filepath.Join(link, file))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(link, "1_Pooling"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(link, "1_Pooling", "config.json"), []byte(`{"pooling_mode_cls_token": true}`), 0o600); err != nil {
		t.Fatal(err)
	}
	broken, err := onnx.Open(link, onnx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer broken.Close()
	if report, err = probe.Embedding(t.Context(), broken, nil, expected); err != nil {
		t.Fatal(err)
	}
	if got := statuses(t, report); got["reference"] != probe.Wrong {
		t.Errorf("by its first token, the reference is %q: want wrong", got["reference"])
	}
}

// constant gives every text the same score.
type constant struct{}

func (constant) Model() string { return "constant" }
func (constant) Rerank(_ context.Context, _ string, texts []string) ([]float64, error) {
	scores := make([]float64, len(texts))
	for i := range scores {
		scores[i] = 0.5
	}
	return scores, nil
}

func TestCrossEncoder(t *testing.T) {
	var reference []probe.Reference
	for _, pair := range crossencoder.Pairs(t)[:20] {
		reference = append(reference, probe.Reference{Query: pair.Query, Text: pair.Text, Score: &pair.One})
	}
	vocab, err := os.ReadFile("../testdata/crossencoder/one/vocab.txt")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		files map[string]string
		wrong []string
	}{
		"as it should be": {},
		"wrong tokenizer": {map[string]string{"vocab.txt": renamed(vocab, map[string]string{"a": "b", "b": "a", "the": "of", "of": "the"})}, []string{"reference"}},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := rehugot.Open(crossencoder.Folder(t, "one", test.files), rehugot.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			report, err := probe.CrossEncoder(t.Context(), m, reference)
			if err != nil {
				t.Fatal(err)
			}
			statuses(t, report)
			if report.Faults() != len(test.wrong) {
				t.Errorf("%d faults: want %v", report.Faults(), test.wrong)
			}
			for _, check := range test.wrong {
				if statuses(t, report)[check] != probe.Wrong {
					t.Errorf("%s is not wrong", check)
				}
			}
		})
	}
	report, err := probe.CrossEncoder(t.Context(), constant{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := statuses(t, report); got["tells texts apart"] != probe.Wrong || got["answers, English"] != probe.Note || got["reference"] != probe.Skipped {
		t.Errorf("of a constant: %v", got)
	}
}

func TestReadReference(t *testing.T) {
	for content, want := range map[string]string{
		"{":               "unexpected end",
		"[]":              "no row",
		`[{"text": "a"}]`: "row 0 has neither",
		`[{"a": "x", "cosine": 0.5}, {"b": "y"}]`: "row 1",
	} {
		if _, err := probe.ReadReference([]byte(content)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v: want %q", content, err, want)
		}
	}
	known := probe.KnownReference("all-MiniLM-L6-v2/model_quantized")
	if len(known) < 40 || probe.KnownReference("another") != nil {
		t.Errorf("%d rows are known of all-MiniLM-L6-v2", len(known))
	}
	if text, err := json.Marshal(known[0]); err != nil || !strings.Contains(string(text), "cosine") {
		t.Errorf("the first is %s, error %v", text, err)
	}
}
