package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/mallardmem/mallard/embed/onnx"
	"github.com/mallardmem/mallard/embed/static"
	"github.com/mallardmem/mallard/engine"
)

// embedder is an open embedding model; without one, Embedder is nil.
type embedder struct{ engine.Embedder }

// Close gives the model's memory back.
func (m embedder) Close() error {
	if c, ok := m.Embedder.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// openModel opens what --model names: static, none, a folder, a table file, or the name of a folder under $MEMCTL_MODELS.
func openModel(name string) (embedder, error) {
	switch name {
	case "none":
		return embedder{}, nil
	case "static":
		return embedder{static.New()}, nil
	}
	path := name
	info, err := os.Stat(path)
	if folder := os.Getenv("MEMCTL_MODELS"); err != nil && folder != "" && filepath.IsLocal(name) {
		path = filepath.Join(folder, name)
		info, err = os.Stat(path)
	}
	switch {
	case err != nil:
		return embedder{}, usage("model %q; allowed: static, none, a folder or .table file, or the name of a folder under $MEMCTL_MODELS (see `memctl model list`)", name)
	case info.IsDir():
		m, err := onnx.Open(path, onnx.Options{})
		if err != nil {
			return embedder{}, err
		}
		return embedder{m}, nil
	case strings.HasSuffix(path, ".table"):
		m, err := static.Open(path)
		if err != nil {
			return embedder{}, err
		}
		return embedder{m}, nil
	}
	return embedder{}, usage("model %s is neither a folder nor a .table file", path)
}
