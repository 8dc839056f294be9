package query_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/query"
)

// sections reads a list of names by section, as engine/internal/door/names.txt is written.
func sections(t *testing.T, name string) map[string]map[string]bool {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	all, section := map[string]map[string]bool{}, ""
	for l := range strings.Lines(string(b)) {
		l = strings.TrimSpace(l)
		switch {
		case strings.HasPrefix(l, "["):
			section = strings.Trim(l, "[]")
			all[section] = map[string]bool{}
		case !strings.HasPrefix(l, "#"):
			for _, name := range strings.Fields(l) {
				all[section][name] = true
			}
		}
	}
	return all
}

// TestQueryFunctions: every function of this DuckDB is allowed or was refused by somebody who read it, so that a new version adds none unseen.
func TestQueryFunctions(t *testing.T) {
	t.Parallel()
	allowed, refused := sections(t, filepath.Join("..", "internal", "door", "names.txt")), sections(t, filepath.Join("testdata", "query_refused.txt"))
	calls := map[string]bool{}
	for _, section := range []string{"operators", "aggregates and windows", "functions", "lists, maps, structs", "macros of the system", "JSON"} {
		if len(allowed[section]) == 0 {
			t.Fatalf("names.txt has no section %s", section)
		}
		for name := range allowed[section] {
			calls[name] = true
		}
	}
	db := enginetest.PlainDuckDB(t, "", "")
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), "SELECT DISTINCT function_name, function_type IN ('table', 'table_macro') FROM duckdb_functions() WHERE function_type <> 'pragma'")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	seen := map[string]bool{}
	for rows.Next() {
		var name string
		var table bool
		if err := rows.Scan(&name, &table); err != nil {
			t.Fatal(err)
		}
		kind, may := "functions", calls
		if table {
			kind, may = "table functions", allowed["table functions"]
		}
		seen[kind+" "+name] = true
		if may[name] == refused[kind][name] {
			t.Errorf("%s %s: allowed %t, refused %t: read what it does, then list it in names.txt or testdata/query_refused.txt", kind, name, may[name], refused[kind][name])
		}
	}
	if err := rows.Err(); err != nil || len(seen) < 700 {
		t.Fatalf("%d functions, %v", len(seen), err)
	}
	for name := range calls {
		if !seen["functions "+name] {
			t.Errorf("names.txt allows %s, which DuckDB has not", name)
		}
	}
}

