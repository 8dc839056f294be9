package engine

import (
	"context"
	"database/sql"
	"maps"
	"slices"

	sqlfiles "github.com/mallardmem/mallard/sql"
)

// leaving are the ways of writing of documents that a purge removes, each with its term: what no other document has is to leave the index's vocabulary.
type leaving map[string]string

// leaveWords adds the words of documents that are about to be removed, or to get another text. The caller is in a write transaction.
func (e *Engine) leaveWords(ctx context.Context, c *connection, l leaving, owners map[Kind][]string) error {
	for kind, ids := range owners {
		for batch := range slices.Chunk(ids, rebuildBatch) {
			err := e.eachOwner(ctx, c, map[Kind][]string{kind: batch}, func(_ string, fields []field, _ string) { maps.Copy(l, e.analyse(fields).surfaces) })
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// sweepWords ends a purge: it removes terms that no document has any more, and of the ways of writing that leave those that none has, with what the text
// extension's index made of them; and notes that the file's bytes may still have what was purged. The caller is in a write transaction, in which the documents
// have left the index.
func (e *Engine) sweepWords(ctx context.Context, c *connection, l leaving) error {
	if len(l) == 0 {
		return nil
	}
	e.words.forget() // it may know what goes
	if err := c.execDDL(ctx, sqlfiles.Query("words_sweep")); err != nil {
		return err
	}
	written, err := e.nobodyWrites(ctx, c, l)
	if err != nil {
		return err
	}
	if _, err := c.exec(ctx, "surfaces_delete", sql.Named("surfaces", written)); err != nil {
		return err
	}
	if x, err := e.ftsIndex(ctx, c); err != nil || x != nil {
		if err == nil {
			err = dropFTS(ctx, c)
		}
		if err != nil {
			return err
		}
	}
	var since string
	if found, err := e.setting(ctx, c, purgedSetting, &since); found || err != nil {
		return err
	}
	return e.putSetting(ctx, c, purgedSetting, e.now().Format(timeFormat))
}

// purgedSetting is since when something was purged whose bytes may still be in the file: Shred makes a file without it.
const (
	purgedSetting = "purged"
	timeFormat    = "2006-01-02T15:04:05.999999Z"
)

// nobodyWrites gives those of l that no live document has. Their terms have others: these documents are read until each was met or none is left.
func (e *Engine) nobodyWrites(ctx context.Context, c *connection, l leaving) ([]string, error) {
	left := map[string]int32{} // by its term
	err := c.each(ctx, "surfaces_known", func(rows *sql.Rows) error {
		var surface string
		var term int32
		defer func() { left[surface] = term }()
		return rows.Scan(&surface, &term)
	}, sql.Named("surfaces", slices.Collect(maps.Keys(l))))
	for after := int32(0); err == nil && len(left) > 0; {
		owners, read := map[Kind][]string{}, 0
		err = c.each(ctx, "documents_with_terms", func(rows *sql.Rows) error {
			var kind Kind
			var id string
			defer func() { owners[kind] = append(owners[kind], id); read++ }()
			return rows.Scan(&after, &kind, &id)
		}, sql.Named("term_nos", slices.Compact(slices.Sorted(maps.Values(left)))), sql.Named("after", after), sql.Named("limit", int64(rebuildBatch)))
		if err == nil && read == 0 {
			break
		}
		if err == nil {
			err = e.eachOwner(ctx, c, owners, func(_ string, fields []field, _ string) {
				for surface := range e.analyse(fields).surfaces {
					delete(left, surface)
				}
			})
		}
	}
	return slices.Collect(maps.Keys(left)), err
}
