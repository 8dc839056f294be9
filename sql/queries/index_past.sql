-- The index of the past: documents of former texts and of forgotten memories, with their words, passages and vectors, apart from those of the present.

-- name: past_keep
-- Keeps a document that leaves the present, under a number of its own or the one it had.
INSERT INTO past_documents BY NAME
SELECT $former::INTEGER AS doc_no, owner_id, session_no, place, length, characters, asks, ends_asking, tells, wishes, noise, $until::TIMESTAMP AS until
FROM documents
WHERE doc_no = $doc_no AND live;

-- name: past_postings_keep
INSERT INTO past_postings SELECT term_no, kind, $former::INTEGER, tf FROM postings WHERE doc_no = $doc_no ORDER BY term_no;

-- name: past_passages_keep
INSERT INTO past_passages SELECT number, $former::INTEGER, start, length FROM passages WHERE doc_no = $doc_no ORDER BY number;

-- name: past_vectors_keep
-- The vectors of model {n}. Those of passages keep their numbers.
INSERT INTO past_vectors
SELECT CASE doc_no WHEN {doc_no} THEN {former} ELSE doc_no END, {n}, v::FLOAT[]
FROM vectors_{n}
WHERE doc_no = {doc_no} OR doc_no IN (SELECT number FROM passages WHERE doc_no = {doc_no});

-- name: past_drop
-- Removes documents of the past with all that they are found by.
DELETE FROM past_vectors WHERE doc_no IN ({doc_nos}) OR doc_no IN (SELECT number FROM past_passages WHERE doc_no IN ({doc_nos}));
DELETE FROM past_passages WHERE doc_no IN ({doc_nos});
DELETE FROM past_postings WHERE doc_no IN ({doc_nos});
DELETE FROM past_documents WHERE doc_no IN ({doc_nos});

-- name: past_vectors_drop
-- Removes the vectors of a model.
DELETE FROM past_vectors WHERE model = $n;

-- name: past_vectors_leftover
-- Takes out vectors of what is not there any more, and those of a wrong length.
DELETE FROM past_vectors
WHERE doc_no NOT IN (SELECT doc_no FROM past_documents UNION ALL SELECT number FROM past_passages)
   OR model NOT IN (SELECT n FROM models) OR NOT coalesce(abs(list_inner_product(v, v) - 1) < 1e-3, false);

-- name: past_begin
-- What the index of the past is made anew in.
CREATE OR REPLACE TEMP TABLE rebuilt_past_documents AS FROM past_documents LIMIT 0;
CREATE OR REPLACE TEMP TABLE rebuilt_past_passages (doc_no INTEGER, start INTEGER, length INTEGER);
CREATE OR REPLACE TEMP TABLE rebuilt_past_postings (term_hash UBIGINT, kind document_kind, doc_no INTEGER, tf FLOAT);

-- name: past_replace
-- Puts what was made anew in place of the old, after the documents of the present and all words. What a memory was stands where the memory does.
UPDATE rebuilt_past_documents SET session_no = d.session_no, place = d.place
FROM documents AS d
WHERE d.owner_id = rebuilt_past_documents.owner_id AND d.kind = 'memory'::document_kind;
DELETE FROM past_documents WHERE doc_no IN (SELECT doc_no FROM (FROM past_documents EXCEPT ALL FROM rebuilt_past_documents));
INSERT INTO past_documents FROM rebuilt_past_documents ANTI JOIN past_documents USING (doc_no) ORDER BY doc_no;
DROP TABLE rebuilt_past_documents;
DELETE FROM past_passages WHERE number IN (SELECT number FROM past_passages ANTI JOIN rebuilt_past_passages USING (doc_no, start, length));
INSERT INTO past_passages
SELECT nextval('doc_nos')::INTEGER, doc_no, start, length
FROM (FROM rebuilt_past_passages ANTI JOIN past_passages USING (doc_no, start, length) ORDER BY doc_no, start);
DROP TABLE rebuilt_past_passages;
DROP TABLE past_postings;
CREATE TABLE past_postings (
    term_no INTEGER NOT NULL USING COMPRESSION bitpacking,
    kind    document_kind NOT NULL USING COMPRESSION bitpacking,
    doc_no  INTEGER NOT NULL USING COMPRESSION bitpacking,
    tf      FLOAT NOT NULL USING COMPRESSION alp
);
INSERT INTO past_postings
SELECT t.term_no, p.kind, p.doc_no, p.tf
FROM rebuilt_past_postings AS p
JOIN terms AS t ON t.hash = p.term_hash
ORDER BY p.doc_no // 4096, t.term_no, p.doc_no;
DROP TABLE rebuilt_past_postings;

-- name: past_missing
-- The next documents of the past, and passages of such, that have no vector of model $n. A document is embedded as a whole: its length is -1.
SELECT e.number, e.doc_no, e.start, e.length
FROM (SELECT doc_no AS number, doc_no, 0 AS start, -1 AS length FROM past_documents UNION ALL SELECT number, doc_no, start, length FROM past_passages) AS e
WHERE e.number > $after AND NOT EXISTS (FROM past_vectors AS v WHERE v.doc_no = e.number AND v.model = $n)
ORDER BY e.number
LIMIT $limit;

-- name: past_wanted
-- Which of these still want one.
SELECT e.number
FROM (SELECT doc_no AS number FROM past_documents UNION ALL SELECT number FROM past_passages) AS e
WHERE e.number = ANY ($numbers::INTEGER[]) AND NOT EXISTS (FROM past_vectors AS v WHERE v.doc_no = e.number AND v.model = $n);

-- name: past_with_terms
-- The next documents of the past that have one of these terms.
SELECT DISTINCT doc_no FROM past_postings
WHERE doc_no > $after AND term_no IN (SELECT unnest($term_nos::INTEGER[]))
ORDER BY doc_no
LIMIT $limit;
