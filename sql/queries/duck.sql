-- name: attach
-- Opens the file. Small row groups and uncompressed vectors make a scan of the vectors four times as fast; both hold for as
-- long as the file is open, not for the file. The storage version is the oldest DuckDB that can read it.
ATTACH '{path}' AS mallard ({options}TYPE duckdb, ROW_GROUP_SIZE 16384);

-- name: configure
-- What holds for the whole instance, set once before the file is attached. What does not fit into memory goes beside the file. The engine checkpoints by itself, so DuckDB
-- must not: neither when it takes the log for long, nor at the end. The filter threshold lets fetches by many keys use the key. Plans are made once and used for
-- long, so the optimizers that build the data's present statistics into a plan are off: it would miss later rows.
SET GLOBAL disabled_optimizers = 'statistics_propagation,row_group_pruner';
SET GLOBAL temp_directory = '{temporary}';
SET GLOBAL force_compression = 'uncompressed';
SET GLOBAL checkpoint_threshold = '1000TB';
PRAGMA disable_checkpoint_on_shutdown;
SET GLOBAL dynamic_or_filter_threshold = 500;
SET GLOBAL autoinstall_known_extensions = false;
SET GLOBAL autoload_known_extensions = false;
SET GLOBAL TimeZone = 'UTC';

-- name: make
-- Makes an empty file.
ATTACH '{path}' AS unmade (TYPE duckdb, STORAGE_VERSION '{version}');
DETACH unmade;

-- name: use
-- Each connection works in the attached file.
USE mallard;

-- name: seal
-- Once the file is attached there is no way out to other files, and no way to open one.
SET GLOBAL enable_external_access = false;

-- name: lock_settings
-- Nor can a setting be changed any more. The text extension changes one while it makes its index.
SET GLOBAL lock_configuration = true;

-- name: memory_held
-- Bytes of the database's memory that can't be given up for something else, as blocks of the file can.
SELECT coalesce(sum(memory_usage_bytes), 0)::BIGINT FROM duckdb_memory() WHERE tag NOT IN ('BASE_TABLE', 'METADATA', 'ART_INDEX', 'EXTERNAL_FILE_CACHE');

-- name: checkpoint
CHECKPOINT mallard;

-- name: tables
-- Names of the tables in the file.
SELECT table_name FROM duckdb_tables() WHERE database_name = current_database() AND schema_name = 'main';

-- name: migrations_create
-- The record of the migrations that this file has had.
CREATE TABLE IF NOT EXISTS migrations (
    version    INTEGER NOT NULL,
    name       VARCHAR NOT NULL,
    hash       VARCHAR NOT NULL,
    applied_at TIMESTAMP NOT NULL
);

-- name: migrations_list
SELECT version, name, hash FROM migrations ORDER BY version;

-- name: migrations_insert
INSERT INTO migrations VALUES ($version, $name, $hash, $applied_at::TIMESTAMP);

-- name: setting_get
SELECT value::VARCHAR FROM settings WHERE name = $name;

-- name: setting_put
INSERT OR REPLACE INTO settings VALUES ($name, $value::JSON);

-- name: setting_delete
DELETE FROM settings WHERE name = $name;

-- name: documents_count
SELECT count(*) FROM documents;

-- name: fts_load
LOAD '{path}';

-- name: fts_load_installed
LOAD fts;

-- name: fts_install
-- Needs the network.
INSTALL fts;

-- name: attach_old
-- Opens a file that is only read beside a new one.
ATTACH '{path}' AS old (READ_ONLY, TYPE duckdb);

-- name: vectors_none
-- As long as no embedding model was chosen there are no vectors, and nothing can become one.
CREATE OR REPLACE VIEW vectors AS SELECT NULL::INTEGER AS doc_no, NULL::FLOAT[1] AS v WHERE false;
CREATE OR REPLACE MACRO as_vector(v) AS v::FLOAT[1];

-- name: see
-- Has the transaction see the file as it is now.
FROM settings LIMIT 1;

-- name: private_seal
-- An instance that only ranks needs nothing from outside.
SET enable_external_access = false;
SET lock_configuration = true;
