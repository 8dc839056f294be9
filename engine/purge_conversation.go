package engine

import (
	"context"
	"database/sql"
)

// PurgeConversation removes a conversation for good: its messages and summaries with all that belongs to them, and its own row. Where it was read
// from a transcript, that stays read. Errors: ErrNotFound, ErrInvalid, ErrScopeDenied.
func (e *Engine) PurgeConversation(ctx context.Context, name, agent string) (*Purged, error) {
	return e.purge(ctx, "purge conversation", func(c *connection, done *purging) error {
		v, err := e.writable(ctx, c, conversationOf{name: name}, agent)
		if err != nil {
			return err
		}
		of := sql.Named("conversation_id", v.ID)
		var ids []string
		err = c.each(ctx, "purge_list", func(rows *sql.Rows) error {
			var id string
			var tokens int
			err := rows.Scan(&id, &tokens)
			ids, done.Tokens = append(ids, id), done.Tokens+tokens
			return err
		}, of)
		if err != nil {
			return err
		}
		done.Messages = len(ids)
		if err := collect(ctx, c, "payloads_of_messages", &done.payloads, sql.Named("ids", ids)); err != nil {
			return err
		}
		numbers, owners := map[Kind][]int32{}, map[Kind][]string{}
		err = c.each(ctx, "documents_of_conversation", func(rows *sql.Rows) error {
			var no int32
			var kind Kind
			var owner string
			defer func() { numbers[kind], owners[kind] = append(numbers[kind], no), append(owners[kind], owner) }()
			return rows.Scan(&no, &kind, &owner)
		}, of)
		if err != nil {
			return err
		}
		if err := e.leaveWords(ctx, c, done.words, owners); err != nil {
			return err
		}
		for kind, list := range numbers {
			if err := e.retire(ctx, c, kind, list); err != nil {
				return err
			}
		}
		for _, query := range []string{"purge_documents", "purge_sources", "purge_summaries", "purge_context", "purge_parts", "purge_files",
			"purge_compactions", "purge_debts", "purge_cursors", "purge_children", "purge_messages", "purge_conversation"} {
			if _, err := c.exec(ctx, query, of); err != nil {
				return err
			}
		}
		return nil
	})
}
