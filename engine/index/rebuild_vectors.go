package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	sqlfiles "github.com/mallardmem/mallard/sql"
)

// nextSetting has the number of the model whose vectors RebuildIndex makes to take the place of the chosen one's.
const nextSetting = "next_model"

// replaceVectors embeds every document anew, with the options' model, into a table beside the old one, and lets it take that one's place. What
// was written meanwhile and is missing there is for EmbedMissing.
func (ix *Index) replaceVectors(ctx context.Context) (made Embedded, err error) {
	var m Model
	err = ix.change(ctx, "rebuild index", func(tx *duck.Write) (err error) {
		m, err = ix.beginNext(ctx, tx)
		return err
	})
	if err != nil {
		return made, err
	}
	made, err = filling{ix, "rebuild index", ix.opts.Embedder, m}.all(ctx)
	if err != nil && !errors.Is(err, fault.ErrBadVector) {
		return made, err
	}
	return made, ix.change(ctx, "rebuild index", func(tx *duck.Write) error { return ix.chooseNext(ctx, tx, m) })
}

// beginNext gives the next model, which goes on if it is the options' and was broken off. One that another rebuild had begun is dropped.
func (ix *Index) beginNext(ctx context.Context, tx *duck.Write) (Model, error) {
	by, m := ix.opts.Embedder, Model{}
	for _, beside := range ix.Beside {
		if beside.fingerprint == by.Fingerprint() && beside.Dims == by.Dims() {
			m = beside
		}
	}
	if ix.Next != m {
		if err := ix.Next.drop(ctx, tx); err != nil {
			return Model{}, err
		}
	}
	if m.N == 0 {
		m = ix.modelOf(by)
		if err := ix.insertModel(ctx, tx, m, false); err != nil {
			return Model{}, err
		}
	}
	return m, ix.file.PutSetting(ctx, tx, nextSetting, m.N)
}

// chooseNext makes the next model the file's, and drops the one that was it.
func (ix *Index) chooseNext(ctx context.Context, tx *duck.Write, m Model) error {
	if ix.Chosen == m { // somebody else who rebuilds was faster
		return nil
	}
	if ix.Next != m {
		return fmt.Errorf("%w: the vectors are made with another model", fault.ErrConflict)
	}
	if err := tx.ExecDDL(ctx, sqlfiles.Query("vectors_leftover"), "{table}", m.Table()); err != nil {
		return err
	}
	was := ix.Chosen
	if err := ix.chooseModel(ctx, tx, m); err != nil {
		return err
	}
	return was.drop(ctx, tx)
}

// chooseModel lets recall go by the vectors of a model that the file has.
func (ix *Index) chooseModel(ctx context.Context, tx *duck.Write, m Model) error {
	ix.NoteAll()
	if err := m.Point(ctx, tx); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "model_choose", sql.Named("n", m.N)); err != nil {
		return err
	}
	return ix.forgetNext(ctx, tx, m)
}

// forgetNext forgets that m was to take the chosen one's place, if it was.
func (ix *Index) forgetNext(ctx context.Context, tx *duck.Write, m Model) error {
	if ix.Next != m {
		return nil
	}
	_, err := ix.file.DeleteSetting(ctx, tx, nextSetting)
	return err
}
