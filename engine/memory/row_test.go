package memory

import (
	"cmp"
	"slices"
	"testing"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/setup"
)

// TestColumns holds the list of columns against the table: rows are written and read by their order.
func TestColumns(t *testing.T) {
	file, err := duck.Open(t.Context(), ":memory:", setup.Options{}.WithDefaults())
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := file.DB.QueryContext(t.Context(), "SELECT column_name FROM duckdb_columns() WHERE table_name = 'memories' AND schema_name = 'main' AND database_name = 'mallard' ORDER BY column_index")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var want []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		want = append(want, name)
	}
	inTable := map[string]string{"key": "caller_key", "memory_layer": "layer", "memory_temporal_type": "temporal_type"} // under another name than in JSON
	got := []string{"id", "doc_no"}
	for _, c := range columns {
		got = append(got, cmp.Or(inTable[c.name], c.name))
	}
	if err := rows.Err(); err != nil || !slices.Equal(got, want) {
		t.Errorf("columns %v, the table has %v (%v)", got, want, err)
	}
}
