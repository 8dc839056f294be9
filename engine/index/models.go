package index

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/setup"
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

// Models are those that a file has vectors of.
type Models struct {
	Chosen Model   // by whose vectors recall goes; zero: none yet
	Beside []Model // the others, by their numbers
	Next   Model   // of these, the one whose vectors RebuildIndex makes to take the chosen one's place; zero: none
}

// All are the chosen one, if there is one, and those beside it.
func (ms Models) All() []Model {
	if ms.Chosen.N == 0 {
		return ms.Beside
	}
	return append([]Model{ms.Chosen}, ms.Beside...)
}

// has reports whether the file has vectors of a model.
func (ms Models) has(m Model) bool { return slices.Contains(ms.All(), m) }

// ModelsOf reads the file's models.
func ModelsOf(ctx context.Context, c *duck.Conn) (ms Models, err error) {
	err = c.Each(ctx, "model_list", func(rows *sql.Rows) error {
		var m Model
		var chosen, next bool
		err := rows.Scan(&m.N, &m.Name, &m.Dims, &m.fingerprint, &chosen, &next)
		switch {
		case chosen:
			ms.Chosen = m
		default:
			ms.Beside = append(ms.Beside, m)
			if next {
				ms.Next = m
			}
		}
		return err
	})
	return ms, err
}

// adoptModel compares the file's model with the one in the options; a file without one takes it.
func (ix *Index) adoptModel(ctx context.Context) (err error) {
	if ix.Models, err = ModelsOf(ctx, ix.file.Conn); err != nil || ix.opts.Embedder == nil {
		return err
	}
	by := ix.opts.Embedder
	ix.bring(by)
	switch {
	case ix.Chosen.N == 0 && ix.opts.ReadOnly:
	case ix.Chosen.N == 0:
		m := ix.modelOf(by)
		if err := ix.file.Prepare(ctx, func(tx *duck.Write) error { return ix.firstModel(ctx, tx, m) }); err != nil {
			return err
		}
		ix.Chosen = m
	case by.Fingerprint() == ix.Chosen.fingerprint:
		return ix.Chosen.fits(by)
	case !ix.opts.ReplaceModel:
		return ix.mismatch(by)
	}
	return nil
}

// mismatch says of a model that is not the file's how to go on.
func (ix *Index) mismatch(by setup.Embedder) error {
	way := "or call Engine.AddModel and then Engine.UseModel with the latter"
	if slices.ContainsFunc(ix.Beside, func(m Model) bool { return m.fingerprint == by.Fingerprint() }) {
		way = "or call Engine.UseModel with the latter, of which the file has vectors too"
	}
	return fmt.Errorf("%w: the file's vectors are from %s, this program brings %s; bring the former as Options.Embedder, %s", fault.ErrModelMismatch, ix.Chosen, ix.modelOf(by), way)
}

// fits refuses a model that the file knows with another number of dimensions.
func (m Model) fits(by setup.Embedder) error {
	if m.Dims == by.Dims() {
		return nil
	}
	return fmt.Errorf("%w: %s has vectors of %d dimensions in the file, and makes some of %d now; call Engine.DropModel with its number, %d, and then Engine.AddModel",
		fault.ErrModelMismatch, m.Name, m.Dims, by.Dims(), m.N)
}

// modelOf is a model that the file does not have, with the next number.
func (ix *Index) modelOf(by setup.Embedder) Model {
	n := 0
	for _, m := range ix.All() {
		n = max(n, m.N)
	}
	return Model{n + 1, by.Model(), by.Dims(), by.Fingerprint()}
}

// Embedder gives what makes vectors of the file's model, and that model; nil: nobody brought it.
func (ix *Index) Embedder() (by setup.Embedder, of Model) {
	ix.models.RLock()
	defer ix.models.RUnlock()
	return ix.brought[ix.Chosen.fingerprint], ix.Chosen
}

// Embedding reports whether somebody brought the file's model, so that its vectors may be written and asked.
func (ix *Index) Embedding() bool {
	by, _ := ix.Embedder()
	return by != nil
}

// bring keeps a model at hand for when it is the file's.
func (ix *Index) bring(by setup.Embedder) {
	ix.models.Lock()
	defer ix.models.Unlock()
	if ix.brought == nil {
		ix.brought = map[string]setup.Embedder{}
	}
	ix.brought[by.Fingerprint()] = by
}

// change changes the file's models in one transaction, and goes on with what they are then.
func (ix *Index) change(ctx context.Context, op string, do func(tx *duck.Write) error) error {
	var after Models
	return ix.file.WriteThen(ctx, op, func(tx *duck.Write) (err error) {
		if err = do(tx); err == nil {
			after, err = ModelsOf(ctx, tx.Conn)
		}
		return err
	}, func() {
		ix.models.Lock()
		defer ix.models.Unlock()
		ix.Models = after
	})
}

// firstModel makes m the model of a file that has none.
func (ix *Index) firstModel(ctx context.Context, tx *duck.Write, m Model) error {
	if err := ix.insertModel(ctx, tx, m, true); err != nil {
		return err
	}
	return m.Point(ctx, tx)
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

// CreateVectors makes room for the vectors of the model.
func (m Model) CreateVectors(ctx context.Context, tx *duck.Write) error {
	return tx.ExecDDL(ctx, sqlfiles.Query("vectors_create"), "{n}", strconv.Itoa(m.N), "{dims}", strconv.Itoa(m.Dims))
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
