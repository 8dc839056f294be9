package engine

import (
	"context"
	"fmt"
)

// SupersedeRequest replaces a memory by a newer one.
type SupersedeRequest struct {
	ID string // the older one: whole id, or its unique ending
	// By is the newer one. What it leaves empty of Scope, Category and FactKey it has from the older one.
	By RememberRequest
}

// Supersede stores a memory and ends the one it replaces at the same moment; the older one keeps its text and can be recalled
// with RecallQuery.AsOf. Errors: those of Remember and Get, and ErrInvalid when the older one was superseded
// before; with the same By.Key as then it is no error, and gives the id that it gave.
func (e *Engine) Supersede(ctx context.Context, r SupersedeRequest) (Remembered, error) {
	var result Remembered
	old, err := e.Get(ctx, GetRequest{ID: r.ID, Agent: r.By.Agent})
	if err != nil {
		return result, fmt.Errorf("supersede: %w", err)
	}
	if id, again, err := e.superseded(ctx, old, r.By.Key); err != nil || again {
		return Remembered{ID: id}, err
	}
	if err := old.supersedable(); err != nil {
		return result, fmt.Errorf("supersede: %w", err)
	}
	d := r.By.draft()
	d.result = &result
	d.memory.Scope = or(d.memory.Scope, old.Scope)
	d.memory.FactKey = or(d.memory.FactKey, old.FactKey)
	if d.memory.Category == "" {
		d.memory.Category, d.memory.SourceCategory = old.Category, old.SourceCategory
	}
	d.memory.Supersedes = old.ID
	d.memory.Relations = append([]Relation{{"supersedes", old.ID}}, d.memory.Relations...)
	d.supersede = old
	if err := e.admit(d); err != nil {
		return result, fmt.Errorf("supersede: %w", err)
	}
	if err := e.store(ctx, []*draft{d}); err != nil {
		return result, fmt.Errorf("supersede: %w", err)
	}
	if result.Err != nil {
		return Remembered{}, fmt.Errorf("supersede: %w", result.Err)
	}
	return result, nil
}

// superseded reports whether a request with that key has replaced the memory before: an agent tries again.
func (e *Engine) superseded(ctx context.Context, old *Memory, key string) (id string, again bool, err error) {
	if key == "" || old.SupersededBy == "" {
		return "", false, nil
	}
	err = e.read(ctx, "supersede", func(c *connection) error {
		newer, _, err := memoryByID(ctx, c, old.SupersededBy)
		again = newer != nil && newer.Key == key
		return err
	})
	return old.SupersededBy, again, err
}

func (m *Memory) supersedable() error {
	if !m.RetiredAt.IsZero() {
		return fmt.Errorf("%w: memory %s was forgotten", ErrNotFound, m.ID)
	}
	if m.SupersededBy != "" {
		return invalid("id", m.ID, "a memory that was not superseded yet; this one was, by "+m.SupersededBy)
	}
	return nil
}

// end closes the validity of the memory that a draft replaces. The caller is in a write transaction.
func (e *Engine) end(ctx context.Context, c *connection, d *draft) error {
	old, docNo, err := memoryByID(ctx, c, d.supersede.ID)
	if err != nil {
		return err
	}
	if old == nil {
		return fmt.Errorf("%w: memory %s is gone", ErrNotFound, d.supersede.ID)
	}
	if err := old.supersedable(); err != nil {
		return err
	}
	old.SupersededBy, old.UpdatedAt = d.memory.ID, e.now()
	old.InvalidatedAt = d.memory.ValidFrom
	if old.InvalidatedAt.Before(old.ValidFrom) {
		old.InvalidatedAt = old.ValidFrom
	}
	old.FactKey = or(old.FactKey, d.memory.FactKey)
	old.Relations = append(old.Relations, Relation{"superseded_by", d.memory.ID})
	if err := old.normalise(e.now()); err != nil {
		return err
	}
	if err := updateMemory(ctx, c, old, docNo); err != nil {
		return err
	}
	ended := &document{no: docNo, kind: MemoryKind, words: e.analyse(old.fields())}
	e.describe(ended, old, docNo)
	return e.updateDocument(ctx, c, ended)
}
