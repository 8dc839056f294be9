package engine

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

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
}

// Rebuilt says what was made.
type Rebuilt struct {
	Documents int `json:"documents"` // with their words
	Vectors   int `json:"vectors"`
	// FTS is whether the index of DuckDB's text extension was made too: where the file has one, and the engine the extension.
	FTS bool `json:"fts"`
}

// RebuildIndex makes the index anew from the rows: words and totals in one transaction, then vectors batch
// by batch. It can be cancelled at any moment; what is missing then shows in Stats, and a further call completes it. Errors:
// ErrNoEmbedder for Vectors without a model; ErrBadVector when all is done but for texts of which the model gives no usable vector.
func (e *Engine) RebuildIndex(ctx context.Context, r RebuildRequest) (*Rebuilt, error) {
	if r.Vectors && e.opts.Embedder == nil {
		return nil, fmt.Errorf("rebuild index: %w: vectors need Options.Embedder", ErrNoEmbedder)
	}
	result := &Rebuilt{}
	err := e.write(ctx, "rebuild index", func(c *connection) (err error) {
		e.words.forget()
		result.Documents, err = e.rebuildWords(ctx, c)
		return err
	})
	if err == nil {
		result.FTS, err = e.rebuildFTS(ctx, "rebuild index")
	}
	if err == nil && r.Vectors {
		result.Vectors, err = e.replaceVectors(ctx)
	}
	if err != nil || !e.embedding() {
		return result, err
	}
	made, err := e.embedMissing(ctx)
	result.Vectors += made
	return result, err
}

// rebuildWords makes documents, terms, surfaces, postings and totals anew. The caller is in a write transaction.
func (e *Engine) rebuildWords(ctx context.Context, c *connection) (done int, err error) {
	if err := e.unmarkFTS(ctx, c); err != nil {
		return 0, err
	}
	if err := c.execDDL(ctx, sqlfiles.Query("index_begin")); err != nil {
		return 0, err
	}
	var batch []*document
	seen := map[wordHash]bool{}
	flush := func() error {
		err := errors.Join(c.appendTemp("rebuilt_documents", documentRows(batch)...), appendWords(c, batch, seen))
		if len(seen) > maxWords {
			clear(seen)
		}
		done, batch = done+len(batch), batch[:0]
		e.opts.Progress("words", done, 0)
		return err
	}
	err = e.eachDocument(ctx, func(d *document) error {
		if batch = append(batch, d); len(batch) < rebuildBatch {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	if err != nil {
		return done, err
	}
	return done, c.execDDL(ctx, sqlfiles.Query("index_replace"))
}

// appendWords adds the words of documents to the tables of a rebuild; those that are seen are there already.
func appendWords(c *connection, docs []*document, seen map[wordHash]bool) error {
	var terms, surfaces, postings [][]driver.Value
	for _, d := range docs {
		if d.retired {
			continue
		}
		for term, tf := range d.words.frequency {
			h := hashOf(term)
			postings = append(postings, []driver.Value{uint64(h), string(d.kind), d.no, tf})
			if !seen[h] {
				terms = append(terms, []driver.Value{term, uint64(h)})
			}
		}
		for written, term := range d.words.surfaces {
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
	return errors.Join(c.appendTemp("rebuilt_terms", terms...), c.appendTemp("rebuilt_surfaces", surfaces...), c.appendTemp("rebuilt_postings", postings...))
}

// source is where documents of one kind come from: the room that keeps what they are made of.
type source struct {
	kind Kind
	// reader gives what reads documents by their numbers and analyses them; it is called with ranges that ascend.
	reader func() func(ctx context.Context, c *connection, of numbers, do func(*document) error) error
	// owners reads what documents are made of by its ids: the fields that are indexed, and the text that is embedded.
	owners func(ctx context.Context, c *connection, ids []string, do func(id string, fields []field, embedded string)) error
}

// eachDocument analyses every memory, message and summary of the committed file, by their numbers, on a connection of its own: a range at a time, for
// all of a file may be more than fits into memory.
func (e *Engine) eachDocument(ctx context.Context, do func(*document) error) error {
	c, err := e.newConnection(ctx)
	if err != nil {
		return err
	}
	defer c.close()
	var last int32
	if _, err := c.one(ctx, "index_last", []any{&last}); err != nil {
		return err
	}
	readers := make([]func(context.Context, *connection, numbers, func(*document) error) error, len(e.sources))
	for i, s := range e.sources {
		readers[i] = s.reader()
	}
	for from := int32(0); from <= last; from += rebuildBatch {
		for _, read := range readers {
			if err := read(ctx, c, numbers{from, from + rebuildBatch - 1}, do); err != nil {
				return err
			}
		}
	}
	return nil
}

// eachOwner reads what documents are made of, by the ids of its kinds.
func (e *Engine) eachOwner(ctx context.Context, c *connection, ids map[Kind][]string, do func(id string, fields []field, embedded string)) error {
	for _, s := range e.sources {
		if err := s.owners(ctx, c, ids[s.kind], do); err != nil {
			return err
		}
	}
	return nil
}
