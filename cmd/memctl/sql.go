package main

import (
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"time"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
)

func newSQLCommand(a *app) *cobra.Command {
	var limit int
	var asCSV bool
	cmd := &cobra.Command{
		Use:   "sql SELECT",
		Short: "Ask the file with SQL",
		Long: `Sql runs one SELECT over the file and prints a table, CSV or JSON. It only reads. The views of the schema report are the
contract for analysts, such as report.memories.`,
		Example: `  memctl sql "select category, count(*) as n from report.memories group by all order by n desc"
  memctl sql "select id, text from report.memories" --csv > memories.csv`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit == 0 {
				return usage("limit is 0; allowed: 1 or more")
			}
			if asCSV && a.json {
				return usage("csv and json exclude each other")
			}
			query, err := a.text(args)
			if err != nil {
				return err
			}
			return a.with(cmd.Context(), 0, func(e *engine.Engine) error {
				t, err := e.Query(cmd.Context(), query, limit)
				if err != nil {
					return err
				}
				for _, row := range t.Rows {
					for i := range row {
						row[i] = portable(row[i])
					}
				}
				t.Rows = orEmpty(t.Rows)
				if asCSV {
					return a.printCSV(t)
				}
				return a.answer(t, func() { a.printTable(t) })
			})
		},
	}
	cmd.Flags().BoolVar(&asCSV, "csv", false, "print CSV")
	cmd.Flags().IntVar(&limit, "limit", 1000, "at most so many rows")
	return cmd
}

func (a *app) printCSV(t *engine.Table) error {
	w := csv.NewWriter(a.stdout)
	if err := w.Write(t.Columns); err != nil {
		return err
	}
	for _, row := range t.Rows {
		record := make([]string, len(row))
		for i, v := range row {
			if v != nil {
				record[i] = cell(v)
			}
		}
		if err := w.Write(record); err != nil {
			return err
		}
	}
	w.Flush()
	if t.More {
		a.note("There are more rows: --limit.")
	}
	return w.Error()
}

func (a *app) printTable(t *engine.Table) {
	header := make([]any, len(t.Columns))
	for i, name := range t.Columns {
		header[i] = line(name, 60)
	}
	out := a.table(header...)
	out.Style().Format.Header = text.FormatDefault // names as they are
	for _, row := range t.Rows {
		cells := make([]any, len(row))
		for i, v := range row {
			cells[i] = line(cell(v), max(a.width()/len(row), 60))
		}
		out.AppendRow(cells)
	}
	out.Render()
	if t.More {
		a.note("There are more rows: --limit.")
	}
}

// portable makes a value of the database one that JSON has: no NaN, no maps with other keys than text, no raw bytes.
func portable(v any) any {
	switch v := v.(type) {
	case nil, bool, string, time.Time, json.Marshaler:
		return v
	case float32:
		return portable(float64(v))
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
