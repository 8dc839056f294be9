package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/rerank/hugot"
	"github.com/mallardmem/mallard/rerank/onnx"
)

// reranker is an open reranker; without one, Reranker is nil.
type reranker struct{ setup.Reranker }

// Close gives the model's memory back.
func (m reranker) Close() error {
	if c, ok := m.Reranker.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// openReranker opens the folder of a cross-encoder, or the name of one under $MEMCTL_MODELS, with what graphRuntime finds. The scores are the same.
func openReranker(name string) (reranker, error) {
	path := name
	info, err := os.Stat(path)
	if folder := modelsFolder(); err != nil && folder != "" && filepath.IsLocal(name) {
		path = filepath.Join(folder, name)
		info, err = os.Stat(path)
	}
	if err != nil || !info.IsDir() && !strings.HasSuffix(path, ".onnx") {
		return reranker{}, usage("rerank %q; allowed: light, none, the folder of a cross-encoder, or its name under $MEMCTL_MODELS", name)
	}
	runtime, err := graphRuntime()
	if err != nil {
		return reranker{}, err
	}
	if runtime == throughORT {
		m, err := onnx.Open(path, onnx.Options{})
		return reranker{m}, err
	}
	m, err := hugot.Open(path, hugot.Options{})
	return reranker{m}, err
}
