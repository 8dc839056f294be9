package hugot_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/embed/hugot"
)

// TestFolder changes a file or two of the tiny folder at a time.
func TestFolder(t *testing.T) {
	plain := open(t, tiny, hugot.Options{})
	graph, err := os.ReadFile(filepath.Join(tiny, "model.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		files map[string]string // "" takes a file out
		want  string            // "" means that it opens, with another fingerprint
	}{
		"cls":            {map[string]string{"1_Pooling/config.json": `{"pooling_mode_cls_token": true}`}, ""},
		"max":            {map[string]string{"1_Pooling/config.json": `{"pooling_mode_max_tokens": true}`}, ""},
		"length":         {map[string]string{"sentence_bert_config.json": `{"max_seq_length": 32}`}, ""},
		"pooled":         {small(t, "pooled"), ""},
		"moved to onnx/": {map[string]string{"model.onnx": "", "onnx/model.onnx": string(graph), "sentence_bert_config.json": `{"max_seq_length": 20}`}, ""},
		"two poolings":   {map[string]string{"1_Pooling/config.json": `{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": true}`}, "exactly one"},
		"no graph":       {map[string]string{"model.onnx": ""}, "neither model.onnx nor onnx/model.onnx"},
		"broken graph":   {map[string]string{"model.onnx": "not a graph"}, "incomplete download?"},
		"half a graph":   {map[string]string{"model.onnx": string(graph[:len(graph)/2])}, "incomplete download?"},
		"no tokenizer":   {map[string]string{"vocab.txt": ""}, "neither tokenizer.json nor vocab.txt"},
		"broken config":  {map[string]string{"config.json": "{"}, "config.json: unexpected end"},
		"other model's":  {map[string]string{"config.json": `{"vocab_size": 10}`}, "config.json says the model knows 10"},
		"positions":      {small(t, "positions"), `input "position_ids"`},
		"no mask":        {small(t, "no_mask"), "want input_ids and attention_mask"},
		"other output":   {small(t, "other_output"), "outputs are logits"},
		"no direction":   {small(t, "zeros"), "without a direction"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := hugot.Open(variant(t, test.files), hugot.Options{})
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
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("an error of several lines: %v", err)
			}
		})
	}
}

// small gives one of the small graphs in place of the folder's.
func small(t *testing.T, name string) map[string]string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata/graphs", name+".onnx"))
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{"model.onnx": string(content)}
}

// variant copies the tiny folder and changes some files.
func variant(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(tiny)); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		if content == "" {
			continue
		}
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
