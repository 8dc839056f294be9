package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/embed/static"
	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/recall"
	sqlfiles "github.com/mallardmem/mallard/sql"
)

// page reads a file of the folder docs.
func page(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// docTable is a Markdown table and the heading above it.
type docTable struct {
	heading string
	head    []string
	rows    [][]string
}

// tablesOf gives the tables of a page in their order, cells without spaces around them.
func tablesOf(t *testing.T, text string) (all []docTable) {
	t.Helper()
	heading, inside := "", false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			heading = strings.TrimSpace(strings.TrimLeft(line, "#"))
		}
		if !strings.HasPrefix(line, "|") {
			inside = false
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case !inside:
			all = append(all, docTable{heading: heading, head: cells})
			inside = true
		case strings.Trim(cells[0], "-") != "":
			last := &all[len(all)-1]
			if len(cells) != len(last.head) {
				t.Errorf("%s: %d cells in a table of %d: %s", heading, len(cells), len(last.head), line)
				continue
			}
			last.rows = append(last.rows, cells)
		}
	}
	if len(all) == 0 {
		t.Fatal("no tables: the test looks in the wrong place")
	}
	return all
}

var (
	sqlBlock = regexp.MustCompile("(?s)```sql\n(.*?)```")
	goBlock  = regexp.MustCompile("(?s)```go\n(.*?)```")
	quoted   = regexp.MustCompile("`([^`]+)`")
)

// documentedQueries gives the SQL blocks of docs/schema.md.
func documentedQueries(t *testing.T) (queries []string) {
	t.Helper()
	for _, block := range sqlBlock.FindAllStringSubmatch(page(t, "schema.md"), -1) {
		queries = append(queries, block[1])
	}
	if len(queries) == 0 {
		t.Fatal("docs/schema.md has no SQL blocks")
	}
	return queries
}

