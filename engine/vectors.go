package engine

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

	sqlfiles "github.com/mallardmem/mallard/sql"
)

// model is an embedding model as the file knows it; its vectors are in the table vectors_<n>.
type model struct {
	n           int
	name        string
	dims        int
	fingerprint string
}

func (m model) table() string { return "vectors_" + strconv.Itoa(m.n) }

func (m model) String() string { return fmt.Sprintf("%s (%d dimensions)", m.name, m.dims) }

// adoptModel compares the file's model with the one in the options; a file without one takes it.
func (e *Engine) adoptModel(ctx context.Context) error {
	var err error
	if e.chosen, e.next, err = modelsOf(ctx, e.conn); err != nil || e.opts.Embedder == nil {
		return err
	}
	wanted := e.offered()
	switch {
	case e.chosen.n == 0 && e.opts.ReadOnly:
		return nil
	case e.chosen.n == 0:
		if err := e.conn.transaction(ctx, "BEGIN TRANSACTION", func() error { return e.choose(ctx, e.conn, wanted) }); err != nil {
			return err
		}
		e.adopt(wanted, model{})
	case wanted.fingerprint != e.chosen.fingerprint && !e.opts.ReplaceModel:
		return fmt.Errorf("%w: the file's vectors are from %s, this program brings %s; open it with the former, or embed everything anew with `memctl index rebuild --replace-model`",
			ErrModelMismatch, e.chosen, wanted)
	}
	return nil
}

