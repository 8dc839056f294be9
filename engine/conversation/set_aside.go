package conversation

import (
	"context"
	"database/sql"

	"github.com/mallardmem/mallard/engine/internal/duck"
)

// setAside takes messages out of the context of their conversation. The caller takes those out of the index
// that are not to be recalled.
func (cs *Store) setAside(ctx context.Context, tx *duck.Write, conversationID string, ids []string, why SetAside) error {
	_, err := tx.Exec(ctx, "messages_set_aside", sql.Named("ids", ids), sql.Named("why", string(why)), sql.Named("at", cs.file.Now()))
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "context_items_leave", sql.Named("conversation_id", conversationID), sql.Named("refs", ids))
	return err
}
