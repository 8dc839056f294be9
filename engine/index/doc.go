// Package index keeps what documents are found by: their words with postings and totals, their vectors and those of their passages, and their places in
// the talk. A document is a memory, a message or a summary that can be recalled.
//
// It owns the tables documents, passages, terms, surfaces, postings, kind_stats, models, vectors_<n> and embedding_cache, and the index of DuckDB's text extension; what leaves the
// present and may still be asked for is in past_documents, past_postings, past_passages and past_vectors, so that no recall of the present meets it. It is written
// in the transaction that writes the rows: whoever keeps them calls InsertDocuments and its like, and gives a Source from which the index can be made
// anew. Totals are those of the live documents at every commit; vectors may be missing, which Stats tells and RebuildIndex mends.
//
// It asks duck for transactions and settings, and text for words. The file's models are read under Index.models and changed with the writer's lock as well;
// no model is waited for with either, and by the time that one is done the file may go by another: vectors are written under the model that made them.
//
// What bites: passages have numbers from the sequence of documents, and their vectors stand under these, so whoever reads vectors by themselves meets both;
// a key on the number of a document makes fetching forty vectors 1 ms in place of 40; words are found by their hash, without keys, for those of
// a million documents would not fit into memory. What is known of words and numbers is forgotten when a write is rolled back. Other rooms (recall,
// lookup, assemble, compact, upkeep) read postings in SQL: another form of them is a change there as well.
package index

import (
	"cmp"
	"context"
	"sync"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/engine/text"
)

// Index is that of one file.
type Index struct {
	file     *duck.File
	opts     setup.Options
	Analyzer *text.Analyzer
	sources  []Source
	past     Past

	// The writer's lock owns these.
	Words    wordCache
	reserved []int32 // numbers for documents
	unmarked bool    // the file says that its fts index is stale; false: it may say so

	residence residence
	cache     embeddingCache

	models  sync.RWMutex              // with the writer's lock, to change what is below; either is enough to read it
	Models                            // of the file
	brought map[string]setup.Embedder // by fingerprint, those that are at hand
}

// New gives the index of a file, with the tokenizer of its language and its model. Errors: ErrModelMismatch, ErrCorrupt.
func New(ctx context.Context, file *duck.File, o setup.Options) (*Index, error) {
	ix := &Index{file: file, opts: o}
	ix.cache.most = int64(max(cmp.Or(o.EmbeddingCacheMB, setup.DefaultEmbeddingCache), 0)) << 20
	file.OnRollback(ix.forget)
	file.OnCommit(ix.aboutToCommit, ix.committed)
	if err := ix.adoptLanguage(ctx); err != nil {
		return nil, err
	}
	if _, err := file.Conn.One(ctx, "embedding_cache_held", []any{&ix.cache.held}); err != nil {
		return nil, err
	}
	return ix, ix.adoptModel(ctx)
}

// AddSource says where documents of a kind come from. It is called before the index is used.
func (ix *Index) AddSource(s Source) { ix.sources = append(ix.sources, s) }
