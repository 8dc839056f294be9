package memory

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mallardmem/mallard/engine/interchange"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
)

// column is one of the table memories: how a memory's value is written, and what a row is scanned into.
type column struct {
	name  string // as in JSON
	value func(m *Memory) (driver.Value, error)
	dest  func(m *Memory) any
	text  func(m *Memory) string // nil: it is no text
}

// columns are all of the table but id and doc_no, which come first, in its order.
var columns = []column{
	text("key", func(m *Memory) *string { return &m.Key }),
	needed("text", func(m *Memory) *string { return &m.Text }),
	text("l0_abstract", func(m *Memory) *string { return &m.L0 }),
	text("l1_overview", func(m *Memory) *string { return &m.L1 }),
	text("l2_content", func(m *Memory) *string { return &m.L2 }),
	needed("category", func(m *Memory) *Category { return &m.Category }),
	text("source_category", func(m *Memory) *string { return &m.SourceCategory }),
	needed("scope", func(m *Memory) *string { return &m.Scope }),
	needed("tier", func(m *Memory) *Tier { return &m.Tier }),
	needed("state", func(m *Memory) *State { return &m.State }),
	needed("memory_layer", func(m *Memory) *Layer { return &m.Layer }),
	text("memory_temporal_type", func(m *Memory) *string { return &m.TemporalType }),
	plain("importance", func(m *Memory) *float64 { return &m.Importance }),
	plain("confidence", func(m *Memory) *float64 { return &m.Confidence }),
	plain("created_at", func(m *Memory) *time.Time { return &m.CreatedAt }),
	plain("valid_from", func(m *Memory) *time.Time { return &m.ValidFrom }),
	moment("valid_until", func(m *Memory) *time.Time { return &m.ValidUntil }),
	moment("invalidated_at", func(m *Memory) *time.Time { return &m.InvalidatedAt }),
	plain("recorded_at", func(m *Memory) *time.Time { return &m.RecordedAt }),
	plain("updated_at", func(m *Memory) *time.Time { return &m.UpdatedAt }),
	moment("retired_at", func(m *Memory) *time.Time { return &m.RetiredAt }),
	text("retired_reason", func(m *Memory) *string { return &m.RetiredReason }),
	text("fact_key", func(m *Memory) *string { return &m.FactKey }),
	text("supersedes", func(m *Memory) *string { return &m.Supersedes }),
	text("superseded_by", func(m *Memory) *string { return &m.SupersededBy }),
	text("canonical_id", func(m *Memory) *string { return &m.CanonicalID }),
	needed("source", func(m *Memory) *string { return &m.Source }),
	text("source_session", func(m *Memory) *string { return &m.SourceSession }),
	count("access_count", func(m *Memory) *int { return &m.AccessCount }),
	moment("last_accessed_at", func(m *Memory) *time.Time { return &m.LastAccessedAt }),
	count("injected_count", func(m *Memory) *int { return &m.InjectedCount }),
	moment("last_injected_at", func(m *Memory) *time.Time { return &m.LastInjectedAt }),
	count("bad_recall_count", func(m *Memory) *int { return &m.BadRecallCount }),
	moment("last_confirmed_use_at", func(m *Memory) *time.Time { return &m.LastConfirmedUseAt }),
	count("suppressed_until_turn", func(m *Memory) *int { return &m.SuppressedUntilTurn }),
	moment("suppressed_until", func(m *Memory) *time.Time { return &m.SuppressedUntil }),
	asJSON("support_info", func(m *Memory) any { return &m.SupportInfo }, func(m *Memory) bool { return m.SupportInfo == nil }),
	asJSON("contexts", func(m *Memory) any { return &m.Contexts }, func(m *Memory) bool { return len(m.Contexts) == 0 }),
	asJSON("sources", func(m *Memory) any { return &m.Sources }, func(m *Memory) bool { return len(m.Sources) == 0 }),
	asJSON("history", func(m *Memory) any { return &m.History }, func(m *Memory) bool { return len(m.History) == 0 }),
	asJSON("extra", func(m *Memory) any { return &m.Extra }, func(m *Memory) bool { return len(m.Extra) == 0 }),
	text("trust", func(m *Memory) *Trust { return &m.Trust }),
	text("retracted_by", func(m *Memory) *string { return &m.RetractedBy }),
}

// text is NULL where it is empty.
func text[T ~string](name string, of func(*Memory) *T) column {
	c := needed(name, of)
	c.value = func(m *Memory) (driver.Value, error) { return duck.NullText(string(*of(m))), nil }
	return c
}

func needed[T ~string](name string, of func(*Memory) *T) column {
	return column{
		name:  name,
		value: func(m *Memory) (driver.Value, error) { return string(*of(m)), nil },
		dest:  func(m *Memory) any { return duck.TextOf(of(m)) },
		text:  func(m *Memory) string { return string(*of(m)) },
	}
}

func plain[T float64 | time.Time](name string, of func(*Memory) *T) column {
	return column{name: name, value: func(m *Memory) (driver.Value, error) { return *of(m), nil }, dest: func(m *Memory) any { return of(m) }}
}

// moment is NULL where it is zero.
func moment(name string, of func(*Memory) *time.Time) column {
	return column{name: name, value: func(m *Memory) (driver.Value, error) { return duck.NullTime(*of(m)), nil }, dest: func(m *Memory) any { return duck.TimeOf(of(m)) }}
}

func count(name string, of func(*Memory) *int) column {
	return column{name: name, value: func(m *Memory) (driver.Value, error) { return int32(*of(m)), nil }, dest: func(m *Memory) any { return of(m) }}
}

// asJSON is kept as JSON.
func asJSON(name string, of func(*Memory) any, empty func(*Memory) bool) column {
	return column{
		name: name,
		value: func(m *Memory) (driver.Value, error) {
			if empty(m) {
				return nil, nil
			}
			b, err := json.Marshal(of(m))
			return json.RawMessage(b), err // the appender would make a JSON string of text
		},
		dest: func(m *Memory) any { return jsonOf{of(m)} },
	}
}

// jsonOf scans JSON; NULL leaves what is there.
type jsonOf struct{ to any }

func (j jsonOf) Scan(from any) error {
	var s sql.NullString
	if err := s.Scan(from); err != nil || !s.Valid {
		return err
	}
	if err := interchange.Decode([]byte(s.String), j.to); err != nil {
		return fmt.Errorf("%w: %w", fault.ErrCorrupt, err)
	}
	return nil
}

// of gives the column's value of a memory.
func (c column) of(m *Memory) (driver.Value, error) {
	v, err := c.value(m)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %v", fault.ErrInvalid, c.name, err)
	}
	return v, nil
}

// row gives the memory as the columns of the table memories, in their order.
func (m *Memory) row(docNo int32) ([]driver.Value, error) {
	row := append(make([]driver.Value, 0, len(columns)+2), m.ID, docNo)
	for _, c := range columns {
		v, err := c.of(m)
		if err != nil {
			return nil, err
		}
		row = append(row, v)
	}
	return row, nil
}

// scanMemory reads all columns of a memory, and after them its relations; deferred levels come back as their defaults.
func scanMemory(rows *sql.Rows, more ...any) (*Memory, int32, error) {
	var m Memory
	var docNo int32
	dest := append(make([]any, 0, len(columns)+3+len(more)), &m.ID, &docNo)
	for _, c := range columns {
		dest = append(dest, c.dest(&m))
	}
	if err := rows.Scan(append(append(dest, jsonOf{&m.Relations}), more...)...); err != nil {
		return nil, 0, fmt.Errorf("memory %s: %w", m.ID, err)
	}
	return &m, docNo, nil
}
