// Package onnx embeds texts with a sentence-transformer folder through ONNX
// Runtime, a native library found when the first model is opened.
package onnx

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/mallardmem/mallard/embed/wordpiece"
)

// rareEnough is the weight below which EmbedQuery leaves a word out.
const rareEnough = 0.2

// Options tune a model; the zero value works.
type Options struct {
	Library   string // ONNX Runtime's library, see Load; "" means wherever it is found
	Threads   int    // for one call; 0 means as many as the library thinks best
	MaxTokens int    // texts are cut to this many tokens, start and end included; 0 means what the folder says, see Open
}

// Model is an open model. It may be used by several goroutines.
type Model struct {
	folder      folder
	fingerprint string
	dims        int

	mu    sync.RWMutex // held for reading while the graph runs, for writing by Close
	graph *graph       // nil once closed
}

// Open opens a folder in the layout of sentence-transformers:
//
//   - model.onnx or onnx/model.onnx, with inputs input_ids, attention_mask and
//     perhaps token_type_ids;
//   - tokenizer.json or vocab.txt, see wordpiece.Open;
//   - 1_Pooling/config.json: mean, cls or max; mean when absent;
//   - sentence_bert_config.json with max_seq_length; 256 when absent, and
//     never more than max_position_embeddings of config.json.
//
// The error says which file or library is missing or can't be used.
func Open(dir string, options Options) (*Model, error) {
	if options.Threads < 0 {
		return nil, fmt.Errorf("onnx: Threads is %d: want 0 or more", options.Threads)
	}
	if options.MaxTokens < 0 || options.MaxTokens == 1 || options.MaxTokens == 2 {
		return nil, fmt.Errorf("onnx: MaxTokens is %d: want 0 or at least 3", options.MaxTokens)
	}
	f, err := readFolder(dir, options.MaxTokens)
	if err != nil {
		return nil, err
	}
	if err := Load(options.Library); err != nil {
		return nil, err
	}
	fingerprint, err := f.fingerprint()
	if err != nil {
		return nil, err
	}
	g, err := openGraph(f.graph, options.Threads)
	if err != nil {
		return nil, err
	}
	return &Model{folder: f, fingerprint: fingerprint, dims: g.dims, graph: g}, nil
}

// Close gives the model's memory back, after the calls under way. Using the
// model afterwards is an error; closing it twice is not.
func (m *Model) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.graph == nil {
		return nil
	}
	err := m.graph.session.Destroy()
	m.graph = nil
	if err != nil {
		return fmt.Errorf("onnx: close: %w", err)
	}
	return nil
}

// Model gives the name of the folder.
func (m *Model) Model() string { return m.folder.name }

// Dims gives the length of a vector.
func (m *Model) Dims() int { return m.dims }

// Fingerprint covers graph, tokenizer, pooling and the length texts are cut to.
func (m *Model) Fingerprint() string { return m.fingerprint }

// Tokenizer gives the tokenizer of the folder.
func (m *Model) Tokenizer() *wordpiece.Tokenizer { return m.folder.tokenizer }

// EmbedTexts gives one unit vector per text, in order. Texts are cut to the
// model's length. Cancelling takes effect between batches.
func (m *Model) EmbedTexts(ctx context.Context, texts []string) ([][]float32, error) {
	sequences := make([][]int32, len(texts))
	var e wordpiece.Encoding
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("onnx: embed: %w", err)
		}
		m.folder.tokenizer.Encode(&e, text, m.folder.maxTokens)
		sequences[i] = slices.Clone(e.IDs)
	}
	return m.EmbedIDs(ctx, sequences)
}

// EmbedQuery gives the unit vector of a query without the words whose weight
// is below 0.2, or of the whole query when no other word is left. A nil
// weight leaves nothing out.
func (m *Model) EmbedQuery(ctx context.Context, text string, weight func(word string) float64) ([]float32, error) {
	var e wordpiece.Encoding
	m.folder.tokenizer.Encode(&e, text, m.folder.maxTokens)
	ids := e.IDs
	if weight != nil {
		ids = rareOnly(&e, weight)
	}
	vectors, err := m.EmbedIDs(ctx, [][]int32{ids})
	if err != nil {
		return nil, err
	}
	return vectors[0], nil
}

// rareOnly gives the ids without those of common words. Punctuation has no
// weight and stays.
func rareOnly(e *wordpiece.Encoding, weight func(word string) float64) []int32 {
	drop := make([]bool, e.WordCount())
	left := false
	for i := range drop {
		if term := e.Term(int32(i)); len(term) > 0 {
			drop[i] = weight(string(term)) < rareEnough
			left = left || !drop[i]
		}
	}
	if !left {
		return e.IDs
	}
	var ids []int32
	for i, id := range e.IDs {
		if word := e.Words[i]; word < 0 || !drop[word] {
			ids = append(ids, id)
		}
	}
	return ids
}

// EmbedIDs gives one unit vector per sequence of token ids, start and end
// tokens included as the caller wants them. A sequence must have 1 to the
// model's length of ids, each of them in the vocabulary.
func (m *Model) EmbedIDs(ctx context.Context, sequences [][]int32) ([][]float32, error) {
	vocab := int32(len(m.folder.tokenizer.Vocab()))
	for i, ids := range sequences {
		if len(ids) < 1 || len(ids) > m.folder.maxTokens {
			return nil, fmt.Errorf("onnx: embed: sequence %d has %d tokens: want 1 to %d", i, len(ids), m.folder.maxTokens)
		}
		for _, id := range ids {
			if id < 0 || id >= vocab {
				return nil, fmt.Errorf("onnx: embed: sequence %d has the id %d: want 0 to %d", i, id, vocab-1)
			}
		}
	}
	vectors := make([][]float32, len(sequences))
	for _, batch := range batches(sequences) {
		if err := m.embedBatch(ctx, sequences, batch, vectors); err != nil {
			return nil, fmt.Errorf("onnx: embed: %w", err)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("onnx: embed: %w", err)
	}
	return vectors, nil
}

var errClosed = errors.New("the model is closed")

func (m *Model) embedBatch(ctx context.Context, sequences [][]int32, batch []int, vectors [][]float32) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.graph == nil {
		return errClosed
	}
	width := len(sequences[batch[0]])
	ids, mask := layOut(sequences, batch, width, m.folder.padding)
	values, err := m.graph.run(ids, mask, len(batch), width)
	if err != nil {
		return err
	}
	for row, i := range batch {
		if m.graph.pooled {
			vectors[i] = slices.Clone(values[row*m.dims : (row+1)*m.dims])
		} else {
			tokens := values[row*width*m.dims:][:len(sequences[i])*m.dims]
			vectors[i] = m.folder.pooling.pool(tokens, m.dims)
		}
		if err := normalise(vectors[i]); err != nil {
			return err
		}
	}
	return nil
}
