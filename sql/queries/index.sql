-- name: doc_nos_next
-- Numbers for new documents; none is ever given twice.
SELECT nextval('doc_nos')::INTEGER FROM range($n::BIGINT);

-- name: document_update
-- What recall filters by, after its owner changed.
UPDATE documents SET scope = $scope, category = $category, tier = $tier, created_at = $created_at::TIMESTAMP,
    valid_from = $valid_from::TIMESTAMP, invalidated_at = $invalidated_at::TIMESTAMP, length = $length, characters = $characters,
    asks = $asks, ends_asking = $ends_asking, tells = $tells, wishes = $wishes, noise = $noise, live = $live
WHERE doc_no = $doc_no;

-- name: document_settle
-- Gives documents other tiers: one text for another.
UPDATE documents SET tier = s.tier
FROM (SELECT unnest($doc_nos::INTEGER[]) AS doc_no, unnest($tiers::VARCHAR[]) AS tier) AS s
WHERE documents.doc_no = s.doc_no;

-- name: document_length
SELECT length, live FROM documents WHERE doc_no = $doc_no;

-- name: document_delete
DELETE FROM documents WHERE doc_no = $doc_no;

-- name: postings_delete
DELETE FROM postings WHERE doc_no = $doc_no;

-- name: kind_stats_add
-- Counts documents and length in, or out when negative.
UPDATE kind_stats SET documents = documents + $documents, length = length + $length WHERE kind = $kind::document_kind;

-- name: words_find
-- Which of these terms, and ways of writing one, the file knows, by their hashes. These come as text: of thousands, lists take twice as long.
SELECT hash, term_no, true AS is_term FROM terms WHERE hash IN (SELECT unnest($terms::UBIGINT[]))
UNION ALL
SELECT hash, term_no, false FROM surfaces WHERE hash IN (SELECT unnest($surfaces::UBIGINT[]));

-- name: words_all
-- The same of all that it knows.
SELECT hash, term_no, true AS is_term FROM terms
UNION ALL
SELECT hash, term_no, false FROM surfaces;

-- name: words_count
SELECT (SELECT count(*) FROM terms) + (SELECT count(*) FROM surfaces);

-- name: terms_next
-- The number of the next new term.
SELECT coalesce(max(term_no), 0)::INTEGER + 1 FROM terms;

-- name: words_sweep
-- Removes the terms that no document has any more, of the past neither, and their ways of writing.
DELETE FROM terms WHERE term_no NOT IN (SELECT term_no FROM postings UNION ALL SELECT term_no FROM past_postings);
DELETE FROM surfaces WHERE term_no NOT IN (SELECT term_no FROM terms);

-- name: surfaces_known
SELECT surface, term_no FROM surfaces WHERE surface IN (SELECT unnest($surfaces::VARCHAR[]));

-- name: surfaces_delete
DELETE FROM surfaces WHERE surface IN (SELECT unnest($surfaces::VARCHAR[]));

-- name: documents_with_terms
-- The next documents that have one of these terms.
SELECT doc_no, kind::VARCHAR, owner_id FROM documents
WHERE doc_no > $after AND doc_no IN (SELECT doc_no FROM postings WHERE term_no IN (SELECT unnest($term_nos::INTEGER[])))
ORDER BY doc_no
LIMIT $limit;

-- name: index_begin
-- What the index is made anew in, from the rows: words with their hashes, some more than once. What lies in temporary tables is moved to the
-- temporary folder where memory is short.
CREATE OR REPLACE TEMP TABLE rebuilt_documents AS FROM documents LIMIT 0;
CREATE OR REPLACE TEMP TABLE rebuilt_terms (term VARCHAR, hash UBIGINT);
CREATE OR REPLACE TEMP TABLE rebuilt_surfaces (surface VARCHAR, hash UBIGINT, term_hash UBIGINT);
CREATE OR REPLACE TEMP TABLE rebuilt_passages (doc_no INTEGER, start INTEGER, length INTEGER);
CREATE OR REPLACE TEMP TABLE rebuilt_postings (term_hash UBIGINT, kind document_kind, doc_no INTEGER, tf FLOAT);

