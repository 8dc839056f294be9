// Package onnx reranks texts with the folder of a cross-encoder through ONNX
// Runtime, a native library found when the first model is opened.
package onnx

import (
	"context"
	"fmt"

	"github.com/mallardmem/mallard/embed/ort"
	"github.com/mallardmem/mallard/embed/wordpiece"
)

// Options tune a model; the zero value works.
type Options struct {
	Library   string // ONNX Runtime's library, see ort.Load; "" means wherever it is found
	Threads   int    // for one call; 0 means as many as the library thinks best
	MaxTokens int    // query and text together, with the three that mark them, are cut to this many; 0 means what the folder says
	MaxPairs  int    // texts beyond this many of a call are not scored; 0 means 100
}

// Model is an open model. It may be used by several goroutines.
type Model struct {
	pairs *wordpiece.PairModel
	graph *ort.Graph
}

// Open opens a cross-encoder folder, see wordpiece.OpenPairModel. Its graph has
// the inputs input_ids, attention_mask and perhaps token_type_ids, and gives one
// or two logits for each pair. The error says which file or library is missing
// or can't be used.
func Open(dir string, options Options) (*Model, error) {
	if options.Threads < 0 {
		return nil, fmt.Errorf("onnx: Threads is %d: want 0 or more", options.Threads)
	}
	pairs, err := wordpiece.OpenPairModel(dir, options.MaxTokens, options.MaxPairs)
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	if err := ort.Load(options.Library); err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	graph, err := ort.Open(&pairs.Folder, options.Threads, pairs.Output)
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	return &Model{pairs, graph}, nil
}

// Close gives the model's memory back, after the calls under way. Using the
// model afterwards is an error; closing it twice is not.
func (m *Model) Close() error {
	if err := m.graph.Close(); err != nil {
		return fmt.Errorf("onnx: close: %w", err)
	}
	return nil
}

// Model gives the name of the folder.
func (m *Model) Model() string { return m.pairs.Name }

// Rerank gives one score per text, from 0 to 1, in their order; NaN to texts
// beyond MaxPairs. Cancelling takes effect between batches.
func (m *Model) Rerank(ctx context.Context, query string, texts []string) ([]float64, error) {
	scores, err := m.pairs.Rerank(ctx, m.graph, query, texts)
	if err != nil {
		return nil, fmt.Errorf("onnx: rerank: %w", err)
	}
	return scores, nil
}
