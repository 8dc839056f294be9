// Package distill makes a static table, a vector per token, out of a sentence
// model: the sum of a text's token vectors comes to point where the model's
// own vector points.
//
// The start is the way of Model2Vec: each token of the vocabulary through the
// model, reduced by principal components, weighted by its rarity. Ridge
// regression then moves the rows towards the model's vectors of example
// sentences, and a few passes of gradient descent raise the cosine itself. It
// takes minutes on two cores, and for all-MiniLM-L6-v2 closes nearly all of
// the gap that the start leaves in retrieval.
package distill

import (
	"context"
	"errors"
	"fmt"

	"github.com/mallardmem/mallard/embed/static"
	"github.com/mallardmem/mallard/embed/wordpiece"
)

const (
	defaultDims = 256
	minTexts    = 100  // fewer can't be more than noise
	chunk       = 1024 // sequences embedded between two reports of progress
)

// Encoder is the sentence model to learn from.
type Encoder interface {
	// EmbedIDs gives one unit vector per sequence of token ids.
	EmbedIDs(ctx context.Context, sequences [][]int32) ([][]float32, error)
}

// Config says what to distil. Encoder, Tokenizer, Name and Texts are required.
type Config struct {
	Encoder   Encoder
	Tokenizer *wordpiece.Tokenizer // the encoder's own
	Name      string               // of the table, such as "static-minilm-256"
	Dims      int                  // 0 means 256; at most the encoder's
	Texts     []string             // example sentences, see Read
	MaxTokens int                  // texts are cut to this many; 0 means 128
	Seed      uint64               // orders the texts during descent
	Progress  func(stage string, done, total int)
}

func (c Config) withDefaults() Config {
	if c.Dims == 0 {
		c.Dims = defaultDims
	}
	if c.MaxTokens == 0 {
		c.MaxTokens = 128
	}
	if c.Progress == nil {
		c.Progress = func(string, int, int) {}
	}
	return c
}

func (c Config) validate() error {
	var problems []error
	bad := func(format string, values ...any) { problems = append(problems, fmt.Errorf(format, values...)) }
	if c.Encoder == nil {
		bad("Encoder is missing")
	}
	if c.Tokenizer == nil {
		bad("Tokenizer is missing")
	}
	if c.Name == "" {
		bad("Name is empty")
	}
	if c.Dims < 1 {
		bad("Dims is %d: want 1 or more, or 0 for %d", c.Dims, defaultDims)
	}
	if c.MaxTokens < 3 {
		bad("MaxTokens is %d: want 3 or more, or 0 for 128", c.MaxTokens)
	}
	if len(c.Texts) < minTexts {
		bad("Texts has %d sentences: want %d or more", len(c.Texts), minTexts)
	}
	return errors.Join(problems...)
}

// Run distils a table. The same configuration gives the same table on the
// same machine. Stages reported are "tokens", "sentences", "regression" and
// "descent"; cancelling takes effect within each of them.
func Run(ctx context.Context, config Config) (static.Table, error) {
	c := config.withDefaults()
	if err := c.validate(); err != nil {
		return static.Table{}, fmt.Errorf("distill: %w", err)
	}
	tokens, err := c.embed(ctx, "tokens", c.tokenSequences())
	if err != nil {
		return static.Table{}, err
	}
	if c.Dims > tokens.cols {
		return static.Table{}, fmt.Errorf("distill: Dims is %d: want at most the encoder's %d", c.Dims, tokens.cols)
	}
	sentences, err := c.embed(ctx, "sentences", c.textSequences())
	if err != nil {
		return static.Table{}, err
	}
	axes, err := principalAxes(tokens, c.Dims)
	if err != nil {
		return static.Table{}, fmt.Errorf("distill: %w", err)
	}
	texts := c.bagTexts()
	rows := axes.project(tokens)
	centre(rows) // what all tokens share says nothing of a text
	weigh(rows, texts)
	level(rows, texts)
	targets := axes.project(sentences) // not centred: their cosines are to be learnt as they are
	if err := c.regress(ctx, rows, texts, targets); err != nil {
		return static.Table{}, err
	}
	if err := c.descend(ctx, rows, texts, targets); err != nil {
		return static.Table{}, err
	}
	table := static.Table{Name: c.Name, Tokenizer: c.Tokenizer, Rows: make([][]float32, rows.rows)}
	for i := range table.Rows {
		table.Rows[i] = rows.row(i)
	}
	return table, nil
}

// tokenSequences gives each token of the vocabulary as a text of its own.
func (c Config) tokenSequences() [][]int32 {
	sequences := make([][]int32, len(c.Tokenizer.Vocab()))
	for i := range sequences {
		sequences[i] = []int32{c.Tokenizer.Start(), int32(i), c.Tokenizer.End()}
	}
	return sequences
}

func (c Config) textSequences() [][]int32 {
	sequences := make([][]int32, len(c.Texts))
	var e wordpiece.Encoding
	for i, text := range c.Texts {
		c.Tokenizer.Encode(&e, text, c.MaxTokens)
		sequences[i] = append([]int32(nil), e.IDs...)
	}
	return sequences
}

func (c Config) embed(ctx context.Context, stage string, sequences [][]int32) (matrix, error) {
	var all matrix
	for done := 0; done < len(sequences); {
		c.Progress(stage, done, len(sequences))
		n := min(chunk, len(sequences)-done)
		vectors, err := c.Encoder.EmbedIDs(ctx, sequences[done:done+n])
		if err != nil {
			return matrix{}, fmt.Errorf("distill: %s: %w", stage, err)
		}
		if len(vectors) != n {
			return matrix{}, fmt.Errorf("distill: %s: the encoder gave %d vectors for %d sequences", stage, len(vectors), n)
		}
		if all.data == nil {
			all = newMatrix(len(sequences), len(vectors[0]))
		}
		for i, vector := range vectors {
			if len(vector) != all.cols {
				return matrix{}, fmt.Errorf("distill: %s: the encoder gave %d dimensions, then %d", stage, all.cols, len(vector))
			}
			copy(all.row(done+i), vector)
		}
		done += n
	}
	c.Progress(stage, len(sequences), len(sequences))
	return all, nil
}

// bagTexts counts the tokens of each text. The unknown token is left out, as
// it is when the table is used.
func (c Config) bagTexts() *bags {
	b := &bags{cols: len(c.Tokenizer.Vocab()), starts: []int{0}}
	var e wordpiece.Encoding
	for _, text := range c.Texts {
		c.Tokenizer.Tokenize(&e, text, c.MaxTokens-2)
		for _, id := range e.IDs {
			if id != c.Tokenizer.Unknown() {
				b.tokens = append(b.tokens, id)
				b.shares = append(b.shares, 1)
			}
		}
		b.starts = append(b.starts, len(b.tokens))
	}
	return b
}
