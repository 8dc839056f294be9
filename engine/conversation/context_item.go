package conversation

import (
	"context"
	"database/sql"
	"database/sql/driver"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/window"
	sqlfiles "github.com/mallardmem/mallard/sql"
)

// What is below changes contexts for whoever puts summaries into them. The caller sees to it that every message is in
// its context, under one summary, or set aside, when that is committed.

// InsertItems puts items into a context; what stood at their positions was taken out before.
func InsertItems(tx *duck.Write, conversationID string, items ...window.Item) error {
	rows := make([][]driver.Value, len(items))
	for i, it := range items {
		kind := kinds.Message
		if it.Summary {
			kind = kinds.Summary
		}
		rows[i] = []driver.Value{conversationID, int32(it.Position), string(kind), it.Ref, int32(it.Tokens)}
	}
	return tx.AppendRows("context_items", rows)
}

// RemoveItems takes items from one position to another out of a context.
func RemoveItems(ctx context.Context, tx *duck.Write, conversationID string, from, to int) error {
	_, err := tx.Exec(ctx, "context_remove", sql.Named("conversation_id", conversationID), sql.Named("from", int64(from)), sql.Named("to", int64(to)))
	return err
}

// RemoveItem takes the item that refers to a message or summary out of a context, and tells how many that were: 0 where it is not in it.
func RemoveItem(ctx context.Context, tx *duck.Write, conversationID, ref string) (removed int64, err error) {
	return tx.Exec(ctx, "context_remove_ref", sql.Named("conversation_id", conversationID), sql.Named("ref", ref))
}

// RemoveItemsBefore takes all messages before a position out of a context, and of the summaries those that are given.
func RemoveItemsBefore(ctx context.Context, tx *duck.Write, conversationID string, before int, summaries []string) error {
	_, err := tx.Exec(ctx, "context_remove_before", sql.Named("conversation_id", conversationID), sql.Named("before", int64(before)), sql.Named("summaries", summaries))
	return err
}

// PutItemTokens says what an item costs, after the message or summary that it refers to was changed, and reports whether it is in the context.
func PutItemTokens(ctx context.Context, tx *duck.Write, conversationID, ref string, tokens int) (shown bool, err error) {
	n, err := tx.Exec(ctx, "context_tokens", sql.Named("conversation_id", conversationID), sql.Named("ref", ref), sql.Named("tokens", int64(tokens)))
	return n > 0, err
}

// MendContexts makes all contexts true to what messages and summaries say, and tells how many items it changed; what is right it leaves alone.
func MendContexts(ctx context.Context, tx *duck.Write) (changed int64, err error) {
	changed, err = tx.ChangedBy(ctx, sqlfiles.Query("doctor_context"))
	if err != nil {
		return changed, duck.QueryError("doctor_context", err)
	}
	return changed, nil
}
