-- name: vectors_create
-- The vectors of model {n}, all of unit length.
CREATE TABLE vectors_{n} (doc_no INTEGER PRIMARY KEY USING COMPRESSION bitpacking, v FLOAT[{dims}] NOT NULL);

-- name: vectors_choose
-- Queries read the view and cast with the macro, so that they name neither the model's number nor its dimensions.
CREATE OR REPLACE VIEW vectors AS SELECT doc_no, v FROM main.vectors_{n};
CREATE OR REPLACE MACRO as_vector(v) AS v::FLOAT[{dims}];

-- name: vectors_drop
DROP TABLE vectors_{n};

-- name: model_list
-- The models of the file, and which of them is to take the chosen one's place.
SELECT n, name, dims, fingerprint, chosen, coalesce(n = (SELECT try_cast(value::VARCHAR AS INTEGER) FROM settings WHERE name = 'next_model'), false)
FROM models
ORDER BY n;

-- name: model_insert
INSERT INTO models VALUES ($n, $name, $dims, $fingerprint, $chosen, $created_at::TIMESTAMP);

-- name: model_choose
-- Recall goes by model $n from now on.
UPDATE models SET chosen = (n = $n) WHERE chosen OR n = $n;

-- name: model_coverage
-- How many vectors there are of model $n, which lie in {table} and in past_vectors, of how many that are wanted: live documents, their passages, and both of the past.
SELECT (SELECT count(*) FROM documents AS d SEMI JOIN {table} AS v USING (doc_no) WHERE d.live), (SELECT count(*) FROM documents WHERE live),
    (SELECT count(*) FROM passages AS p SEMI JOIN {table} AS v ON v.doc_no = p.number), (SELECT count(*) FROM passages),
    (SELECT count(*)
     FROM (SELECT doc_no FROM past_documents UNION ALL SELECT number FROM past_passages) AS e
     SEMI JOIN (FROM past_vectors WHERE model = $n) AS v USING (doc_no)),
    (SELECT count(*) FROM past_documents) + (SELECT count(*) FROM past_passages);

-- name: model_delete
DELETE FROM models WHERE n = $n;

-- name: vectors_delete
DELETE FROM {table} WHERE doc_no IN ({numbers});

-- name: passages_of
-- The numbers of the passages of documents.
SELECT number FROM passages WHERE doc_no = ANY ($doc_nos::INTEGER[]);

-- name: passages_delete
DELETE FROM passages WHERE doc_no = ANY ($doc_nos::INTEGER[]);

-- name: vectors_leftover
-- Takes out what may not be recalled any more.
DELETE FROM {table} WHERE doc_no NOT IN (SELECT doc_no FROM documents WHERE live UNION ALL SELECT number FROM passages);

-- name: vectors_missing
-- The next live documents, and passages of such, that have no vector in {table}. A document is embedded as a whole: its length is -1.
SELECT e.number, d.doc_no, d.kind::VARCHAR, d.owner_id, e.start, e.length
FROM (SELECT doc_no AS number, doc_no, 0 AS start, -1 AS length FROM documents UNION ALL SELECT number, doc_no, start, length FROM passages) AS e
JOIN documents AS d USING (doc_no)
WHERE d.live AND e.number > $after AND NOT EXISTS (FROM {table} AS v WHERE v.doc_no = e.number)
ORDER BY e.number
LIMIT $limit;

-- name: vectors_missing_count
SELECT count(*)
FROM (SELECT doc_no FROM documents WHERE live UNION ALL SELECT number FROM passages) AS e
WHERE NOT EXISTS (FROM {table} AS v WHERE v.doc_no = e.doc_no);

-- name: vectors_wanted
-- Which of these documents and passages still want a vector in {table}.
SELECT e.number
FROM (SELECT doc_no AS number FROM documents WHERE live UNION ALL SELECT number FROM passages) AS e
WHERE e.number = ANY ($numbers::INTEGER[]) AND NOT EXISTS (FROM {table} AS v WHERE v.doc_no = e.number);
