package wordpiece_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/embed/wordpiece"
)

// sentenceFolder copies a tiny model's folder, and writes some files into it.
func sentenceFolder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tiny")
	if err := os.CopyFS(dir, os.DirFS("../hugot/testdata/tiny")); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func openSentence(t *testing.T, path string) *wordpiece.SentenceModel {
	t.Helper()
	m, err := wordpiece.OpenSentenceModel(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestPrefixes: what a folder asks for stands before questions and texts, whatever the words weigh, and shows in the fingerprint.
func TestPrefixes(t *testing.T) {
	plain := openSentence(t, sentenceFolder(t, nil))
	m := openSentence(t, sentenceFolder(t, map[string]string{"config_sentence_transformers.json": `{"prompts": {"query": "ask: ", "passage": "text: "}}`}))
	if query, passage := m.Prefixes(); query != "ask: " || passage != "text: " {
		t.Errorf("prefixes %q and %q", query, passage)
	}
	texts, err := m.Encode(t.Context(), []string{"a ship"})
	if err != nil {
		t.Fatal(err)
	}
	if want, _ := plain.Encode(t.Context(), []string{"text: a ship"}); !slices.Equal(texts[0], want[0]) {
		t.Errorf("a text has the ids %v: want %v", texts[0], want[0])
	}
	rare := func(word string) float64 {
		if word == "ship" {
			return 1
		}
		return 0
	}
	for query, test := range map[string]struct {
		weight func(string) float64
		same   string
	}{
		"a ship":   {nil, "ask: a ship"},
		"one ship": {rare, "ask: ship"}, // the prefix stays, though its words say nothing
		"a boat":   {rare, "ask: a boat"},
		"":         {rare, "ask: "},
	} {
		if got, want := m.EncodeQuery(query, test.weight), plain.EncodeQuery(test.same, nil); !slices.Equal(got, want) {
			t.Errorf("%q has the ids %v: want those of %q, %v", query, got, test.same, want)
		}
	}
	one, err := plain.Fingerprint()
	if err != nil {
		t.Fatal(err)
	}
	if other, err := m.Fingerprint(); err != nil || other == one {
		t.Errorf("fingerprints %s and %s, error %v: want two", one, other, err)
	}
	if _, err := wordpiece.OpenSentenceModel(sentenceFolder(t, map[string]string{"config_sentence_transformers.json": "?"}), 0); err == nil || !strings.Contains(err.Error(), "config_sentence_transformers.json") {
		t.Errorf("a broken file: error %v: want its name", err)
	}
}

// TestOtherGraph opens a graph beside the folder's own, which has all else in common with it.
func TestOtherGraph(t *testing.T) {
	dir := sentenceFolder(t, map[string]string{"model_small.onnx": "a graph", "onnx/model_other.onnx": "another", "1_Pooling/config.json": `{"pooling_mode_cls_token": true}`})
	for path, name := range map[string]string{".": "tiny", "model.onnx": "tiny", "model_small.onnx": "tiny/model_small", "onnx/model_other.onnx": "tiny/model_other"} {
		m := openSentence(t, filepath.Join(dir, path))
		graph := filepath.Join(dir, path)
		if path == "." {
			graph = filepath.Join(dir, "model.onnx")
		}
		if m.Name != name || m.Graph != graph || m.Pooling != wordpiece.PoolCLS || m.MaxTokens != 64 {
			t.Errorf("%s: %s with the graph %s, pooling %s, %d tokens: want %s", path, m.Name, m.Graph, m.Pooling, m.MaxTokens, name)
		}
	}
	pairs, err := wordpiece.OpenPairModel(filepath.Join(dir, "model_small.onnx"), 0, 0)
	if err != nil || pairs.Name != "tiny/model_small" {
		t.Errorf("a cross-encoder's: %+v, error %v", pairs, err)
	}
	if _, err := wordpiece.OpenSentenceModel(filepath.Join(dir, "nosuch.onnx"), 0); err == nil {
		t.Error("a graph that is not there opens")
	}
}
