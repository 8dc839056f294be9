package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/mallardmem/mallard/embed/fused"
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

// openEmbedder opens what --model names.
func (a *app) openEmbedder() (embedder, error) { return a.openNamed(a.model) }

// openNamed opens the model of a name; remote is the server of the configuration, and no name is that, or else the built-in table.
func (a *app) openNamed(name string) (embedder, error) {
	if name != "" && name != "remote" {
		return openModel(name)
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
	case name == "remote":
		return embedder{}, usage("model remote, but embedding.provider is missing; allowed: %s (see `memctl config show`)", strings.Join(remote.Providers(), ", "))
	}
	return openModel("static")
}

// openModel opens a model of this machine: static, none, a folder, a graph in one (FOLDER/model_quantized.onnx), a table file, or such a path under
// modelsFolder; or two of them with + in between, as one, unless a file has that name.
func openModel(name string) (embedder, error) {
	if first, second, two := strings.Cut(name, "+"); two && !exists(name) && !exists(filepath.Join(modelsFolder(), name)) {
		return openFused(first, second)
	}
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
		return embedder{}, usage("model %q; allowed: static, none, remote, a folder or .table file, the name of a folder under $MEMCTL_MODELS (see `memctl model list`), or two of them with + in between", name)
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

// openFused opens two models as one. What the slower of them runs on is what it tells.
func openFused(first, second string) (embedder, error) {
	a, err := openModel(first)
	if err != nil {
		return embedder{}, err
	}
	b, err := openModel(second)
	if err == nil && (a.Embedder == nil || b.Embedder == nil) {
		err = usage("model %s+%s; allowed: two models, of which none is none", first, second)
	}
	if err != nil {
		return embedder{}, errors.Join(err, a.Close())
	}
	both, err := fused.New(a.Embedder, b.Embedder, fused.Options{})
	if err != nil {
		return embedder{}, errors.Join(usageError{err}, a.Close(), b.Close())
	}
	return embedder{both, cmp.Or(b.runtime, a.runtime)}, nil
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
