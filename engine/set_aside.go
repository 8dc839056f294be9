package engine

import (
	"context"
	"database/sql"
	"strconv"
	"strings"

	sqlfiles "github.com/mallardmem/mallard/sql"
)

// setAside takes messages out of the context of their conversation. The caller is in a write transaction, and takes those out of the index
// that are not to be recalled.
func (e *Engine) setAside(ctx context.Context, c *connection, conversationID string, ids []string, why SetAside) error {
	_, err := c.exec(ctx, "messages_set_aside", sql.Named("ids", ids), sql.Named("why", string(why)), sql.Named("at", e.now()))
	if err != nil {
		return err
	}
	_, err = c.exec(ctx, "context_items_leave", sql.Named("conversation_id", conversationID), sql.Named("refs", ids))
	return err
}

// retire takes documents of one kind out of postings, totals and vectors; they can't be recalled any more. The caller is in a write
// transaction.
func (e *Engine) retire(ctx context.Context, c *connection, kind Kind, numbers []int32) error {
	var documents int64
	var length float64
	if _, err := c.one(ctx, "documents_live", []any{&documents, &length}, sql.Named("doc_nos", numbers)); err != nil || documents == 0 {
		return err
	}
	if err := e.count(ctx, c, kind, -documents, -length); err != nil {
		return err
	}
	for _, query := range []string{"postings_retire", "documents_retire"} {
		if _, err := c.exec(ctx, query, sql.Named("doc_nos", numbers)); err != nil {
			return err
		}
	}
	list := make([]string, len(numbers))
	for i, no := range numbers {
		list[i] = strconv.Itoa(int(no))
	}
	for _, m := range []model{e.chosen, e.next} {
		if m.n == 0 {
			continue
		}
		if err := c.execDDL(ctx, sqlfiles.Query("vectors_retire"), "{table}", m.table(), "{doc_nos}", strings.Join(list, ", ")); err != nil {
			return err
		}
	}
	return nil
}
