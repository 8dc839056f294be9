package enginetest

import (
	"context"
	"errors"
	"fmt"
)

// Plotted is a model whose vectors the test writes down; a text without one has the last axis, and one with nil fails.
type Plotted struct {
	N       int // dimensions
	Vectors map[string][]float32
	Err     error // of questions
}

// Model is its name.
func (s Plotted) Model() string { return "plotted" }

// Dims is the length of its vectors.
func (s Plotted) Dims() int { return s.N }

// Fingerprint tells those of different dimensions apart.
func (s Plotted) Fingerprint() string { return fmt.Sprintf("plotted/%d", s.N) }

// Instant says that nothing it says need be kept.
func (s Plotted) Instant() bool { return true }

// EmbedTexts gives the vectors that were written down.
func (s Plotted) EmbedTexts(_ context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		if vectors[i] = s.vector(text); vectors[i] == nil {
			return nil, errors.New("no vector for " + text)
		}
	}
	return vectors, nil
}

// EmbedQuery gives the vector that was written down, or Err.
func (s Plotted) EmbedQuery(_ context.Context, text string, _ func(string) float64) ([]float32, error) {
	return s.vector(text), s.Err
}

func (s Plotted) vector(text string) []float32 {
	if v, ok := s.Vectors[text]; ok {
		return v
	}
	axis := make([]float32, s.N)
	axis[s.N-1] = 1
	return axis
}

// Scripted is a model whose answers a test chooses; without a script it answers as Words does. A test may set the scripts while
// nothing else uses the engine.
type Scripted struct {
	Words
	Texts func(ctx context.Context, texts []string) ([][]float32, error)
	Query func(ctx context.Context, text string) ([]float32, error)
}

// EmbedTexts answers as the test wrote.
func (s *Scripted) EmbedTexts(ctx context.Context, texts []string) ([][]float32, error) {
	if s.Texts != nil {
		return s.Texts(ctx, texts)
	}
	return s.Words.EmbedTexts(ctx, texts)
}

// EmbedQuery answers as the test wrote.
func (s *Scripted) EmbedQuery(ctx context.Context, text string, weight func(string) float64) ([]float32, error) {
	if s.Query != nil {
		return s.Query(ctx, text)
	}
	return s.Words.EmbedQuery(ctx, text, weight)
}
