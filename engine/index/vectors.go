package index

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/setup"
)

// embed makes the vectors of texts in time with the file's model, which is of, or none where nobody brought it; sums are what they are found by in the cache. It must not be called with the
// writer's lock: a model may think for long, and by the time it is done the file may go by another one.
func (ix *Index) embed(ctx context.Context, texts []string) (vectors [][]float32, sums []textSum, of Model, err error) {
	by, of := ix.Embedder()
	if by == nil || len(texts) == 0 {
		return make([][]float32, len(texts)), nil, of, nil
	}
	inTime, cancel := context.WithTimeout(ctx, ix.opts.EmbedDeadline+time.Duration(len(texts)-1)*time.Second/2)
	defer cancel()
	vectors, err = ix.embedWith(inTime, by, texts)
	return vectors, ix.sums(by, texts), of, err
}

// embedWith makes vectors of unit length, and takes as long as the model does. Where only some vectors are unusable the error is an *Unusable, and the others
// are given. What the cache has is not asked for, and of what is there several times, once.
func (ix *Index) embedWith(ctx context.Context, by setup.Embedder, texts []string) ([][]float32, error) {
	sums := ix.sums(by, texts)
	if sums == nil {
		return ask(ctx, by, texts)
	}
	vectors, err := ix.remembered(ctx, by.Dims(), sums)
	if err != nil {
		return nil, err
	}
	var asked []string
	at := map[textSum]int{}
	for i, sum := range sums {
		if _, ok := at[sum]; !ok && vectors[i] == nil {
			at[sum] = len(asked)
			asked = append(asked, texts[i])
		}
	}
	if len(asked) == 0 {
		return vectors, nil
	}
	made, err := ask(ctx, by, asked)
	if made == nil {
		return nil, err
	}
	var bad *Unusable
	errors.As(err, &bad)
	of := map[int]error{}
	for i, sum := range sums {
		if vectors[i] != nil {
			continue
		}
		n := at[sum]
		if vectors[i] = made[n]; bad != nil && bad.Of[n] != nil {
			of[i] = bad.Of[n]
		}
	}
	if bad != nil {
		return vectors, &Unusable{bad.model, of}
	}
	return vectors, nil
}

// ask has a model embed texts, and judges what it gives.
func ask(ctx context.Context, by setup.Embedder, texts []string) ([][]float32, error) {
	vectors, err := by.EmbedTexts(ctx, texts)
	if err != nil {
		return nil, fmt.Errorf("embed with %s: %w", by.Model(), err)
	}
	if len(vectors) != len(texts) {
		return nil, fmt.Errorf("%w: %s gave %d vectors for %d texts", fault.ErrBadVector, by.Model(), len(vectors), len(texts))
	}
	bad := &Unusable{by.Model(), map[int]error{}}
	for i, v := range vectors {
		if vectors[i], err = Unit(v, by.Dims()); err != nil {
			bad.Of[i] = err
		}
	}
	if len(bad.Of) > 0 {
		return vectors, bad
	}
	return vectors, nil
}

// Unusable is what is wrong with vectors that a model gave, by the number of the text.
type Unusable struct {
	model string
	Of    map[int]error
}

func (u *Unusable) Error() string {
	first := slices.Min(slices.Collect(maps.Keys(u.Of)))
	return fmt.Sprintf("embed with %s: text %d: %v", u.model, first, u.Of[first])
}

func (u *Unusable) Unwrap() error { return fault.ErrBadVector }

// Unit checks a vector and gives it the length one.
func Unit(v []float32, dims int) ([]float32, error) {
	if len(v) != dims {
		return nil, fmt.Errorf("%w: %d dimensions; allowed: %d", fault.ErrBadVector, len(v), dims)
	}
	var sum float64
	for i, x := range v {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return nil, fmt.Errorf("%w: value %d is %v; allowed: finite numbers", fault.ErrBadVector, i, x)
		}
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		return nil, fmt.Errorf("%w: all %d values are 0; allowed: a direction", fault.ErrBadVector, dims)
	}
	if math.Abs(sum-1) < 1e-6 {
		return v, nil
	}
	scaled := make([]float32, len(v))
	for i, x := range v {
		scaled[i] = float32(float64(x) / math.Sqrt(sum))
	}
	return scaled, nil
}

// made are vectors that are written, by the models that made them.
type made map[Model][]embedded

// add adds the vector of a document, 0, or of one of its passages, from 1, where it has one.
func (v made) add(d *Document, n int, number int32, vector []float32) {
	if vector != nil {
		v[d.of] = append(v[d.of], embedded{number, d.sum(n), vector})
	}
}

// insertVectors writes the passages of documents, and the vectors of both that have one, each into the table of the model that made it: since then the file may
// go by another. Vectors of a model that was dropped meanwhile are left out.
func (ix *Index) insertVectors(ctx context.Context, tx *duck.Write, docs []*Document) error {
	vectors, err := ix.insertPassages(ctx, tx, docs)
	if err != nil {
		return err
	}
	for _, d := range docs {
		if !d.Retired {
			vectors.add(d, 0, d.No, d.Vector)
		}
	}
	for _, m := range ix.All() {
		rows := make([][]driver.Value, len(vectors[m]))
		for i, e := range vectors[m] {
			rows[i] = []driver.Value{e.number, e.vector}
		}
		if err := tx.AppendRows(m.Table(), rows); err != nil {
			return err
		}
		if err := ix.remember(ctx, tx, m.fingerprint, vectors[m], false); err != nil {
			return err
		}
	}
	return nil
}

// EmbeddingFailed says whether a write goes on without a vector: a model that is down must not lose a memory, one that gives
// rubbish must not go unnoticed, and a caller that gave up gets its own error.
func EmbeddingFailed(ctx context.Context, err error) (goOn bool) {
	return err != nil && ctx.Err() == nil && !errors.Is(err, fault.ErrBadVector)
}
