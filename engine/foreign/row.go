package foreign

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/session"
)

// row is a row of a host's table, by column, in text. What is NULL, or in a column that the table lacks, is empty.
type row struct {
	no     int64 // of the table's rows, from 1, in the order that they were written in
	values map[string]string
}

// each calls do for the rows of a table of which a column has a value; of all, where column is empty. They come in the order that they were written in, as far as the
// table keeps it. A table that is not there has none.
func (d *database) each(ctx context.Context, table, column, value string, do func(row) error) error {
	if !d.has(ctx, table) {
		return nil
	}
	query, args := "SELECT * FROM "+table, []any{}
	if column != "" {
		if !d.has(ctx, table, column) {
			return nil
		}
		query, args = query+" WHERE "+column+" = ?", append(args, value)
	}
	rows, err := d.db.QueryContext(ctx, query+" ORDER BY rowid", args...)
	if err != nil { // a table WITHOUT ROWID
		rows, err = d.db.QueryContext(ctx, query, args...)
	}
	if err != nil {
		return fmt.Errorf("table %s: %w", table, err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return fmt.Errorf("table %s: %w", table, err)
	}
	cells, places := make([]any, len(names)), make([]any, len(names))
	for i := range cells {
		places[i] = &cells[i]
	}
	for n := int64(1); rows.Next(); n++ {
		if err := rows.Scan(places...); err != nil {
			return fmt.Errorf("table %s, row %d: %w", table, n, err)
		}
		r := row{n, make(map[string]string, len(names))}
		for i, name := range names {
			if s := textOf(cells[i]); s != "" {
				r.values[name] = d.masked(s)
			}
		}
		d.read[table]++
		if err := do(r); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("table %s: %w", table, err)
	}
	return nil
}

// masked is a value without keys and tokens, where that is asked for.
func (d *database) masked(s string) string {
	if !d.redact {
		return s
	}
	if json.Valid([]byte(s)) {
		return string(session.RedactJSON([]byte(s)))
	}
	return session.Redact(s)
}

// textOf is a value of a driver's as text that a file can hold.
func textOf(v any) string {
	s := ""
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		s = v
	case []byte:
		s = string(v)
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case bool:
		if v {
			return "1"
		}
		return "0"
	default:
		s = fmt.Sprint(v)
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// of is the first of some columns that says something.
func (r row) of(columns ...string) string {
	for _, c := range columns {
		if s := r.values[c]; strings.TrimSpace(s) != "" {
			return s
		}
	}
	return ""
}

// number is a column as a whole number, or 0.
func (r row) number(column string) int {
	n, err := strconv.ParseInt(strings.TrimSpace(r.values[column]), 10, 64)
	if err != nil || n < 0 || n > 1<<31-1 {
		return 0
	}
	return int(n)
}

// is reports whether a column is true.
func (r row) is(column string) bool {
	s := strings.ToLower(strings.TrimSpace(r.values[column]))
	return s == "1" || s == "true"
}

// time is the first of some columns that is a time; zero: none is.
func (r row) time(columns ...string) time.Time {
	for _, c := range columns {
		if at := session.TimeOf(r.values[c]); !at.IsZero() {
			return at
		}
	}
	return time.Time{}
}

// raw is the row as it was, in JSON, without some of its columns.
func (r row) raw(without ...string) []byte {
	kept := make(map[string]string, len(r.values))
	for name, value := range r.values {
		kept[name] = value
	}
	for _, name := range without {
		delete(kept, name)
	}
	b, err := json.Marshal(kept)
	if err != nil { // texts always can be
		return nil
	}
	return b
}

// mostLines is how many lines a message may name of what was done on the way to it.
const mostLines = 10_000

// list reads a JSON array of texts; anything else is none.
func list(s string) (all []string) {
	var values []any
	if json.Unmarshal([]byte(s), &values) != nil {
		return nil
	}
	for _, v := range values {
		if s, ok := v.(string); ok && strings.TrimSpace(s) != "" {
			all = append(all, textOf(s))
		}
	}
	return all[:min(len(all), mostLines)]
}

// word is a host's word for what brought a message about, in the letters that one has; empty: there is none.
func word(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return -1
	}, s)
	return s[:min(len(s), 64)]
}
