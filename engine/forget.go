package engine

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/mallardmem/mallard/engine/internal/fault"
)

// ForgetRequest names a memory that shall not be recalled any more.
type ForgetRequest struct {
	ID     string // whole, or its unique ending
	Agent  string // empty: an internal caller
	Reason string // kept with the memory
}

// Forget takes a memory out of recall and keeps its row, with the time and the reason. Forgetting twice is ErrNotFound.
func (e *Engine) Forget(ctx context.Context, r ForgetRequest) (m *Memory, err error) {
	if err := fault.CheckText("reason", r.Reason); err != nil {
		return nil, fmt.Errorf("forget: %w", err)
	}
	err = e.write(ctx, "forget", func(c *connection) error {
		var docNo int32
		if m, docNo, err = e.find(ctx, c, r.ID, r.Agent); err != nil {
			return err
		}
		if !m.RetiredAt.IsZero() {
			return fmt.Errorf("%w: memory %s was forgotten before", ErrNotFound, m.ID)
		}
		m.RetiredAt, m.UpdatedAt, m.RetiredReason = e.now(), e.now(), r.Reason
		d := &document{kind: MemoryKind}
		e.describe(d, m, docNo)
		return e.rewrite(ctx, c, m, d)
	})
	return m, err
}

// Purge removes a memory for good: its row, its index with the words that no other document has, and what other memories say of it. Its bytes may stay
// in the file until their room is used again; Shred leaves none.
func (e *Engine) Purge(ctx context.Context, r ForgetRequest) (m *Memory, err error) {
	err = e.write(ctx, "purge", func(c *connection) error {
		var docNo int32
		if m, docNo, err = e.find(ctx, c, r.ID, r.Agent); err != nil {
			return err
		}
		if err := e.removeIndex(ctx, c, MemoryKind, docNo); err != nil {
			return err
		}
		if _, err := c.exec(ctx, "document_delete", sql.Named("doc_no", docNo)); err != nil {
			return err
		}
		for _, query := range []string{"memory_delete", "relations_delete", "relations_to", "relations_to_delete"} {
			if _, err := c.exec(ctx, query, sql.Named("id", m.ID)); err != nil {
				return err
			}
		}
		return e.sweepWords(ctx, c, e.analyse(m.fields()).surfaces)
	})
	return m, err
}
