package query_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
)

// canary is in every file that no query may read, and in no statement.
const canary = "petrel4711"

// grammar makes statements at random, of harmless and hostile pieces.
type grammar struct {
	rng     *rand.Rand
	folder  string   // with the canaries
	endings []string // of the canaries' names
	ctes    []string
}

func (g *grammar) one(of ...string) string { return of[g.rng.IntN(len(of))] }

// file is the name of a canary, or of several.
func (g *grammar) file() string {
	return filepath.Join(g.folder, g.one("canary", "canary", "can*", "c?nary")) + "." + g.one(g.endings...)
}

// named is a canary in the place of a table: as one name, or cut where DuckDB joins schema and catalogue to it.
func (g *grammar) named() string {
	file := g.file()
	stem, ending, _ := strings.Cut(file, ".")
	switch g.rng.IntN(8) {
	case 0:
		return "'" + file + "'"
	case 1:
		return `"` + file + `"`
	case 2, 3, 4:
		return fmt.Sprintf("%q.%s", stem, g.one(ending, `"`+ending+`"`))
	case 5:
		return fmt.Sprintf("%q.%q.%q", g.one("mallard", "memory", "main", ""), stem, ending)
	case 6:
		return fmt.Sprintf("main.%q", file)
	}
	return g.reader() + "(" + g.one("'"+file+"'", "['"+file+"']", "'"+g.folder+"/' || 'canary."+ending+"'") + ")"
}

func (g *grammar) reader() string {
	name := g.one("read_csv", "read_csv_auto", "read_text", "read_blob", "read_json", "read_json_auto", "read_ndjson_objects", "read_parquet", "parquet_scan", "parquet_metadata",
		"parquet_schema", "sniff_csv", "glob", "query_table", "read_duckdb", "histogram", "seq_scan")
	return g.one("", "", "", "system.main.", "main.", "mallard.") + g.one(name, strings.ToUpper(name), `"`+name+`"`)
}

// table is a source of rows.
func (g *grammar) table(depth int) string {
	switch n := g.rng.IntN(20); {
	case n < 5:
		return g.one("memories", "main.memories", "report.memories", "mallard.main.terms", "documents", "report.messages", "information_schema.tables", "duckdb_tables()")
	case n < 9:
		return g.named()
	case n < 11 && len(g.ctes) > 0:
		return g.ctes[g.rng.IntN(len(g.ctes))]
	case n < 13 && depth > 0:
		return "(" + g.query(depth-1) + ") AS " + g.one("a", "b", `"x.csv"`)
	case n < 14:
		return g.one("range(3)", "generate_series(1, 2)", "unnest([1, 2])", "(VALUES (1), (2)) AS v", "json_each('[1]')", "pragma_version()")
	case n < 15:
		return g.one("duckdb_settings()", "duckdb_secrets()", "duckdb_databases()", "duckdb_logs", "pragma_database_list", "force_checkpoint()", "which_secret('a', 's3')", "temp.main.asking")
	case n < 16:
		return fmt.Sprintf("query('%s')", strings.ReplaceAll(g.query(0), "'", "''"))
	case n < 17:
		return fmt.Sprintf("json_execute_serialized_sql(json_serialize_sql('%s'))", strings.ReplaceAll(g.query(0), "'", "''"))
	case depth > 0:
		return g.table(depth-1) + g.one(", ", " CROSS JOIN ", " POSITIONAL JOIN ", " NATURAL JOIN ", ", LATERAL ") + g.table(depth-1)
	}
	return g.one("memories", "terms") + g.one("", " AS m", " AS \"m.csv\"", " TABLESAMPLE 50%", " AT (VERSION => 1)")
}

