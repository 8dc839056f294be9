package main

import (
	"io"
	"strings"

	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/rerank/remote"
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

// rerankWords are the ways to rerank that --rerank names without a model.
var rerankWords = []recall.Rerank{recall.FeaturesRerank, recall.LightRerank, recall.NoRerank}

// runtimesOf are the words of --rerank for what runs a folder's graph.
var runtimesOf = map[string]string{"onnx": throughORT, "hugot": throughHugot}

// openReranker opens the model that --rerank names: the folder of a cross-encoder or its name under $MEMCTL_MODELS, onnx:FOLDER or hugot:FOLDER, or by onnx, hugot
// and remote that of the configuration.
func (a *app) openReranker(name string) (reranker, error) {
	way, folder, named := strings.Cut(name, ":")
	runtime := runtimesOf[way]
	if runtime != "" && named {
		return openCrossEncoder("rerank", folder, runtime)
	}
	if runtime == "" && name != "remote" {
		return openCrossEncoder("rerank", name, "")
	}
	c, err := loadConfig(a.config)
	if err != nil {
		return reranker{}, err
	}
	switch {
	case runtime != "" && c.Reranker.Folder == "":
		return reranker{}, usage("rerank %s, but reranker.folder is missing; allowed: %[1]s:FOLDER, or a folder in the configuration (see `memctl config show`)", name)
	case runtime != "":
		return openCrossEncoder("reranker.folder", c.Reranker.Folder, runtime)
	case c.Reranker.Provider == "":
		return reranker{}, usage("rerank remote, but reranker.provider is missing; allowed: %s (see `memctl config show`)", strings.Join(remote.Providers(), ", "))
	}
	return c.Reranker.open()
}

// openCrossEncoder opens a folder, or the name of one under $MEMCTL_MODELS, through a runtime, or with what graphRuntime finds. The scores are the same. An error
// says where the name is from.
func openCrossEncoder(from, name, runtime string) (reranker, error) {
	path, ok := findPath(name)
	if !ok {
		allowed := "the folder of a cross-encoder, or its name under $MEMCTL_MODELS"
		if from == "rerank" {
			allowed = "features, light, none, onnx, hugot, remote, " + allowed
		}
		return reranker{}, usage("%s %q; allowed: %s", from, name, allowed)
	}
	if runtime == "" {
		var err error
		if runtime, err = graphRuntime(); err != nil {
			return reranker{}, err
		}
	}
	return openRerankerThrough(path, runtime)
}
