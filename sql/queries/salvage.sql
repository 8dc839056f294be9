-- name: recover_tables
-- The tables of a damaged file, with as many rows as were ever added.
SELECT t.table_name, t.estimated_size, t.has_primary_key, c.names, c.optional
FROM duckdb_tables() AS t
JOIN (
    SELECT table_oid, list(column_name ORDER BY column_index) AS names, list(column_name) FILTER (is_nullable) AS optional
    FROM duckdb_columns()
    WHERE database_name = 'old'
    GROUP BY table_oid
) AS c USING (table_oid)
WHERE t.database_name = 'old' AND t.schema_name = 'main' AND NOT t.internal
ORDER BY t.table_name;

-- name: recover_count
-- How many rows of a range there are.
SELECT count(*) FROM old.main.{table} WHERE rowid >= {from} AND rowid < {to};

-- name: recover_copy
-- Copies a stretch of rows.
INSERT INTO mallard.main.{table} ({columns})
SELECT {columns} FROM old.main.{table} WHERE rowid >= {from} AND rowid < {to}

-- name: recover_copy_believed
-- The same of blocks that are damaged: rows whose text is none stay out.
INSERT INTO mallard.main.{table} ({columns})
SELECT {columns} FROM (SELECT {columns} FROM old.main.{table} WHERE rowid >= {from} AND rowid < {to}) AS t
WHERE try(decode(encode(t::VARCHAR))) IS NOT NULL

-- name: recover_keyed
-- Ends a copy into a table with a key: a row whose key is there already stays out.
ON CONFLICT DO NOTHING

-- name: recover_column
-- Reads a column of a range.
SELECT bit_xor(hash({column})) FROM old.main.{table} WHERE rowid >= {from} AND rowid < {to};

-- name: recover_keys
-- What the rows of a range are known by.
SELECT {column}::VARCHAR FROM old.main.{table} WHERE rowid >= {from} AND rowid < {to} AND {column} IS NOT NULL LIMIT {limit};

-- name: recover_version
-- How many migrations a damaged file has had.
SELECT count(*) FROM old.main.migrations;

-- name: recover_models
-- The model whose vectors a damaged file has, if all that is said of it can be read and is true of them.
SELECT n, dims
FROM old.main.models AS m
WHERE chosen AND hash(m) IS NOT NULL AND ('vectors_' || n, 'FLOAT[' || dims || ']') IN (
    SELECT (table_name, data_type) FROM duckdb_columns() WHERE database_name = 'old' AND column_name = 'v'
);

-- name: recover_other_models
-- Forgets all models but the one whose vectors were copied.
DELETE FROM models WHERE NOT (chosen AND n = $1::INTEGER AND dims = $2::INTEGER);

-- name: recover_models_left
SELECT count(*)::INTEGER FROM models;

-- name: recover_numbers
-- Numbers of documents go on after the highest that a row has.
CREATE OR REPLACE SEQUENCE doc_nos START WITH {next};

-- name: recover_highest
SELECT greatest(
    (SELECT coalesce(max(doc_no), 0) FROM memories), (SELECT coalesce(max(doc_no), 0) FROM messages),
    (SELECT coalesce(max(doc_no), 0) FROM summaries), (SELECT coalesce(max(doc_no), 0) FROM notes), (SELECT coalesce(max(doc_no), 0) FROM vectors),
    (SELECT coalesce(max(number), 0) FROM passages), (SELECT coalesce(max(doc_no), 0) FROM memory_versions),
    (SELECT coalesce(max(number), 0) FROM past_passages), (SELECT coalesce(max(doc_no), 0) FROM past_vectors))::BIGINT;

-- name: recover_known
-- Which of these ids a file has.
SELECT id FROM (
    SELECT id FROM memories UNION ALL SELECT id FROM messages UNION ALL SELECT id FROM summaries UNION ALL SELECT id FROM conversations
    UNION ALL SELECT id FROM note_files UNION ALL SELECT id FROM large_files UNION ALL SELECT id FROM compactions UNION ALL SELECT id FROM checkpoints
)
WHERE id = ANY ($ids::VARCHAR[]);

-- name: recover_groups
-- How many rows lie together in each group of a table.
SELECT sum(count)::BIGINT
FROM pragma_storage_info('old.main.{name}')
WHERE column_id = 0 AND segment_type = 'VALIDITY'
GROUP BY row_group_id
ORDER BY row_group_id;

-- name: recover_settings
-- Forgets settings that make no sense.
DELETE FROM settings;
