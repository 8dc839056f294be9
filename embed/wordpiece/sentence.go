package wordpiece

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// defaultMaxTokens is what texts are cut to where the folder names no length
// of its own: what the MiniLM sentence models were trained with.
const defaultMaxTokens = 256

// SentenceModel is what the files of a sentence-transformer folder say, the
// graph itself aside: all that whoever runs the graph needs to make the same
// vectors. It never changes after it is opened.
type SentenceModel struct {
	Name      string // of the folder
	Graph     string // path of the .onnx file
	Tokenizer *Tokenizer
	Pooling   Pooling
	MaxTokens int   // texts are cut to, start and end included
	Padding   int64 // the id that fills a batch up
}

// OpenSentenceModel reads a folder in the layout of sentence-transformers:
//
//   - model.onnx or onnx/model.onnx, which is only looked for;
//   - tokenizer.json or vocab.txt, see Open;
//   - 1_Pooling/config.json: mean, cls or max; mean when absent;
//   - sentence_bert_config.json with max_seq_length; 256 when absent, and
//     never more than max_position_embeddings of config.json.
//
// MaxTokens takes the place of the folder's length; 0 keeps it. The error says
// which file is missing (then it is fs.ErrNotExist) or can't be used.
func OpenSentenceModel(dir string, maxTokens int) (*SentenceModel, error) {
	if maxTokens < 0 || maxTokens == 1 || maxTokens == 2 {
		return nil, fmt.Errorf("MaxTokens is %d: want 0 or at least 3", maxTokens)
	}
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	m := &SentenceModel{Name: filepath.Base(absolute)}
	if m.Graph, err = findGraph(dir); err != nil {
		return nil, err
	}
	if m.Tokenizer, err = Open(dir); err != nil {
		return nil, err
	}
	config := struct {
		Positions int   `json:"max_position_embeddings"`
		Vocab     int   `json:"vocab_size"`
		Padding   int64 `json:"pad_token_id"`
	}{}
	if _, err := readJSON(filepath.Join(dir, "config.json"), &config); err != nil {
		return nil, err
	}
	if n := len(m.Tokenizer.Vocab()); config.Vocab > 0 && n > config.Vocab {
		return nil, fmt.Errorf("%s: the tokenizer has %d tokens, config.json says the model knows %d", dir, n, config.Vocab)
	}
	m.Padding = config.Padding
	if m.Pooling, err = readPooling(dir); err != nil {
		return nil, err
	}
	m.MaxTokens, err = readMaxTokens(dir, config.Positions)
	if err != nil {
		return nil, err
	}
	if maxTokens > 0 {
		if config.Positions > 0 && maxTokens > config.Positions {
			return nil, fmt.Errorf("MaxTokens is %d: want at most the model's %d positions", maxTokens, config.Positions)
		}
		m.MaxTokens = maxTokens
	}
	return m, nil
}

func findGraph(dir string) (string, error) {
	if _, err := os.Stat(dir); err != nil {
		return "", fmt.Errorf("model folder: %w", err)
	}
	for _, name := range []string{"model.onnx", filepath.Join("onnx", "model.onnx")} {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return "", fmt.Errorf("%s has neither model.onnx nor onnx/model.onnx: %w", dir, fs.ErrNotExist)
}

// readPooling reads 1_Pooling/config.json of sentence-transformers; without
// it the pooling is mean.
func readPooling(dir string) (Pooling, error) {
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
		return PoolMean, err
	}
	chosen := map[Pooling]bool{PoolMean: modes.Mean || modes.Root, PoolCLS: modes.CLS, PoolMax: modes.Max}
	var mode Pooling
	count := 0
	for name, on := range chosen {
		if on {
			mode = name
			count++
		}
	}
	if count != 1 || modes.Last || modes.Wtd {
		return "", fmt.Errorf("%s: want exactly one of mean, cls and max pooling", path)
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
		return 0, fmt.Errorf("%s: max_seq_length is %d: want at least 3", path, length)
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
		return false, err
	}
	if err := json.Unmarshal(content, into); err != nil {
		return true, fmt.Errorf("%s: %w", path, err)
	}
	return true, nil
}

// Fingerprint covers all that decides on the vectors: graph, tokenizer,
// pooling and the length texts are cut to. What runs the graph is no part of
// it, since every provider is held to the same vectors.
func (m *SentenceModel) Fingerprint() (string, error) {
	h := sha256.New()
	for _, path := range []string{m.Graph, m.Graph + "_data"} { // weights over 2 GB stand in a second file
		in, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) && path != m.Graph {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = io.Copy(h, in)
		in.Close()
		if err != nil {
			return "", err
		}
	}
	fmt.Fprintf(h, "%q %+v %s %d", m.Tokenizer.Vocab(), m.Tokenizer.Options(), m.Pooling, m.MaxTokens)
	return fmt.Sprintf("%x", h.Sum(nil)[:12]), nil
}
