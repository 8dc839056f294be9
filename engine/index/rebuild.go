package index

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
	sqlfiles "github.com/mallardmem/mallard/sql"
)

// rebuildBatch is how many documents are analysed, or embedded, at a time.
const rebuildBatch = 1000

// RebuildRequest says what to make anew.
type RebuildRequest struct {
	// Vectors embeds every document anew, with Options.Embedder, which becomes the file's model when all vectors are there; until then recall
	// goes by the old ones. What was broken off, also by a crash, goes on where it was. Default: only the documents that have no vector,
	// where the model is the file's.
	Vectors bool
	// DropRetiredBefore gives up, for their space, what memories were known to be only until before it, and what they and memories forgotten before it were found
	// by. Recall, Get, List and Export of an earlier moment find nothing of it then; History says how much it was. Default zero: nothing.
	DropRetiredBefore time.Time
}

// Rebuilt says what was made.
type Rebuilt struct {
	Documents int `json:"documents"` // with their words
	Vectors   int `json:"vectors"`
	// Past are documents of former texts and of forgotten memories, PastVectors the vectors of these that were made, and Dropped the versions of memories that
	// were given up.
	Past        int `json:"past,omitempty"`
	PastVectors int `json:"past_vectors,omitempty"`
	Dropped     int `json:"dropped,omitempty"`
	// FTS is whether the index of DuckDB's text extension was made too: where the file has one, and the engine the extension.
	FTS bool `json:"fts"`
}

// RebuildIndex makes the index anew from the rows: words and totals in one transaction, then vectors batch
// by batch. It can be cancelled at any moment; what is missing then shows in Stats, and a further call completes it. Errors:
// ErrNoEmbedder for Vectors without a model; ErrBadVector when all is done but for texts of which the model gives no usable vector.
func (ix *Index) RebuildIndex(ctx context.Context, r RebuildRequest) (*Rebuilt, error) {
	if r.Vectors && ix.opts.Embedder == nil {
		return nil, fmt.Errorf("rebuild index: %w: vectors need Options.Embedder", fault.ErrNoEmbedder)
	}
	result := &Rebuilt{}
	if !r.DropRetiredBefore.IsZero() {
		var err error
		if err = fault.CheckTime("drop_retired_before", r.DropRetiredBefore); err == nil {
			result.Dropped, err = ix.past.Drop(ctx, r.DropRetiredBefore)
		}
		if err != nil {
			return result, fmt.Errorf("rebuild index: %w", err)
		}
	}
	err := ix.file.Write(ctx, "rebuild index", func(tx *duck.Write) (err error) {
		ix.Words.Forget()
		if result.Documents, result.Past, err = ix.RebuildWords(ctx, tx); err == nil {
			_, err = ix.file.DeleteSetting(ctx, tx, UndividedSetting)
		}
		return err
	})
	if err == nil {
		result.FTS, err = ix.rebuildFTS(ctx, "rebuild index")
	}
	if err == nil && r.Vectors {
		var made Embedded
		made, err = ix.replaceVectors(ctx)
		result.Vectors, result.PastVectors = made.Vectors, made.PastVectors
	}
	by, of := ix.Embedder()
	if err != nil || by == nil {
		return result, err
	}
	made, err := filling{ix, "rebuild index", by, of}.all(ctx)
	result.Vectors, result.PastVectors = result.Vectors+made.Vectors, result.PastVectors+made.PastVectors
	return result, err
}

