package engine

import (
	"context"
	"database/sql"
)

// memorySource gives the documents of memories.
func memorySource(e *Engine) source {
	return source{MemoryKind, e.memoryDocuments, memoryOwners}
}

func (e *Engine) memoryDocuments() func(context.Context, *connection, numbers, func(*document) error) error {
	last := seats{}
	return func(ctx context.Context, c *connection, of numbers, do func(*document) error) error {
		return c.eachOf(ctx, of, "memories_numbered", func(rows *sql.Rows) error {
			m, docNo, err := scanMemory(rows)
			if err != nil {
				return err
			}
			d := &document{kind: MemoryKind}
			e.describe(d, m, docNo)
			d.stand = last.seat(m, docNo)
			if !d.retired {
				d.words = e.analyse(m.fields())
			}
			return do(d)
		})
	}
}

func memoryOwners(ctx context.Context, c *connection, ids []string, do func(id string, fields []field, embedded string)) error {
	return c.each(ctx, "memories_by_id", func(rows *sql.Rows) error {
		m, _, err := scanMemory(rows)
		if err == nil {
			do(m.ID, m.fields(), m.embedded())
		}
		return err
	}, sql.Named("ids", ids))
}
