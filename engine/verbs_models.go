package engine

import (
	"context"

	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/setup"
)

// Several embedding models in one file: package index.

// Models gives the models that the file has vectors of, the chosen one first, each with how many there are of how many that are wanted.
func (e *Engine) Models(ctx context.Context) ([]index.ModelState, error) {
	return e.index.ModelStates(ctx)
}

// AddModel embeds the whole file with a further model, while recall and writes go on with the chosen one. What was broken off goes on with the next call.
func (e *Engine) AddModel(ctx context.Context, r index.AddModelRequest) (*index.AddedModel, error) {
	return e.index.AddModel(ctx, r)
}

// UseModel lets recall go by the vectors of a model that the file has, and keeps those of the former.
func (e *Engine) UseModel(ctx context.Context, r index.UseModelRequest) (*index.ModelState, error) {
	return e.index.UseModel(ctx, r)
}

// DropModel removes a model that is not the chosen one, with all its vectors.
func (e *Engine) DropModel(ctx context.Context, r index.DropModelRequest) (*index.ModelState, error) {
	return e.index.DropModel(ctx, r)
}

// EmbedMissing gives a vector of the chosen model to whatever has none, and looks at no word: what was written while the model was down, or without it.
func (e *Engine) EmbedMissing(ctx context.Context) (index.Embedded, error) {
	return e.index.EmbedMissing(ctx)
}

// Embedder is what embeds questions and texts now: Options.Embedder or a model of AddModel, whichever is the file's; nil: neither is.
func (e *Engine) Embedder() setup.Embedder {
	by, _ := e.index.Embedder()
	return by
}
