package onnx

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mallardmem/mallard/embed/wordpiece"
)

// pooling says how the vectors of a text's tokens become one.
type pooling string

const (
	poolMean pooling = "mean"
	poolCLS  pooling = "cls"
	poolMax  pooling = "max"
)

// defaultMaxTokens is what texts are cut to where the folder names no length
// of its own: what the MiniLM sentence models were trained with.
const defaultMaxTokens = 256

// folder is what the files of a model folder say, the graph itself aside.
type folder struct {
	name      string
	graph     string // path of the .onnx file
	tokenizer *wordpiece.Tokenizer
	pooling   pooling
	maxTokens int
	padding   int64
}

func readFolder(dir string, maxTokens int) (folder, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return folder{}, fmt.Errorf("onnx: %w", err)
	}
	f := folder{name: filepath.Base(absolute)}
	if f.graph, err = findGraph(dir); err != nil {
		return folder{}, err
	}
	if f.tokenizer, err = wordpiece.Open(dir); err != nil {
		return folder{}, fmt.Errorf("onnx: %w", err)
	}
	config := struct {
		Positions int   `json:"max_position_embeddings"`
		Vocab     int   `json:"vocab_size"`
		Padding   int64 `json:"pad_token_id"`
	}{}
	if _, err := readJSON(filepath.Join(dir, "config.json"), &config); err != nil {
		return folder{}, err
	}
	if n := len(f.tokenizer.Vocab()); config.Vocab > 0 && n > config.Vocab {
		return folder{}, fmt.Errorf("onnx: %s: the tokenizer has %d tokens, config.json says the model knows %d", dir, n, config.Vocab)
	}
	f.padding = config.Padding
	if f.pooling, err = readPooling(dir); err != nil {
		return folder{}, err
	}
	f.maxTokens, err = readMaxTokens(dir, config.Positions)
	if err != nil {
		return folder{}, err
	}
	if maxTokens > 0 {
		if config.Positions > 0 && maxTokens > config.Positions {
			return folder{}, fmt.Errorf("onnx: MaxTokens is %d: want at most the model's %d positions", maxTokens, config.Positions)
		}
		f.maxTokens = maxTokens
	}
	return f, nil
}

func findGraph(dir string) (string, error) {
	if _, err := os.Stat(dir); err != nil {
		return "", fmt.Errorf("onnx: model folder: %w", err)
	}
	for _, name := range []string{"model.onnx", filepath.Join("onnx", "model.onnx")} {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("onnx: %w", err)
		}
	}
	return "", fmt.Errorf("onnx: %s has neither model.onnx nor onnx/model.onnx: %w", dir, fs.ErrNotExist)
}

// readPooling reads 1_Pooling/config.json of sentence-transformers; without
// it the pooling is mean.
func readPooling(dir string) (pooling, error) {
	path := filepath.Join(dir, "1_Pooling", "config.json")
	modes := struct {
		CLS  bool `json:"pooling_mode_cls_token"`
		Mean bool `json:"pooling_mode_mean_tokens"`
		Max  bool `json:"pooling_mode_max_tokens"`
		Root bool `json:"pooling_mode_mean_sqrt_len_tokens"` // a multiple of the mean: the same unit vector
		Last bool `json:"pooling_mode_lasttoken"`
		Wtd  bool `json:"pooling_mode_weightedmean_tokens"`
	}{}
	found, err := readJSON(path, &modes)
	if err != nil || !found {
		return poolMean, err
	}
	chosen := map[pooling]bool{poolMean: modes.Mean || modes.Root, poolCLS: modes.CLS, poolMax: modes.Max}
	var mode pooling
	count := 0
	for name, on := range chosen {
		if on {
			mode = name
			count++
		}
	}
	if count != 1 || modes.Last || modes.Wtd {
		return "", fmt.Errorf("onnx: %s: want exactly one of mean, cls and max pooling", path)
	}
	return mode, nil
}

func readMaxTokens(dir string, positions int) (int, error) {
	path := filepath.Join(dir, "sentence_bert_config.json")
	config := struct {
		Max int `json:"max_seq_length"`
	}{}
	found, err := readJSON(path, &config)
	if err != nil {
		return 0, err
	}
	length := defaultMaxTokens
	if found && config.Max != 0 {
		length = config.Max
	}
	if length < 3 {
		return 0, fmt.Errorf("onnx: %s: max_seq_length is %d: want at least 3", path, length)
	}
	if positions > 0 {
		length = min(length, positions)
	}
	return length, nil
}

// readJSON tells whether the file exists.
func readJSON(path string, into any) (bool, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("onnx: %w", err)
	}
	if err := json.Unmarshal(content, into); err != nil {
		return true, fmt.Errorf("onnx: %s: %w", path, err)
	}
	return true, nil
}

// fingerprint covers all that decides on the vectors.
func (f *folder) fingerprint() (string, error) {
	h := sha256.New()
	for _, path := range []string{f.graph, f.graph + "_data"} { // weights over 2 GB stand in a second file
		in, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) && path != f.graph {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("onnx: %w", err)
		}
		_, err = io.Copy(h, in)
		in.Close()
		if err != nil {
			return "", fmt.Errorf("onnx: %w", err)
		}
	}
	fmt.Fprintf(h, "%q %+v %s %d", f.tokenizer.Vocab(), f.tokenizer.Options(), f.pooling, f.maxTokens)
	return fmt.Sprintf("%x", h.Sum(nil)[:12]), nil
}