// RebuildWords makes documents, terms, surfaces, postings, passages and totals anew, those of the past as well. Passages that are not as they were lose their vectors.
func (ix *Index) RebuildWords(ctx context.Context, tx *duck.Write) (done, past int, err error) {
	ix.NoteAll()
	if err := ix.unmarkFTS(ctx, tx); err != nil {
		return 0, 0, err
	}
	if err := tx.ExecDDL(ctx, sqlfiles.Query("index_begin")); err != nil {
		return 0, 0, err
	}
	var batch []*Document
	seen := map[wordHash]bool{}
	flush := func() error {
		err := errors.Join(tx.AppendTemp("rebuilt_documents", documentRows(batch)...), appendPassages(tx.Conn, "rebuilt_passages", batch), appendWords(tx.Conn, "rebuilt_postings", batch, seen))
		if len(seen) > maxWords {
			clear(seen)
		}
		done, batch = done+len(batch), batch[:0]
		ix.opts.Progress("words", done, 0)
		return err
	}
	err = ix.eachDocument(ctx, func(d *Document) error {
		if batch = append(batch, d); len(batch) < rebuildBatch {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	if err != nil {
		return done, past, err
	}
	if past, err = ix.rebuildPast(ctx, tx, seen); err != nil {
		return done, past, err
	}
	for _, query := range []string{"index_replace", "past_replace", "past_vectors_leftover"} {
		if err := tx.ExecDDL(ctx, sqlfiles.Query(query)); err != nil {
			return done, past, err
		}
	}
	return done, past, ix.inVectors(ctx, tx, "vectors_leftover")
}

// appendPassages adds the passages of documents to a table of a rebuild.
func appendPassages(c *duck.Conn, table string, docs []*Document) error {
	var rows [][]driver.Value
	for _, d := range docs {
		for _, p := range d.Passages {
			if !d.Retired {
				rows = append(rows, []driver.Value{d.No, p.Start, p.Length})
			}
		}
	}
	return c.AppendTemp(table, rows...)
}

// appendWords adds the words of documents to the tables of a rebuild, with postings in the one that is named; words that are seen are there already.
func appendWords(c *duck.Conn, table string, docs []*Document, seen map[wordHash]bool) error {
	var terms, surfaces, postings [][]driver.Value
	for _, d := range docs {
		if d.Retired {
			continue
		}
		for term, tf := range d.Words.Frequency {
			h := hashOf(term)
			postings = append(postings, []driver.Value{uint64(h), string(d.Kind), d.No, tf})
			if !seen[h] {
				terms = append(terms, []driver.Value{term, uint64(h)})
			}
		}
		for written, term := range d.Words.Surfaces {
			h := hashOf(written)
			if !seen[^h] {
				surfaces = append(surfaces, []driver.Value{written, uint64(h), uint64(hashOf(term))})
			}
		}
	}
	for _, row := range terms {
		seen[wordHash(row[1].(uint64))] = true
	}
	for _, row := range surfaces {
		seen[^wordHash(row[1].(uint64))] = true
	}
	return errors.Join(c.AppendTemp("rebuilt_terms", terms...), c.AppendTemp("rebuilt_surfaces", surfaces...), c.AppendTemp(table, postings...))
}

// Source is where documents of one kind come from: the room that keeps what they are made of.
type Source struct {
	Kind kinds.Kind
	// Reader gives what reads documents by their numbers and analyses them; it is called with ranges that ascend.
	Reader func() func(ctx context.Context, c *duck.Conn, of duck.Numbers, do func(*Document) error) error
	// Owners reads what documents are made of by its ids: the fields that are indexed, and the text that is embedded.
	Owners func(ctx context.Context, c *duck.Conn, ids []string, do func(id string, fields []Field, embedded string)) error
}

// eachDocument analyses every memory, message and summary of the committed file, by their numbers, on a connection of its own: a range at a time, for
// all of a file may be more than fits into memory.
func (ix *Index) eachDocument(ctx context.Context, do func(*Document) error) error {
	c, err := ix.file.NewConnection(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	var last int32
	if _, err := c.One(ctx, "index_last", []any{&last}); err != nil {
		return err
	}
	readers := make([]func(context.Context, *duck.Conn, duck.Numbers, func(*Document) error) error, len(ix.sources))
	for i, s := range ix.sources {
		readers[i] = s.Reader()
	}
	for from := int32(0); from <= last; from += rebuildBatch {
		for _, read := range readers {
			if err := read(ctx, c, duck.Numbers{From: from, To: from + rebuildBatch - 1}, do); err != nil {
				return err
			}
		}
	}
	return nil
}

// eachOwner reads what documents are made of, by the ids of its kinds.
func (ix *Index) eachOwner(ctx context.Context, c *duck.Conn, ids map[kinds.Kind][]string, do func(id string, fields []Field, embedded string)) error {
	for _, s := range ix.sources {
		if err := s.Owners(ctx, c, ids[s.Kind], do); err != nil {
			return err
		}
	}
	return nil
}
