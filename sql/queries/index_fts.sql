-- The lexical backend fts: an index that DuckDB's text extension makes, one per kind, since rarity is counted per kind. It stands in
-- the schemas fts_main_<kind>_texts of the file and can always be made anew. Its texts are the terms of a document with blanks
-- between them. Where a document of the kind has a word that counts half, every term stands twice as often as it counts; the
-- table scale of the schema says so.

-- name: fts_collect
-- Room for the texts; one that is doubled has every term twice as often as it counts.
CREATE OR REPLACE TEMP TABLE fts_texts (kind VARCHAR, doc_no INTEGER, doubled BOOLEAN, text VARCHAR);

-- name: fts_drop
-- Table by table: those of a schema that is dropped whole would stay in the file for ever.
DROP TABLE IF EXISTS fts_main_{kind}_texts.docs;
DROP TABLE IF EXISTS fts_main_{kind}_texts.terms;
DROP TABLE IF EXISTS fts_main_{kind}_texts.dict;
DROP TABLE IF EXISTS fts_main_{kind}_texts.fields;
DROP TABLE IF EXISTS fts_main_{kind}_texts.stats;
DROP TABLE IF EXISTS fts_main_{kind}_texts.stopwords;
DROP TABLE IF EXISTS fts_main_{kind}_texts.scale;

-- name: fts_source
-- The texts of a kind, doubled either all or none, from which the extension makes its index. What a transaction writes to the file
-- and drops again would stay there for ever: hence a temporary table.
CREATE TEMP TABLE {kind}_texts AS
SELECT doc_no, CASE WHEN scale = 2 AND NOT doubled THEN text || ' ' || text ELSE text END AS text, scale
FROM temp.main.fts_texts
CROSS JOIN (SELECT CASE WHEN max(doubled) THEN 2 ELSE 1 END AS scale FROM temp.main.fts_texts WHERE kind = '{kind}')
WHERE kind = '{kind}';

-- name: fts_create
-- The texts are folded and stemmed already: the extension only cuts them at blanks.
PRAGMA create_fts_index('{kind}_texts', 'doc_no', 'text', stemmer = 'none', stopwords = 'none', ignore = '(\s)+',
    strip_accents = 0, lower = 0, overwrite = 1);

-- name: fts_settle
CREATE TABLE fts_main_{kind}_texts.scale AS SELECT coalesce(max(scale), 1) AS scale FROM {kind}_texts;
DROP TABLE temp.main.{kind}_texts;

-- name: fts_totals
-- What the mark of the index says: the totals that it is of.
SELECT to_json(list({'kind': kind, 'documents': documents, 'length': length} ORDER BY kind))::VARCHAR FROM kind_stats;

-- name: fts_collected
DROP TABLE temp.main.fts_texts;

-- name: fts_state
-- How many documents and kinds the index has, and whether it is that of the present totals. A copy of the file has the mark, but
-- not the index.
SELECT coalesce(sum(estimated_size), 0)::BIGINT AS documents, count(*) AS kinds,
    coalesce((SELECT value::VARCHAR FROM settings WHERE name = 'fts')
        = (SELECT to_json(list({'kind': kind, 'documents': documents, 'length': length} ORDER BY kind))::VARCHAR FROM kind_stats), false) AS marked
FROM duckdb_tables()
WHERE database_name = current_database() AND table_name = 'docs' AND schema_name IN (SELECT 'fts_main_' || unnest($kinds::VARCHAR[]) || '_texts');
