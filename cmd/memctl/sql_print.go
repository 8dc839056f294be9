package main

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/duckdb/duckdb-go/v2"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// sqlPrinter prints an answer row by row; end says whether there were more.
type sqlPrinter interface {
	begin(columns []string) error
	row(row []any) error
	end(more bool) error
}

func newSQLPrinter(a *app, asCSV bool) sqlPrinter {
	switch {
	case asCSV:
		return &csvPrinter{csv.NewWriter(a.stdout)}
	case a.json:
		return &jsonPrinter{out: bufio.NewWriter(a.stdout)}
	}
	return &tablePrinter{a: a}
}

type csvPrinter struct{ out *csv.Writer }

func (p *csvPrinter) begin(columns []string) error { return p.out.Write(columns) }

func (p *csvPrinter) row(row []any) error {
	record := make([]string, len(row))
	for i, v := range row {
		if v != nil {
			record[i] = cell(v)
		}
	}
	return p.out.Write(record)
}

func (p *csvPrinter) end(bool) error {
	p.out.Flush()
	return p.out.Error()
}

// jsonPrinter prints the one document of a call, of which only a row is in memory.
type jsonPrinter struct {
	out  *bufio.Writer
	rows int
}

func (p *jsonPrinter) begin(columns []string) error {
	b, err := jsonLine(columns)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.out, "{\n  \"columns\": %s,\n  \"rows\": [", b)
	return err
}

func (p *jsonPrinter) row(row []any) error {
	b, err := jsonLine(row)
	if err != nil {
		return err
	}
	comma := ","
	if p.rows++; p.rows == 1 {
		comma = ""
	}
	_, err = fmt.Fprintf(p.out, "%s\n    %s", comma, b)
	return err
}

func (p *jsonPrinter) end(more bool) error {
	closing := "\n  ]"
	if p.rows == 0 {
		closing = "]"
	}
	fmt.Fprintf(p.out, "%s,\n  \"more\": %t\n}\n", closing, more)
	return p.out.Flush()
}

func jsonLine(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// tablePrinter gathers, since a column is as wide as its widest value.
type tablePrinter struct {
	a     *app
	table table.Writer
	to    *firstError
	width int
}

func (p *tablePrinter) begin(columns []string) error {
	header := make([]any, len(columns))
	for i, name := range columns {
		header[i] = line(name, 60)
	}
	p.table = p.a.table(header...)
	p.table.Style().Format.Header = text.FormatDefault // names as they are
	p.to = &firstError{w: p.a.stdout}
	p.table.SetOutputMirror(p.to)
	p.width = max(p.a.width()/max(1, len(columns)), 60)
	return nil
}

func (p *tablePrinter) row(row []any) error {
	cells := make([]any, len(row))
	for i, v := range row {
		cells[i] = line(cell(v), p.width)
	}
	p.table.AppendRow(cells)
	return nil
}

func (p *tablePrinter) end(bool) error {
	p.table.Render()
	return p.to.err
}

// firstError remembers what went wrong first, for a caller who does not look.
type firstError struct {
	w   io.Writer
	err error
}

func (f *firstError) Write(b []byte) (int, error) {
	n, err := f.w.Write(b)
	if f.err == nil {
		f.err = err
	}
	return n, err
}

// portable makes a value of the database one that JSON has: no NaN, no maps with other keys than text, no raw bytes.
func portable(v any) any {
	switch v := v.(type) {
	case time.Time:
		if v.Year() == 1 { // a time of day
			return v.Format("15:04:05.999999")
		}
		return v
	case nil, bool, string, json.Marshaler:
		return v
	case float32:
		if n := float64(v); math.IsNaN(n) || math.IsInf(n, 0) {
			return fmt.Sprint(v)
		}
		return v
	case duckdb.Interval:
		return intervalText(v)
	case duckdb.Union:
		return map[string]any{v.Tag: portable(v.Value)}
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Sprint(v)
		}
		return v
	case []byte:
		if utf8.Valid(v) {
			return string(v)
		}
		return hex.EncodeToString(v)
	case fmt.Stringer:
		return v.String()
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Slice, reflect.Array:
		list := make([]any, r.Len())
		for i := range list {
			list[i] = portable(r.Index(i).Interface())
		}
		return list
	case reflect.Map:
		object := map[string]any{}
		for _, key := range r.MapKeys() {
			object[fmt.Sprint(key.Interface())] = portable(r.MapIndex(key).Interface())
		}
		return object
	}
	return v
}

// intervalText is an interval as DuckDB prints it.
func intervalText(i duckdb.Interval) string {
	var parts []string
	for _, part := range []struct {
		n    int32
		unit string
	}{{i.Months / 12, "year"}, {i.Months % 12, "month"}, {i.Days, "day"}} {
		switch part.n {
		case 0:
		case 1, -1:
			parts = append(parts, fmt.Sprint(part.n, " ", part.unit))
		default:
			parts = append(parts, fmt.Sprint(part.n, " ", part.unit, "s"))
		}
	}
	if i.Micros != 0 || len(parts) == 0 {
		sign, micros := "", i.Micros
		if micros < 0 {
			sign, micros = "-", -micros
		}
		clock := fmt.Sprintf("%s%02d:%02d:%02d", sign, micros/3_600_000_000, micros/60_000_000%60, micros/1_000_000%60)
		if rest := micros % 1_000_000; rest > 0 {
			clock += strings.TrimRight(fmt.Sprintf(".%06d", rest), "0")
		}
		parts = append(parts, clock)
	}
	return strings.Join(parts, " ")
}

// cell is a portable value as text.
func cell(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case time.Time:
		if v.Equal(v.Truncate(24 * time.Hour)) {
			return v.Format(time.DateOnly)
		}
		return v.Format("2006-01-02 15:04:05.999999")
	case []any, map[string]any:
		b, err := json.Marshal(v)
		if err != nil {
			return fmt.Sprint(v)
		}
		return string(b)
	}
	return fmt.Sprint(v)
}