// modelsOf reads the file's model, and the next one; the zero model is none.
func modelsOf(ctx context.Context, c *connection) (chosen, next model, err error) {
	err = c.each(ctx, "model_list", func(rows *sql.Rows) error {
		var m model
		var isChosen bool
		err := rows.Scan(&m.n, &m.name, &m.dims, &m.fingerprint, &isChosen)
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
func (e *Engine) offered() model {
	m := e.opts.Embedder
	return model{max(e.chosen.n, e.next.n) + 1, m.Model(), m.Dims(), m.Fingerprint()}
}

// embedding reports whether the options' model is the file's, so that its vectors may be written and asked.
func (e *Engine) embedding() bool {
	e.models.RLock()
	defer e.models.RUnlock()
	return e.opts.Embedder != nil && e.chosen.n > 0 && e.chosen.fingerprint == e.opts.Embedder.Fingerprint()
}

// choose makes m the model of a file that has none. The caller is in a write transaction, and adopts m when it is committed.
func (e *Engine) choose(ctx context.Context, c *connection, m model) error {
	if err := e.createVectors(ctx, c, m, true); err != nil {
		return err
	}
	return m.point(ctx, c)
}

// createVectors makes room for a model's vectors. The caller is in a write transaction.
func (e *Engine) createVectors(ctx context.Context, c *connection, m model, chosen bool) error {
	if err := c.execDDL(ctx, sqlfiles.Query("vectors_create"), "{n}", strconv.Itoa(m.n), "{dims}", strconv.Itoa(m.dims)); err != nil {
		return err
	}
	_, err := c.exec(ctx, "model_insert", sql.Named("n", m.n), sql.Named("name", m.name), sql.Named("dims", m.dims),
		sql.Named("fingerprint", m.fingerprint), sql.Named("chosen", chosen), sql.Named("created_at", e.now()))
	return err
}

// point lets queries read the vectors of the model. The caller is in a write transaction.
func (m model) point(ctx context.Context, c *connection) error {
	return c.execDDL(ctx, sqlfiles.Query("vectors_choose"), "{n}", strconv.Itoa(m.n), "{dims}", strconv.Itoa(m.dims))
}

// drop removes a model with its vectors, if it is one. The caller is in a write transaction.
func (m model) drop(ctx context.Context, c *connection) error {
	if m.n == 0 {
		return nil
	}
	if err := c.execDDL(ctx, sqlfiles.Query("vectors_drop"), "{n}", strconv.Itoa(m.n)); err != nil {
		return err
	}
	_, err := c.exec(ctx, "model_delete", sql.Named("n", m.n))
	return err
}

// adopt goes on with models that were written.
func (e *Engine) adopt(chosen, next model) {
	e.models.Lock()
	defer e.models.Unlock()
	e.chosen, e.next = chosen, next
}

// embed makes the vectors of texts in time, or none when there is no model to make them. It must not be called with the writer's lock:
// a model may think for long.
func (e *Engine) embed(ctx context.Context, texts []string) ([][]float32, error) {
	if !e.embedding() || len(texts) == 0 {
		return make([][]float32, len(texts)), nil
	}
	inTime, cancel := context.WithTimeout(ctx, e.opts.EmbedDeadline+time.Duration(len(texts)-1)*time.Second/2)
	defer cancel()
	return e.embedWhenever(inTime, texts)
}

// embedWhenever is embed with the model of the options, also where it is not the file's, and takes as long as that takes. Where only some
// vectors are unusable the error is an *unusable, and the others are given.
func (e *Engine) embedWhenever(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := e.opts.Embedder.EmbedTexts(ctx, texts)
	if err != nil {
		return nil, fmt.Errorf("embed with %s: %w", e.opts.Embedder.Model(), err)
	}
	if len(vectors) != len(texts) {
		return nil, fmt.Errorf("%w: %s gave %d vectors for %d texts", ErrBadVector, e.opts.Embedder.Model(), len(vectors), len(texts))
	}
	bad := &unusable{e.opts.Embedder.Model(), map[int]error{}}
	for i, v := range vectors {
		if vectors[i], err = unit(v, e.opts.Embedder.Dims()); err != nil {
			bad.of[i] = err
		}
	}
	if len(bad.of) > 0 {
		return vectors, bad
	}
	return vectors, nil
}

// unusable is what is wrong with vectors that a model gave, by the number of the text.
type unusable struct {
	model string
	of    map[int]error
}

func (u *unusable) Error() string {
	first := slices.Min(slices.Collect(maps.Keys(u.of)))
	return fmt.Sprintf("embed with %s: text %d: %v", u.model, first, u.of[first])
}

func (u *unusable) Unwrap() error { return ErrBadVector }

// unit checks a vector and gives it the length one.
func unit(v []float32, dims int) ([]float32, error) {
	if len(v) != dims {
		return nil, fmt.Errorf("%w: %d dimensions; allowed: %d", ErrBadVector, len(v), dims)
	}
	var sum float64
	for i, x := range v {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return nil, fmt.Errorf("%w: value %d is %v; allowed: finite numbers", ErrBadVector, i, x)
		}
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		return nil, fmt.Errorf("%w: all %d values are 0; allowed: a direction", ErrBadVector, dims)
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

// insertVectors writes the vectors of documents that have one. The caller is in a write transaction.
func (e *Engine) insertVectors(c *connection, docs []*document) error {
	var rows [][]driver.Value
	for _, d := range docs {
		if d.vector != nil && !d.retired {
			rows = append(rows, []driver.Value{d.no, d.vector})
		}
	}
	return c.appendRows(e.chosen.table(), rows)
}

func (e *Engine) deleteVectors(ctx context.Context, c *connection, docNo int32) error {
	for _, m := range []model{e.chosen, e.next} {
		if m.n == 0 {
			continue
		}
		if err := c.execDDL(ctx, sqlfiles.Query("vectors_delete"), "{table}", m.table(), "{doc_no}", strconv.Itoa(int(docNo))); err != nil {
			return err
		}
	}
	return nil
}

// embeddingFailed says whether a write goes on without a vector: a model that is down must not lose a memory, one that gives
// rubbish must not go unnoticed, and a caller that gave up gets its own error.
func embeddingFailed(ctx context.Context, err error) (goOn bool) {
	return err != nil && ctx.Err() == nil && !errors.Is(err, ErrBadVector)
}
