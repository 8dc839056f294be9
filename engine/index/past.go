package index

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/kinds"
	sqlfiles "github.com/mallardmem/mallard/sql"
)

// Past is where the documents of the past come from: texts that were edited, and those of what is forgotten.
type Past struct {
	// Documents reads them by their numbers and analyses them; until is when each left the present.
	Documents func(ctx context.Context, c *duck.Conn, of duck.Numbers, do func(d *Document, until time.Time) error) error
	// Texts reads what some of them are made of, by their numbers: the fields that are indexed, and the text that is embedded.
	Texts func(ctx context.Context, c *duck.Conn, docNos []int32, do func(docNo int32, fields []Field, embedded string)) error
	// Drop gives up what was known only until before a moment, and tells how many versions that were.
	Drop func(ctx context.Context, before time.Time) (dropped int, err error)
}

// SetPast says where the documents of the past come from. It is called before the index is used.
func (ix *Index) SetPast(p Past) { ix.past = p }

// Keep takes a document out of the present and keeps it for the past, with its words, passages and vectors, under the number former: its own, or a new one where
// the present goes on with the old.
func (ix *Index) Keep(ctx context.Context, tx *duck.Write, kind kinds.Kind, docNo, former int32, until time.Time) error {
	_, err := tx.Exec(ctx, "past_keep", sql.Named("doc_no", docNo), sql.Named("former", former), sql.Named("until", until))
	for _, query := range []string{"past_postings_keep", "past_passages_keep"} {
		if err == nil {
			_, err = tx.Exec(ctx, query, sql.Named("doc_no", docNo), sql.Named("former", former))
		}
	}
	for _, m := range ix.All() {
		if err == nil {
			err = tx.ExecDDL(ctx, sqlfiles.Query("past_vectors_keep"), "{n}", strconv.Itoa(m.N), "{doc_no}", strconv.Itoa(int(docNo)), "{former}", strconv.Itoa(int(former)))
		}
	}
	if err != nil {
		return err
	}
	return ix.RemoveIndex(ctx, tx, kind, docNo)
}

// InsertPast writes documents that are of the past from the start, with their words, passages and vectors; until is when each left the present.
func (ix *Index) InsertPast(ctx context.Context, tx *duck.Write, docs []*Document, until []time.Time) error {
	if len(docs) == 0 {
		return nil
	}
	for i, d := range docs {
		was := *d
		was.Retired = false
		docs[i] = &was
	}
	if err := ix.Words.learn(ctx, tx, docs); err != nil {
		return err
	}
	var documents, postings, passages, rows [][]driver.Value
	vectors := made{}
	for i, d := range docs {
		documents = append(documents, d.pastRow(until[i]))
		for _, term := range slices.Sorted(maps.Keys(d.Words.Frequency)) {
			postings = append(postings, []driver.Value{ix.Words.terms[ix.Words.hash(term)], string(d.Kind), d.No, d.Words.Frequency[term]})
		}
		vectors.add(d, 0, d.No, d.Vector)
		numbers, err := ix.NextDocNos(ctx, tx.Conn, len(d.Passages))
		if err != nil {
			return err
		}
		for n, p := range d.Passages {
			passages = append(passages, []driver.Value{numbers[n], d.No, p.Start, p.Length})
			vectors.add(d, n+1, numbers[n], p.Vector)
		}
	}
	for _, m := range ix.All() { // those of a model that was dropped meanwhile are left out
		for _, e := range vectors[m] {
			rows = append(rows, []driver.Value{e.number, int32(m.N), e.vector})
		}
		if err := ix.remember(ctx, tx, m.fingerprint, vectors[m], false); err != nil {
			return err
		}
	}
	return errors.Join(tx.AppendRows("past_documents", documents), tx.AppendRows("past_postings", postings), tx.AppendRows("past_passages", passages),
		tx.AppendRows("past_vectors", rows))
}

// pastRow is a document as a row of past_documents.
func (d *Document) pastRow(until time.Time) []driver.Value {
	return []driver.Value{d.No, d.OwnerID, d.Stand.SessionNo, d.Stand.Place, d.Words.length, d.characters, d.asks, d.endsAsking, d.tells, d.states(), d.noise, until}
}

// DropPast removes documents of the past with all that they are found by.
func (ix *Index) DropPast(ctx context.Context, tx *duck.Write, docNos []int32) error {
	for batch := range slices.Chunk(docNos, rebuildBatch) {
		list := make([]string, len(batch))
		for i, no := range batch {
			list[i] = strconv.Itoa(int(no))
		}
		if err := tx.ExecDDL(ctx, sqlfiles.Query("past_drop"), "{doc_nos}", strings.Join(list, ", ")); err != nil {
			return err
		}
	}
	return nil
}

// eachPast analyses every document of the past of the committed file, on a connection of its own, a range of numbers at a time.
func (ix *Index) eachPast(ctx context.Context, do func(d *Document, until time.Time) error) error {
	if ix.past.Documents == nil {
		return nil
	}
	c, err := ix.file.NewConnection(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	var last int32
	if _, err := c.One(ctx, "index_last", []any{&last}); err != nil {
		return err
	}
	for from := int32(0); from <= last; from += rebuildBatch {
		if err := ix.past.Documents(ctx, c, duck.Numbers{From: from, To: from + rebuildBatch - 1}, do); err != nil {
			return err
		}
	}
	return nil
}

// rebuildPast adds the documents of the past to the tables of a rebuild, and their words to those of the present.
func (ix *Index) rebuildPast(ctx context.Context, tx *duck.Write, seen map[wordHash]bool) (done int, err error) {
	if err := tx.ExecDDL(ctx, sqlfiles.Query("past_begin")); err != nil {
		return 0, err
	}
	var batch []*Document
	var rows [][]driver.Value
	flush := func() error {
		err := errors.Join(tx.AppendTemp("rebuilt_past_documents", rows...), appendPassages(tx.Conn, "rebuilt_past_passages", batch),
			appendWords(tx.Conn, "rebuilt_past_postings", batch, seen))
		done, batch, rows = done+len(batch), batch[:0], rows[:0]
		return err
	}
	err = ix.eachPast(ctx, func(d *Document, until time.Time) error {
		batch = append(batch, d)
		rows = append(rows, d.pastRow(until))
		if len(batch) < rebuildBatch {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	return done, err
}

// formerlyWritten takes out of left what documents of the past have.
func (ix *Index) formerlyWritten(ctx context.Context, c *duck.Conn, left map[string]int32) error {
	for after := int32(0); len(left) > 0 && ix.past.Texts != nil; {
		docNos, err := duck.Column[int32](ctx, c, "past_with_terms", sql.Named("term_nos", slices.Compact(slices.Sorted(maps.Values(left)))),
			sql.Named("after", after), sql.Named("limit", int64(rebuildBatch)))
		if err != nil || len(docNos) == 0 {
			return err
		}
		after = docNos[len(docNos)-1]
		err = ix.past.Texts(ctx, c, docNos, func(_ int32, fields []Field, _ string) {
			for surface := range ix.Analyse(fields).Surfaces {
				delete(left, surface)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}
