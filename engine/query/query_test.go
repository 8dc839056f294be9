package query_test

import (
	"context"
	"encoding/csv"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
)

// stolen is a file beside the memory file that no query may read; its name is FILE in the queries below.
func stolen(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "secret.csv")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := csv.NewWriter(f).WriteAll([][]string{{"secret"}, {"42"}}); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestQueryRefuses(t *testing.T) {
	enginetest.Alone(t)
	path := enginetest.NewFile(t)
	e := enginetest.OpenFile(t, path, engine.Options{Embedder: enginetest.Words{}})
	enginetest.Stock(t, e)
	before := enginetest.Everything(t, e)
	file := stolen(t)
	queries := []string{
		// other statements
		"", ";", "--", "SELECT", "INSERT INTO memory_relations VALUES ('a', 1, 'b', 'c')", "UPDATE memories SET text = 'x'", "DELETE FROM memories",
		"TRUNCATE memories", "DROP TABLE memories", "CREATE TABLE x (i INTEGER)", "CREATE TEMP TABLE x AS SELECT 1", "CREATE MACRO lower(x) AS 1",
		"CREATE SECRET (TYPE s3)", "ALTER TABLE memories ADD COLUMN x INTEGER", "BEGIN", "COMMIT", "ROLLBACK", "CHECKPOINT", "VACUUM", "ANALYZE",
		"SET threads = 1", "RESET threads", "USE memory", "ATTACH 'FILE.db'", "DETACH mallard", "COPY memories TO 'FILE'", "COPY (SELECT 1) TO 'FILE'",
		"EXPORT DATABASE 'FILE.d'", "IMPORT DATABASE 'FILE.d'", "INSTALL fts", "LOAD fts", "PREPARE p AS SELECT 1", "EXECUTE p", "CALL pragma_version()",
		"EXPLAIN ANALYZE DELETE FROM memories", "MERGE INTO memories USING memories AS m ON true WHEN MATCHED THEN DELETE",
		"PRAGMA database_list", "PRAGMA table_info('memories')", "PRAGMA threads = 1", "PRAGMA enable_profiling",
		// more than one
		"SELECT 1; SELECT 2", "SELECT 1; DELETE FROM memories", "SELECT 1; COPY memories TO 'FILE'",
		// no SQL, or not of this file
		"what does Ines like?", "SELECT FROM WHERE", "SELECT * FROM nowhere", "SELECT nothing FROM memories", "SELECT $1", "SELECT $x::INTEGER", "SELECT 'a'::INTEGER",
		"SELECT text::INTEGER FROM memories", "SELECT error('no')", "SELECT \x00", "SELECT '\xff'",
		// files
		"FROM 'FILE'", `FROM "FILE"`, "SELECT * FROM read_csv('FILE')", "SELECT * FROM read_csv_auto('FILE')", "FROM read_text('FILE')", "FROM read_blob('FILE')",
		"FROM read_json('FILE')", "FROM read_parquet('FILE')", "FROM parquet_scan('FILE')", "FROM parquet_metadata('FILE')", "FROM sniff_csv('FILE')",
		"FROM glob('/*')", "FROM READ_CSV('FILE')", `FROM "read_csv"('FILE')`, "FROM system.main.read_csv('FILE')", "FROM main.read_text('FILE')",
		"DESCRIBE 'FILE'", "SUMMARIZE 'FILE'", "DESCRIBE FROM 'FILE'", "SUMMARIZE SELECT * FROM 'FILE'", "SHOW 'FILE'", "TABLE 'FILE'",
		"PIVOT 'FILE' ON secret USING count(*)", "UNPIVOT 'FILE' ON secret", "SELECT * FROM (DESCRIBE 'FILE')", "FROM (SUMMARIZE 'FILE')",
		"SELECT * FROM memories, LATERAL (SELECT * FROM 'FILE')", "SELECT * FROM memories POSITIONAL JOIN 'FILE'", "SELECT * FROM memories SEMI JOIN 'FILE' ON true",
		// effects and views beyond the tables
		"SELECT nextval('doc_nos')", "SELECT NEXTVAL('doc_nos')", `SELECT "nextval"('doc_nos')`, "SELECT 'doc_nos'.nextval()", "SELECT main.nextval('doc_nos')",
		"SELECT currval('doc_nos')", "SELECT * FROM force_checkpoint()", "FROM checkpoint()", "SELECT getenv('HOME')", "SELECT getvariable('x')",
		"SELECT current_setting('threads')", "FROM query('SELECT 1')", "FROM query_table('memories')", "SELECT setseed(0.5)", "SELECT write_log('x')",
		"FROM duckdb_secrets()", "FROM duckdb_settings()", "FROM duckdb_extensions()", "FROM duckdb_logs()", "FROM which_secret('a', 'b')",
		"FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))", "FROM duckdb_databases()", "FROM pragma_database_list()",
	}
	for _, inner := range []string{"FROM 'FILE'", "SELECT * FROM read_csv('FILE')", "SELECT nextval('doc_nos')", "FROM query('SELECT 1')", "SELECT getenv('HOME')"} {
		queries = append(queries, "WITH a AS ("+inner+") FROM a", "WITH RECURSIVE a AS (SELECT 1 UNION ALL ("+inner+")) FROM a", "SELECT ("+inner+")",
			"SELECT 1 WHERE EXISTS ("+inner+")", "SELECT id FROM memories ORDER BY ("+inner+")", "SELECT 1 UNION ALL ("+inner+")",
			"SELECT 1 LIMIT ("+inner+")", "SELECT [x FOR x IN [1] IF x IN ("+inner+")]", "SELECT list_transform([1], lambda x: ("+inner+"))",
			"SELECT CASE WHEN true THEN ("+inner+") END", "VALUES ((("+inner+")))", "SELECT count(*) FILTER (1 IN ("+inner+")) FROM memories",
			"SELECT sum(1) OVER (ORDER BY ("+inner+")) FROM memories", "FROM memories QUALIFY 1 IN ("+inner+")", "FROM memories GROUP BY ALL HAVING 1 IN ("+inner+")",
			"PIVOT ("+inner+") ON x", "DESCRIBE "+inner, "SUMMARIZE "+inner)
	}
	for _, readOnly := range []bool{false, true} {
		if readOnly {
			enginetest.CloseFile(t, e)
			e = enginetest.OpenFile(t, path, engine.Options{Embedder: enginetest.Words{}, ReadOnly: true})
		}
		for _, q := range queries {
			q = strings.ReplaceAll(q, "FILE", file)
			table, err := e.Query(t.Context(), q, 0)
			if !errors.Is(err, engine.ErrInvalid) {
				t.Errorf("read-only %t: %q: %+v, %v: want ErrInvalid", readOnly, q, table, err)
			}
		}
		enginetest.Equal(t, "the file", before, enginetest.Everything(t, e))
		enginetest.Check(t, e)
	}
	if names := enginetest.FilesIn(t, filepath.Dir(file)); len(names) != 1 {
		t.Errorf("queries made files: %v", names)
	}
	if _, err := e.Query(t.Context(), "SELECT 1", -1); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "limit") {
		t.Errorf("limit -1: %v", err)
	}
}

