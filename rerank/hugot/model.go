// Package hugot reranks texts with the folder of a cross-encoder through hugot:
// in pure Go, with no native library, some thirty times slower than with one.
// Programs built with the tag ORT use hugot's ONNX Runtime backend where the
// library is found.
package hugot

import (
	"context"
	"errors"
	"fmt"

	"github.com/mallardmem/mallard/embed/hugotrun"
	"github.com/mallardmem/mallard/embed/wordpiece"
)

// Options tune a model; the zero value works.
type Options struct {
	Library   string // ONNX Runtime's library file, an error without the tag ORT; "" means with the tag wherever it is found, and pure Go where none is
	MaxTokens int    // query and text together, with the three that mark them, are cut to this many; 0 means what the folder says
	MaxPairs  int    // texts beyond this many of a call are not scored; 0 means 100
}

// Model is an open model. It may be used by several goroutines, whose batches
// run one after the other: each of them takes all cores.
type Model struct {
	pairs *wordpiece.PairModel
	graph *hugotrun.Graph
}

// Open opens a cross-encoder folder, see wordpiece.OpenPairModel, and runs its
// graph once. The graph has the inputs input_ids, attention_mask and perhaps
// token_type_ids, and gives one or two logits for each pair; its weights are
// float32. The error says which file is missing or can't be used.
func Open(dir string, options Options) (*Model, error) {
	pairs, err := wordpiece.OpenPairModel(dir, options.MaxTokens, options.MaxPairs)
	if err != nil {
		return nil, fmt.Errorf("hugot: %w", err)
	}
	graph, err := hugotrun.Open(&pairs.Folder, options.Library, pairs.Output)
	if err != nil {
		return nil, fmt.Errorf("hugot: %w", err)
	}
	m := &Model{pairs, graph}
	if _, err := m.pairs.Rerank(context.Background(), graph, "a", []string{"", "a"}); err != nil {
		return nil, errors.Join(fmt.Errorf("hugot: %s: a first run: %w", pairs.Graph, err), m.Close())
	}
	return m, nil
}

// Close gives the model's memory back, after the batch under way. Using the
// model afterwards is an error; closing it twice is not.
func (m *Model) Close() error {
	if err := m.graph.Close(); err != nil {
		return fmt.Errorf("hugot: close: %w", err)
	}
	return nil
}

// Model gives the name of the folder.
func (m *Model) Model() string { return m.pairs.Name }

// Runtime says what computes the scores: "hugot (pure Go)" or "hugot (ONNX
// Runtime)".
func (m *Model) Runtime() string { return m.graph.Runtime() }

// Rerank gives one score per text, from 0 to 1, in their order; NaN to texts
// beyond MaxPairs. Cancelling takes effect between batches.
func (m *Model) Rerank(ctx context.Context, query string, texts []string) ([]float64, error) {
	scores, err := m.pairs.Rerank(ctx, m.graph, query, texts)
	if err != nil {
		return nil, fmt.Errorf("hugot: rerank: %w", err)
	}
	return scores, nil
}
