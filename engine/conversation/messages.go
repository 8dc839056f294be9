package conversation

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
)

// MessagesRequest names a stretch of a conversation.
type MessagesRequest struct {
	Conversation string // name or id
	Agent        string // empty: an internal caller
	From         int    // first seq; default 1
	Limit        int    // 1 to 100,000; default 100
	Raw          bool   // with Message.Raw, and the Raw of blocks however long it is
}

// Messages gives messages of a conversation in their order, with their blocks. Errors: ErrNotFound, ErrInvalid.
func (cs *Store) Messages(ctx context.Context, r MessagesRequest) (all []*Message, err error) {
	if r.Limit == 0 {
		r.Limit = 100
	}
	if r.Limit < 1 || r.Limit > 100_000 {
		return nil, fmt.Errorf("messages: %w", fault.Invalid("limit", r.Limit, "1 to 100000"))
	}
	err = cs.file.Read(ctx, "messages", func(c *duck.Conn) error {
		conversation, err := cs.Readable(ctx, c, r.Conversation, r.Agent)
		if err != nil {
			return err
		}
		err = c.Each(ctx, "message_list", func(rows *sql.Rows) error {
			m, _, _, err := ScanMessage(rows)
			all = append(all, m)
			return err
		}, sql.Named("conversation_id", conversation.ID), sql.Named("from", r.From), sql.Named("limit", int64(r.Limit)))
		if err != nil || len(all) == 0 {
			return err
		}
		if r.Raw {
			return cs.fillRaw(ctx, c, all)
		}
		return FillBlocks(ctx, c, all)
	})
	return all, err
}

// FillBlocks reads the blocks of messages of one conversation, which are in the order of their seq, without the Raw that is in payloads.
func FillBlocks(ctx context.Context, c *duck.Conn, messages []*Message) error {
	_, err := listBlocks(ctx, c, messages)
	return err
}

// outsizedRaw is a Raw that is in payloads: of a block, or of the message itself.
type outsizedRaw struct {
	message *Message
	block   int // -1: of the message
	sha256  string
}

// listBlocks is FillBlocks, and tells which Raws it left out.
func listBlocks(ctx context.Context, c *duck.Conn, messages []*Message) (left []outsizedRaw, err error) {
	if len(messages) == 0 {
		return nil, nil
	}
	byID := make(map[string]*Message, len(messages))
	for _, m := range messages {
		byID[m.ID] = m
	}
	err = c.Each(ctx, "part_list", func(rows *sql.Rows) error {
		id, b, sum, err := ScanPart(rows)
		if m := byID[id]; m != nil {
			if sum != "" {
				left = append(left, outsizedRaw{m, len(m.Blocks), sum})
			}
			m.Blocks = append(m.Blocks, b)
		}
		return err
	}, stretch(messages)...)
	return left, err
}

// fillRaw is FillBlocks with all that the host wrote.
func (cs *Store) fillRaw(ctx context.Context, c *duck.Conn, messages []*Message) error {
	left, err := listBlocks(ctx, c, messages)
	if err != nil {
		return err
	}
	bySeq := make(map[int]*Message, len(messages))
	for _, m := range messages {
		bySeq[m.Seq] = m
	}
	err = c.Each(ctx, "message_raw", func(rows *sql.Rows) error {
		var seq int
		var raw []byte
		var sum string
		if err := rows.Scan(&seq, &raw, duck.TextOf(&sum)); err != nil {
			return err
		}
		if m := bySeq[seq]; m != nil && sum != "" {
			left = append(left, outsizedRaw{m, -1, sum})
		} else if m != nil {
			m.Raw = raw
		}
		return nil
	}, stretch(messages)...)
	if err != nil {
		return err
	}
	for _, raw := range left {
		b, err := cs.contents.ReadPayload(ctx, c, raw.sha256)
		if err != nil {
			return err
		}
		if raw.block < 0 {
			raw.message.Raw = b
		} else {
			raw.message.Blocks[raw.block].Raw = b
		}
	}
	return nil
}

// stretch names the part of a conversation that messages are from.
func stretch(messages []*Message) []any {
	return []any{sql.Named("conversation_id", messages[0].ConversationID), sql.Named("from", messages[0].Seq),
		sql.Named("to", messages[len(messages)-1].Seq)}
}
