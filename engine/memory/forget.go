package memory

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
)

// ForgetRequest names a memory that shall not be recalled any more.
type ForgetRequest struct {
	ID     string // whole, or its unique ending
	Agent  string // empty: an internal caller
	Reason string // kept with the memory
}

// Forget takes a memory out of recall and keeps its row, with the time and the reason; as of an earlier moment it is recalled as before. Forgetting twice is
// ErrNotFound.
func (ms *Store) Forget(ctx context.Context, r ForgetRequest) (m *Memory, err error) {
	if err := fault.CheckText("reason", r.Reason); err != nil {
		return nil, fmt.Errorf("forget: %w", err)
	}
	err = ms.file.Write(ctx, "forget", func(tx *duck.Write) error {
		var docNo int32
		if m, docNo, err = ms.find(ctx, tx.Conn, r.ID, r.Agent); err != nil {
			return err
		}
		if !m.RetiredAt.IsZero() {
			return fmt.Errorf("%w: memory %s was forgotten before", fault.ErrNotFound, m.ID)
		}
		now := ms.file.Now()
		m.RetiredAt, m.UpdatedAt, m.RetiredReason = now, now, r.Reason
		d := &index.Document{Kind: kinds.Memory}
		ms.describe(d, m, docNo)
		return ms.rewrite(ctx, tx, m, d)
	})
	return m, err
}

// PurgeRequest names the memory to purge. Nothing of it stays, no reason either.
type PurgeRequest struct {
	ID    string // whole, or its unique ending
	Agent string // empty: an internal caller
}

// Purge removes a memory for good: its row and all its versions, their index with the words that no other document has, and what other memories say of it. Its bytes may stay
// in the file until their room is used again; Shred leaves none.
func (ms *Store) Purge(ctx context.Context, r PurgeRequest) (m *Memory, err error) {
	err = ms.file.Write(ctx, "purge", func(tx *duck.Write) error {
		var docNo int32
		if m, docNo, err = ms.find(ctx, tx.Conn, r.ID, r.Agent); err != nil {
			return err
		}
		if err := ms.index.DeleteDocument(ctx, tx, kinds.Memory, docNo); err != nil {
			return err
		}
		leaving := index.Leaving(ms.index.Analyse(m.fields()).Surfaces)
		if err := ms.purgeVersions(ctx, tx, m, docNo, leaving); err != nil {
			return err
		}
		for _, query := range []string{"memory_delete", "relations_delete", "relations_to", "relations_to_delete", "memory_sources_purge"} {
			if _, err := tx.Exec(ctx, query, sql.Named("id", m.ID)); err != nil {
				return err
			}
		}
		for _, gone := range ms.purged {
			if err := gone(ctx, tx, m.ID); err != nil {
				return err
			}
		}
		return ms.index.SweepWords(ctx, tx, leaving)
	})
	return m, err
}
