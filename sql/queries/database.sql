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

-- name: recall_tables
-- Each connection has a place of its own for the recall under way: what is asked, and what is offered for ranking. They are made
-- anew now and then, since the rows that were deleted would go on taking room and time. Weights are columns, for in a struct all
-- of them would be carried through every stage.
CREATE OR REPLACE TEMP TABLE weighing AS SELECT unnest(NULL::weights) LIMIT 0;
CREATE OR REPLACE TEMP TABLE asking (
    asked_at TIMESTAMP, said_by TIMESTAMP, rerankable BOOLEAN, hits BIGINT, pool BIGINT, offers BIGINT,
    kinds VARCHAR[], scopes VARCHAR[], conversations VARCHAR[], categories VARCHAR[], tiers VARCHAR[], tagged BOOLEAN, fts BOOLEAN,
    since TIMESTAMP, until TIMESTAMP, words VARCHAR[], froms TIMESTAMP[], untils TIMESTAMP[]);
-- Conversations by name or id.
CREATE OR REPLACE TEMP TABLE asked_conversations (name VARCHAR);
-- What the index is asked: word counts the words of the question, share is what a term adds to the frequency of its word: 1 for
-- the word itself, less for a related one, 0 for one that is only counted.
CREATE OR REPLACE TEMP TABLE asked_terms (word INTEGER, term VARCHAR, share DOUBLE);
-- The question's vector, or an empty list; whether words are asked too; and the cosine that random text reaches, 0 where nobody knows it.
CREATE OR REPLACE TEMP TABLE asked_vector (v FLOAT[], by_words BOOLEAN, chance DOUBLE);
CREATE OR REPLACE TEMP TABLE word_rarity (word INTEGER, kind document_kind, documents BIGINT, population BIGINT, idf DOUBLE, average_length DOUBLE);
CREATE OR REPLACE TEMP TABLE tagged (doc_no INTEGER);
CREATE OR REPLACE TEMP TABLE fts_hits (word INTEGER, kind document_kind, doc_no INTEGER, tf DOUBLE);
-- Candidates in their order; a cosine that is NULL could not be known, dropped is the stage that did so before.
CREATE OR REPLACE TEMP TABLE offered (position INTEGER, doc_no INTEGER, fused DOUBLE, cosine DOUBLE, dropped VARCHAR);
-- Documents that are shown.
CREATE OR REPLACE TEMP TABLE shown (doc_no INTEGER);

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

-- name: setting_list
SELECT name, value::VARCHAR FROM settings WHERE starts_with(name, $prefix) ORDER BY name;

-- name: setting_put
INSERT OR REPLACE INTO settings VALUES ($name, $value::JSON);

-- name: setting_delete
DELETE FROM settings WHERE name = $name;
