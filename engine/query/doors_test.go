package query_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/query"
)

// doorsSeed repeats a run that failed.
const doorsSeed = "MALLARD_DOORS_SEED"

// TestDoors asks a thousand statements (a hundred thousand, if long) that a grammar makes, beside files that none may read: no answer and no error
// has a word of them, and afterwards the file and they are as they were.
func TestDoors(t *testing.T) {
	enginetest.Alone(t)
	statements := 1000
	switch {
	case enginetest.Long("doors"):
		statements = 100_000
	case testing.Short():
		statements = 300
	}
	e := enginetest.OpenFile(t, enginetest.NewFile(t), engine.Options{Embedder: enginetest.Words{}, Threads: 1})
	enginetest.Stock(t, e)
	before := enginetest.Everything(t, e)
	g := newGrammar(t, doorsSeedOf(t))
	laid := contents(t, g.folder)
	answered := 0
	for range statements {
		statement := g.statement()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		var told strings.Builder
		_, err := e.QueryEach(ctx, query.Request{SQL: statement, Rows: 100}, func(columns []string, row []any) error {
			fmt.Fprint(&told, columns, row)
			return nil
		})
		cancel()
		if strings.Contains(told.String(), canary) || err != nil && strings.Contains(err.Error(), canary) {
			t.Fatalf("%q reads a file: %.300s %v", statement, told.String(), err)
		}
		switch {
		case err == nil:
			answered++
		case errors.Is(err, context.DeadlineExceeded):
			t.Logf("%q took ten seconds", statement)
		case !errors.Is(err, engine.ErrInvalid):
			t.Fatalf("%q: %v", statement, err)
		}
	}
	t.Logf("%d statements, %d answered", statements, answered)
	if answered < statements/100 {
		t.Errorf("of %d statements %d were answered: the grammar is too hostile to test what is allowed", statements, answered)
	}
	enginetest.Equal(t, "the file", before, enginetest.Everything(t, e))
	enginetest.Equal(t, "the canaries", laid, contents(t, g.folder))
	enginetest.Check(t, e)
}

// TestDoorsTeeth: without a judge, and with one that looks at the names of tables alone, statements of the same grammar do read the canaries.
func TestDoorsTeeth(t *testing.T) {
	enginetest.Alone(t)
	g := newGrammar(t, doorsSeedOf(t))
	db := enginetest.PlainDuckDB(t, "", "")
	defer db.Close()
	statements := 500
	if enginetest.Long("doors") {
		statements = 10_000
	}
	reached, passed := 0, 0
	for range statements {
		query := g.query(g.rng.IntN(2))
		if strings.Contains(query, "2000000000") || strings.Contains(query, "pg_sleep") {
			continue
		}
		if !strings.Contains(saidTo(t, db, query), canary) {
			continue
		}
		reached++
		if plainTables(t, db, query) {
			passed++
		}
	}
	t.Logf("%d of %d statements read a canary, %d of them with tables of plain names", reached, statements, passed)
	if least := statements / 100; reached < least || passed < least/4 {
		t.Errorf("of %d statements %d read a canary unjudged, %d with plain names of tables: too few", statements, reached, passed)
	}
}

func doorsSeedOf(t *testing.T) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv(doorsSeed); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%s=%d", doorsSeed, seed)
	return seed
}

// newGrammar lays out the canaries.
func newGrammar(t *testing.T, seed uint64) *grammar {
	t.Helper()
	g := &grammar{rng: rand.New(rand.NewPCG(seed, 0)), folder: t.TempDir(), endings: []string{"csv", "json", "parquet", "db", "txt"}}
	db := enginetest.PlainDuckDB(t, "", "")
	defer db.Close()
	for _, statement := range []string{
		"COPY (SELECT 'WORD' AS content) TO 'DIR/canary.csv'", "COPY (SELECT 'WORD' AS content) TO 'DIR/canary.json'", "COPY (SELECT 'WORD' AS content) TO 'DIR/canary.parquet'",
		"COPY (SELECT 'WORD') TO 'DIR/canary.txt' (FORMAT csv, HEADER false)", "ATTACH 'DIR/canary.db' AS other", "CREATE TABLE other.content AS SELECT 'WORD' AS content", "DETACH other",
	} {
		if _, err := db.ExecContext(t.Context(), strings.NewReplacer("WORD", canary, "DIR", g.folder).Replace(statement)); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

// contents are the files of a folder.
func contents(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, name := range enginetest.FilesIn(t, folder) {
		b, err := os.ReadFile(filepath.Join(folder, filepath.Base(name)))
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(name)] = string(b)
	}
	if len(all) < 5 {
		t.Fatalf("%d canaries in %s", len(all), folder)
	}
	return all
}

// saidTo is what a database says to a statement, be it an error.
func saidTo(t *testing.T, db *sql.DB, query string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return err.Error()
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var told strings.Builder
	for n := 0; n < 100 && rows.Next(); n++ {
		row := make([]any, len(columns))
		for i := range row {
			row[i] = new(any)
		}
		if err := rows.Scan(row...); err != nil {
			t.Fatal(err)
		}
		for _, v := range row {
			if b, ok := (*v.(*any)).([]byte); ok {
				*v.(*any) = string(b)
			}
			fmt.Fprint(&told, *v.(*any), " ")
		}
	}
	return told.String()
}

var plainTable = regexp.MustCompile(`^\w+$`)

// plainTables is a judge that looks at the names of tables, and at those of table functions, but at no schema or catalogue.
func plainTables(t *testing.T, db *sql.DB, query string) bool {
	t.Helper()
	var tree any
	var text string
	err := db.QueryRowContext(t.Context(), "SELECT json_serialize_sql(?::VARCHAR)::VARCHAR", query).Scan(&text)
	if err == nil {
		err = json.Unmarshal([]byte(text), &tree)
	}
	if err != nil {
		t.Fatal(err)
	}
	var plain func(any) bool
	plain = func(tree any) bool {
		switch tree := tree.(type) {
		case []any:
			return !slices.ContainsFunc(tree, func(part any) bool { return !plain(part) })
		case map[string]any:
			name, _ := tree["table_name"].(string)
			if tree["type"] == "BASE_TABLE" && !plainTable.MatchString(name) || tree["type"] == "TABLE_FUNCTION" {
				return false
			}
			for _, part := range tree {
				if !plain(part) {
					return false
				}
			}
		}
		return true
	}
	return plain(tree)
}
