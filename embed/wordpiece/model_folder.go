package wordpiece

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Folder is what the files of every model folder say: what a graph is run with.
type Folder struct {
	Name      string // of the folder, and of the graph where that is another one than model.onnx: "all-MiniLM-L6-v2/model_quantized"
	Graph     string // path of the .onnx file
	Tokenizer *Tokenizer
	MaxTokens int   // sequences are cut to, start and end included
	Padding   int64 // the id that fills a batch up

	dir string
}

// modelConfig is what is read of config.json.
type modelConfig struct {
	Positions  int             `json:"max_position_embeddings"`
	Vocab      int             `json:"vocab_size"`
	Padding    int64           `json:"pad_token_id"`
	NumLabels  int             `json:"num_labels"`
	Labels     map[string]any  `json:"id2label"`
	Activation string          `json:"sbert_ce_default_activation_function"`
	Sentence   sentenceSection `json:"sentence_transformers"`
}

type sentenceSection struct {
	Activation string `json:"activation_fn"`
}

// openFolder reads what all folders have; path is that of one, or of a graph in one. A sequence of the model has least tokens at least, those that mark
// its parts included.
func openFolder(path string, maxTokens, least int) (folder Folder, config modelConfig, err error) {
	if maxTokens < 0 || maxTokens > 0 && maxTokens < least {
		return folder, config, fmt.Errorf("MaxTokens is %d: want 0 or at least %d", maxTokens, least)
	}
	if folder.dir, folder.Graph, err = findGraph(path); err != nil {
		return folder, config, err
	}
	dir := folder.dir
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return folder, config, err
	}
	folder.Name = filepath.Base(absolute)
	if graph := strings.TrimSuffix(filepath.Base(folder.Graph), ".onnx"); graph != "model" {
		folder.Name += "/" + graph
	}
	if folder.Tokenizer, err = Open(dir); err != nil {
		return folder, config, err
	}
	if _, err := readJSON(filepath.Join(dir, "config.json"), &config); err != nil {
		return folder, config, err
	}
	if n := len(folder.Tokenizer.Vocab()); config.Vocab > 0 && n > config.Vocab {
		return folder, config, fmt.Errorf("%s: the tokenizer has %d tokens, config.json says the model knows %d", dir, n, config.Vocab)
	}
	folder.Padding = config.Padding
	if folder.MaxTokens, err = readMaxTokens(dir, config.Positions, least); err != nil {
		return folder, config, err
	}
	if maxTokens > 0 {
		if config.Positions > 0 && maxTokens > config.Positions {
			return folder, config, fmt.Errorf("MaxTokens is %d: want at most the model's %d positions", maxTokens, config.Positions)
		}
		folder.MaxTokens = maxTokens
	}
	return folder, config, nil
}

// findGraph gives the folder of a model and its graph; path names either. Graphs may lie in a folder onnx of their own.
func findGraph(path string) (dir, graph string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", "", fmt.Errorf("model folder: %w", err)
	}
	if !info.IsDir() && filepath.Ext(path) == ".onnx" {
		if dir = filepath.Dir(path); filepath.Base(dir) == "onnx" {
			dir = filepath.Dir(dir)
		}
		return dir, path, nil
	}
	for _, name := range []string{"model.onnx", filepath.Join("onnx", "model.onnx")} {
		graph := filepath.Join(path, name)
		if _, err := os.Stat(graph); err == nil {
			return path, graph, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", "", err
		}
	}
	return "", "", fmt.Errorf("%s has neither model.onnx nor onnx/model.onnx: %w", path, fs.ErrNotExist)
}

func readMaxTokens(dir string, positions, least int) (int, error) {
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
	if length < least {
		return 0, fmt.Errorf("%s: max_seq_length is %d: want at least %d", path, length, least)
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

// CheckIDs holds sequences that a caller made to what the model can read: 1 to
// its length of ids, each of them in the vocabulary.
func (m *Folder) CheckIDs(sequences [][]int32) error {
	vocab := int32(len(m.Tokenizer.Vocab()))
	for i, ids := range sequences {
		if len(ids) < 1 || len(ids) > m.MaxTokens {
			return fmt.Errorf("sequence %d has %d tokens: want 1 to %d", i, len(ids), m.MaxTokens)
		}
		for _, id := range ids {
			if id < 0 || id >= vocab {
				return fmt.Errorf("sequence %d has the id %d: want 0 to %d", i, id, vocab-1)
			}
		}
	}
	return nil
}
