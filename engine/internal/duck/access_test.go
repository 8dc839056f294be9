package duck_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/internal/duck"
)

// numbers is a table function that gives no row.
type numbers struct{ columns []duckdb.ColumnInfo }

func (n numbers) ColumnInfos() []duckdb.ColumnInfo          { return n.columns }
func (n numbers) Cardinality() *duckdb.CardinalityInfo      { return nil }
func (n numbers) Init()                                     {}
func (n numbers) FillRow(duckdb.Row) (more bool, err error) { return false, nil }

// TestStoppedWhilePlanned: a statement that is stopped while it is planned fails with why it was, outside of a transaction as within one.
func TestStoppedWhilePlanned(t *testing.T) {
	t.Parallel()
	file := enginetest.File(enginetest.Open(t, engine.Options{}))
	integer, err := duckdb.NewTypeInfo(duckdb.TYPE_INTEGER)
	if err != nil {
		t.Fatal(err)
	}
	for name, run := range map[string]func(context.Context, string, func(*duck.Conn) error) error{"lent": file.Lend, "reading": file.Read} {
		ctx, cancel := context.WithCancel(t.Context())
		err := run(ctx, name, func(c *duck.Conn) error {
			table := duckdb.RowTableFunction{BindArguments: func(map[string]any, ...any) (duckdb.RowTableSource, error) {
				cancel()
				time.Sleep(100 * time.Millisecond) // the driver tells DuckDB meanwhile, and that goes on planning
				return numbers{[]duckdb.ColumnInfo{{Name: "n", T: integer}}}, nil
			}}
			if err := duckdb.RegisterTableUDF(c.SQL, name, table); err != nil {
				return err
			}
			rows, err := c.SQL.QueryContext(ctx, "FROM "+name+"()")
			if err == nil {
				rows.Close()
			}
			if errors.Is(err, context.Canceled) {
				t.Errorf("%s: the driver says %v by itself: the test stops nothing", name, err)
			}
			return err
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v: want why it was stopped", name, err)
		}
	}
}