// TestQueryBounds: what would take memory or time without bound is refused before it is planned, and what stays below is answered.
func TestQueryBounds(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	nested := func(open, middle, end string, n int) string {
		return "SELECT " + strings.Repeat(open, n) + middle + strings.Repeat(end, n)
	}
	for _, q := range []string{
		"SELECT repeat('x', 2000000000)", "FROM generate_series(1, 3000000000)", "FROM range(1000000000)", "SELECT sum(range) FROM range(1000000000)",
		"FROM range(10000) a, range(10000) b", "WITH a AS (FROM range(10000)) FROM a x, a y", "SELECT repeat(repeat('x', 1000), 1000)",
		"SELECT repeat(s, 1000) FROM (SELECT repeat('x', 1000) AS s)", "SELECT repeat('x', 1000) AS s, repeat(s, 1000)", "SELECT repeat('x', length(text)) FROM memories",
		"FROM range((SELECT count(*) FROM memories))", "SELECT lpad('x', 2000000000)", "SELECT rpad('x', 2000000000, 'y')", "SELECT list_resize([1], 2000000000)",
		"SELECT bitstring('1', 2000000000)", "SELECT format('{:>2000000000}', 1)", "SELECT printf('%2000000000d', 1)", "SELECT printf('%*d', 2000000000, 1)",
		"SELECT format('{:>{}}', 'a', 2000000000)", "SELECT range(2000000000)", "SELECT NULL::INTEGER[10000][10000]", "SELECT max(doc_no, 999999) FROM documents",
		"FROM memories USING SAMPLE reservoir(1000000000 ROWS)", "FROM repeat('x', 2000000000)", "FROM generate_series(DATE '0001-01-01', DATE '9999-01-01', INTERVAL 1 SECOND)",
		"SELECT json_structure('[]')", "SELECT '[]'::JSON::VARIANT", "SELECT json_merge_patch('{}', '{}')", "SELECT reservoir_quantile(doc_no, 0.5, 1000000000) FROM documents",
		nested("[", "", "]", 900), nested("(", "1", ")", 60), nested("CASE ", "1", " WHEN 1 THEN 1 WHEN 2 THEN 2 END", 2), nested("nullif(", "1", ", 2)", 14),
		nested("list_transform([1], lambda x: ", "1", ")", 20), nested("(SELECT ", "1", ")", 20), "SELECT '{}'::JSON" + strings.Repeat("->'a'", 40),
		"SELECT 1 AS a0" + aliased(20), "SELECT *, * FROM (SELECT *, * FROM (SELECT *, * FROM (SELECT *, * FROM documents a, documents b, documents c, documents d, documents e, documents f, documents g, documents h, documents i, documents j, documents k)))",
		"WITH a0 AS (SELECT 1 AS x)" + inlined(20) + " FROM a20", "SELECT 1" + strings.Repeat(" + 1", 400), "FROM " + strings.TrimSuffix(strings.Repeat("terms, ", 60), ", "),
		"SELECT CASE '" + strings.Repeat("x", 20_000) + "'" + strings.Repeat(" WHEN 'a' THEN 1", 100) + " END", "SELECT '" + strings.Repeat("x", 300_000) + "'",
	} {
		if table, err := e.Query(t.Context(), q, 1); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%.120q: %+v, %v: want ErrInvalid", q, table, err)
		}
	}
	for _, q := range []string{
		"SELECT lpad('x', 10, ' '), rpad('y', 10, ' '), repeat('z', 10), lpad('x', 100, ' '), format('{:>10} in 2026', 1), printf('%5d', 2)", "SELECT count(*) FROM range(10000000)",
		"FROM generate_series(DATE '2026-01-01', DATE '2026-12-31', INTERVAL 1 DAY)", "FROM generate_series(TIMESTAMP '2026-01-01 10:00:00', TIMESTAMP '2026-01-02 00:00:00', INTERVAL '2 hours')",
		"SELECT unnest(range(100)), max(1), min(2)", "FROM range(24 * 60)", nested("(", "1", ")", 40), nested("abs(", "1", ")", 40),
		"SELECT CASE WHEN true THEN CASE 1 WHEN 1 THEN 2 ELSE CASE 2 WHEN 2 THEN 3 END END END", "SELECT 1" + strings.Repeat(" + 1", 60),
		"SELECT '" + strings.Repeat("[", 200) + "', /* " + strings.Repeat("(", 200) + " */ 1 AS \"" + strings.Repeat("{", 60) + "\", $$" + strings.Repeat("[", 60) + "$$, e'\\'" + strings.Repeat("[", 60) + "' -- " + strings.Repeat("[", 60),
		"WITH a AS (SELECT 1 AS x), b AS (SELECT a.x FROM a, a AS c), c AS (SELECT b.x FROM b, b AS d) FROM c", "SELECT 1 AS a, a + a AS b, b + b AS c", "SELECT 1 WHERE 5 IN (1" + strings.Repeat(", 2", 5000) + ", 5)",
		"FROM mallard.main.memories UNION ALL BY NAME FROM mallard.memories UNION ALL BY NAME FROM main.memories", "SELECT list_aggregate([1, 2], 'sum')",
		"FROM (SELECT 1 AS a, 'x' AS b) UNPIVOT (v FOR n IN (a))", "FROM (SELECT 1 AS a, 'x' AS b) PIVOT (sum(a) FOR b IN ('x', 'y'))", "SELECT 'memory'::document_kind, TRY_CAST('x' AS DECIMAL(10, 2)), {'a': [1]}.a[1]",
	} {
		if _, err := e.Query(t.Context(), q, 0); err != nil {
			t.Errorf("%.120q: %.300v", q, err)
		}
	}
}

// aliased is n columns of which each uses the one before twice.
func aliased(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.NewReplacer("{a}", fmt.Sprint("a", i), "{b}", fmt.Sprint("a", i+1)).Replace(", {a} + {a} AS {b}"))
	}
	return b.String()
}

// inlined is n queries of which each uses the one before twice, and is to be written out where it is used.
func inlined(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.NewReplacer("{a}", fmt.Sprint("a", i), "{b}", fmt.Sprint("a", i+1)).Replace(", {b} AS NOT MATERIALIZED (SELECT x.x FROM {a} x, {a} y)"))
	}
	return b.String()
}

// TestQueryBytes: rows are handed on one by one until they are too many bytes together.
func TestQueryBytes(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	const text = "SELECT repeat('x', 1000) AS long FROM range(100)"
	given := 0
	cut, err := e.QueryEach(t.Context(), query.Request{SQL: text, Bytes: 20_000}, func(columns []string, row []any) error {
		enginetest.Equal(t, "columns", []string{"long"}, columns)
		if row != nil {
			given++
		}
		return nil
	})
	if err != nil || cut != "bytes" || given < 15 || given > 20 {
		t.Errorf("%d rows of 1000 bytes, cut by %q, %v: want fewer than 20", given, cut, err)
	}
	stop := errors.New("enough")
	if _, err := e.QueryEach(t.Context(), query.Request{SQL: text}, func(_ []string, row []any) error {
		if row != nil {
			return stop
		}
		return nil
	}); !errors.Is(err, stop) || errors.Is(err, engine.ErrInvalid) {
		t.Errorf("got %v: want the caller's own error", err)
	}
}
