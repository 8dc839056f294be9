package engine

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	sqlfiles "github.com/mallardmem/mallard/sql"
)

// replaceVectors embeds every document anew, with the options' model, into a table beside the old one, and lets it take that one's place. What
// was written meanwhile and is missing there is for embedMissing.
func (e *Engine) replaceVectors(ctx context.Context) (done int, err error) {
	var m model
	err = e.writeThen(ctx, "rebuild index", func(c *connection) (err error) {
		m, err = e.beginNext(ctx, c)
		return err
	}, func() { e.adopt(e.chosen, m) })
	if err != nil {
		return 0, err
	}
	if done, err = e.fill(ctx, m, m.table()); err != nil && !errors.Is(err, ErrBadVector) {
		return done, err
	}
	return done, e.writeThen(ctx, "rebuild index", func(c *connection) error { return e.chooseNext(ctx, c, m) }, func() {
		if e.next == m {
			e.adopt(m, model{})
		}
	})
}

// beginNext gives the next model, which goes on if it is the options' and was broken off. The caller is in a write transaction.
func (e *Engine) beginNext(ctx context.Context, c *connection) (model, error) {
	m := e.offered()
	if e.next.fingerprint == m.fingerprint && e.next.dims == m.dims {
		return e.next, nil
	}
	if err := e.next.drop(ctx, c); err != nil {
		return model{}, err
	}
	return m, e.createVectors(ctx, c, m, false)
}

// chooseNext makes the next model the file's. The caller is in a write transaction.
func (e *Engine) chooseNext(ctx context.Context, c *connection, m model) error {
	if e.chosen == m { // somebody else who rebuilds was faster
		return nil
	}
	if e.next != m {
		return fmt.Errorf("%w: the vectors are made with another model", ErrConflict)
	}
	if err := c.execDDL(ctx, sqlfiles.Query("vectors_leftover"), "{table}", m.table()); err != nil {
		return err
	}
	if err := m.point(ctx, c); err != nil {
		return err
	}
	if err := e.chosen.drop(ctx, c); err != nil {
		return err
	}
	_, err := c.exec(ctx, "model_choose", sql.Named("n", m.n))
	return err
}

// embedMissing gives a vector of the file's model to every live document that has none.
func (e *Engine) embedMissing(ctx context.Context) (done int, err error) {
	e.models.RLock()
	m := e.chosen
	e.models.RUnlock()
	return e.fill(ctx, m, "vectors")
}

// fill gives a vector of m, which is the options' model, to every live document that has none in a table. The model thinks without any lock;
// each batch is written in a transaction of its own. Where it gives unusable vectors, that is the error when the rest is done.
func (e *Engine) fill(ctx context.Context, m model, table string) (done int, err error) {
	var after int32
	var total int
	err = e.read(ctx, "rebuild index", func(c *connection) error {
		return c.eachIn(ctx, table, "vectors_missing_count", func(rows *sql.Rows) error { return rows.Scan(&total) })
	})
	if err != nil {
		return 0, err
	}
	var bad *unusable
	for {
		docs, texts, err := e.missing(ctx, table, after)
		if err != nil {
			return done, err
		}
		if len(docs) == 0 {
			break
		}
		after = docs[len(docs)-1].no
		vectors, err := e.embedWhenever(ctx, texts)
		if err != nil && !errors.As(err, &bad) {
			return done, fmt.Errorf("rebuild index: %w", err)
		}
		for i, d := range docs {
			d.vector = vectors[i]
		}
		err = e.write(ctx, "rebuild index", func(c *connection) error { return e.insertWanted(ctx, c, m, docs, texts) })
		if err != nil {
			return done, err
		}
		done += len(docs)
		e.opts.Progress("vectors", done, total)
		if len(docs) < rebuildBatch { // what comes now comes with a vector
			break
		}
	}
	if bad != nil {
		return done, fmt.Errorf("rebuild index: %w", bad)
	}
	return done, nil
}

// missing gives the next documents without a vector in a table, and the texts to embed.
func (e *Engine) missing(ctx context.Context, table string, after int32) (docs []*document, texts []string, err error) {
	err = e.read(ctx, "rebuild index", func(c *connection) error {
		err := c.eachIn(ctx, table, "vectors_missing", func(rows *sql.Rows) error {
			d := &document{}
			defer func() { docs = append(docs, d) }()
			return rows.Scan(&d.no, &d.kind, &d.ownerID)
		}, sql.Named("after", after), sql.Named("limit", int64(rebuildBatch)))
		if err == nil {
			texts, err = e.embeddedTexts(ctx, c, docs)
		}
		return err
	})
	return docs, texts, err
}

// embeddedTexts gives what is embedded of documents.
func (e *Engine) embeddedTexts(ctx context.Context, c *connection, docs []*document) ([]string, error) {
	owners := map[Kind][]string{}
	for _, d := range docs {
		owners[d.kind] = append(owners[d.kind], d.ownerID)
	}
	byID := map[string]string{}
	err := e.eachOwner(ctx, c, owners, func(id string, _ []field, embedded string) { byID[id] = embedded })
	texts := make([]string, len(docs))
	for i, d := range docs {
		texts[i] = byID[d.ownerID]
	}
	return texts, err
}

// insertWanted writes the vectors of documents that still want one of m, for these texts: in between they may have been changed or forgotten.
// The caller is in a write transaction.
func (e *Engine) insertWanted(ctx context.Context, c *connection, m model, docs []*document, texts []string) error {
	if m != e.chosen && m != e.next {
		return fmt.Errorf("%w: the vectors are made with another model", ErrConflict)
	}
	numbers := make([]int32, len(docs))
	for i, d := range docs {
		numbers[i] = d.no
	}
	wanted := map[int32]bool{}
	err := c.eachIn(ctx, m.table(), "vectors_wanted", func(rows *sql.Rows) error {
		var no int32
		defer func() { wanted[no] = true }()
		return rows.Scan(&no)
	}, sql.Named("doc_nos", numbers))
	if err != nil {
		return err
	}
	now, err := e.embeddedTexts(ctx, c, docs)
	if err != nil {
		return err
	}
	var rows [][]driver.Value
	for i, d := range docs {
		if wanted[d.no] && now[i] == texts[i] && d.vector != nil {
			rows = append(rows, []driver.Value{d.no, d.vector})
		}
	}
	return c.appendRows(m.table(), rows)
}
