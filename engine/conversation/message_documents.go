package conversation

import (
	"context"
	"database/sql"

	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/kinds"
)

// messageSource gives the documents of messages.
func messageSource(cs *Store) index.Source {
	return index.Source{Kind: kinds.Message, Reader: cs.messageDocuments, Owners: messageOwners}
}

func (cs *Store) messageDocuments() func(context.Context, *duck.Conn, duck.Numbers, func(*index.Document) error) error {
	return func(ctx context.Context, c *duck.Conn, of duck.Numbers, do func(*index.Document) error) error {
		var all []*storedMessage
		var ids []string
		err := c.EachOf(ctx, of, "messages_numbered", func(rows *sql.Rows) (err error) {
			m := &storedMessage{}
			if m.Message, m.docNo, m.at, err = ScanMessage(rows, &m.scope); err == nil {
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
			d := &index.Document{Kind: kinds.Message, Retired: !m.recallable()}
			if !d.Retired {
				d.Words = cs.index.Analyse(m.fields())
				d.Divide(m.embedded())
			}
			cs.describeMessage(d, m.Message, m.scope, m.docNo, m.at)
			d.Read(m.Text, cs.index.Analyzer)
			err = do(d)
		}
		return err
	}
}

func messageOwners(ctx context.Context, c *duck.Conn, ids []string, do func(id string, fields []index.Field, embedded string)) error {
	blocks, err := indexedBlocks(ctx, c, ids)
	if err != nil {
		return err
	}
	return c.Each(ctx, "messages_by_id", func(rows *sql.Rows) error {
		var scope string
		m, _, _, err := ScanMessage(rows, &scope)
		if err == nil {
			m.Blocks = blocks[m.ID]
			do(m.ID, m.fields(), m.embedded())
		}
		return err
	}, sql.Named("ids", ids))
}

// indexedBlocks reads what the index has of the blocks of messages, by the message's id.
func indexedBlocks(ctx context.Context, c *duck.Conn, ids []string) (map[string][]Block, error) {
	blocks := map[string][]Block{}
	return blocks, c.Each(ctx, "part_of_messages", func(rows *sql.Rows) error {
		var id string
		var b Block
		err := rows.Scan(&id, &b.Type, duck.TextOf(&b.Text), duck.TextOf(&b.Tool), duck.TextOf(&b.Input), duck.TextOf(&b.Output), duck.TextOf(&b.FileName))
		blocks[id] = append(blocks[id], b)
		return err
	}, sql.Named("ids", ids))
}