// TestDocumentedQueries: each works through the engine, and in a plain DuckDB on a snapshot, and finds something.
func TestDocumentedQueries(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.OpenDemo(t, static.New())
	out := enginetest.NewFile(t)
	if err := e.Snapshot(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	plain := enginetest.PlainDuckDB(t, out, "access_mode=read_only")
	defer plain.Close()
	if _, err := plain.ExecContext(t.Context(), "SET GLOBAL TimeZone = 'UTC'"); err != nil {
		t.Fatal(err)
	}
	for _, query := range documentedQueries(t) {
		table, err := e.Query(t.Context(), query, 0)
		if err != nil || len(table.Rows) == 0 {
			t.Errorf("%+v, %v: want rows\n%s", table, err, query)
			continue
		}
		rows, err := plain.QueryContext(t.Context(), query)
		if err != nil {
			t.Errorf("plain DuckDB: %v\n%s", err, query)
			continue
		}
		n := 0
		for rows.Next() {
			n++
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil || n != len(table.Rows) {
			t.Errorf("plain DuckDB: %d rows, %v: want %d\n%s", n, err, len(table.Rows), query)
		}
	}
}

// TestDocumentedBM25: the query that ranks in plain SQL gives the scores of the engine's lexical channel.
func TestDocumentedBM25(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.OpenDemo(t, nil)
	for _, query := range documentedQueries(t) {
		_, rest, found := strings.Cut(query, "words('")
		if !found {
			continue
		}
		question, _, _ := strings.Cut(rest, "'")
		result, err := e.Recall(t.Context(), recall.Query{Text: question, Weights: enginetest.PlainWeights(), Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		raw := map[string]float64{}
		for _, h := range result.Hits {
			raw[h.ID] = *h.Signals.Raw
		}
		compared := 0 // not all: what is current differs between today and the day of the demo
		for _, row := range enginetest.Rows(t, e, query) {
			want, found := raw[row[0].(string)]
			if !found {
				continue
			}
			if compared++; math.Abs(row[1].(float64)-want) > 1e-6 {
				t.Errorf("%v: documented query %v, engine %v", row[0], row[1], want)
			}
		}
		if compared < 5 {
			t.Errorf("%q: %d scores to compare, want 5 or more", question, compared)
		}
		return
	}
	t.Error("no documented query takes a question apart with words()")
}

// TestDocumentedSchema compares views, tables, columns and macros of the page with the file's.
func TestDocumentedSchema(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.OpenDemo(t, static.New())
	columns, macros := map[string][]string{}, []string{}
	for _, row := range enginetest.Rows(t, e, `
		SELECT CASE schema_name WHEN 'report' THEN 'report.' ELSE '' END || regexp_replace(table_name, '^vectors_\d+$', 'vectors_<n>'),
			column_name || ' ' || regexp_replace(regexp_replace(regexp_replace(data_type, '^ENUM\(''memory''.*$', 'document_kind'), '^ENUM\(''text''.*$', 'part_kind'), '^FLOAT\[\d+\]$', 'FLOAT[<dims>]')
		FROM duckdb_columns()
		WHERE database_name = current_database() AND NOT internal AND table_name <> 'vectors'
		ORDER BY schema_name, table_name, column_index`) {
		name := row[0].(string)
		columns[name] = append(columns[name], row[1].(string))
	}
	for _, row := range enginetest.Rows(t, e, `
		SELECT function_name || '(' || array_to_string(parameters, ', ') || ')'
		FROM duckdb_functions()
		WHERE database_name = current_database() AND NOT internal
		ORDER BY function_name`) {
		macros = append(macros, row[0].(string))
	}
	if len(columns["report.memories"]) == 0 || len(macros) < len(sqlfiles.MacroNames()) {
		t.Fatalf("%d tables and views, %d macros: the test does not see them", len(columns), len(macros))
	}

	documented, signatures := map[string][]string{}, map[string]bool{}
	for _, table := range tablesOf(t, page(t, "schema.md")) {
		for _, row := range table.rows {
			for _, name := range quoted.FindAllStringSubmatch(row[0], -1) {
				switch table.head[0] {
				case "column":
					documented[table.heading] = append(documented[table.heading], name[1]+" "+row[1])
				case "macro":
					signatures[name[1]] = true
				}
			}
		}
	}
	if diff := cmp.Diff(columns, documented); diff != "" {
		t.Errorf("docs/schema.md and the file (-file +page):\n%s", diff)
	}
	for _, macro := range macros {
		if !signatures[macro] {
			t.Errorf("docs/schema.md lacks the macro %s", macro)
		}
		delete(signatures, macro)
	}
	for macro := range signatures {
		t.Errorf("docs/schema.md has the macro %s, the file has not", macro)
	}
}

// TestDocumentedAgent: the code of the page is that of the example, which runs.
func TestDocumentedAgent(t *testing.T) {
	t.Parallel()
	example, err := os.ReadFile("example_agent_test.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := goBlock.FindAllStringSubmatch(page(t, "agents.md"), -1)
	if len(blocks) < 5 {
		t.Fatalf("%d blocks of Go: the test looks in the wrong place", len(blocks))
	}
	for _, block := range blocks {
		if !strings.Contains(string(example), block[1]) {
			t.Errorf("engine/example_agent_test.go lacks what docs/agents.md has:\n%s", block[1])
		}
	}
}

// TestDocumentedWeights compares names, defaults and ranges of the page with the engine's.
func TestDocumentedWeights(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	var table docTable
	for _, found := range tablesOf(t, page(t, "recall.md")) {
		if found.heading == "Weights" {
			table = found
		}
	}
	for column, set := range map[int]recall.Weights{2: recall.MemoryWeights(), 3: recall.TranscriptWeights(), 4: recall.NoteWeights()} {
		b, err := json.Marshal(set)
		values := map[string]any{}
		if err := errors.Join(err, json.Unmarshal(b, &values)); err != nil {
			t.Fatal(err)
		}
		want, got := map[string]string{}, map[string]string{}
		for name, value := range values {
			want[name] = fmt.Sprint(value)
		}
		for _, row := range table.rows {
			got[strings.Trim(row[0], "`")] = row[column]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("weights %s (-engine +page):\n%s", table.head[column], diff)
		}
	}
	accepts := func(name, value string) error {
		w := recall.MemoryWeights()
		if err := json.Unmarshal(fmt.Appendf(nil, `{%q: %s}`, name, value), &w); err != nil {
			t.Fatal(name, value, err)
		}
		return e.SetWeights(t.Context(), "tried", w)
	}
	for _, row := range table.rows {
		name := strings.Trim(row[0], "`")
		least, most, isRange := strings.Cut(row[1], " to ")
		if !isRange {
			for word := range strings.SplitSeq(row[1], ", ") {
				if word != "true" && word != "false" {
					word = strconv.Quote(word)
				}
				if err := accepts(name, word); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			continue
		}
		for _, end := range []struct {
			number string
			step   float64
		}{{least, -1}, {most, 1}} {
			x, err := strconv.ParseFloat(end.number, 64)
			if err := errors.Join(err, accepts(name, end.number)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if err := accepts(name, fmt.Sprint(x+end.step)); !errors.Is(err, engine.ErrInvalid) {
				t.Errorf("%s = %v: %v: want it refused", name, x+end.step, err)
			}
		}
	}
}

// TestDocumentedExample evaluates the steps of the worked example.
func TestDocumentedExample(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	steps := 0
	for _, table := range tablesOf(t, page(t, "recall.md")) {
		if len(table.head) != 3 || table.head[1] != "expression" {
			continue
		}
		for _, row := range table.rows {
			steps++
			expression := strings.Trim(row[1], "`")
			want, err := strconv.ParseFloat(strings.Trim(row[2], "*"), 64)
			if err != nil {
				t.Fatal(err)
			}
			if got := ask(t, e, "("+expression+")::DOUBLE").(float64); math.Abs(got-want) > 1.01e-6 {
				t.Errorf("%s: %s = %v, the page says %v", row[0], expression, got, want)
			}
		}
	}
	if steps < 10 {
		t.Fatalf("%d steps: the test does not see the example", steps)
	}
}
