package duck

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/duckdb/duckdb-go/v2"
)

// Table is a table function. Its rows are in Go, and statements read them where they are: that takes a tenth of the time of putting them into a table.
// Each connection has rows of its own, told apart by their type T.
type Table[T any] struct {
	Name    string
	About   uint // so many rows, for the planner
	Columns []TableColumn[T]
}

// Listing is a document in a list of some, with its place in that from 1.
type Listing struct{ No, Place int32 }

// Listed is a table that every connection to a file has: the documents that its next statement is about.
var Listed = Table[Listing]{Name: "listed", About: 10, Columns: []TableColumn[Listing]{
	Value("doc_no", func(l *Listing) int32 { return l.No }),
	Value("place", func(l *Listing) int32 { return l.Place }),
}}

// List makes documents, by their numbers, those that the connection's next statement is about.
func (c *Conn) List(numbers []int32) {
	list := make([]Listing, len(numbers))
	for i, no := range numbers {
		list[i] = Listing{no, int32(i + 1)}
	}
	Listed.Put(c, list)
}

// TableColumn is one of a Table.
type TableColumn[T any] struct {
	name string
	of   duckdb.Type
	list bool
	set  func(chunk duckdb.DataChunk, column, row int, of *T) error
}

// Value is a column with a value for each row. A NaN and a zero time are NULL, and so is an empty text.
func Value[T any, V int32 | float64 | bool | string | time.Time](name string, value func(*T) V) TableColumn[T] {
	c := TableColumn[T]{name: name, set: func(chunk duckdb.DataChunk, column, row int, of *T) error {
		v := value(of)
		if null(v) {
			return chunk.SetValue(column, row, nil)
		}
		return duckdb.SetChunkValue(chunk, column, row, v)
	}}
	c.of = columnType(*new(V))
	return c
}

// Values is a column with a list for each row.
func Values[T any, V string | time.Time](name string, values func(*T) []V) TableColumn[T] {
	return TableColumn[T]{name: name, of: columnType(*new(V)), list: true, set: func(chunk duckdb.DataChunk, column, row int, of *T) error {
		return chunk.SetValue(column, row, append([]V{}, values(of)...))
	}}
}

func null(v any) bool {
	switch v := v.(type) {
	case float64:
		return math.IsNaN(v)
	case string:
		return v == ""
	case time.Time:
		return v.IsZero()
	}
	return false
}

func columnType(v any) duckdb.Type {
	switch v.(type) {
	case int32:
		return duckdb.TYPE_INTEGER
	case float64:
		return duckdb.TYPE_DOUBLE
	case bool:
		return duckdb.TYPE_BOOLEAN
	case string:
		return duckdb.TYPE_VARCHAR
	}
	return duckdb.TYPE_TIMESTAMP
}

// Tables are tables with rows of any types.
type Tables []interface{ register(*sql.Conn) error }

// register makes the tables known to an instance.
func (all Tables) register(ctx context.Context, db *sql.DB) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	for _, t := range all {
		if err := t.register(conn); err != nil {
			return err
		}
	}
	return nil
}

// rowsOf is what a connection has of a table.
type rowsOf[T any] struct{ rows []T }

// Put makes rows those that the connection's statements read.
func (t *Table[T]) Put(c *Conn, rows []T) { Kept[rowsOf[T]](c).rows = rows }

// binding is the key of the connection whose statement is being bound.
type binding struct{}

// binds gives the context in which statements that read tables are prepared and run.
func (c *Conn) binds(ctx context.Context) context.Context {
	return context.WithValue(ctx, binding{}, c)
}

func (t *Table[T]) register(conn *sql.Conn) error {
	columns := make([]duckdb.ColumnInfo, len(t.Columns))
	for i, c := range t.Columns {
		info, err := duckdb.NewTypeInfo(c.of)
		if err == nil && c.list {
			info, err = duckdb.NewListInfo(info)
		}
		if err != nil {
			return fmt.Errorf("table %s: column %s: %w", t.Name, c.name, err)
		}
		columns[i] = duckdb.ColumnInfo{Name: c.name, T: info}
	}
	return duckdb.RegisterTableUDF(conn, t.Name, duckdb.ParallelChunkTableFunction{
		BindArgumentsContext: func(ctx context.Context, _ map[string]any, _ ...any) (duckdb.ParallelChunkTableSource, error) {
			c, ok := ctx.Value(binding{}).(*Conn)
			if !ok {
				return nil, errors.New("table " + t.Name + " is for the engine's own statements")
			}
			return &tableScan[T]{table: t, infos: columns, held: Kept[rowsOf[T]](c)}, nil
		},
	})
}

// tableScan is one reading of a table in a prepared statement.
type tableScan[T any] struct {
	table *Table[T]
	infos []duckdb.ColumnInfo
	held  *rowsOf[T]
}

func (s *tableScan[T]) ColumnInfos() []duckdb.ColumnInfo { return s.infos }
func (s *tableScan[T]) Cardinality() *duckdb.CardinalityInfo {
	return &duckdb.CardinalityInfo{Cardinality: s.table.About}
}
func (s *tableScan[T]) Init() duckdb.ParallelTableSourceInfo {
	return duckdb.ParallelTableSourceInfo{MaxThreads: 1}
}

// NewLocalState is how many rows were read.
func (s *tableScan[T]) NewLocalState() any { return new(int) }

// wanted reports whether the statement reads a column; rows from n on are free. A value for a column that it does not read is ignored, but that takes the
// driver longer than to set one.
func wanted(chunk duckdb.DataChunk, column, n int) bool {
	if n == duckdb.GetDataChunkCapacity() || chunk.SetValue(column, n, nil) != nil {
		return true
	}
	_, err := chunk.GetValue(column, n)
	return err == nil
}

func (s *tableScan[T]) FillChunk(state any, chunk duckdb.DataChunk) error {
	read := state.(*int)
	n := min(len(s.held.rows)-*read, duckdb.GetDataChunkCapacity())
	for column, c := range s.table.Columns {
		if !wanted(chunk, column, n) {
			continue
		}
		for row := range n {
			if err := c.set(chunk, column, row, &s.held.rows[*read+row]); err != nil {
				return fmt.Errorf("table %s: column %s: %w", s.table.Name, c.name, err)
			}
		}
	}
	*read += n
	return chunk.SetSize(n)
}
