package memory

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/kinds"
)

// touches are uses of memories that are not in the file yet: Touch notes them, and they are written together a while after the last one, before anything
// that reads what use makes of memories, and when the file is closed.
type touches struct {
	mu      sync.Mutex // innermost, held for no call
	pending map[string]touch
	timer   *time.Timer // nil: nothing waits to be written
	closed  bool

	writing sync.Mutex // one flush at a time; taken before the writer's lock
}

// touch is how often a memory was used, and when last.
type touch struct {
	times int
	last  time.Time
}

// touchPause is how long after the last touch they are written.
const touchPause = 5 * time.Second

// mostAccesses is as far as uses are counted.
const mostAccesses = 10_000

// Touch notes that memories were used, given by their whole ids; one that is named twice was used twice. It writes nothing itself: uses are in the file five
// seconds after the last of them, and when the engine is closed; of what a crash leaves unwritten only the counts are lost. An id of nobody is forgotten
// without a word. On a file that was opened for reading nothing is noted. How often and how lately a memory was used is part of its score and settles its tier
// (docs/recall.md, docs/agents.md).
func (ms *Store) Touch(memoryIDs ...string) {
	if ms.opts.ReadOnly || len(memoryIDs) == 0 {
		return
	}
	at, t := ms.file.Now(), &ms.touches
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	for _, id := range memoryIDs {
		t.add(id, touch{1, at})
	}
	if t.timer == nil {
		t.timer = time.AfterFunc(touchPause, func() { _, _ = ms.FlushTouches(context.Background()) }) // what fails is tried again with the next
	} else {
		t.timer.Reset(touchPause)
	}
}

// add counts uses. The caller has mu.
func (t *touches) add(id string, of touch) {
	if t.pending == nil {
		t.pending = map[string]touch{}
	}
	was := t.pending[id]
	if of.last.Before(was.last) {
		of.last = was.last
	}
	t.pending[id] = touch{was.times + of.times, of.last}
}

// take gives what is pending, which then is not.
func (t *touches) take() map[string]touch {
	t.mu.Lock()
	defer t.mu.Unlock()
	taken := t.pending
	if t.pending = nil; t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
	return taken
}

// FlushTouches writes the uses that were noted, and gives the tiers that memories come to by them. Where that fails they are noted as before.
func (ms *Store) FlushTouches(ctx context.Context) (changes []TierChange, err error) {
	t := &ms.touches
	t.writing.Lock()
	defer t.writing.Unlock()
	taken := t.take()
	if len(taken) == 0 {
		return nil, nil
	}
	err = ms.file.Write(ctx, "touch", func(tx *duck.Write) error {
		used, err := ms.used(ctx, tx, taken)
		if err == nil && len(used) > 0 {
			changes, err = ms.settleTiers(ctx, tx, used)
		}
		return err
	})
	if err != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		for id, of := range taken {
			t.add(id, of)
		}
		return nil, err
	}
	return changes, nil
}

// used writes uses to the rows of memories, and gives the ids of those that are there. Only numbers and times change (docs/decisions/0012).
func (ms *Store) used(ctx context.Context, tx *duck.Write, taken map[string]touch) (found []string, err error) {
	for _, id := range slices.Sorted(maps.Keys(taken)) {
		m, docNo, err := MemoryByID(ctx, tx.Conn, id)
		if err != nil {
			return nil, err
		}
		if m == nil || !m.RetiredAt.IsZero() {
			continue
		}
		of := taken[id]
		m.AccessCount = min(m.AccessCount+of.times, mostAccesses)
		for _, at := range []*time.Time{&m.LastAccessedAt, &m.LastConfirmedUseAt} {
			if at.Before(of.last) {
				*at = of.last
			}
		}
		m.BadRecallCount, m.SuppressedUntil, m.SuppressedUntilTurn = 0, time.Time{}, 0
		_, err = tx.Exec(ctx, "memory_used", sql.Named("id", id), sql.Named("access_count", int32(m.AccessCount)), sql.Named("last_accessed_at", m.LastAccessedAt),
			sql.Named("last_confirmed_use_at", m.LastConfirmedUseAt))
		if err != nil {
			return nil, err
		}
		ms.index.NoteUse(ms.document(m, docNo))
		found = append(found, id)
	}
	return found, nil
}

// document is a memory's document, with its words.
func (ms *Store) document(m *Memory, docNo int32) *index.Document {
	d := &index.Document{Kind: kinds.Memory, Words: ms.index.Analyse(m.fields())}
	ms.describe(d, m, docNo)
	return d
}

// Close writes the uses that were noted; from then on none is.
func (ms *Store) Close() error {
	t := &ms.touches
	t.mu.Lock()
	closed := t.closed
	t.closed = true
	t.mu.Unlock()
	if closed {
		return nil
	}
	_, err := ms.FlushTouches(context.Background())
	return err
}

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
		if err := ms.updateMemory(ctx, tx, m, docNo); err != nil {
			return nil, err
		}
		if err := ms.index.UpdateDocument(ctx, tx, ms.document(m, docNo)); err != nil {
			return nil, err
		}
	}
	return due, nil
}
