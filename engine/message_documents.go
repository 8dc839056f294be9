package engine

import (
	"context"
	"database/sql"
)

// messageSource gives the documents of messages.
func messageSource(e *Engine) source {
	return source{MessageKind, e.messageDocuments, messageOwners}
}

func (e *Engine) messageDocuments() func(context.Context, *connection, numbers, func(*document) error) error {
	return func(ctx context.Context, c *connection, of numbers, do func(*document) error) error {
		var all []*storedMessage
		var ids []string
		err := c.eachOf(ctx, of, "messages_numbered", func(rows *sql.Rows) (err error) {
			m := &storedMessage{}
			if m.Message, m.docNo, m.at, err = scanMessage(rows, &m.scope); err == nil {
				all, ids = append(all, m), append(ids, m.ID)
			}
			return err
		})
		if err != nil || len(all) == 0 {
			return err
		}
		blocks, err := indexedBlocks(ctx, c, ids)
		for _, m := range all {
			if err != nil {
				break
			}
			m.Blocks = blocks[m.ID]
			d := &document{kind: MessageKind, retired: !m.recallable()}
			if !d.retired {
				d.words = e.analyse(m.fields())
			}
			e.describeMessage(d, m.Message, m.scope, m.docNo, m.at)
			d.read(m.Text, e.analyzer)
			err = do(d)
		}
		return err
	}
}

func messageOwners(ctx context.Context, c *connection, ids []string, do func(id string, fields []field, embedded string)) error {
	blocks, err := indexedBlocks(ctx, c, ids)
	if err != nil {
		return err
	}
	return c.each(ctx, "messages_by_id", func(rows *sql.Rows) error {
		var scope string
		m, _, _, err := scanMessage(rows, &scope)
		if err == nil {
			m.Blocks = blocks[m.ID]
			do(m.ID, m.fields(), m.embedded())
		}
		return err
	}, sql.Named("ids", ids))
}

// indexedBlocks reads what the index has of the blocks of messages, by the message's id.
func indexedBlocks(ctx context.Context, c *connection, ids []string) (map[string][]Block, error) {
	blocks := map[string][]Block{}
	return blocks, c.each(ctx, "part_of_messages", func(rows *sql.Rows) error {
		var id string
		var b Block
		err := rows.Scan(&id, &b.Type, textOf(&b.Text), textOf(&b.Tool), textOf(&b.Input), textOf(&b.Output), textOf(&b.FileName))
		blocks[id] = append(blocks[id], b)
		return err
	}, sql.Named("ids", ids))
}
