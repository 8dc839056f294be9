-- name: parse
-- The syntax tree of a statement; only a SELECT has one.
SELECT json_serialize_sql($sql::VARCHAR, skip_null := true, skip_empty := true)::VARCHAR;
