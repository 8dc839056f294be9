package engine

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

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
	if err := c.execDDL(ctx, sqlfiles.Query("index_clear")); err != nil {
		return 0, err
	}
	var batch []*document
	flush := func() error {
		if err := c.appendAll("temp", "rebuilt_documents", slices.Values(documentRows(batch))); err != nil {
			return err
		}
		postings, err := e.postings(ctx, c, batch)
		if err != nil {
			return err
		}
		done += len(batch)
		batch = batch[:0]
		e.opts.Progress("words", done, 0)
		return c.appendAll("temp", "rebuilt_postings", postingRows(postings))
	}
	err = e.eachDocument(ctx, func(d *document) error {
		if batch = append(batch, d); len(batch) < rebuildBatch {
			return nil
		}
		return flush()
	})
	if err != nil {
		return done, err
	}
	if err := flush(); err != nil {
		return done, err
	}
	return done, c.execDDL(ctx, sqlfiles.Query("index_replace"))
}

// eachDocument analyses every memory, message and summary of the committed file, on a connection of its own.
func (e *Engine) eachDocument(ctx context.Context, do func(*document) error) error {
	c, err := e.newConnection(ctx)
	if err != nil {
		return err
	}
	defer c.close()
	seats := seats{}
	err = c.each(ctx, "memory_export", func(rows *sql.Rows) error {
		m, docNo, err := scanMemory(rows)
		if err != nil {
			return err
		}
		d := &document{kind: MemoryKind}
		e.describe(d, m, docNo)
		d.stand = seats.seat(m, docNo)
		if !d.retired {
			d.words = e.analyse(m.fields())
		}
		return do(d)
	}, sql.Named("scopes", nil))
	if err != nil {
		return err
	}
	if err := e.eachMessage(ctx, c, do); err != nil {
		return err
	}
	return c.each(ctx, "summary_all", func(rows *sql.Rows) error {
		var scope string
		s, docNo, err := scanSummary(rows, &scope)
		if err != nil {
			return err
		}
		d := &document{kind: SummaryKind, words: e.analyse(s.fields())}
		d.locate(s, scope, docNo)
		d.read(s.Text, e.analyzer)
		return do(d)
	})
}

// eachMessage is eachDocument for messages. Their blocks are read batch by batch, on a further connection: all of them may be more than fits
// into memory.
func (e *Engine) eachMessage(ctx context.Context, c *connection, do func(*document) error) error {
	further, err := e.newConnection(ctx)
	if err != nil {
		return err
	}
	defer further.close()
	var batch []*storedMessage
	flush := func() error {
		ids := make([]string, len(batch))
		for i, m := range batch {
			ids[i] = m.ID
		}
		blocks, err := indexedBlocks(ctx, further, ids)
		if err != nil {
			return err
		}
		for _, m := range batch {
			m.Blocks = blocks[m.ID]
			d := &document{kind: MessageKind, retired: !m.recallable()}
			if !d.retired {
				d.words = e.analyse(m.fields())
			}
			e.describeMessage(d, m.Message, m.scope, m.docNo, m.at)
			d.read(m.Text, e.analyzer)
			if err := do(d); err != nil {
				return err
			}
		}
		batch = batch[:0]
		return nil
	}
	err = c.each(ctx, "message_all", func(rows *sql.Rows) (err error) {
		m := &storedMessage{}
		if m.Message, m.docNo, m.at, err = scanMessage(rows, &m.scope); err != nil {
			return err
		}
		if batch = append(batch, m); len(batch) < rebuildBatch {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}

// indexedBlocks reads what the index has of the blocks of messages, by the message's id.
func indexedBlocks(ctx context.Context, c *connection, ids []string) (map[string][]Block, error) {
	blocks := map[string][]Block{}
	return blocks, c.each(ctx, "part_of_messages", func(rows *sql.Rows) error {
		var id string
		var b Block
		err := rows.Scan(&id, &b.Type, textOf(&b.Text), textOf(&b.Tool), textOf(&b.Input), textOf(&b.Output), textOf(&b.FileName))
		blocks[id] = append(blocks[id], b)
		return err
	}, sql.Named("ids", ids))
}
