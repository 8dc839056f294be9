-- name: parse
-- The syntax tree of a statement; only a SELECT has one.
SELECT json_serialize_sql($sql::VARCHAR, skip_null := true, skip_empty := true)::VARCHAR;

-- name: nameable_tables
-- What an analyst may select from, and how wide it is.
SELECT schema_name, table_name, column_count FROM duckdb_tables() WHERE database_name = 'mallard'
UNION ALL
SELECT schema_name, view_name, column_count FROM duckdb_views() WHERE database_name = 'mallard' AND NOT internal;

-- name: nameable_types
-- The types that the file adds to DuckDB's.
SELECT type_name FROM duckdb_types() WHERE database_name = 'mallard' AND NOT internal;

-- name: bounded
-- An analyst's query with one row more than is wanted: the driver computes all rows before it gives the first.
SELECT * FROM (
{query}
) LIMIT {rows}

-- name: bounded_text
-- The same, and every value as DuckDB prints it.
SELECT COLUMNS(*)::VARCHAR FROM (
{query}
) LIMIT {rows}
