package compact

import (
	"context"
	"database/sql"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/kinds"
)

// PurgeConversation removes a conversation for good: its messages and summaries with all that belongs to them, and its own row. Where it was read
// from a transcript, that stays read. Errors: ErrNotFound, ErrInvalid, ErrScopeDenied.
func (cp *Compactor) PurgeConversation(ctx context.Context, name, agent string) (*Purged, error) {
	return cp.purge(ctx, "purge conversation", func(c *duck.Conn, done *purging) error {
		v, err := cp.conversations.Writable(ctx, c, conversation.Reference{Name: name}, agent)
		if err != nil {
			return err
		}
		of := sql.Named("conversation_id", v.ID)
		var ids []string
		err = c.Each(ctx, "purge_list", func(rows *sql.Rows) error {
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
		if done.payloads, err = duck.Column[string](ctx, c, "payloads_of_messages", sql.Named("ids", ids)); err != nil {
			return err
		}
		numbers, owners := map[kinds.Kind][]int32{}, map[kinds.Kind][]string{}
		err = c.Each(ctx, "documents_of_conversation", func(rows *sql.Rows) error {
			var no int32
			var kind kinds.Kind
			var owner string
			err := rows.Scan(&no, &kind, &owner)
			numbers[kind], owners[kind] = append(numbers[kind], no), append(owners[kind], owner)
			return err
		}, of)
		if err != nil {
			return err
		}
		if err := cp.index.LeaveWords(ctx, c, done.words, owners); err != nil {
			return err
		}
		for kind, list := range numbers {
			if err := cp.index.Retire(ctx, c, kind, list); err != nil {
				return err
			}
		}
		for _, query := range []string{"purge_documents", "purge_sources", "purge_summaries", "purge_context", "purge_parts", "purge_files",
			"purge_compactions", "purge_debts", "purge_cursors", "purge_children", "purge_messages", "purge_conversation"} {
			if _, err := c.Exec(ctx, query, of); err != nil {
				return err
			}
		}
		return nil
	})
}