// value is an expression.
func (g *grammar) value(depth int) string {
	if depth <= 0 {
		return g.one("1", "'a'", "NULL", "text", "id", "*", "COLUMNS(*)", "count(*)", "current_date", "#1", "[1, 2]", "{'a': 1}", "MAP {1: 2}", "DATE '2026-01-01'", "$1", "content", "'"+g.file()+"'")
	}
	in := func() string { return g.value(depth - 1) }
	switch g.rng.IntN(14) {
	case 0, 1:
		return "(" + g.query(depth-1) + ")"
	case 2:
		return g.one("EXISTS", "1 IN", "'a' = ANY", "NOT EXISTS") + " (" + g.query(depth-1) + ")"
	case 3:
		return fmt.Sprintf("CASE WHEN %s THEN %s END", in(), in())
	case 4:
		return in() + g.one(" + ", " || ", " = ", " LIKE ", " IS DISTINCT FROM ", "->", " AND ", "::VARCHAR || ") + in()
	case 5:
		return fmt.Sprintf("list_transform([1, 2], lambda x: %s)", in())
	case 6:
		return fmt.Sprintf("[x FOR x IN [1] IF x IN (%s)]", g.query(depth-1))
	case 7:
		return g.one("getenv", "getvariable", "current_setting", "nextval", "currval", "setseed", "read_text", "write_log", "pg_sleep", "json_serialize_plan", "json_deserialize_sql",
			"system.main.nextval", "main.current_setting") + "(" + g.one("'HOME'", "'doc_nos'", "'threads'", "0.5", "'"+g.file()+"'", "'FROM ''"+g.file()+"'''") + ")"
	case 8:
		return g.one("sum", "max", "list", "string_agg", "row_number", "first") + "(" + in() + ")" + g.one("", " OVER (ORDER BY 1)", " FILTER (true)")
	case 9:
		return "CAST(" + in() + " AS " + g.one("INTEGER", "VARCHAR", "JSON", "document_kind", "VARIANT", `"x.csv"`, "STRUCT(a INTEGER)", "INTEGER[]", "a.b.c") + ")"
	case 10:
		return g.one("repeat", "lpad", "list_resize", "range") + "(" + g.one("'x'", "[1]", "1") + ", " + g.one("3", "2000000000", "length('x')") + ")"
	case 11:
		return "idf(" + in() + ", " + in() + ")"
	case 12:
		return strings.Repeat(g.one("(", "[", "abs(", "NOT ("), g.rng.IntN(80)) + in()
	}
	return g.one("lower", "length", "words", "to_json", "json_extract", "list_aggregate", "typeof", "regexp_replace", "strftime") + "(" + in() + g.one(")", ", 'sum')", ", 'a', 'b')")
}

// query is a SELECT, or what is one to the parser.
func (g *grammar) query(depth int) string {
	switch g.rng.IntN(16) {
	case 0:
		return g.one("DESCRIBE ", "SUMMARIZE ", "SHOW ", "TABLE ", "DESCRIBE FROM ", "SUMMARIZE FROM ") + g.table(0)
	case 1:
		return g.one("SHOW TABLES", "SHOW ALL TABLES", "SHOW DATABASES", "SHOW TABLES FROM report", "SHOW VARIABLES", "SHOW TABLES FROM \""+g.folder+"\"")
	case 2:
		return g.one("FROM "+g.table(0)+" PIVOT (count(*) FOR a IN (1, 2))", "UNPIVOT "+g.table(0)+" ON *", "FROM "+g.table(0)+" UNPIVOT (v FOR n IN (a, b))")
	case 3, 4:
		if depth > 0 {
			return g.query(depth-1) + g.one(" UNION ALL ", " UNION ", " EXCEPT ", " INTERSECT ", " UNION ALL BY NAME ") + g.query(depth-1)
		}
	case 5, 6:
		if depth > 0 {
			known := g.ctes
			name := g.one("a", "b", "memories", `"`+g.file()+`"`, fmt.Sprintf("%q", "canary."+g.endings[0]))
			inner := g.query(depth - 1)
			g.ctes = append(known, name)
			q := "WITH " + g.one("", "RECURSIVE ") + name + " AS " + g.one("", "MATERIALIZED ", "NOT MATERIALIZED ") + "(" + inner + ") " + g.query(depth-1)
			g.ctes = known
			return q
		}
	case 7, 8, 9:
		return "FROM " + g.table(depth)
	}
	q := "SELECT " + g.value(depth) + g.one("", ", "+g.value(depth-1), " AS a") + " FROM " + g.table(depth)
	switch g.rng.IntN(8) {
	case 0:
		q += " WHERE " + g.value(depth-1)
	case 1:
		q += " ORDER BY " + g.value(0)
	case 2:
		q += " LIMIT " + g.value(0)
	case 3:
		q += " GROUP BY ALL"
	}
	return q
}

// statement is a query, mostly, in some disguise.
func (g *grammar) statement() string {
	g.ctes = nil
	q := g.query(g.rng.IntN(4))
	switch g.rng.IntN(14) {
	case 0:
		return "/* " + g.one("FROM", "'", "*") + " */ " + q + " -- " + g.one("'", ";", "\"")
	case 1:
		return strings.ReplaceAll(q, " ", g.one("\n", "\t", " /**/ ", "\u00a0"))
	case 2:
		return q + "; " + g.query(0)
	case 3:
		return g.one("COPY memories TO '"+g.file()+"'", "COPY ("+q+") TO '"+g.folder+"/out.csv'", "ATTACH '"+g.file()+"' AS x", "EXPLAIN ANALYZE "+q, "CREATE TABLE x AS "+q, "PREPARE p AS "+q,
			"DELETE FROM memories", "INSERT INTO memories "+q, "CREATE VIEW v AS "+q, "EXPORT DATABASE '"+g.folder+"/out'", "LOAD '"+g.file()+"'", "SET search_path = '"+g.folder+"'", "PRAGMA database_list")
	case 4:
		at := g.rng.IntN(len(q))
		return q[:at] + g.one("'", "\"", "(", ")", ";", "--", "/*", "$$", "\x00", "é") + q[at:]
	case 5:
		return strings.Repeat(g.one("(", "SELECT * FROM (", "WITH a AS ("), g.rng.IntN(70)) + q
	}
	return q
}
