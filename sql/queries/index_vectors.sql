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
SELECT n, name, dims, fingerprint, chosen FROM models ORDER BY n;

-- name: model_insert
INSERT INTO models VALUES ($n, $name, $dims, $fingerprint, $chosen, $created_at::TIMESTAMP);

-- name: model_choose
UPDATE models SET chosen = true WHERE n = $n;

-- name: model_delete
DELETE FROM models WHERE n = $n;

-- name: vectors_delete
DELETE FROM {table} WHERE doc_no = {doc_no};

-- name: vectors_retire
DELETE FROM {table} WHERE doc_no IN ({doc_nos});

-- name: vectors_leftover
-- Takes out what may not be recalled any more.
DELETE FROM {table} WHERE doc_no NOT IN (SELECT doc_no FROM documents WHERE live);

-- name: vectors_missing
-- The next live documents that have no vector in {table}.
SELECT doc_no, kind::VARCHAR, owner_id FROM documents AS d
WHERE live AND doc_no > $after AND NOT EXISTS (FROM {table} AS v WHERE v.doc_no = d.doc_no)
ORDER BY doc_no
LIMIT $limit;

-- name: vectors_missing_count
SELECT count(*) FROM documents AS d
WHERE live AND NOT EXISTS (FROM {table} AS v WHERE v.doc_no = d.doc_no);

-- name: vectors_wanted
-- Which of these documents still want a vector in {table}.
SELECT doc_no FROM documents AS d
WHERE doc_no = ANY ($doc_nos::INTEGER[]) AND live AND NOT EXISTS (FROM {table} AS v WHERE v.doc_no = d.doc_no);
