package main

import (
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

// findFolder gives the path of a model's folder, or of a graph in one, that is named by its path or by that under modelsFolder.
func findFolder(name string) (string, error) {
	path := name
	info, err := os.Stat(path)
	if folder := modelsFolder(); err != nil && folder != "" && filepath.IsLocal(name) {
		path = filepath.Join(folder, name)
		info, err = os.Stat(path)
	}
	if err != nil || !info.IsDir() && !strings.HasSuffix(path, ".onnx") {
		return "", usage("model %q; allowed: a model's folder, a graph in one, or such a path under %s (see `memctl model list`)", name, modelsFolder())
	}
	return path, nil
}

// openEither opens a folder, or a graph in one, as what it is, through what runs graphs.
func openEither(path, runtime string) (eitherModel, error) {
	m := eitherModel{}
	var ofEmbedding, ofReranker error
	if m.embedder, ofEmbedding = openEmbeddingThrough(path, runtime); ofEmbedding == nil {
		m.folder, ofEmbedding = wordpiece.OpenSentenceModel(path, 0)
		return m, ofEmbedding
	}
	if m.reranker, ofReranker = openRerankerThrough(path, runtime); ofReranker == nil {
		return m, nil
	}
	if ofEmbedding.Error() == ofReranker.Error() {
		return m, ofEmbedding
	}
	return m, fmt.Errorf("neither an embedding model (%w) nor a cross-encoder (%w)", ofEmbedding, ofReranker)
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
