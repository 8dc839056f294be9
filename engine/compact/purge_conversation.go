package compact

import (
	"context"
	"database/sql"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/internal/duck"
)

// PurgeConversation removes a conversation for good: its messages and summaries with all that belongs to them, and its own row. Where it was read
// from a transcript, that stays read. Errors: ErrNotFound, ErrInvalid, ErrScopeDenied.
func (cp *Compactor) PurgeConversation(ctx context.Context, name, agent string) (*Purged, error) {
	return cp.purge(ctx, "purge conversation", func(tx *duck.Write, done *purging) error {
		v, err := cp.conversations.Writable(ctx, tx.Conn, conversation.Reference{Name: name}, agent)
		if err != nil {
			return err
		}
		of := sql.Named("conversation_id", v.ID)
		var ids []string
		err = tx.Each(ctx, "purge_list", func(rows *sql.Rows) error {
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
		if done.payloads, err = duck.Column[string](ctx, tx.Conn, "payloads_of_messages", sql.Named("ids", ids)); err != nil {
			return err
		}
		if err := cp.index.DeleteDocumentsOf(ctx, tx, done.words, v.ID); err != nil {
			return err
		}
		for _, query := range []string{"purge_sources", "purge_summaries", "purge_compactions", "purge_debts"} {
			if _, err := tx.Exec(ctx, query, of); err != nil {
				return err
			}
		}
		return cp.conversations.DeleteConversation(ctx, tx, v.ID)
	})
}
