package enginetest_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/setup"
)

func TestRated(t *testing.T) {
	t.Parallel()
	enginetest.ConformReranker(t, func(*testing.T) setup.Reranker { return enginetest.Rated{} })
	written := enginetest.Rated{Scores: map[string]float64{"a": 0.25, "b": math.NaN()}}
	scores, err := written.Rerank(t.Context(), "Who paints?", []string{"a", "b", "She paints.", "Who? Paints!"})
	if fmt.Sprint(scores) != "[0.25 NaN 0.5 1]" || err != nil {
		t.Errorf("scores %v, error %v", scores, err)
	}
	broken := errors.New("out of order")
	if _, err := (enginetest.Rated{Err: broken}).Rerank(t.Context(), "a", []string{"a"}); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := (enginetest.Rated{Takes: time.Hour}).Rerank(ctx, "a", []string{"a"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v: want context.DeadlineExceeded", err)
	}
}
