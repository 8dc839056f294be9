package index

import (
	"context"
	"database/sql"
	"maps"
	"slices"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/kinds"
	sqlfiles "github.com/mallardmem/mallard/sql"
)

// Leaving are the ways of writing of documents that a purge removes, each with its term: what no other document has is to leave the index's vocabulary.
type Leaving map[string]string

// LeaveWords adds the words of documents that are about to be removed, or to get another text.
func (ix *Index) LeaveWords(ctx context.Context, c *duck.Conn, l Leaving, owners map[kinds.Kind][]string) error {
	for kind, ids := range owners {
		for batch := range slices.Chunk(ids, rebuildBatch) {
			err := ix.eachOwner(ctx, c, map[kinds.Kind][]string{kind: batch}, func(_ string, fields []Field, _ string) { maps.Copy(l, ix.Analyse(fields).Surfaces) })
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// PurgeDocuments retires documents of one kind, and empties what their rows tell of the texts.
func (ix *Index) PurgeDocuments(ctx context.Context, tx *duck.Write, kind kinds.Kind, numbers []int32) error {
	if err := ix.Retire(ctx, tx, kind, numbers); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "documents_purge", sql.Named("doc_nos", numbers))
	return err
}

// DeleteDocumentsOf removes the documents of a conversation with all that they are found by, and adds their words to those that leave. The texts are
// there still.
func (ix *Index) DeleteDocumentsOf(ctx context.Context, tx *duck.Write, l Leaving, conversationID string) error {
	numbers, owners := map[kinds.Kind][]int32{}, map[kinds.Kind][]string{}
	err := tx.Each(ctx, "documents_of_conversation", func(rows *sql.Rows) error {
		var no int32
		var kind kinds.Kind
		var owner string
		if err := rows.Scan(&no, &kind, &owner); err != nil {
			return err
		}
		numbers[kind], owners[kind] = append(numbers[kind], no), append(owners[kind], owner)
		return nil
	}, sql.Named("conversation_id", conversationID))
	if err != nil {
		return err
	}
	if err := ix.LeaveWords(ctx, tx.Conn, l, owners); err != nil {
		return err
	}
	for kind, list := range numbers {
		if err := ix.Retire(ctx, tx, kind, list); err != nil {
			return err
		}
	}
	_, err = tx.Exec(ctx, "purge_documents", sql.Named("conversation_id", conversationID))
	return err
}

// SweepWords ends a purge: it removes terms that no document has any more, and of the ways of writing that leave those that none has, with what the text
// extension's index made of them; what the cache of embeddings has of what left; and notes that the file's bytes may still have what was purged. The documents
// have left the index in the same transaction.
func (ix *Index) SweepWords(ctx context.Context, tx *duck.Write, l Leaving) error {
	if err := ix.SweepCache(ctx, tx); err != nil {
		return err
	}
	if len(l) == 0 {
		return nil
	}
	ix.Words.Forget() // it may know what goes
	if err := tx.ExecDDL(ctx, sqlfiles.Query("words_sweep")); err != nil {
		return err
	}
	written, err := ix.nobodyWrites(ctx, tx.Conn, l)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "surfaces_delete", sql.Named("surfaces", written)); err != nil {
		return err
	}
	if x, err := ix.FTSState(ctx, tx.Conn); err != nil || x != nil {
		if err == nil {
			err = DropFTS(ctx, tx)
		}
		if err != nil {
			return err
		}
	}
	var since string
	if found, err := ix.file.Setting(ctx, tx.Conn, PurgedSetting, &since); found || err != nil {
		return err
	}
	return ix.file.PutSetting(ctx, tx, PurgedSetting, ix.file.Now().Format(timeFormat))
}

// PurgedSetting is since when something was purged whose bytes may still be in the file: Shred makes a file without it.
const (
	PurgedSetting = "purged"
	timeFormat    = "2006-01-02T15:04:05.999999Z"
)

// nobodyWrites gives those of l that no document has, live or of the past. Their terms have others: these documents are read until each was met or none is left.
func (ix *Index) nobodyWrites(ctx context.Context, c *duck.Conn, l Leaving) ([]string, error) {
	left := map[string]int32{} // by its term
	err := c.Each(ctx, "surfaces_known", func(rows *sql.Rows) error {
		var surface string
		var term int32
		if err := rows.Scan(&surface, &term); err != nil {
			return err
		}
		left[surface] = term
		return nil
	}, sql.Named("surfaces", slices.Collect(maps.Keys(l))))
	for after := int32(0); err == nil && len(left) > 0; {
		owners, read := map[kinds.Kind][]string{}, 0
		err = c.Each(ctx, "documents_with_terms", func(rows *sql.Rows) error {
			var kind kinds.Kind
			var id string
			if err := rows.Scan(&after, &kind, &id); err != nil {
				return err
			}
			owners[kind] = append(owners[kind], id)
			read++
			return nil
		}, sql.Named("term_nos", slices.Compact(slices.Sorted(maps.Values(left)))), sql.Named("after", after), sql.Named("limit", int64(rebuildBatch)))
		if err == nil && read == 0 {
			break
		}
		if err == nil {
			err = ix.eachOwner(ctx, c, owners, func(_ string, fields []Field, _ string) {
				for surface := range ix.Analyse(fields).Surfaces {
					delete(left, surface)
				}
			})
		}
	}
	if err == nil {
		err = ix.formerlyWritten(ctx, c, left)
	}
	return slices.Collect(maps.Keys(left)), err
}