func TestQueryAllows(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}})
	enginetest.Stock(t, e)
	for query, want := range map[string][][]any{
		"SELECT 1 AS one":       {{int32(1)}},
		" select 1 ; ":          {{int32(1)}},
		"/* a */ SELECT 1 -- b": {{int32(1)}},
		"VALUES (1), (2)":       {{int32(1)}, {int32(2)}},
		"WITH a AS (SELECT text FROM memories), b AS (FROM a) SELECT count(*) FROM b":                             {{int64(5)}},
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) FROM n":                      {{int32(1)}, {int32(2)}, {int32(3)}},
		"SELECT seq, lag(seq) OVER (ORDER BY seq) FROM messages ORDER BY seq":                                     {{int32(1), nil}, {int32(2), int32(1)}},
		"SELECT standing, count(*) FROM report.memories GROUP BY ALL ORDER BY ALL":                                {{"current", int64(3)}, {"superseded", int64(1)}},
		"SELECT conversation, messages FROM (SELECT name AS conversation, messages FROM report.conversations)":    {{"breakfast", int64(2)}},
		"SELECT round(idf(10, 1), 4), tier_floor('core')::DOUBLE":                                                 {{1.9924, 0.9}},
		"SELECT list_sort(words('Black TEA, café'))":                                                              {{[]any{"black", "cafe", "tea"}}},
		"SELECT count(*) FROM (SHOW TABLES) WHERE name = 'memories'":                                              {{int64(1)}},
		"SELECT column_name FROM (DESCRIBE memory_relations) LIMIT 1":                                             {{"memory_id"}},
		"SELECT table_name FROM information_schema.tables WHERE table_schema = 'report' AND table_name = 'terms'": {{"terms"}},
		"SELECT extra->>'from', json_type(extra) FROM memories WHERE text LIKE 'Ines%'":                           {{"stock", "OBJECT"}},
		"SELECT count(*) FROM duckdb_tables() WHERE table_name = 'memories'":                                      {{int64(1)}},
		"SELECT count(*) > 0 FROM pragma_storage_info('memories')":                                                {{true}},
		"FROM range(2)":         {{int64(0)}, {int64(1)}},
		"SELECT unnest([1, 2])": {{int32(1)}, {int32(2)}},
	} {
		table, err := e.Query(t.Context(), query, 0)
		if err != nil || table.More {
			t.Errorf("%q: %+v, %v", query, table, err)
			continue
		}
		enginetest.Equal(t, query, want, table.Rows)
	}
	for _, query := range []string{"SHOW TABLES", "SHOW ALL TABLES", "DESCRIBE memories", "SUMMARIZE memories", "FROM report.coverage",
		"SELECT * FROM memories TABLESAMPLE 100%", "SELECT id, text FROM memories WHERE text ILIKE '%tea%' ORDER BY created_at DESC"} {
		if table, err := e.Query(t.Context(), query, 0); err != nil || len(table.Rows) == 0 || len(table.Columns) != len(table.Rows[0]) {
			t.Errorf("%q: %+v, %v", query, table, err)
		}
	}
}

