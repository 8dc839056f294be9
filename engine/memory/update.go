package memory

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
)

// UpdateRequest changes a memory in place. Nil leaves a field as it is.
type UpdateRequest struct {
	ID    string // whole, or its unique ending
	Agent string // empty: an internal caller

	Text, L0, L1, L2 *string // a new Text without levels of its own takes their place as default
	Scope            *string
	Category         *Category
	Tier             *Tier
	State            *State
	Layer            *Layer
	Trust            *Trust
	Importance       *float64 // also sets Confidence, unless that is given too
	Confidence       *float64
	ValidUntil       *time.Time // zero: never expires
	FactKey          *string
	Relations        *[]Relation
	Extra            map[string]any // keys to set; a nil value removes the key
}

// Updated is a memory as it is after a change.
type Updated struct {
	*Memory
	// VectorErr: the new text is stored, but the model failed or took too long, so it has no vector until RebuildIndex.
	VectorErr error `json:"-"`
}

// Update changes a memory and its index; its id and CreatedAt stay. Errors: ErrNotFound, ErrAmbiguous, ErrInvalid, ErrBadScope,
// ErrScopeDenied, ErrBadVector.
func (ms *Store) Update(ctx context.Context, r UpdateRequest) (Updated, error) {
	return ms.edit(ctx, "update", r.ID, r.Agent, func(m *Memory) error { return ms.change(m, r) })
}

// change applies a request to a memory.
func (ms *Store) change(m *Memory, r UpdateRequest) (err error) {
	if r.Scope != nil {
		if m.Scope, err = ms.scopes.Now().ForWriting(r.Agent, *r.Scope); err != nil {
			return err
		}
	}
	if r.Text != nil && *r.Text != m.Text {
		m.Text, m.L0, m.L1, m.L2, m.FactKey = *r.Text, "", "", "", ""
	}
	if r.Category != nil && *r.Category != m.Category {
		m.Category, m.SourceCategory, m.FactKey, m.Layer = *r.Category, "", "", ""
	}
	set(&m.L0, r.L0)
	set(&m.L1, r.L1)
	set(&m.L2, r.L2)
	set(&m.Tier, r.Tier)
	set(&m.State, r.State)
	set(&m.Layer, r.Layer)
	set(&m.Trust, r.Trust)
	set(&m.Importance, r.Importance)
	set(&m.Confidence, r.Importance)
	set(&m.Confidence, r.Confidence)
	set(&m.ValidUntil, r.ValidUntil)
	set(&m.FactKey, r.FactKey)
	set(&m.Relations, r.Relations)
	if len(r.Extra) > 0 { // a map of its own: edit compares the old one later
		extra := map[string]any{}
		maps.Copy(extra, m.Extra)
		maps.Copy(extra, r.Extra)
		maps.DeleteFunc(extra, func(_ string, value any) bool { return value == nil })
		m.Extra = extra
	}
	return nil
}

func set[T any](dest *T, value *T) {
	if value != nil {
		*dest = *value
	}
}

// edit reads a memory, lets change work on it, embeds the result without a lock, and writes it if nobody else did in between;
// else it starts over.
func (ms *Store) edit(ctx context.Context, op, id, agent string, change func(*Memory) error) (Updated, error) {
	for {
		var was *Memory
		var docNo int32
		err := ms.file.Read(ctx, op, func(c *duck.Conn) (err error) {
			was, docNo, err = ms.find(ctx, c, id, agent)
			return err
		})
		if err != nil {
			return Updated{}, err
		}
		if !was.RetiredAt.IsZero() {
			return Updated{}, fmt.Errorf("%s: %w: memory %s was forgotten", op, fault.ErrNotFound, was.ID)
		}
		m := *was
		if err := change(&m); err != nil {
			return Updated{}, fmt.Errorf("%s: %w", op, err)
		}
		m.UpdatedAt = ms.file.Now()
		if err := m.normalise(ms.file.Now()); err != nil {
			return Updated{}, fmt.Errorf("%s: %w", op, err)
		}
		if !slices.Equal(m.texts(), was.texts()) { // one that was written under a larger limit may be changed otherwise
			if err := m.fits(ms.opts.MaxText); err != nil {
				return Updated{}, fmt.Errorf("%s: %w", op, err)
			}
		}
		d := &index.Document{Kind: kinds.Memory, Words: ms.index.Analyse(m.fields())}
		ms.describe(d, &m, docNo)
		done := Updated{Memory: &m}
		reworded := !slices.Equal(m.fields(), was.fields()) || m.embedded() != was.embedded()
		if reworded {
			err := ms.index.EmbedDocuments(ctx, []*index.Document{d}, []string{m.embedded()})
			if err != nil && !index.EmbeddingFailed(ctx, err) {
				return Updated{}, fmt.Errorf("%s: %w", op, err)
			}
			done.VectorErr = err
		}
		moved := false
		err = ms.file.Write(ctx, op, func(tx *duck.Write) error {
			now, _, err := MemoryByID(ctx, tx.Conn, was.ID)
			if err != nil {
				return err
			}
			if moved = !reflect.DeepEqual(now, was); moved {
				return nil
			}
			m.UpdatedAt = ms.file.Now() // the model may have thought for long
			if reworded {
				return ms.rewriteFrom(ctx, tx, now, &m, d)
			}
			if err := ms.replace(ctx, tx, now, &m, d.No); err != nil {
				return err
			}
			return ms.index.UpdateDocument(ctx, tx, d)
		})
		if err != nil || !moved {
			return done, err
		}
	}
}

// rewrite stores a changed memory and its index, and keeps what its text was found by.
func (ms *Store) rewrite(ctx context.Context, tx *duck.Write, m *Memory, d *index.Document) error {
	was, _, err := MemoryByID(ctx, tx.Conn, m.ID)
	if err != nil {
		return err
	}
	return ms.rewriteFrom(ctx, tx, was, m, d)
}

// rewriteFrom is rewrite of what is known to be in the file.
func (ms *Store) rewriteFrom(ctx context.Context, tx *duck.Write, was, m *Memory, d *index.Document) error {
	if err := ms.replace(ctx, tx, was, m, d.No); err != nil {
		return err
	}
	if err := ms.keepText(ctx, tx, m, d.No); err != nil {
		return err
	}
	if err := ms.index.UpdateDocument(ctx, tx, d); err != nil || d.Retired {
		return err
	}
	return ms.index.InsertIndex(ctx, tx, []*index.Document{d})
}

// updateMemory keeps a memory's row as it was, and writes it and its relations as they are now. The row is written anew: DuckDB 1.5.5 loses, when it replays its log after a crash, an
// UPDATE that gives a compressed text a value where it had none (docs/decisions/0012).
func (ms *Store) updateMemory(ctx context.Context, tx *duck.Write, m *Memory, docNo int32) error {
	was, _, err := MemoryByID(ctx, tx.Conn, m.ID)
	if err != nil {
		return err
	}
	return ms.replace(ctx, tx, was, m, docNo)
}

// replace is updateMemory of what is known to be in the file.
func (ms *Store) replace(ctx context.Context, tx *duck.Write, was, m *Memory, docNo int32) error {
	if err := ms.keepVersion(ctx, tx, was, m); err != nil {
		return err
	}
	row, err := m.row(docNo)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "memory_delete", sql.Named("id", m.ID)); err != nil {
		return err
	}
	if err := tx.AppendRows("memories", [][]driver.Value{row}); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "relations_delete", sql.Named("id", m.ID)); err != nil {
		return err
	}
	return tx.AppendRows("memory_relations", m.relationRows())
}
