// Package static embeds text by adding up a vector per token: no model is run
// and nothing is needed, since a table distilled from all-MiniLM-L6-v2 is part
// of the program. It keeps most of that model's quality for retrieval at a
// few hundred times its speed.
package static

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"os"
	"sync"

	"github.com/mallardmem/mallard/embed/wordpiece"
)

//go:embed static-minilm-256.table
var builtin string

// parseBuiltin parses the table of this program once.
var parseBuiltin = sync.OnceValues(func() (*Model, error) { return parse(builtin) })

// Model embeds with one table. It may be shared: what it says never changes.
type Model struct {
	name        string
	dims        int
	fingerprint string
	tokenizer   *wordpiece.Tokenizer
	rows        string // tokens × dims int8, a part of the file
	scales      []float32
	fallback    []float32       // the unit vector of a text without a known token
	lexicon     func() *lexicon // made when first asked for; see Related
}

// New gives the built-in model, static-minilm-256. It can't fail: the table
// is part of the program, and a test reads it.
func New() *Model {
	m, err := parseBuiltin()
	if err != nil {
		panic("static: the built-in table: " + err.Error())
	}
	return m
}

// Open reads another table, made by `memctl model distill`. It fails when the
// file is missing, cut short, damaged, or of another version.
func Open(path string) (*Model, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("static: %w", err)
	}
	m, err := parse(string(content))
	if err != nil {
		return nil, fmt.Errorf("static: %s: %w", path, err)
	}
	return m, nil
}

// Model gives the name that stands in the table.
func (m *Model) Model() string { return m.name }

// Dims gives the length of a vector.
func (m *Model) Dims() int { return m.dims }

// Instant says that no vector need be kept: making one takes microseconds.
func (m *Model) Instant() bool { return true }

// Fingerprint is a hash of vocabulary, settings and scales, and of the rows by
// their checksum, so that it takes no second pass over megabytes.
func (m *Model) Fingerprint() string { return m.fingerprint }

// Chance gives the cosine that a text which has nothing to do with a question
// of these words seldom reaches; see wordpiece.Tokenizer.
func (m *Model) Chance(words []string) float64 { return m.tokenizer.Chance(m.name, words) }

// EmbedTexts gives one unit vector per text, in order: the sum of its tokens'
// rows. Texts of any length are taken whole. A text without a known token,
// the empty one for instance, gets the vector of the unknown token.
func (m *Model) EmbedTexts(ctx context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	values := make([]float32, len(texts)*m.dims)
	var e wordpiece.Encoding
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("static: embed: %w", err)
		}
		m.tokenizer.Tokenize(&e, text, 0)
		vectors[i] = values[i*m.dims : (i+1)*m.dims : (i+1)*m.dims]
		m.sum(vectors[i], &e, nil)
		m.normalise(vectors[i])
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("static: embed: %w", err)
	}
	return vectors, nil
}

// EmbedQuery gives the unit vector of a query in which each token counts as
// much as the square root of what weight says of its word, cut to 0 to 1 (the
// root, because the table itself weighs rare tokens more already), and
// punctuation as much as the lightest word that counts at all. A query whose words all weigh nothing,
// and a nil weight, give the plain vector.
func (m *Model) EmbedQuery(ctx context.Context, text string, weight func(word string) float64) ([]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("static: embed: %w", err)
	}
	var e wordpiece.Encoding
	m.tokenizer.Tokenize(&e, text, 0)
	vector := make([]float32, m.dims)
	m.sum(vector, &e, wordWeights(&e, weight))
	m.normalise(vector)
	return vector, nil
}

// wordWeights gives a weight per word of e, or nil for a plain sum.
func wordWeights(e *wordpiece.Encoding, weight func(word string) float64) []float32 {
	if weight == nil {
		return nil
	}
	const unasked = -1
	weights := make([]float32, e.WordCount())
	least := float32(0) // of the words that weigh anything
	for i := range weights {
		term := e.Term(int32(i))
		if len(term) == 0 {
			weights[i] = unasked
			continue
		}
		w := weight(string(term))
		if !(w > 0) { // NaN too
			continue
		}
		weights[i] = float32(math.Sqrt(min(w, 1)))
		if least == 0 || weights[i] < least {
			least = weights[i]
		}
	}
	if least == 0 {
		return nil
	}
	for i, w := range weights {
		if w == unasked {
			weights[i] = least
		}
	}
	return weights
}

// sum adds up the rows of known tokens, each times the weight of its word.
func (m *Model) sum(vector []float32, e *wordpiece.Encoding, weights []float32) {
	unknown := m.tokenizer.Unknown()
	for i, id := range e.IDs {
		if id == unknown {
			continue
		}
		scale := m.scales[id]
		if weights != nil {
			scale *= weights[e.Words[i]]
		}
		if scale != 0 {
			m.addRow(vector, id, scale)
		}
	}
}

func (m *Model) addRow(vector []float32, id int32, scale float32) {
	row := m.rows[int(id)*m.dims:][:len(vector)]
	for j := range vector {
		vector[j] += scale * float32(int8(row[j]))
	}
}

// normalise gives a sum length 1, in place; a sum of nothing becomes the fallback.
func (m *Model) normalise(vector []float32) {
	if !unit(vector) {
		copy(vector, m.fallback)
	}
}

func (m *Model) findFallback() error {
	m.fallback = make([]float32, m.dims)
	m.addRow(m.fallback, m.tokenizer.Unknown(), m.scales[m.tokenizer.Unknown()])
	if !unit(m.fallback) {
		return errors.New("the row of the unknown token is zero: texts without known tokens need it")
	}
	return nil
}

func unit(vector []float32) bool {
	var sum float64
	for _, v := range vector {
		sum += float64(v) * float64(v)
	}
	if sum < 1e-12 || math.IsInf(sum, 0) {
		return false
	}
	scale := float32(1 / math.Sqrt(sum))
	for i := range vector {
		vector[i] *= scale
	}
	return true
}
