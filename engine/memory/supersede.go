package memory

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
)

// SupersedeRequest replaces a memory by a newer one.
type SupersedeRequest struct {
	ID string // the older one: whole id, or its unique ending
	// By is the newer one. What it leaves empty of Scope, Category and FactKey it has from the older one.
	By RememberRequest
}

// Supersede stores a memory and ends the one it replaces at the same moment; the older one keeps its text and can be recalled
// with recall.Query.AsOf. Errors: those of Remember and Get, and ErrInvalid when the older one was superseded
// before; with the same By.Key as then it is no error, and gives the id that it gave.
func (ms *Store) Supersede(ctx context.Context, r SupersedeRequest) (Remembered, error) {
	var result Remembered
	old, err := ms.Get(ctx, GetRequest{ID: r.ID, Agent: r.By.Agent})
	if err != nil {
		return result, fmt.Errorf("supersede: %w", err)
	}
	if id, again, err := ms.superseded(ctx, old, r.By.Key); err != nil || again {
		return Remembered{ID: id}, err
	}
	if err := old.supersedable(); err != nil {
		return result, fmt.Errorf("supersede: %w", err)
	}
	d := r.By.draft()
	d.result, d.fills = &result, false
	d.memory.Scope = cmp.Or(d.memory.Scope, old.Scope)
	d.memory.FactKey = cmp.Or(d.memory.FactKey, old.FactKey)
	if d.memory.Category == "" {
		d.memory.Category, d.memory.SourceCategory = old.Category, old.SourceCategory
	}
	d.replace(old.ID)
	d.ends = []string{old.ID}
	if err := ms.admit(d); err != nil {
		return result, fmt.Errorf("supersede: %w", err)
	}
	if err := ms.store(ctx, []*draft{d}); err != nil {
		return result, fmt.Errorf("supersede: %w", err)
	}
	if result.Err != nil {
		return Remembered{}, fmt.Errorf("supersede: %w", result.Err)
	}
	if result.Created {
		result.Superseded = old.ID
	}
	return result, nil
}

// superseded reports whether a request with that key has replaced the memory before: an agent tries again.
func (ms *Store) superseded(ctx context.Context, old *Memory, key string) (id string, again bool, err error) {
	if key == "" || old.SupersededBy == "" {
		return "", false, nil
	}
	err = ms.file.Read(ctx, "supersede", func(c *duck.Conn) error {
		newer, _, err := MemoryByID(ctx, c, old.SupersededBy)
		again = newer != nil && newer.Key == key
		return err
	})
	return old.SupersededBy, again, err
}

func (m *Memory) supersedable() error {
	if !m.RetiredAt.IsZero() {
		return fmt.Errorf("%w: memory %s was forgotten", fault.ErrNotFound, m.ID)
	}
	if m.SupersededBy != "" {
		return fault.Invalid("id", m.ID, "a memory that was not superseded yet; this one was, by "+m.SupersededBy)
	}
	return nil
}

// replace has a draft say which memory it replaces.
func (d *draft) replace(id string) {
	d.memory.Supersedes = id
	d.memory.Relations = append([]Relation{{Type: "supersedes", TargetID: id}}, d.memory.Relations...)
}

// endBy closes the validity of a memory that a newer one replaces. Where that names another that it replaced, too, this one's claim is a relation only.
func (m *Memory) endBy(newer *Memory, now time.Time) error {
	m.UpdatedAt, m.InvalidatedAt = now, newer.ValidFrom
	if m.InvalidatedAt.Before(m.ValidFrom) {
		m.InvalidatedAt = m.ValidFrom
	}
	m.FactKey = cmp.Or(m.FactKey, newer.FactKey)
	m.Relations = append(m.Relations, Relation{Type: "superseded_by", TargetID: newer.ID})
	if newer.Supersedes == m.ID {
		m.SupersededBy = newer.ID
	}
	return m.normalise(now)
}

// fillSlots has drafts whose caller names a fact key replace what has that key in their scope: memories of the file, other drafts. There may be several, where a
// key was made and not named.
func (ms *Store) fillSlots(ctx context.Context, c *duck.Conn, drafts []*draft) error {
	var keys []string
	for _, d := range drafts {
		if d.fills {
			keys = append(keys, d.memory.FactKey)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	current := map[slot][]*draft{} // one in the file has no result, and of its memory only what follows
	err := c.Each(ctx, "memory_by_fact", func(rows *sql.Rows) error {
		m := &Memory{}
		err := rows.Scan(&m.ID, &m.FactKey, &m.Scope, &m.ValidFrom)
		filled := factSlot(m.FactKey, m.Scope)
		current[filled] = append(current[filled], &draft{memory: m})
		return err
	}, sql.Named("fact_keys", keys), sql.Named("at", ms.file.Now()))
	if err != nil {
		return err
	}
	for _, d := range drafts {
		filled := factSlot(d.memory.FactKey, d.memory.Scope)
		if d.fills {
			if current[filled], err = ms.fillSlot(d, current[filled]); err != nil {
				return err
			}
		}
		current[filled] = append(current[filled], d)
	}
	return nil
}

// fillSlot has a draft replace all that began no later, and gives the others.
func (ms *Store) fillSlot(d *draft, current []*draft) (left []*draft, err error) {
	var ended []*draft
	for _, older := range current {
		if older.memory.ValidFrom.After(d.memory.ValidFrom) {
			left = append(left, older)
		} else {
			ended = append(ended, older)
		}
	}
	if len(ended) == 0 {
		return left, nil
	}
	d.result.Superseded = ended[len(ended)-1].memory.ID
	d.replace(d.result.Superseded)
	for _, older := range ended {
		if older.result == nil {
			d.ends = append(d.ends, older.memory.ID)
			continue
		}
		d.notes(older.memory)
		if err := older.memory.endBy(d.memory, ms.file.Now()); err != nil {
			return left, err
		}
	}
	return left, d.memory.normaliseRelations()
}

// end closes the validity of the memories in the file that a draft replaces.
func (ms *Store) end(ctx context.Context, tx *duck.Write, d *draft) error {
	for _, id := range d.ends {
		if err := ms.endOne(ctx, tx, id, d); err != nil {
			return err
		}
	}
	return nil
}

func (ms *Store) endOne(ctx context.Context, tx *duck.Write, id string, newer *draft) error {
	old, docNo, err := MemoryByID(ctx, tx.Conn, id)
	if err != nil {
		return err
	}
	if old == nil {
		return fmt.Errorf("%w: memory %s is gone", fault.ErrNotFound, id)
	}
	if err := old.supersedable(); err != nil {
		return err
	}
	newer.notes(old)
	if err := old.endBy(newer.memory, ms.file.Now()); err != nil {
		return err
	}
	if err := ms.updateMemory(ctx, tx, old, docNo); err != nil {
		return err
	}
	ended := &index.Document{No: docNo, Kind: kinds.Memory, Words: ms.index.Analyse(old.fields())}
	ms.describe(ended, old, docNo)
	return ms.index.UpdateDocument(ctx, tx, ended)
}
