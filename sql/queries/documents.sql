-- name: doc_nos_next
-- Numbers for new documents; none is ever given twice.
SELECT nextval('doc_nos')::INTEGER FROM range($n::BIGINT);

-- name: document_update
-- What recall filters by, after its owner changed.
UPDATE documents SET scope = $scope, category = $category, tier = $tier, created_at = $created_at::TIMESTAMP,
    valid_from = $valid_from::TIMESTAMP, invalidated_at = $invalidated_at::TIMESTAMP, length = $length, characters = $characters,
    asks = $asks, ends_asking = $ends_asking, tells = $tells, noise = $noise, live = $live
WHERE doc_no = $doc_no;

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
-- Which of these terms, and ways of writing one, the file knows.
SELECT term AS word, term_no, true AS is_term FROM terms WHERE term IN (SELECT unnest($terms::VARCHAR[]))
UNION ALL
SELECT surface, term_no, false FROM surfaces WHERE surface IN (SELECT unnest($surfaces::VARCHAR[]));

-- name: words_all
-- The same of all that it knows.
SELECT term AS word, term_no, true AS is_term FROM terms
UNION ALL
SELECT surface, term_no, false FROM surfaces;

-- name: words_count
SELECT (SELECT count(*) FROM terms) + (SELECT count(*) FROM surfaces);

-- name: terms_next
-- The number of the next new term.
SELECT coalesce(max(term_no), 0)::INTEGER + 1 FROM terms;

-- name: index_clear
-- Forgets every word of the index, before it is made anew from the rows.
DELETE FROM surfaces;
DELETE FROM terms;
UPDATE kind_stats SET documents = 0, length = 0;
CREATE OR REPLACE TEMP TABLE rebuilt_documents AS FROM documents LIMIT 0;
CREATE OR REPLACE TEMP TABLE rebuilt_postings AS FROM postings LIMIT 0;

-- name: index_replace
-- Puts what was made anew in place of the old. Postings go by stretches of documents and within one by term, so that they are
-- found both ways.
DELETE FROM documents;
INSERT INTO documents FROM rebuilt_documents ORDER BY doc_no;
DELETE FROM postings;
INSERT INTO postings FROM rebuilt_postings ORDER BY doc_no // 4096, term_no, kind, doc_no;
DROP TABLE rebuilt_documents;
DROP TABLE rebuilt_postings;

-- name: documents_count
SELECT count(*) FROM documents;
