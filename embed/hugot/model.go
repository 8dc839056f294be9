// Package hugot embeds texts with a sentence-transformer folder through hugot:
// in pure Go, with no native library, at about 2 ms per token of MiniLM on two
// cores where texts come together and 6 where one comes alone. Programs built
// with the tag ORT use hugot's ONNX Runtime backend where the library is found.
//
// Of hugot only what runs the graph is used. Texts become ids in wordpiece,
// since hugot's own tokenizers give other ids, panic, or end the process.
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
	Library   string // ONNX Runtime's library file, an error without the tag ORT; "" means with the tag MEMCTL_ORT, and pure Go where none is found
	MaxTokens int    // texts are cut to this many tokens, start and end included; 0 means what the folder says
}

// Model is an open model. It may be used by several goroutines, whose batches
// run one after the other: each of them takes all cores.
type Model struct {
	sentence    *wordpiece.SentenceModel
	fingerprint string
	graph       *hugotrun.Graph
}

// Open opens a sentence-transformer folder, see wordpiece.OpenSentenceModel,
// and runs its graph once. The graph has the inputs input_ids, attention_mask
// and perhaps token_type_ids; its weights are float32. The error says which
// file is missing or can't be used.
func Open(dir string, options Options) (*Model, error) {
	sentence, err := wordpiece.OpenSentenceModel(dir, options.MaxTokens)
	if err != nil {
		return nil, fmt.Errorf("hugot: %w", err)
	}
	fingerprint, err := sentence.Fingerprint()
	if err != nil {
		return nil, fmt.Errorf("hugot: %w", err)
	}
	graph, err := hugotrun.Open(&sentence.Folder, options.Library, sentence.Output)
	if err != nil {
		return nil, fmt.Errorf("hugot: %w", err)
	}
	m := &Model{sentence, fingerprint, graph}
	start, end := sentence.Tokenizer.Start(), sentence.Tokenizer.End()
	if _, err := m.EmbedIDs(context.Background(), [][]int32{{start, end}, {start, start, end}}); err != nil {
		return nil, errors.Join(fmt.Errorf("hugot: %s: a first run: %w", sentence.Graph, err), m.Close())
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
func (m *Model) Model() string { return m.sentence.Name }

// Dims gives the length of a vector.
func (m *Model) Dims() int { return m.graph.Output().Dims }

// Fingerprint covers graph, tokenizer, pooling and the length texts are cut
// to. It is that of package onnx for the same folder: their vectors agree.
func (m *Model) Fingerprint() string { return m.fingerprint }

// Runtime says what computes the vectors: "hugot (pure Go)" or "hugot (ONNX
// Runtime)".
func (m *Model) Runtime() string { return m.graph.Runtime() }

// Tokenizer gives the tokenizer of the folder.
func (m *Model) Tokenizer() *wordpiece.Tokenizer { return m.sentence.Tokenizer }

// Chance gives the cosine that a text which has nothing to do with a question
// of these words seldom reaches; see wordpiece.Tokenizer.
func (m *Model) Chance(words []string) float64 {
	return m.sentence.Tokenizer.Chance(m.sentence.Name, words)
}

// EmbedTexts gives one unit vector per text, in order. Texts are cut to the
// model's length. Cancelling takes effect between batches.
func (m *Model) EmbedTexts(ctx context.Context, texts []string) ([][]float32, error) {
	sequences, err := m.sentence.Encode(ctx, texts)
	if err != nil {
		return nil, fmt.Errorf("hugot: embed: %w", err)
	}
	return m.EmbedIDs(ctx, sequences)
}

// EmbedQuery gives the unit vector of a query without the words whose weight
// is below 0.2, or of the whole query when no other word is left. A nil
// weight leaves nothing out.
func (m *Model) EmbedQuery(ctx context.Context, text string, weight func(word string) float64) ([]float32, error) {
	vectors, err := m.EmbedIDs(ctx, [][]int32{m.sentence.EncodeQuery(text, weight)})
	if err != nil {
		return nil, err
	}
	return vectors[0], nil
}

// EmbedIDs gives one unit vector per sequence of token ids, start and end
// tokens included as the caller wants them. A sequence must have 1 to the
// model's length of ids, each of them in the vocabulary.
func (m *Model) EmbedIDs(ctx context.Context, sequences [][]int32) ([][]float32, error) {
	if err := m.sentence.CheckIDs(sequences); err != nil {
		return nil, fmt.Errorf("hugot: embed: %w", err)
	}
	vectors := make([][]float32, len(sequences))
	err := m.graph.Run(ctx, sequences, nil, func(i int, values []float32) (err error) {
		vectors[i], err = m.sentence.Vector(values, m.graph.Output())
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("hugot: embed: %w", err)
	}
	return vectors, nil
}
