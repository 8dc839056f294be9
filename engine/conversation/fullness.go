package conversation

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
)

// Tokens is how much of a model's context an answer left taken: all that went in and came out.
func (u Usage) Tokens() int { return cmp.Or(u.Total, u.Input+u.Output+u.CacheRead+u.CacheWrite) }

// Fullness is how many tokens a conversation's prompt has, as well as that is known: what the host says, where that is more than 0; else what the provider counted
// for the newest answer since the context was last compacted, and the tokens of what was said after it; else those of the context.
func Fullness(ctx context.Context, c *duck.Conn, v *Conversation, live int) (tokens int, err error) {
	if live > 0 {
		return live, nil
	}
	var usage string
	var after int
	found, err := c.One(ctx, "context_usage", []any{&usage, &after}, sql.Named("conversation_id", v.ID), sql.Named("after", int64(v.CompactedSeq)))
	if err != nil {
		return 0, err
	}
	if found {
		var u Usage
		if err := json.Unmarshal([]byte(usage), &u); err != nil {
			return 0, fmt.Errorf("%w: usage of a message of conversation %s: %w", fault.ErrCorrupt, v.ID, err)
		}
		if n := u.Tokens(); n > 0 {
			return n + after, nil
		}
	}
	_, tokens, err = ContextSize(ctx, c, v.ID)
	return tokens, err
}

// UserTurns counts the messages of the user after one seq, up to another.
func UserTurns(ctx context.Context, c *duck.Conn, conversationID string, after, upTo int) (n int, err error) {
	_, err = c.One(ctx, "user_turns", []any{&n}, sql.Named("conversation_id", conversationID), sql.Named("after", int64(after)), sql.Named("upto", int64(upTo)))
	return n, err
}

// Compacted notes that a conversation's context was compacted so many times: what was counted of it before is no more true.
func Compacted(ctx context.Context, tx *duck.Write, conversationID string, times int) error {
	_, err := tx.Exec(ctx, "conversation_compacted", sql.Named("id", conversationID), sql.Named("times", int64(times)))
	return err
}
