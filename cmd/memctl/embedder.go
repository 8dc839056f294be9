package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	remote "github.com/mallardmem/mallard/embed/http"
	"github.com/mallardmem/mallard/embed/ort"
	"github.com/mallardmem/mallard/embed/static"
	"github.com/mallardmem/mallard/engine/setup"
)

// What runs the graph of a folder.
const (
	throughORT   = "ONNX Runtime"
	throughHugot = "hugot (pure Go)"
)

// embedder is an open embedding model; without one, Embedder is nil.
type embedder struct {
	setup.Embedder
	runtime string // what runs a folder's graph; "" for tables, which have none
}

// Close gives the model's memory back.
func (m embedder) Close() error {
	if c, ok := m.Embedder.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// relatedWords are those of the built-in table, whatever the model is, and without one too.
func relatedWords(word string) (words []string, cosines []float32) { return builtin().Related(word) }

var builtin = sync.OnceValue(static.New)

// openEmbedder opens what --model names. Where it names none, that is the server of the configuration, or else the built-in table.
func (a *app) openEmbedder() (embedder, error) {
	if a.model != "" && a.model != "remote" {
		return openModel(a.model)
	}
	c, err := loadConfig(a.config)
	if err != nil {
		return embedder{}, err
	}
	client, err := c.Embedding.open()
	switch {
	case err != nil:
		return embedder{}, err
	case client != nil:
		return embedder{Embedder: client}, nil
	case a.model == "remote":
		return embedder{}, usage("model remote, but embedding.provider is missing; allowed: %s (see `memctl config show`)", strings.Join(remote.Providers(), ", "))
	}
	return openModel("static")
}

// openModel opens a model of this machine: static, none, a folder, a graph in one (FOLDER/model_quantized.onnx), a table file, or such a path under
// modelsFolder.
func openModel(name string) (embedder, error) {
	switch name {
	case "none":
		return embedder{}, nil
	case "static":
		return embedder{Embedder: builtin()}, nil
	}
	path := name
	info, err := os.Stat(path)
	if folder := modelsFolder(); err != nil && folder != "" && filepath.IsLocal(name) {
		path = filepath.Join(folder, name)
		info, err = os.Stat(path)
	}
	switch {
	case err != nil:
		return embedder{}, usage("model %q; allowed: static, none, remote, a folder or .table file, or the name of a folder under $MEMCTL_MODELS (see `memctl model list`)", name)
	case info.IsDir(), strings.HasSuffix(path, ".onnx"):
		return openFolder(path)
	case strings.HasSuffix(path, ".table"):
		m, err := static.Open(path)
		if err != nil {
			return embedder{}, err
		}
		return embedder{Embedder: m}, nil
	}
	return embedder{}, usage("model %s is neither a folder nor an .onnx file in one, nor a .table file", path)
}

// openFolder opens a sentence-transformer folder with what graphRuntime finds. The vectors are the same.
func openFolder(path string) (embedder, error) {
	runtime, err := graphRuntime()
	if err != nil {
		return embedder{}, err
	}
	return openEmbeddingThrough(path, runtime)
}

// graphRuntime is ONNX Runtime where its library is found, else hugot. A library that MEMCTL_ORT names has to be there; none in
// MEMCTL_ORT asks to do without.
func graphRuntime() (string, error) {
	asked := os.Getenv("MEMCTL_ORT")
	if asked == "none" {
		return throughHugot, nil
	}
	switch err := ort.Load(""); {
	case err == nil:
		return throughORT, nil
	case asked != "":
		return "", fmt.Errorf("onnx: %w", err)
	}
	return throughHugot, nil
}

// noteModel tells what runs a folder's graph, since the speed of the two differs by a factor of forty.
func (a *app) noteModel(m embedder) {
	switch m.runtime {
	case "":
	case throughORT:
		a.note("model %s through %s", m.Model(), m.runtime)
	default:
		a.note("model %s through %s; with an ONNX Runtime library, named in MEMCTL_ORT, it is some forty times faster", m.Model(), m.runtime)
	}
}
