package memory

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
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
	// KeepDuplicates leaves memories alone that say the same.
	KeepDuplicates bool
	// Similarity is the least cosine of those that are merged, above 0.5 to 1, MinAge how old they are at least. Default 0.88 and 7 days; -1: any age.
	Similarity float64
	MinAge     time.Duration
	// Retention is what is done by in place of the file's own policy; with DryRun it is tried on what the file knows of the past. Default the file's own.
	Retention *Retention
}

// Maintained says what was done, or would be.
type Maintained struct {
	Tiers    []TierChange `json:"tiers"`
	Merged   []Merge      `json:"merged"`
	Expired  []string     `json:"expired"` // that came to their end since the last time
	Retained []Retained   `json:"retention,omitempty"`
	DryRun   bool         `json:"dry_run,omitempty"`
	// VectorErr: what was merged is stored, but the model failed or took too long, so some has no vector until RebuildIndex.
	VectorErr error `json:"-"`
}

// maintainedSetting is when Maintain ran last.
const maintainedSetting = "maintained"

// Maintain brings memories up to date: it writes uses that were noted, also with DryRun; tells which memories expired since the last time; does what the retention policy says; merges
// those that say the same; and brings the others to the tier that their use, age and importance make due, one step at a time, as the macro next_tier says. Memories that are
// superseded, forgotten, pending or archived stay as they are. Each step is consistent by itself: what was done before an error, or before the caller gave up, stays. Errors:
// ErrInvalid.
func (ms *Store) Maintain(ctx context.Context, r MaintainRequest) (*Maintained, error) {
	done := &Maintained{Tiers: []TierChange{}, Merged: []Merge{}, Expired: []string{}, DryRun: r.DryRun}
	if err := ms.maintain(ctx, r, done); err != nil {
		return done, fmt.Errorf("maintain: %w", err)
	}
	return done, nil
}

func (r *MaintainRequest) settle() error {
	r.Similarity = cmp.Or(r.Similarity, defaultSimilarity)
	r.MinAge = cmp.Or(r.MinAge, defaultMinAge)
	if !(r.Similarity > 0.5 && r.Similarity <= 1) {
		return fault.Invalid("similarity", r.Similarity, "above 0.5, to 1")
	}
	r.MinAge = max(r.MinAge, 0)
	return nil
}

func (ms *Store) maintain(ctx context.Context, r MaintainRequest, done *Maintained) error {
	if err := r.settle(); err != nil {
		return err
	}
	flushed, err := ms.FlushTouches(ctx)
	if err != nil {
		return err
	}
	done.Tiers = append(done.Tiers, flushed...)
	if err := ms.noteExpired(ctx, r.DryRun, done); err != nil {
		return err
	}
	if done.Retained, err = ms.retain(ctx, r); err != nil {
		return err
	}
	if !r.KeepDuplicates {
		merged, err := ms.mergeDuplicates(ctx, r)
		for _, m := range merged {
			done.VectorErr = cmp.Or(done.VectorErr, m.vectorErr)
		}
		if done.Merged = append(done.Merged, merged...); err != nil {
			return err
		}
	}
	if r.DryRun {
		err = ms.file.Read(ctx, "maintain", func(c *duck.Conn) error {
			due, err := ms.dueTiers(ctx, c, nil)
			done.Tiers = append(done.Tiers, due...)
			return err
		})
		return err
	}
	changed, err := ms.settleAllTiers(ctx)
	done.Tiers = append(done.Tiers, changed...)
	slices.SortStableFunc(done.Tiers, func(a, b TierChange) int { return cmp.Compare(a.ID, b.ID) })
	return err
}

// noteExpired finds what came to its end since the last time, and notes that this was now. Recall passes over such memories by themselves.
func (ms *Store) noteExpired(ctx context.Context, dry bool, done *Maintained) error {
	now := ms.file.Now()
	err := ms.file.Read(ctx, "maintain", func(c *duck.Conn) error {
		since := duck.Year1
		if _, err := ms.file.Setting(ctx, c, maintainedSetting, &since); err != nil {
			return err
		}
		ids, err := duck.Column[string](ctx, c, "memory_expired", sql.Named("since", since), sql.Named("at", now))
		done.Expired = append(done.Expired, ids...)
		return err
	})
	if err != nil || dry {
		return err
	}
	return ms.file.Write(ctx, "maintain", func(tx *duck.Write) error { return ms.file.PutSetting(ctx, tx, maintainedSetting, now) })
}

// dueTiers finds which of some memories are due for another tier; nil: of all.
func (ms *Store) dueTiers(ctx context.Context, c *duck.Conn, of []string) ([]TierChange, error) {
	return duck.List(ctx, c, "memory_tiers", func(rows *sql.Rows, t *TierChange) error {
		return rows.Scan(&t.ID, &t.From, &t.To, &t.Reason)
	}, sql.Named("ids", duck.ListArg(of)), sql.Named("at", ms.file.Now()))
}

// settleTiers gives memories the tier that they are due for; nil: all. Only one text changes into another (docs/decisions/0012).
func (ms *Store) settleTiers(ctx context.Context, tx *duck.Write, of []string) ([]TierChange, error) {
	due, err := ms.dueTiers(ctx, tx.Conn, of)
	if err != nil || len(due) == 0 {
		return nil, err
	}
	to, ids, tiers := map[string]Tier{}, make([]string, len(due)), make([]string, len(due))
	for i, t := range due {
		to[t.ID], ids[i], tiers[i] = t.To, t.ID, string(t.To)
	}
	at := ms.file.Now()
	if _, err := tx.Exec(ctx, "version_keep_many", sql.Named("ids", ids), sql.Named("at", at)); err != nil {
		return nil, err
	}
	if _, err := tx.Exec(ctx, "memory_settle", sql.Named("ids", ids), sql.Named("tiers", tiers), sql.Named("at", at)); err != nil {
		return nil, err
	}
	var documents []*index.Document
	err = tx.Conn.Each(ctx, "memories_by_id", func(rows *sql.Rows) error {
		m, docNo, err := scanMemory(rows)
		if err != nil {
			return err
		}
		m.Tier = to[m.ID]
		d := &index.Document{}
		if ms.index.KeepsResident() {
			d = ms.document(m, docNo)
		}
		d.No, d.Tier = docNo, string(m.Tier)
		documents = append(documents, d)
		return nil
	}, sql.Named("ids", ids))
	if err != nil {
		return nil, err
	}
	return due, ms.index.SettleTiers(ctx, tx, documents)
}

// settledAtOnce is how many tiers change in one transaction.
const settledAtOnce = 2000

// settleAllTiers gives all memories the tier that they are due for, some thousands at a time.
func (ms *Store) settleAllTiers(ctx context.Context) (changes []TierChange, err error) {
	var due []TierChange
	err = ms.file.Read(ctx, "maintain", func(c *duck.Conn) error {
		due, err = ms.dueTiers(ctx, c, nil)
		return err
	})
	if err != nil {
		return nil, err
	}
	for part := range slices.Chunk(due, settledAtOnce) {
		ids := make([]string, len(part))
		for i, t := range part {
			ids[i] = t.ID
		}
		err := ms.file.Write(ctx, "maintain", func(tx *duck.Write) error {
			changed, err := ms.settleTiers(ctx, tx, ids)
			changes = append(changes, changed...)
			return err
		})
		if err != nil {
			return changes, err
		}
		if len(due) > settledAtOnce {
			ms.opts.Progress("tiers", len(changes), len(due))
		}
	}
	return changes, nil
}
