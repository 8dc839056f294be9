package engine

import (
	"cmp"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"
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
		return nil, fmt.Errorf("%w: metadata: %v", ErrInvalid, err)
	}
	return []driver.Value{
		m.ID, docNo, nullText(m.Key), m.Text, nullText(m.L0), nullText(m.L1), nullText(m.L2),
		string(m.Category), nullText(m.SourceCategory), m.Scope, string(m.Tier), string(m.State), string(m.Layer), nullText(m.TemporalType),
		m.Importance, m.Confidence,
		m.CreatedAt, m.ValidFrom, nullTime(m.ValidUntil), nullTime(m.InvalidatedAt), m.RecordedAt, m.UpdatedAt, nullTime(m.RetiredAt), nullText(m.RetiredReason),
		nullText(m.FactKey), nullText(m.Supersedes), nullText(m.SupersededBy), nullText(m.CanonicalID), m.Source, nullText(m.SourceSession),
		int32(m.AccessCount), nullTime(m.LastAccessedAt), int32(m.InjectedCount), nullTime(m.LastInjectedAt), int32(m.BadRecallCount),
		nullTime(m.LastConfirmedUseAt), int32(m.SuppressedUntilTurn), nullTime(m.SuppressedUntil),
		support, contexts, sources, history, extra,
	}, nil
}

// scanMemory reads a row of the query memory_columns; deferred levels come back as their defaults.
func scanMemory(rows *sql.Rows, more ...any) (*Memory, int32, error) {
	var m Memory
	var docNo int32
	var support, contexts, sources, history, extra, relations sql.NullString
	dest := []any{
		&m.ID, &docNo, textOf(&m.Key), &m.Text, textOf(&m.L0), textOf(&m.L1), textOf(&m.L2),
		textOf(&m.Category), textOf(&m.SourceCategory), &m.Scope, textOf(&m.Tier), textOf(&m.State), textOf(&m.Layer), textOf(&m.TemporalType),
		&m.Importance, &m.Confidence,
		&m.CreatedAt, &m.ValidFrom, timeOf(&m.ValidUntil), timeOf(&m.InvalidatedAt), &m.RecordedAt, &m.UpdatedAt, timeOf(&m.RetiredAt), textOf(&m.RetiredReason),
		textOf(&m.FactKey), textOf(&m.Supersedes), textOf(&m.SupersededBy), textOf(&m.CanonicalID), &m.Source, textOf(&m.SourceSession),
		&m.AccessCount, timeOf(&m.LastAccessedAt), &m.InjectedCount, timeOf(&m.LastInjectedAt), &m.BadRecallCount,
		timeOf(&m.LastConfirmedUseAt), &m.SuppressedUntilTurn, timeOf(&m.SuppressedUntil),
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
			if err := decode([]byte(f.json.String), f.dest); err != nil {
				return nil, 0, fmt.Errorf("%w: memory %s: %v", ErrCorrupt, m.ID, err)
			}
		}
	}
	return &m, docNo, nil
}

func nullText(s string) driver.Value {
	if s == "" {
		return nil
	}
	return s
}

func nullNumber(x *float64) driver.Value {
	if x == nil {
		return nil
	}
	return *x
}

func nullTime(t time.Time) driver.Value {
	if t.IsZero() {
		return nil
	}
	return t
}

// textOf and timeOf read NULL as the zero value.
type textScan[T ~string] struct{ dest *T }

func textOf[T ~string](dest *T) sql.Scanner { return textScan[T]{dest} }

func (s textScan[T]) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*s.dest = ""
	case string:
		*s.dest = T(v)
	case []byte:
		*s.dest = T(v)
	default:
		return fmt.Errorf("%T where text was expected", v)
	}
	return nil
}

type timeScan struct{ dest *time.Time }

func timeOf(dest *time.Time) sql.Scanner { return timeScan{dest} }

func (s timeScan) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*s.dest = time.Time{}
	case time.Time:
		*s.dest = v
	default:
		return fmt.Errorf("%T where a time was expected", v)
	}
	return nil
}
