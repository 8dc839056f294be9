package conversation

import (
	"context"
	"database/sql"

	"github.com/mallardmem/mallard/engine/internal/duck"
)

// EmptyMessages takes away what messages of a conversation say, with their blocks and large files, and sets them aside as AsidePurged; of each its
// number, role, keys and times stay. The caller purges their documents and their contents, and has what stands on them
// made anew.
func (cs *Store) EmptyMessages(ctx context.Context, tx *duck.Write, conversationID string, ids []string) error {
	for _, query := range []string{"parts_purge", "large_files_purge"} {
		if _, err := tx.Exec(ctx, query, sql.Named("ids", ids)); err != nil {
			return err
		}
	}
	if _, err := tx.Exec(ctx, "messages_purge", sql.Named("ids", ids), sql.Named("at", cs.file.Now())); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "context_items_leave", sql.Named("conversation_id", conversationID), sql.Named("refs", ids)); err != nil {
		return err
	}
	return cs.tellPurged(ctx, tx, conversationID, ids)
}

// DeleteConversation removes a conversation with its messages, its context and its large files. Where it was read from a transcript, that stays read.
// The caller has removed what stands on the messages.
func (cs *Store) DeleteConversation(ctx context.Context, tx *duck.Write, conversationID string) error {
	for _, query := range []string{"purge_context", "purge_parts", "purge_files", "purge_cursors", "purge_children", "purge_messages", "purge_conversation"} {
		if _, err := tx.Exec(ctx, query, sql.Named("conversation_id", conversationID)); err != nil {
			return err
		}
	}
	return cs.tellPurged(ctx, tx, conversationID, nil)
}

func (cs *Store) tellPurged(ctx context.Context, tx *duck.Write, conversationID string, ids []string) error {
	for _, gone := range cs.purged {
		if err := gone(ctx, tx, conversationID, ids); err != nil {
			return err
		}
	}
	return nil
}
