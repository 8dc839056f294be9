-- The file made anew (Shred): "mallard" is the new file, "old" a copy of the one that it takes the place of.

-- name: shred_schema
-- Everything that is defined, without rows.
COPY FROM DATABASE old TO mallard (SCHEMA);

-- name: shred_tables
-- Every table with its columns, also those that an analyst made.
SELECT t.schema_name, t.table_name, list(c.column_name ORDER BY c.column_index)
FROM duckdb_tables() AS t
JOIN duckdb_columns() AS c USING (database_oid, table_oid)
WHERE t.database_name = 'old' AND NOT t.internal
GROUP BY ALL
ORDER BY ALL;

-- name: shred_contents
-- The keys of all contents.
SELECT sha256 FROM old.main.payloads ORDER BY rowid;

-- name: shred_copy
-- Rows keep their order.
INSERT INTO mallard.{table} ({columns}) SELECT {columns} FROM old.{table} WHERE {part};

-- name: shred_same
-- Whether both files have the same rows.
SELECT (SELECT (count(*), sum(hash(whole_row)::HUGEINT)) FROM mallard.{table} AS whole_row WHERE {part})
    IS NOT DISTINCT FROM (SELECT (count(*), sum(hash(whole_row)::HUGEINT)) FROM old.{table} AS whole_row WHERE {part});

-- name: shred_begin
BEGIN TRANSACTION;

-- name: shred_end
COMMIT;

-- name: shred_mark
-- Nothing purged is in the new file.
DELETE FROM mallard.main.settings WHERE name = 'purged';