-- name: index_replace
-- Puts what was made anew in place of the old. Documents and passages that are the same stay. The other tables are made anew, for rows that are deleted would be
-- remembered until the end of the transaction. Words go by hash, so that they are found without looking at all. Postings go by stretches of
-- documents and within one by term, so that they are found both ways.
DELETE FROM documents WHERE doc_no IN (SELECT doc_no FROM (FROM documents EXCEPT FROM rebuilt_documents));
INSERT INTO documents FROM rebuilt_documents ANTI JOIN documents USING (doc_no) ORDER BY doc_no;
DROP TABLE rebuilt_documents;
DELETE FROM passages WHERE number IN (SELECT number FROM passages ANTI JOIN rebuilt_passages USING (doc_no, start, length));
INSERT INTO passages
SELECT nextval('doc_nos')::INTEGER, doc_no, start, length
FROM (FROM rebuilt_passages ANTI JOIN passages USING (doc_no, start, length) ORDER BY doc_no, start);
DROP TABLE rebuilt_passages;
UPDATE kind_stats SET documents = n.documents, length = n.length
FROM (
    SELECT s.kind, count(d.doc_no) AS documents, coalesce(sum(d.length), 0) AS length
    FROM kind_stats AS s
    LEFT JOIN (FROM documents WHERE live) AS d ON d.kind = s.kind
    GROUP BY s.kind
) AS n
WHERE kind_stats.kind = n.kind;
DROP TABLE terms;
CREATE TABLE terms (
    term_no INTEGER NOT NULL USING COMPRESSION bitpacking,
    term    VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    hash    UBIGINT NOT NULL USING COMPRESSION bitpacking
);
CREATE OR REPLACE TEMP TABLE rebuilt_words AS SELECT DISTINCT term, hash FROM rebuilt_terms ORDER BY hash;
DROP TABLE rebuilt_terms;
INSERT INTO terms
SELECT (rowid - (SELECT min(rowid) FROM rebuilt_words) + 1)::INTEGER, term, hash FROM rebuilt_words  -- rows of this transaction begin high up
WHERE rowid NOT IN (SELECT max(rowid) FROM rebuilt_words GROUP BY hash HAVING count(*) > 1)
ORDER BY rowid;
DROP TABLE rebuilt_words;
DROP TABLE surfaces;
CREATE TABLE surfaces (
    surface VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    term_no INTEGER NOT NULL USING COMPRESSION bitpacking,
    hash    UBIGINT NOT NULL USING COMPRESSION bitpacking
);
INSERT INTO surfaces
SELECT s.surface, t.term_no, s.hash
FROM (SELECT DISTINCT * FROM rebuilt_surfaces) AS s
JOIN terms AS t ON t.hash = s.term_hash
ORDER BY s.hash;
DROP TABLE rebuilt_surfaces;
DROP TABLE postings;
CREATE TABLE postings (
    term_no INTEGER NOT NULL USING COMPRESSION bitpacking,
    kind    document_kind NOT NULL USING COMPRESSION bitpacking,
    doc_no  INTEGER NOT NULL USING COMPRESSION bitpacking,
    tf      FLOAT NOT NULL USING COMPRESSION alp
);
INSERT INTO postings
SELECT t.term_no, p.kind, p.doc_no, p.tf
FROM rebuilt_postings AS p
JOIN terms AS t ON t.hash = p.term_hash
ORDER BY p.doc_no // 4096, t.term_no, p.kind, p.doc_no;
DROP TABLE rebuilt_postings;

-- name: index_last
-- The highest number of a document that the rows name.
SELECT greatest(coalesce((SELECT max(doc_no) FROM memories), 0), coalesce((SELECT max(doc_no) FROM messages), 0), coalesce((SELECT max(doc_no) FROM summaries), 0),
    coalesce((SELECT max(doc_no) FROM notes), 0),
    coalesce((SELECT max(doc_no) FROM memory_versions), 0));

-- name: documents_live
-- How many of these documents are in the index, and their length.
SELECT count(*), coalesce(sum(length), 0)::DOUBLE FROM documents WHERE doc_no = ANY ($doc_nos::INTEGER[]) AND live;

-- name: postings_retire
DELETE FROM postings WHERE doc_no = ANY ($doc_nos::INTEGER[]);

-- name: documents_retire
UPDATE documents SET live = false, length = 0 WHERE doc_no = ANY ($doc_nos::INTEGER[]) AND live;

-- name: documents_purge
UPDATE documents SET speaker = NULL, characters = 0, asks = false, ends_asking = false, tells = 0, wishes = false WHERE doc_no = ANY ($doc_nos::INTEGER[]);

-- name: documents_delete
DELETE FROM documents WHERE doc_no = ANY ($doc_nos::INTEGER[]);

-- name: documents_of_conversation
SELECT doc_no, kind, owner_id FROM documents WHERE conversation_id = $conversation_id;

-- name: purge_documents
DELETE FROM documents WHERE conversation_id = $conversation_id;
