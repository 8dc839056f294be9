package index

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	sqlfiles "github.com/mallardmem/mallard/sql"
)

// Model is an embedding model as the file knows it; its vectors are in the table vectors_<n>.
type Model struct {
	N           int
	Name        string
	Dims        int
	fingerprint string
}

func (m Model) Table() string { return "vectors_" + strconv.Itoa(m.N) }

func (m Model) String() string { return fmt.Sprintf("%s (%d dimensions)", m.Name, m.Dims) }

// adoptModel compares the file's model with the one in the options; a file without one takes it.
func (ix *Index) adoptModel(ctx context.Context) error {
	var err error
	if ix.Chosen, ix.next, err = ModelsOf(ctx, ix.file.Conn); err != nil || ix.opts.Embedder == nil {
		return err
	}
	wanted := ix.offered()
	switch {
	case ix.Chosen.N == 0 && ix.opts.ReadOnly:
		return nil
	case ix.Chosen.N == 0:
		if err := ix.file.Prepare(ctx, func(tx *duck.Write) error { return ix.choose(ctx, tx, wanted) }); err != nil {
			return err
		}
		ix.adopt(wanted, Model{})
	case wanted.fingerprint != ix.Chosen.fingerprint && !ix.opts.ReplaceModel:
		return fmt.Errorf("%w: the file's vectors are from %s, this program brings %s; open it with the former, or embed everything anew with `memctl index rebuild --replace-model`",
			fault.ErrModelMismatch, ix.Chosen, wanted)
	}
	return nil
}

// ModelsOf reads the file's model, and the next one; the zero model is none.
func ModelsOf(ctx context.Context, c *duck.Conn) (chosen, next Model, err error) {
	err = c.Each(ctx, "model_list", func(rows *sql.Rows) error {
		var m Model
		var isChosen bool
		err := rows.Scan(&m.N, &m.Name, &m.Dims, &m.fingerprint, &isChosen)
		if isChosen {
			chosen = m
		} else {
			next = m
		}
		return err
	})
	return chosen, next, err
}

// offered is the model in the options, as the next one of the file.
func (ix *Index) offered() Model {
	m := ix.opts.Embedder
	return Model{max(ix.Chosen.N, ix.next.N) + 1, m.Model(), m.Dims(), m.Fingerprint()}
}

// Embedding reports whether the options' model is the file's, so that its vectors may be written and asked.
func (ix *Index) Embedding() bool {
	ix.models.RLock()
	defer ix.models.RUnlock()
	return ix.opts.Embedder != nil && ix.Chosen.N > 0 && ix.Chosen.fingerprint == ix.opts.Embedder.Fingerprint()
}

// choose makes m the model of a file that has none. The caller adopts m when it is committed.
func (ix *Index) choose(ctx context.Context, tx *duck.Write, m Model) error {
	if err := ix.insertModel(ctx, tx, m, true); err != nil {
		return err
	}
	return m.Point(ctx, tx)
}

// CreateVectors makes room for the vectors of the model.
func (m Model) CreateVectors(ctx context.Context, tx *duck.Write) error {
	return tx.ExecDDL(ctx, sqlfiles.Query("vectors_create"), "{n}", strconv.Itoa(m.N), "{dims}", strconv.Itoa(m.Dims))
}

// insertModel adds a model and makes room for its vectors.
func (ix *Index) insertModel(ctx context.Context, tx *duck.Write, m Model, chosen bool) error {
	if err := m.CreateVectors(ctx, tx); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "model_insert", sql.Named("n", m.N), sql.Named("name", m.Name), sql.Named("dims", m.Dims),
		sql.Named("fingerprint", m.fingerprint), sql.Named("chosen", chosen), sql.Named("created_at", ix.file.Now()))
	return err
}

// Point lets queries read the vectors of the model.
func (m Model) Point(ctx context.Context, tx *duck.Write) error {
	return tx.ExecDDL(ctx, sqlfiles.Query("vectors_choose"), "{n}", strconv.Itoa(m.N), "{dims}", strconv.Itoa(m.Dims))
}

// drop removes a model with its vectors, if it is one.
func (m Model) drop(ctx context.Context, tx *duck.Write) error {
	if m.N == 0 {
		return nil
	}
	if err := tx.ExecDDL(ctx, sqlfiles.Query("vectors_drop"), "{n}", strconv.Itoa(m.N)); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "past_vectors_drop", sql.Named("n", m.N)); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "model_delete", sql.Named("n", m.N))
	return err
}

// adopt goes on with models that were written.
func (ix *Index) adopt(chosen, next Model) {
	ix.models.Lock()
	defer ix.models.Unlock()
	ix.Chosen, ix.next = chosen, next
}

// Embed makes the vectors of texts in time, or none when there is no model to make them. It must not be called with the writer's lock:
// a model may think for long.
func (ix *Index) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if !ix.Embedding() || len(texts) == 0 {
		return make([][]float32, len(texts)), nil
	}
	inTime, cancel := context.WithTimeout(ctx, ix.opts.EmbedDeadline+time.Duration(len(texts)-1)*time.Second/2)
	defer cancel()
	return ix.embedWhenever(inTime, texts)
}

// embedWhenever is Embed with the model of the options, also where it is not the file's, and takes as long as that takes. Where only some
// vectors are unusable the error is an *Unusable, and the others are given.
//
// What the cache has is not asked for, and of what is there several times, once.
func (ix *Index) embedWhenever(ctx context.Context, texts []string) ([][]float32, error) {
	sums := ix.sums(texts)
	if sums == nil {
		return ix.ask(ctx, texts)
	}
	vectors, err := ix.remembered(ctx, sums)
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
	made, err := ix.ask(ctx, asked)
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

// ask has the model embed texts, and judges what it gives.
func (ix *Index) ask(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := ix.opts.Embedder.EmbedTexts(ctx, texts)
	if err != nil {
		return nil, fmt.Errorf("embed with %s: %w", ix.opts.Embedder.Model(), err)
	}
	if len(vectors) != len(texts) {
		return nil, fmt.Errorf("%w: %s gave %d vectors for %d texts", fault.ErrBadVector, ix.opts.Embedder.Model(), len(vectors), len(texts))
	}
	bad := &Unusable{ix.opts.Embedder.Model(), map[int]error{}}
	for i, v := range vectors {
		if vectors[i], err = Unit(v, ix.opts.Embedder.Dims()); err != nil {
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

// insertVectors writes the passages of documents, and the vectors of both that have one.
func (ix *Index) insertVectors(ctx context.Context, tx *duck.Write, docs []*Document) error {
	made, err := ix.insertPassages(ctx, tx, docs)
	if err != nil {
		return err
	}
	for _, d := range docs {
		if d.Vector != nil && !d.Retired {
			made = append(made, embedded{d.No, d.sum(0), d.Vector})
		}
	}
	rows := make([][]driver.Value, len(made))
	for i, e := range made {
		rows[i] = []driver.Value{e.number, e.vector}
	}
	if err := tx.AppendRows(ix.Chosen.Table(), rows); err != nil {
		return err
	}
	return ix.remember(ctx, tx, ix.Chosen.fingerprint, made, false)
}

// EmbeddingFailed says whether a write goes on without a vector: a model that is down must not lose a memory, one that gives
// rubbish must not go unnoticed, and a caller that gave up gets its own error.
func EmbeddingFailed(ctx context.Context, err error) (goOn bool) {
	return err != nil && ctx.Err() == nil && !errors.Is(err, fault.ErrBadVector)
}
