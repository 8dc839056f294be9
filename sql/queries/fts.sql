-- The lexical backend fts: an index that DuckDB's text extension makes, one per kind, since rarity is counted per kind. It stands in
-- the schemas fts_main_<kind>_texts of the file and can always be made anew. Its texts are the terms of a document with blanks
-- between them. Where a document of the kind has a word that counts half, every term stands twice as often as it counts; the
-- table scale of the schema says so.

-- name: fts_load
LOAD '{path}';

-- name: fts_load_installed
LOAD fts;

-- name: fts_install
-- Needs the network.
INSTALL fts;

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

-- name: fts_mark
-- Says that the index is that of these totals. The first write of words after it takes the mark away.
INSERT OR REPLACE INTO settings
SELECT 'fts', to_json(list({'kind': kind, 'documents': documents, 'length': length} ORDER BY kind)) FROM kind_stats;
DROP TABLE temp.main.fts_texts;

-- name: fts_state
-- How many documents and kinds the index has, and whether it is that of the present totals. A copy of the file has the mark, but
-- not the index.
SELECT coalesce(sum(estimated_size), 0)::BIGINT AS documents, count(*) AS kinds,
    coalesce((SELECT value::VARCHAR FROM settings WHERE name = 'fts')
        = (SELECT to_json(list({'kind': kind, 'documents': documents, 'length': length} ORDER BY kind))::VARCHAR FROM kind_stats), false) AS marked
FROM duckdb_tables()
WHERE database_name = current_database() AND table_name = 'docs' AND schema_name IN (SELECT 'fts_main_' || unnest($kinds::VARCHAR[]) || '_texts');

-- name: recall_ask_fts
-- Puts what postings has of the terms asked into fts_hits, from the index of the extension, which the file must have.
INSERT INTO temp.main.fts_hits
WITH memory_hits AS (
    SELECT a.word, a.share, h.docid, count(*) AS n
    FROM temp.main.asked_terms AS a
    JOIN fts_main_memory_texts.dict AS t USING (term)
    JOIN fts_main_memory_texts.terms AS h USING (termid)
    WHERE a.share > 0 AND list_contains($kinds::VARCHAR[], 'memory')
    GROUP BY a.word, a.share, h.termid, h.docid
),
message_hits AS (
    SELECT a.word, a.share, h.docid, count(*) AS n
    FROM temp.main.asked_terms AS a
    JOIN fts_main_message_texts.dict AS t USING (term)
    JOIN fts_main_message_texts.terms AS h USING (termid)
    WHERE a.share > 0 AND list_contains($kinds::VARCHAR[], 'message')
    GROUP BY a.word, a.share, h.termid, h.docid
),
summary_hits AS (
    SELECT a.word, a.share, h.docid, count(*) AS n
    FROM temp.main.asked_terms AS a
    JOIN fts_main_summary_texts.dict AS t USING (term)
    JOIN fts_main_summary_texts.terms AS h USING (termid)
    WHERE a.share > 0 AND list_contains($kinds::VARCHAR[], 'summary')
    GROUP BY a.word, a.share, h.termid, h.docid
)
SELECT h.word, 'memory', d.name, h.share * h.n / s.scale
FROM memory_hits AS h
JOIN fts_main_memory_texts.docs AS d USING (docid)
CROSS JOIN fts_main_memory_texts.scale AS s
UNION ALL
SELECT h.word, 'message', d.name, h.share * h.n / s.scale
FROM message_hits AS h
JOIN fts_main_message_texts.docs AS d USING (docid)
CROSS JOIN fts_main_message_texts.scale AS s
UNION ALL
SELECT h.word, 'summary', d.name, h.share * h.n / s.scale
FROM summary_hits AS h
JOIN fts_main_summary_texts.docs AS d USING (docid)
CROSS JOIN fts_main_summary_texts.scale AS s;

-- name: lexical_sample
-- Questions made of the data: of some documents of a kind their three rarest terms, and the most frequent one.
WITH sampled AS (
    SELECT p.doc_no, p.term_no
    FROM postings AS p
    WHERE p.doc_no IN (SELECT doc_no FROM documents WHERE live AND length > 0 AND kind = $kind::document_kind ORDER BY hash(doc_no) LIMIT $sample::BIGINT)
),
frequencies AS (
    SELECT term_no, count(*) AS n
    FROM postings
    WHERE kind = $kind::document_kind AND term_no IN (SELECT term_no FROM sampled)
    GROUP BY term_no
),
placed AS (
    SELECT s.doc_no, t.term, f.n, row_number() OVER (PARTITION BY s.doc_no ORDER BY f.n, t.term) AS place, count(*) OVER (PARTITION BY s.doc_no) AS places
    FROM sampled AS s
    JOIN frequencies AS f USING (term_no)
    JOIN terms AS t USING (term_no)
)
SELECT list(term ORDER BY place)
FROM placed
WHERE place <= 3 OR place = places
GROUP BY doc_no
ORDER BY hash(doc_no);

-- name: lexical_postings
-- The raw scores of a kind's documents, as recall has them.
WITH hits AS (
    SELECT p.term_no, p.doc_no, p.tf
    FROM terms AS t
    JOIN postings AS p USING (term_no)
    WHERE t.hash IN (SELECT word_hash(unnest($terms::VARCHAR[]))) AND p.kind = $kind::document_kind
),
rarity AS (
    SELECT h.term_no, idf(s.documents, count(*)) AS idf, s.length / s.documents AS average_length
    FROM hits AS h
    CROSS JOIN kind_stats AS s
    WHERE s.kind = $kind::document_kind
    GROUP BY h.term_no, s.documents, s.length
)
SELECT h.doc_no, sum(bm25(r.idf, h.tf, d.length, r.average_length, $k1::DOUBLE, $b::DOUBLE)) AS raw
FROM hits AS h
JOIN rarity AS r USING (term_no)
JOIN documents AS d USING (doc_no)
GROUP BY h.doc_no;

-- name: lexical_fts
-- The same from the extension, whose logarithm is that of ten. Twice the frequency, length and k1 leave a score as it is, but for the factor
-- k1 + 1 in it.
SELECT doc_no, raw * ln(10) * ($k1::DOUBLE + 1) / ($k1::DOUBLE * scale + 1) AS raw
FROM (
    SELECT d.name AS doc_no, s.scale,
        fts_main_{kind}_texts.match_bm25(d.name, $question::VARCHAR, k := $k1::DOUBLE * (SELECT scale FROM fts_main_{kind}_texts.scale), b := $b::DOUBLE) AS raw
    FROM fts_main_{kind}_texts.docs AS d
    CROSS JOIN fts_main_{kind}_texts.scale AS s
)
WHERE raw IS NOT NULL;

-- name: lexical_owners
SELECT doc_no, owner_id FROM documents WHERE doc_no = ANY ($doc_nos::INTEGER[]) ORDER BY doc_no;
