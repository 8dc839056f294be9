package query

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/mallardmem/mallard/engine/internal/door"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	sqlfiles "github.com/mallardmem/mallard/sql"
)

// Table is the answer to a query.
type Table struct {
	Columns []string `json:"columns"`
	Rows    [][]any  `json:"rows"`
	More    bool     `json:"more"`          // there were more rows than the limits allow
	Cut     string   `json:"cut,omitempty"` // the limit that ended them: rows, or bytes
}

// Query answers one SELECT over the file, for analysts; limit bounds the rows, 0 is a thousand. It is QueryEach with its default of bytes, gathered.
func (q *Reader) Query(ctx context.Context, query string, limit int) (*Table, error) {
	t := &Table{}
	cut, err := q.QueryEach(ctx, Request{SQL: query, Rows: limit}, func(columns []string, row []any) error {
		if t.Columns = columns; row != nil {
			t.Rows = append(t.Rows, row)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	t.More, t.Cut = cut != "", cut
	return t, nil
}

// Request is a question in SQL.
type Request struct {
	SQL   string
	Rows  int // at most so many. Default 1000
	Bytes int // of all rows together, about; the row that goes beyond is left out. Default 64 MB
	// AsText gives every value as text as DuckDB prints it, NULL as nil; but those of a query with a comment after its semicolon as they are.
	AsText bool
}

// QueryEach answers one SELECT over the file and gives its rows one by one: first the columns alone, with a row that is nil, then each row, which is
// the caller's to keep. An error of each ends it and is returned. Cut names the limit that ended the rows before all were given: "rows", "bytes" or
// neither. Errors: ErrInvalid.
//
// It runs in a read-only transaction and answers only what names the tables, views and macros of the file and functions of DuckDB that are listed
// (engine/internal/door/names.txt); it refuses other statements, more than one, files, settings, and what has effects.
//
// What a statement makes of nothing is bounded before it runs: the nesting and length of its text, how often names and macros repeat what they stand
// for, the rows of range, generate_series and repeat (10 million), the values of repeat, lpad, format and their like (16,384 characters or elements),
// whose sizes must be constants. DuckDB's MemoryLimit bounds its sorts, joins and groups. Nothing bounds the rest within this process: DuckDB computes
// all rows before it gives the first, so Rows is put into the statement but Bytes only ends what is handed on; joins without a condition, recursion,
// comparisons of long texts and patterns with many % take as long as they take, the context ends them between batches of two thousand rows and not
// within a value, and a value that a statement doubles again and again (text || text, replace within replace, list_reduce) takes memory beyond
// MemoryLimit. A host that lets others write the SQL runs it in a process that it can end, as `memctl sql` does.
func (q *Reader) QueryEach(ctx context.Context, r Request, each func(columns []string, row []any) error) (cut string, err error) {
	if r.Rows == 0 {
		r.Rows = 1000
	}
	if r.Bytes == 0 {
		r.Bytes = 64 << 20
	}
	if r.Rows < 0 {
		return "", fmt.Errorf("query: %w", fault.Invalid("limit", r.Rows, "0 or more"))
	}
	if r.Bytes < 0 {
		return "", fmt.Errorf("query: %w", fault.Invalid("bytes", r.Bytes, "0 or more"))
	}
	if err := fault.CheckText("sql", r.SQL); err != nil {
		return "", fmt.Errorf("query: %w", err)
	}
	var own error // of each
	err = q.file.Read(ctx, "query", func(c *duck.Conn) error {
		if err := harmless(ctx, c, r.SQL); err != nil {
			return err
		}
		before := 0 // lines of ours before the query's
		if bounded, linesBefore := boundedQuery(r); harmless(ctx, c, bounded) == nil {
			r.SQL, before = bounded, linesBefore
		}
		cut, err = rowsOf(ctx, c, r, func(columns []string, row []any) error {
			own = each(columns, row)
			return own
		})
		if err != nil && own == nil && ctx.Err() == nil && !duck.Damaged(err) {
			return fmt.Errorf("%w: sql: %w", fault.ErrInvalid, reworded{err, before})
		}
		return err
	})
	return cut, err
}

// harmless refuses all but a single SELECT that names only what it may, and makes nothing of unreasonable size.
func harmless(ctx context.Context, c *duck.Conn, query string) error {
	if err := door.CheckText(query); err != nil {
		return err
	}
	var serialized string
	if _, err := c.One(ctx, "parse", []any{&serialized}, sql.Named("sql", query)); err != nil {
		return err
	}
	names, err := nameable(ctx, c)
	if err != nil {
		return err
	}
	return door.Judge(query, serialized, names)
}

// nameable reads the file's catalog, as the transaction sees it.
func nameable(ctx context.Context, c *duck.Conn) (door.Names, error) {
	names := door.NewNames()
	err := c.Each(ctx, "nameable_tables", func(rows *sql.Rows) error {
		var schema, name string
		var columns int
		if err := rows.Scan(&schema, &name, &columns); err != nil {
			return err
		}
		names.AddTable(schema, name, columns)
		return nil
	})
	if err != nil {
		return names, err
	}
	return names, c.Each(ctx, "nameable_types", func(rows *sql.Rows) error {
		var name string
		if err := rows.Scan(&name); err != nil {
			return err
		}
		names.AddType(name)
		return nil
	})
}

// boundedQuery asks for one row more than the limit. What can't stand in brackets, such as a query with a comment after its
// semicolon, has to go without.
func boundedQuery(r Request) (bounded string, linesBefore int) {
	frame := sqlfiles.Query("bounded")
	if r.AsText {
		frame = sqlfiles.Query("bounded_text")
	}
	ours, _, _ := strings.Cut(frame, "{query}")
	rows := min(r.Rows, math.MaxInt-1) + 1
	bounded = strings.NewReplacer("{query}", strings.TrimRight(r.SQL, "; \t\r\n"), "{rows}", strconv.Itoa(rows)).Replace(frame)
	return bounded, strings.Count(ours, "\n")
}

// reworded is an error of a query without the part of DuckDB that found it. It names the lines as the query itself has them.
type reworded struct {
	error
	before int // lines of ours before the query's
}

var (
	lineNumber = regexp.MustCompile(`(?m)^LINE (\d+):`)
	finder     = regexp.MustCompile(`^[A-Z][A-Za-z ]{0,40} Error: `)
)

func (e reworded) Error() string {
	said := finder.ReplaceAllLiteralString(e.error.Error(), "")
	return lineNumber.ReplaceAllStringFunc(said, func(found string) string {
		n, err := strconv.Atoi(lineNumber.FindStringSubmatch(found)[1])
		if err != nil {
			return found
		}
		return fmt.Sprintf("LINE %d:", max(n-e.before, 1))
	})
}

func (e reworded) Unwrap() error { return e.error }

// rowsOf runs a statement that was judged.
func rowsOf(ctx context.Context, c *duck.Conn, r Request, each func(columns []string, row []any) error) (cut string, err error) {
	rows, err := c.SQL.QueryContext(ctx, r.SQL)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	columns, err := rows.Columns()
	if err != nil {
		return "", err
	}
	types, err := rows.ColumnTypes()
	if err != nil {
		return "", err
	}
	if err := each(columns, nil); err != nil {
		return "", err
	}
	bytes := 0
	for given := 0; rows.Next(); given++ {
		if given == r.Rows {
			return "rows", nil
		}
		row := make([]any, len(columns))
		dest := make([]any, len(row))
		for i := range row {
			dest[i] = &row[i]
		}
		if err := rows.Scan(dest...); err != nil {
			return "", err
		}
		for i, v := range row {
			if b, ok := v.([]byte); ok && len(b) == 16 && types[i].DatabaseTypeName() == "UUID" {
				row[i] = fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
			}
		}
		if bytes += sizeOf(reflect.ValueOf(row)); bytes > r.Bytes {
			return "bytes", nil
		}
		if err := each(columns, row); err != nil {
			return "", err
		}
	}
	return "", rows.Err()
}

// sizeOf is about how many bytes a value of the database takes.
func sizeOf(v reflect.Value) int {
	const header = 16
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return header
		}
		return header + sizeOf(v.Elem())
	case reflect.String:
		return header + v.Len()
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return header + v.Len()
		}
		size := header
		for i := range v.Len() {
			size += sizeOf(v.Index(i))
		}
		return size
	case reflect.Map:
		size := header
		for entries := v.MapRange(); entries.Next(); {
			size += sizeOf(entries.Key()) + sizeOf(entries.Value())
		}
		return size
	}
	return header
}
