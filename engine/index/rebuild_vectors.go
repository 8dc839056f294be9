package index

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
	sqlfiles "github.com/mallardmem/mallard/sql"
)

// replaceVectors embeds every document anew, with the options' model, into a table beside the old one, and lets it take that one's place. What
// was written meanwhile and is missing there is for EmbedMissing.
func (ix *Index) replaceVectors(ctx context.Context) (done, past int, err error) {
	var m Model
	err = ix.file.WriteThen(ctx, "rebuild index", func(tx *duck.Write) (err error) {
		m, err = ix.beginNext(ctx, tx)
		return err
	}, func() { ix.adopt(ix.Chosen, m) })
	if err != nil {
		return 0, 0, err
	}
	if done, err = ix.fill(ctx, m, m.Table()); err != nil && !errors.Is(err, fault.ErrBadVector) {
		return done, 0, err
	}
	if past, err = ix.fillPast(ctx, m); err != nil && !errors.Is(err, fault.ErrBadVector) {
		return done, past, err
	}
	return done, past, ix.file.WriteThen(ctx, "rebuild index", func(tx *duck.Write) error { return ix.chooseNext(ctx, tx, m) }, func() {
		if ix.next == m {
			ix.adopt(m, Model{})
		}
	})
}

// beginNext gives the next model, which goes on if it is the options' and was broken off.
func (ix *Index) beginNext(ctx context.Context, tx *duck.Write) (Model, error) {
	m := ix.offered()
	if ix.next.fingerprint == m.fingerprint && ix.next.Dims == m.Dims {
		return ix.next, nil
	}
	if err := ix.next.drop(ctx, tx); err != nil {
		return Model{}, err
	}
	return m, ix.insertModel(ctx, tx, m, false)
}

// chooseNext makes the next model the file's.
func (ix *Index) chooseNext(ctx context.Context, tx *duck.Write, m Model) error {
	if ix.Chosen == m { // somebody else who rebuilds was faster
		return nil
	}
	if ix.next != m {
		return fmt.Errorf("%w: the vectors are made with another model", fault.ErrConflict)
	}
	ix.NoteAll()
	if err := tx.ExecDDL(ctx, sqlfiles.Query("vectors_leftover"), "{table}", m.Table()); err != nil {
		return err
	}
	if err := m.Point(ctx, tx); err != nil {
		return err
	}
	if err := ix.Chosen.drop(ctx, tx); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "model_choose", sql.Named("n", m.N))
	return err
}

// EmbedMissing gives a vector of the file's model to every document, live or of the past, and every passage of such, that has none.
func (ix *Index) EmbedMissing(ctx context.Context) (done, past int, err error) {
	ix.models.RLock()
	m := ix.Chosen
	ix.models.RUnlock()
	done, err = ix.fill(ctx, m, "vectors")
	if err != nil && !errors.Is(err, fault.ErrBadVector) {
		return done, 0, err
	}
	past, failed := ix.fillPast(ctx, m)
	return done, past, cmp.Or(err, failed)
}

// fill gives a vector of m, which is the options' model, to every live document, and every passage of such, that has none in a table. The model thinks without any lock;
// each batch is written in a transaction of its own. Where it gives unusable vectors, that is the error when the rest is done.
func (ix *Index) fill(ctx context.Context, m Model, table string) (done int, err error) {
	var after int32
	var total int
	err = ix.file.Read(ctx, "rebuild index", func(c *duck.Conn) error {
		return c.EachIn(ctx, table, "vectors_missing_count", func(rows *sql.Rows) error { return rows.Scan(&total) })
	})
	if err != nil {
		return 0, err
	}
	var bad *Unusable
	for {
		all, texts, err := ix.missing(ctx, table, after)
		if err != nil {
			return done, err
		}
		if len(all) == 0 {
			break
		}
		after = all[len(all)-1].number
		vectors, err := ix.embedWhenever(ctx, texts)
		if err != nil && !errors.As(err, &bad) {
			return done, fmt.Errorf("rebuild index: %w", err)
		}
		err = ix.file.Write(ctx, "rebuild index", func(tx *duck.Write) error { return ix.insertWanted(ctx, tx, m, all, texts, vectors) })
		if err != nil {
			return done, err
		}
		done += len(all)
		ix.opts.Progress("vectors", done, total)
		if len(all) < ix.vectorBatch() { // what comes now comes with a vector
			break
		}
	}
	if bad != nil {
		return done, fmt.Errorf("rebuild index: %w", bad)
	}
	return done, nil
}

