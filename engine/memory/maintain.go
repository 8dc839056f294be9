package memory

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/mallardmem/mallard/engine/internal/duck"
)

// TierChange is a memory that is due for another tier.
type TierChange struct {
	ID     string `json:"id"`
	From   Tier   `json:"from"`
	To     Tier   `json:"to"`
	Reason string `json:"reason"`
}

// MaintainRequest says what to do.
type MaintainRequest struct {
	DryRun bool // only say what would be done
}

// Maintained says what was done, or would be.
type Maintained struct {
	Tiers  []TierChange `json:"tiers"`
	DryRun bool         `json:"dry_run,omitempty"`
}

// Maintain brings memories to the tier that their use, age and importance make due, one step at a time, as the macro next_tier says: peripheral ones that are
// used become working, working ones that are used much and matter become core, and what is neither used nor fresh falls back. Uses that were noted are written first, also
// with DryRun, which changes no tier. Memories that are superseded, forgotten, pending or archived stay as they are.
func (ms *Store) Maintain(ctx context.Context, r MaintainRequest) (*Maintained, error) {
	done := &Maintained{Tiers: []TierChange{}, DryRun: r.DryRun}
	flushed, err := ms.FlushTouches(ctx)
	if err != nil {
		return nil, fmt.Errorf("maintain: %w", err)
	}
	done.Tiers = append(done.Tiers, flushed...)
	if r.DryRun {
		err = ms.file.Read(ctx, "maintain", func(c *duck.Conn) error {
			due, err := ms.dueTiers(ctx, c, nil)
			done.Tiers = append(done.Tiers, due...)
			return err
		})
		return done, err
	}
	err = ms.file.Write(ctx, "maintain", func(tx *duck.Write) error {
		changed, err := ms.settleTiers(ctx, tx, nil)
		done.Tiers = append(done.Tiers, changed...)
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(done.Tiers, func(a, b TierChange) int { return cmp.Compare(a.ID, b.ID) })
	return done, nil
}

// dueTiers finds which of some memories are due for another tier; nil: of all.
func (ms *Store) dueTiers(ctx context.Context, c *duck.Conn, of []string) ([]TierChange, error) {
	return duck.List(ctx, c, "memory_tiers", func(rows *sql.Rows, t *TierChange) error {
		return rows.Scan(&t.ID, &t.From, &t.To, &t.Reason)
	}, sql.Named("ids", duck.ListArg(of)), sql.Named("at", ms.file.Now()))
}

// settleTiers gives memories the tier that they are due for.
func (ms *Store) settleTiers(ctx context.Context, tx *duck.Write, of []string) ([]TierChange, error) {
	due, err := ms.dueTiers(ctx, tx.Conn, of)
	if err != nil {
		return nil, err
	}
	for _, t := range due {
		m, docNo, err := MemoryByID(ctx, tx.Conn, t.ID)
		if err != nil {
			return nil, err
		}
		m.Tier, m.UpdatedAt = t.To, ms.file.Now()
		if err := updateMemory(ctx, tx, m, docNo); err != nil {
			return nil, err
		}
		if err := ms.index.UpdateDocument(ctx, tx, ms.document(m, docNo)); err != nil {
			return nil, err
		}
	}
	return due, nil
}
