package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mallardmem/mallard/embed/hugot"
	"github.com/mallardmem/mallard/embed/onnx"
	"github.com/mallardmem/mallard/embed/wordpiece"
	rehugot "github.com/mallardmem/mallard/rerank/hugot"
	reonnx "github.com/mallardmem/mallard/rerank/onnx"
)

// eitherModel is a folder's model, whatever it is: an embedding model, or else a cross-encoder.
type eitherModel struct {
	embedder
	reranker
	folder *wordpiece.SentenceModel // what the files of an embedding model say
}

// Close gives the model's memory back.
func (m eitherModel) Close() error { return errors.Join(m.embedder.Close(), m.reranker.Close()) }

// findPath gives the path of a model's folder, or of a graph in one, that is named by its path or by that under modelsFolder.
func findPath(name string) (path string, ok bool) {
	path = name
	info, err := os.Stat(path)
	if folder := modelsFolder(); err != nil && folder != "" && filepath.IsLocal(name) {
		path = filepath.Join(folder, name)
		info, err = os.Stat(path)
	}
	return path, err == nil && (info.IsDir() || strings.HasSuffix(path, ".onnx"))
}

// findFolder is findPath with an error of its own.
func findFolder(name string) (string, error) {
	path, ok := findPath(name)
	if !ok {
		return "", usage("model %q; allowed: a model's folder, a graph in one, or such a path under %s (see `memctl model list`)", name, modelsFolder())
	}
	return path, nil
}

// openEither opens a folder, or a graph in one, as what it is, through what runs graphs. What config.json says it is comes first, and then the other.
func openEither(path, runtime string) (m eitherModel, err error) {
	asEmbedding := func() (err error) {
		if m.embedder, err = openEmbeddingThrough(path, runtime); err == nil {
			m.folder, err = wordpiece.OpenSentenceModel(path, 0)
		}
		return err
	}
	asReranker := func() (err error) {
		m.reranker, err = openRerankerThrough(path, runtime)
		m.runtime = runtime
		return err
	}
	ways := []func() error{asEmbedding, asReranker}
	if saysCrossEncoder(path) {
		ways = []func() error{asReranker, asEmbedding}
	}
	first := ways[0]()
	if first == nil {
		return m, nil
	}
	second := ways[1]()
	if second == nil || first.Error() == second.Error() {
		return m, second
	}
	return m, fmt.Errorf("it opens neither way: %w; %w", first, second)
}

// saysCrossEncoder reports whether the config.json of a folder, or of the folder that a graph is in, is that of a cross-encoder.
func saysCrossEncoder(path string) bool {
	folder := path
	if strings.HasSuffix(path, ".onnx") {
		if folder = filepath.Dir(path); filepath.Base(folder) == "onnx" {
			folder = filepath.Dir(folder)
		}
	}
	config := struct {
		Architectures []string `json:"architectures"`
		Labels        int      `json:"num_labels"`
	}{}
	text, err := os.ReadFile(filepath.Join(folder, "config.json"))
	if err != nil || json.Unmarshal(text, &config) != nil {
		return false // whoever opens it says what is wrong
	}
	if len(config.Architectures) > 0 {
		return strings.HasSuffix(config.Architectures[0], "ForSequenceClassification")
	}
	return config.Labels > 0
}

func openEmbeddingThrough(path, runtime string) (embedder, error) {
	if runtime == throughORT {
		m, err := onnx.Open(path, onnx.Options{})
		if err != nil {
			return embedder{}, err
		}
		return embedder{m, runtime}, nil
	}
	m, err := hugot.Open(path, hugot.Options{})
	if err != nil {
		return embedder{}, err
	}
	return embedder{m, m.Runtime()}, nil
}

func openRerankerThrough(path, runtime string) (reranker, error) {
	if runtime == throughORT {
		m, err := reonnx.Open(path, reonnx.Options{})
		if err != nil {
			return reranker{}, err
		}
		return reranker{m}, nil
	}
	m, err := rehugot.Open(path, rehugot.Options{})
	if err != nil {
		return reranker{}, err
	}
	return reranker{m}, nil
}
