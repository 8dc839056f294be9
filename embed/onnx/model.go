// Package onnx embeds texts with a sentence-transformer folder through ONNX
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
	MaxTokens int    // texts are cut to this many tokens, start and end included; 0 means what the folder says
}

// Model is an open model. It may be used by several goroutines.
type Model struct {
	sentence    *wordpiece.SentenceModel
	fingerprint string
	graph       *ort.Graph
}

// Open opens a sentence-transformer folder, see wordpiece.OpenSentenceModel.
// Its graph has the inputs input_ids, attention_mask and perhaps
// token_type_ids. The error says which file or library is missing or can't be
// used.
func Open(dir string, options Options) (*Model, error) {
	if options.Threads < 0 {
		return nil, fmt.Errorf("onnx: Threads is %d: want 0 or more", options.Threads)
	}
	sentence, err := wordpiece.OpenSentenceModel(dir, options.MaxTokens)
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	if err := ort.Load(options.Library); err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	fingerprint, err := sentence.Fingerprint()
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	graph, err := ort.Open(&sentence.Folder, options.Threads, sentence.Output)
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	return &Model{sentence, fingerprint, graph}, nil
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
func (m *Model) Model() string { return m.sentence.Name }

// Dims gives the length of a vector.
func (m *Model) Dims() int { return m.graph.Output().Dims }

// Fingerprint covers graph, tokenizer, pooling and the length texts are cut to.
func (m *Model) Fingerprint() string { return m.fingerprint }

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
		return nil, fmt.Errorf("onnx: embed: %w", err)
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
		return nil, fmt.Errorf("onnx: embed: %w", err)
	}
	vectors := make([][]float32, len(sequences))
	err := m.graph.Run(ctx, sequences, nil, func(i int, values []float32) (err error) {
		vectors[i], err = m.sentence.Vector(values, m.graph.Output())
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("onnx: embed: %w", err)
	}
	return vectors, nil
}
