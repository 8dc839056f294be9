package wordpiece_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mallardmem/mallard/embed/wordpiece"
)

// description is a small tokenizer.json as a value that a test may spoil.
func description() map[string]any {
	return map[string]any{
		"added_tokens": []any{
			map[string]any{"id": 0, "content": "[UNK]"}, map[string]any{"id": 1, "content": "[CLS]"},
			map[string]any{"id": 2, "content": "[SEP]"}, map[string]any{"id": 6, "content": "<new>"},
		},
		"normalizer":    map[string]any{"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": nil, "lowercase": true},
		"pre_tokenizer": map[string]any{"type": "BertPreTokenizer"},
		"model": map[string]any{
			"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 5,
			"vocab": map[string]any{"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "a": 3, "##b": 4, "É": 5},
		},
	}
}

func TestOpen(t *testing.T) {
	cased := description()
	cased["normalizer"].(map[string]any)["lowercase"] = false
	plain := "[UNK]\n[CLS]\n[SEP]\na\n##b\nÉ\n"
	for name, test := range map[string]struct {
		files map[string]string
		text  string
		want  []int32
	}{
		"tokenizer.json":        {folder(t, description()), "AB ab É abbbbb <new>", []int32{3, 4, 3, 4, 0, 0, 6}},
		"tokenizer.json, cased": {folder(t, cased), "AB ab É", []int32{0, 3, 4, 5}},
		"vocab.txt":             {map[string]string{"vocab.txt": plain}, "AB ab É [SEP]", []int32{3, 4, 3, 4, 0, 2}},
		"vocab.txt, cased":      {map[string]string{"vocab.txt": plain, "tokenizer_config.json": `{"do_lower_case": false}`}, "AB ab É", []int32{0, 3, 4, 5}},
		"vocab.txt, Windows":    {map[string]string{"vocab.txt": strings.ReplaceAll(plain, "\n", "\r\n")}, "ab", []int32{3, 4}},
	} {
		tokenizer, err := wordpiece.Open(write(t, test.files))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var e wordpiece.Encoding
		tokenizer.Tokenize(&e, test.text, 0)
		if diff := cmp.Diff(test.want, e.IDs); diff != "" {
			t.Errorf("%s: ids of %q (-want +got):\n%s", name, test.text, diff)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	spoil := func(change func(map[string]any)) map[string]string {
		d := description()
		change(d)
		return folder(t, d)
	}
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"nothing":       {nil, "neither tokenizer.json nor vocab.txt"},
		"broken":        {map[string]string{"tokenizer.json": `{"model":`}, "unexpected end of JSON"},
		"other model":   {spoil(func(d map[string]any) { d["model"].(map[string]any)["type"] = "Unigram" }), `model type is "Unigram"`},
		"no vocabulary": {spoil(func(d map[string]any) { delete(d["model"].(map[string]any), "vocab") }), "only WordPiece"},
		"normalizer":    {spoil(func(d map[string]any) { delete(d, "normalizer") }), "only BertNormalizer"},
		"splitter":      {spoil(func(d map[string]any) { d["pre_tokenizer"] = nil }), "only BertPreTokenizer"},
		"shared id":     {spoil(func(d map[string]any) { d["model"].(map[string]any)["vocab"].(map[string]any)["z"] = 3 }), "share the id 3"},
		"huge id":       {spoil(func(d map[string]any) { d["model"].(map[string]any)["vocab"].(map[string]any)["z"] = 1 << 40 }), `"z" has the id`},
		"added token":   {spoil(func(d map[string]any) { d["added_tokens"].([]any)[0].(map[string]any)["lstrip"] = true }), `"[UNK]": single_word`},
		"vocab":         {map[string]string{"vocab.txt": "a\nb\n"}, `no "[UNK]"`},
		"settings":      {map[string]string{"vocab.txt": "a", "tokenizer_config.json": "?"}, "tokenizer_config.json: invalid"},
	} {
		_, err := wordpiece.Open(write(t, test.files))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v: want %q", name, err, test.want)
		}
		if (name == "nothing") != errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: error %v: fs.ErrNotExist only when there is no file", name, err)
		}
	}
}

// TestOpenModel holds the real folder to the vocabulary the reference was made with.
func TestOpenModel(t *testing.T) {
	models := os.Getenv("MEMCTL_MODELS")
	if models == "" {
		t.Skip("MEMCTL_MODELS is not set: the folder of all-MiniLM-L6-v2 is not checked")
	}
	tokenizer, err := wordpiece.Open(filepath.Join(models, "all-MiniLM-L6-v2"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(vocab(t), tokenizer.Vocab()); diff != "" {
		t.Errorf("vocabulary (-want +got):\n%s", diff)
	}
	want := bert(t, wordpiece.Options{Specials: []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}}).Options()
	if diff := cmp.Diff(want, tokenizer.Options()); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
}

func folder(t *testing.T, description map[string]any) map[string]string {
	t.Helper()
	content, err := json.Marshal(description)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{"tokenizer.json": string(content)}
}

func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
