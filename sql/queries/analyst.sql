-- name: parse
-- The syntax tree of a statement; only a SELECT has one.
SELECT json_serialize_sql($sql::VARCHAR, skip_null := true, skip_empty := true)::VARCHAR;

-- name: bounded
-- An analyst's query with one row more than is wanted: the driver computes all rows before it gives the first.
SELECT * FROM (
{query}
) LIMIT {rows}