// slowBatch is how many vectors of a slow model are made and written at a time, so that Progress moves and little is to be made again when it is broken off.
const slowBatch = 256

// vectorBatch is how many are written at a time.
func (ix *Index) vectorBatch() int {
	if slow(ix.opts.Embedder) {
		return slowBatch
	}
	return rebuildBatch
}

// unembedded is a document without a vector, or a passage of one.
type unembedded struct {
	number, docNo int32
	kind          kinds.Kind
	owner         string
	start, length int32 // of a passage; a document has the length -1
}

// of gives what is embedded of it, of all that is embedded of its document.
func (u unembedded) of(embedded string) string {
	if u.length < 0 {
		return embedded
	}
	return embedded[min(int(u.start), len(embedded)):min(int(u.start+u.length), len(embedded))]
}

// missing gives the next documents and passages without a vector in a table, and the texts to embed.
func (ix *Index) missing(ctx context.Context, table string, after int32) (all []unembedded, texts []string, err error) {
	err = ix.file.Read(ctx, "rebuild index", func(c *duck.Conn) error {
		err := c.EachIn(ctx, table, "vectors_missing", func(rows *sql.Rows) error {
			var u unembedded
			err := rows.Scan(&u.number, &u.docNo, &u.kind, &u.owner, &u.start, &u.length)
			all = append(all, u)
			return err
		}, sql.Named("after", after), sql.Named("limit", int64(ix.vectorBatch())))
		if err == nil {
			texts, err = ix.embeddedTexts(ctx, c, all)
		}
		return err
	})
	return all, texts, err
}

// embeddedTexts gives what is embedded of documents and passages.
func (ix *Index) embeddedTexts(ctx context.Context, c *duck.Conn, all []unembedded) ([]string, error) {
	owners := map[kinds.Kind][]string{}
	for i, u := range all {
		if i == 0 || all[i-1].owner != u.owner { // passages of one document mostly stand together
			owners[u.kind] = append(owners[u.kind], u.owner)
		}
	}
	byID := map[string]string{}
	err := ix.eachOwner(ctx, c, owners, func(id string, _ []Field, embedded string) { byID[id] = embedded })
	texts := make([]string, len(all))
	for i, u := range all {
		texts[i] = u.of(byID[u.owner])
	}
	return texts, err
}

// insertWanted writes the vectors of documents and passages that still want one of m, for these texts: in between they may have been changed or forgotten.
func (ix *Index) insertWanted(ctx context.Context, tx *duck.Write, m Model, all []unembedded, texts []string, vectors [][]float32) error {
	if m != ix.Chosen && m != ix.next {
		return fmt.Errorf("%w: the vectors are made with another model", fault.ErrConflict)
	}
	numbers := make([]int32, len(all))
	for i, u := range all {
		numbers[i] = u.number
	}
	wanted := map[int32]bool{}
	err := tx.EachIn(ctx, m.Table(), "vectors_wanted", func(rows *sql.Rows) error {
		var no int32
		if err := rows.Scan(&no); err != nil {
			return err
		}
		wanted[no] = true
		return nil
	}, sql.Named("numbers", numbers))
	if err != nil {
		return err
	}
	now, err := ix.embeddedTexts(ctx, tx.Conn, all)
	if err != nil {
		return err
	}
	var rows [][]driver.Value
	var made []embedded
	sums := ix.sums(texts)
	for i, u := range all {
		if wanted[u.number] && now[i] == texts[i] && vectors[i] != nil {
			rows = append(rows, []driver.Value{u.number, vectors[i]})
			if sums != nil {
				made = append(made, embedded{u.number, sums[i], vectors[i]})
			}
			if m == ix.Chosen {
				ix.noteVector(u, vectors[i])
			}
		}
	}
	if err := tx.AppendRows(m.Table(), rows); err != nil {
		return err
	}
	return ix.remember(ctx, tx, m.fingerprint, made, true)
}
