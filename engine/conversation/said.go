package conversation

import (
	"context"
	"database/sql"

	"github.com/mallardmem/mallard/engine/internal/duck"
)

// Said reads messages of a conversation, from one seq to another, as far as summaries are made of them.
func Said(ctx context.Context, c *duck.Conn, conversationID string, from, to int) ([]*Message, error) {
	of := []any{sql.Named("conversation_id", conversationID), sql.Named("from", int64(from)), sql.Named("to", int64(to))}
	bySeq := map[int]*Message{}
	var messages []*Message
	err := c.Each(ctx, "messages_said", func(rows *sql.Rows) error {
		var m Message
		err := rows.Scan(&m.ID, &m.Seq, &m.Role, duck.TextOf(&m.Speaker), &m.Text, duck.TextOf(&m.Caption), &m.SaidAt, &m.Tokens)
		messages, bySeq[m.Seq] = append(messages, &m), &m
		return err
	}, of...)
	if err != nil || len(messages) == 0 {
		return nil, err
	}
	return messages, c.Each(ctx, "parts_said", func(rows *sql.Rows) error {
		var seq int
		var b Block
		err := rows.Scan(&seq, &b.Type, duck.TextOf(&b.Text), duck.TextOf(&b.Tool), duck.TextOf(&b.Input), duck.TextOf(&b.Output), &b.IsError, duck.TextOf(&b.FileName))
		if m := bySeq[seq]; m != nil {
			m.Blocks = append(m.Blocks, b)
		}
		return err
	}, of...)
}