func TestQueryLimit(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	for _, test := range []struct {
		query       string
		limit, rows int
		more        bool
	}{
		{"FROM range(5)", 0, 5, false}, {"FROM range(5)", 5, 5, false}, {"FROM range(5)", 4, 4, true}, {"FROM range(5)", 1, 1, true},
		{"FROM range(1000)", 0, 1000, false}, {"FROM range(1001)", 0, 1000, true}, {"FROM range(10000000)", 3, 3, true}, {"FROM range(0)", 1, 0, false},
		{"FROM range(3);\n-- all", 2, 2, true}, {"FROM range(9) ORDER BY 1 -- up", 2, 2, true}, {"FROM range(2)", math.MaxInt, 2, false},
	} {
		table, err := e.Query(t.Context(), test.query, test.limit)
		if err != nil || len(table.Rows) != test.rows || table.More != test.more {
			t.Errorf("%s, limit %d: %+v, %v: want %d rows, more %t", test.query, test.limit, table, err, test.rows, test.more)
			continue
		}
		enginetest.Equal(t, "columns", []string{"range"}, table.Columns)
	}
}

func TestQueryCancelled(t *testing.T) {
	e := enginetest.Open(t, engine.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := e.Query(ctx, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n", 0)
	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, engine.ErrInvalid) {
		t.Errorf("got %v: want context.DeadlineExceeded", err)
	}
	if _, err := e.Query(t.Context(), "SELECT 1", 0); err != nil {
		t.Errorf("after a cancelled query: %v", err)
	}
}

// TestQueryLines: an error counts the lines of the statement as it was given, and says nothing of how it is judged.
func TestQueryLines(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	for query, says := range map[string]string{
		"SELECT nothing FROM memories":                     "LINE 1: SELECT nothing",
		"SELECT text\nFROM memories\nWHERE nothing":        "LINE 3: WHERE nothing",
		"SELECT nothing FROM memories; -- with a comment":  "LINE 1: SELECT nothing",
		"SELECT 'LINE 7: x'::INTEGER AS n\nFROM range(1);": "",
	} {
		_, err := e.Query(t.Context(), query, 1)
		if !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", query, err, says)
		}
	}
	_, err := e.Query(t.Context(), "DELETE FROM memories", 1)
	if err == nil || !strings.HasSuffix(err.Error(), "allowed: one SELECT") {
		t.Errorf("%v", err)
	}
}
