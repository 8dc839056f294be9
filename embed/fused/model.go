// Package fused makes one embedding model of two: its vectors are theirs, one behind the other, each times the root of its share. The cosine of two such
// vectors is the mean of the cosines that the two models give, weighted by the shares; so whatever compares vectors goes by both, with no idea of it.
//
// Nothing of it is Mallard's engine, which takes a Model as it takes any other: it has a fingerprint of its own, and a file has to be embedded with it.
package fused

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
)

// Part is one of the two models, with the methods of setup.Embedder.
type Part interface {
	Model() string
	Dims() int
	Fingerprint() string
	EmbedTexts(ctx context.Context, texts []string) ([][]float32, error)
	EmbedQuery(ctx context.Context, text string, weight func(word string) float64) ([]float32, error)
}

// Options of New. The zero value is both alike.
type Options struct {
	// Share is what the second model's cosine counts, above 0 and below 1; the first one's counts the rest. Another share is another model: its vectors differ.
	// Default 0.5.
	Share float64
}

// Model is two models as one. It is safe for concurrent use if both are.
type Model struct {
	parts  [2]Part
	shares [2]float64
}

// New joins two models, which it closes with itself. Errors: a share out of its range, or the same model twice.
func New(first, second Part, o Options) (*Model, error) {
	if o.Share == 0 {
		o.Share = 0.5
	}
	if !(o.Share > 0 && o.Share < 1) {
		return nil, fmt.Errorf("fused: Share is %v; allowed: above 0 and below 1", o.Share)
	}
	if first.Fingerprint() == second.Fingerprint() {
		return nil, fmt.Errorf("fused: both models are %s; allowed: two that differ", first.Model())
	}
	return &Model{[2]Part{first, second}, [2]float64{1 - o.Share, o.Share}}, nil
}

// Close closes both models, where they can be.
func (m *Model) Close() error {
	var errs []error
	for _, p := range m.parts {
		if c, ok := p.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}

// Model names both, with the share of the second where it is not the half.
func (m *Model) Model() string {
	name := m.parts[0].Model() + " and " + m.parts[1].Model()
	if m.shares[1] != 0.5 {
		name += fmt.Sprintf(" (%v)", m.shares[1])
	}
	return "fused " + name
}

// Dims is the sum of theirs.
func (m *Model) Dims() int { return m.parts[0].Dims() + m.parts[1].Dims() }

// Fingerprint changes with either of theirs, their order and the share.
func (m *Model) Fingerprint() string {
	return fmt.Sprintf("fused/1 %v %q %q", m.shares[1], m.parts[0].Fingerprint(), m.parts[1].Fingerprint())
}

// EmbedTexts gives one vector of unit length per text, in their order. One for which either model gives no direction is nil.
func (m *Model) EmbedTexts(ctx context.Context, texts []string) ([][]float32, error) {
	var vectors [2][][]float32
	for i, p := range m.parts {
		var err error
		if vectors[i], err = p.EmbedTexts(ctx, texts); err != nil {
			return nil, fmt.Errorf("%s: %w", p.Model(), err)
		}
		if len(vectors[i]) != len(texts) {
			return nil, fmt.Errorf("%s gave %d vectors for %d texts", p.Model(), len(vectors[i]), len(texts))
		}
	}
	joined := make([][]float32, len(texts))
	for i := range texts {
		joined[i] = m.join(vectors[0][i], vectors[1][i])
	}
	return joined, nil
}

// EmbedQuery embeds a question with both; weight is asked by either as it does alone.
func (m *Model) EmbedQuery(ctx context.Context, text string, weight func(word string) float64) ([]float32, error) {
	var vectors [2][]float32
	for i, p := range m.parts {
		var err error
		if vectors[i], err = p.EmbedQuery(ctx, text, weight); err != nil {
			return nil, fmt.Errorf("%s: %w", p.Model(), err)
		}
	}
	return m.join(vectors[0], vectors[1]), nil
}

// join puts two vectors one behind the other, so that the whole has the length one; nil where one of them has not the dimensions of its model, or no direction.
func (m *Model) join(parts ...[]float32) []float32 {
	joined := make([]float32, 0, m.Dims())
	for i, v := range parts {
		var sum float64
		for _, x := range v {
			sum += float64(x) * float64(x)
		}
		if len(v) != m.parts[i].Dims() || !(sum > 0) || math.IsInf(sum, 0) {
			return nil
		}
		scale := math.Sqrt(m.shares[i] / sum)
		for _, x := range v {
			joined = append(joined, float32(float64(x)*scale))
		}
	}
	return joined
}

// Instant reports whether both models say of themselves that a vector is made sooner than it is found again.
func (m *Model) Instant() bool {
	for _, p := range m.parts {
		if quick, ok := p.(interface{ Instant() bool }); !ok || !quick.Instant() {
			return false
		}
	}
	return true
}

// Remote reports whether a server is asked for either.
func (m *Model) Remote() bool {
	for _, p := range m.parts {
		if asks, ok := p.(interface{ Remote() bool }); ok && asks.Remote() {
			return true
		}
	}
	return false
}

// Chance is the mean of both models' cosines that a text which has nothing to do with a question seldom reaches, by their shares; 0 where either does not know
// its own. words are those of the question that say something.
func (m *Model) Chance(words []string) (chance float64) {
	for i, p := range m.parts {
		known, ok := p.(interface{ Chance(words []string) float64 })
		if !ok {
			return 0
		}
		of := known.Chance(words)
		if of == 0 {
			return 0
		}
		chance += m.shares[i] * of
	}
	return chance
}

// Related gives the words that the first of the models which has some gives.
func (m *Model) Related(word string) (words []string, cosines []float32) {
	for _, p := range m.parts {
		if known, ok := p.(interface {
			Related(word string) (words []string, cosines []float32)
		}); ok {
			return known.Related(word)
		}
	}
	return nil, nil
}
