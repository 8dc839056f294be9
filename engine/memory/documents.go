package memory

import (
	"context"
	"database/sql"

	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/kinds"
)

// memorySource gives the documents of memories.
func memorySource(ms *Store) index.Source {
	return index.Source{Kind: kinds.Memory, Reader: ms.memoryDocuments, Owners: memoryOwners}
}

func (ms *Store) memoryDocuments() func(context.Context, *duck.Conn, duck.Numbers, func(*index.Document) error) error {
	last := seats{}
	return func(ctx context.Context, c *duck.Conn, of duck.Numbers, do func(*index.Document) error) error {
		return c.EachOf(ctx, of, "memories_numbered", func(rows *sql.Rows) error {
			m, docNo, err := scanMemory(rows)
			if err != nil {
				return err
			}
			d := &index.Document{Kind: kinds.Memory}
			ms.describe(d, m, docNo)
			d.Stand = last.seat(m, docNo)
			if !d.Retired {
				d.Words = ms.index.Analyse(m.fields())
				d.Divide(m.embedded())
			}
			return do(d)
		})
	}
}

func memoryOwners(ctx context.Context, c *duck.Conn, ids []string, do func(id string, fields []index.Field, embedded string)) error {
	return c.Each(ctx, "memories_by_id", func(rows *sql.Rows) error {
		m, _, err := scanMemory(rows)
		if err == nil {
			do(m.ID, m.fields(), m.embedded())
		}
		return err
	}, sql.Named("ids", ids))
}
