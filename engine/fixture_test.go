package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/interchange"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
)

// noon is what the clock of an enginetest file shows.
var noon = time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC)

// movingClock is a time that the test moves.
type movingClock struct{ at time.Time }

// alone is for a test in which nothing runs beside anything, and which takes its time: it may run beside others, and is left out with -short,
// as under the race detector, which has nothing to find in it.
func alone(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("short: nothing in it runs beside anything")
	}
	t.Parallel()
}

func (c *movingClock) now() time.Time          { return c.at }
func (c *movingClock) advance(d time.Duration) { c.at = c.at.Add(d) }

// countedIDs gives the ids mem_000001, conv_000002 and so on, so that a test can write them down.
func countedIDs() func(prefix string, at time.Time) string {
	n := 0
	return func(prefix string, _ time.Time) string {
		n++
		return fmt.Sprintf("%s%06d", prefix, n)
	}
}

// plotted is a model whose vectors the test writes down; a text without one has the last axis, and one with nil fails.
type plotted struct {
	dims    int
	vectors map[string][]float32
	err     error // of questions
}

func (s plotted) Model() string       { return "plotted" }
func (s plotted) Dims() int           { return s.dims }
func (s plotted) Fingerprint() string { return fmt.Sprintf("plotted/%d", s.dims) }

func (s plotted) EmbedTexts(_ context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		if vectors[i] = s.vector(text); vectors[i] == nil {
			return nil, errors.New("no vector for " + text)
		}
	}
	return vectors, nil
}

func (s plotted) EmbedQuery(_ context.Context, text string, _ func(string) float64) ([]float32, error) {
	return s.vector(text), s.err
}

func (s plotted) vector(text string) []float32 {
	if v, ok := s.vectors[text]; ok {
		return v
	}
	axis := make([]float32, s.dims)
	axis[s.dims-1] = 1
	return axis
}

// stored remembers one memory and gives it as the file has it.
func stored(t testing.TB, e *engine.Engine, r memory.RememberRequest) *memory.Memory {
	t.Helper()
	result, err := e.Remember(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return gotten(t, e, result.ID)
}

// gotten reads one memory.
func gotten(t testing.TB, e *engine.Engine, id string) *memory.Memory {
	t.Helper()
	m, err := e.Get(t.Context(), memory.GetRequest{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// fromLine imports one line and gives the memory that it made.
func fromLine(t testing.TB, e *engine.Engine, line string) *memory.Memory {
	t.Helper()
	result, err := e.Import(t.Context(), strings.NewReader(line), interchange.ImportRequest{})
	if err != nil || result.Created != 1 {
		t.Fatalf("import %s: %+v, %v", line, result, err)
	}
	all, err := e.List(t.Context(), memory.ListRequest{Standing: "any", Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(all, func(a, b *memory.Memory) int { return strings.Compare(b.ID, a.ID) })
	return all[0]
}

// recalled asks a question and gives the ids of the hits in their order.
func recalled(t testing.TB, e *engine.Engine, q recall.Query) []string {
	t.Helper()
	result, err := e.Recall(t.Context(), q)
	if err != nil {
		t.Fatalf("recall %q: %v", q.Text, err)
	}
	return hitIDs(result)
}

func hitIDs(result *recall.Result) []string {
	ids := []string{}
	for _, h := range result.Hits {
		ids = append(ids, h.ID)
	}
	return ids
}

// memoryTexts gives the texts of memories in their order.
func memoryTexts(all []*memory.Memory) []string {
	texts := []string{}
	for _, m := range all {
		texts = append(texts, m.Text)
	}
	return texts
}

func pointer[T any](v T) *T { return &v }
