package memory

import (
	"cmp"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"

	"github.com/mallardmem/mallard/engine/interchange"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
)

// row gives the memory as the columns of the table memories, in their order.
func (m *Memory) row(docNo int32) ([]driver.Value, error) {
	list := func(v any, empty bool) (driver.Value, error) {
		if empty {
			return nil, nil
		}
		b, err := json.Marshal(v)
		return json.RawMessage(b), err // the appender would make a JSON string of text
	}
	support, err1 := list(m.SupportInfo, m.SupportInfo == nil)
	contexts, err2 := list(m.Contexts, len(m.Contexts) == 0)
	sources, err3 := list(m.Sources, len(m.Sources) == 0)
	history, err4 := list(m.History, len(m.History) == 0)
	extra, err5 := list(m.Extra, len(m.Extra) == 0)
	if err := cmp.Or(err1, err2, err3, err4, err5); err != nil {
		return nil, fmt.Errorf("%w: metadata: %v", fault.ErrInvalid, err)
	}
	return []driver.Value{
		m.ID, docNo, duck.NullText(m.Key), m.Text, duck.NullText(m.L0), duck.NullText(m.L1), duck.NullText(m.L2),
		string(m.Category), duck.NullText(m.SourceCategory), m.Scope, string(m.Tier), string(m.State), string(m.Layer), duck.NullText(m.TemporalType),
		m.Importance, m.Confidence,
		m.CreatedAt, m.ValidFrom, duck.NullTime(m.ValidUntil), duck.NullTime(m.InvalidatedAt), m.RecordedAt, m.UpdatedAt, duck.NullTime(m.RetiredAt), duck.NullText(m.RetiredReason),
		duck.NullText(m.FactKey), duck.NullText(m.Supersedes), duck.NullText(m.SupersededBy), duck.NullText(m.CanonicalID), m.Source, duck.NullText(m.SourceSession),
		int32(m.AccessCount), duck.NullTime(m.LastAccessedAt), int32(m.InjectedCount), duck.NullTime(m.LastInjectedAt), int32(m.BadRecallCount),
		duck.NullTime(m.LastConfirmedUseAt), int32(m.SuppressedUntilTurn), duck.NullTime(m.SuppressedUntil),
		support, contexts, sources, history, extra,
	}, nil
}

// scanMemory reads a row of memory_by_id and of the queries that give the same columns; deferred levels come back as their defaults.
func scanMemory(rows *sql.Rows, more ...any) (*Memory, int32, error) {
	var m Memory
	var docNo int32
	var support, contexts, sources, history, extra, relations sql.NullString
	dest := []any{
		&m.ID, &docNo, duck.TextOf(&m.Key), &m.Text, duck.TextOf(&m.L0), duck.TextOf(&m.L1), duck.TextOf(&m.L2),
		duck.TextOf(&m.Category), duck.TextOf(&m.SourceCategory), &m.Scope, duck.TextOf(&m.Tier), duck.TextOf(&m.State), duck.TextOf(&m.Layer), duck.TextOf(&m.TemporalType),
		&m.Importance, &m.Confidence,
		&m.CreatedAt, &m.ValidFrom, duck.TimeOf(&m.ValidUntil), duck.TimeOf(&m.InvalidatedAt), &m.RecordedAt, &m.UpdatedAt, duck.TimeOf(&m.RetiredAt), duck.TextOf(&m.RetiredReason),
		duck.TextOf(&m.FactKey), duck.TextOf(&m.Supersedes), duck.TextOf(&m.SupersededBy), duck.TextOf(&m.CanonicalID), &m.Source, duck.TextOf(&m.SourceSession),
		&m.AccessCount, duck.TimeOf(&m.LastAccessedAt), &m.InjectedCount, duck.TimeOf(&m.LastInjectedAt), &m.BadRecallCount,
		duck.TimeOf(&m.LastConfirmedUseAt), &m.SuppressedUntilTurn, duck.TimeOf(&m.SuppressedUntil),
		&support, &contexts, &sources, &history, &extra, &relations,
	}
	if err := rows.Scan(append(dest, more...)...); err != nil {
		return nil, 0, err
	}
	for _, f := range []struct {
		json sql.NullString
		dest any
	}{{support, &m.SupportInfo}, {contexts, &m.Contexts}, {sources, &m.Sources}, {history, &m.History}, {extra, &m.Extra}, {relations, &m.Relations}} {
		if f.json.Valid {
			if err := interchange.Decode([]byte(f.json.String), f.dest); err != nil {
				return nil, 0, fmt.Errorf("%w: memory %s: %v", fault.ErrCorrupt, m.ID, err)
			}
		}
	}
	return &m, docNo, nil
}
