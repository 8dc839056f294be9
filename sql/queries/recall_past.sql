-- A recall of a moment of the past.

-- name: recall_then
-- Puts documents in the place of the file's for this transaction: those of the memories of a moment, which stand in the place of the file's already, and what was said by {known_at}; and
-- postings, passages and vectors of the past beside those of the present.
CREATE TEMP TABLE temp.main.documents AS
SELECT d.doc_no, d.kind, m.id AS owner_id, m.scope, NULL::VARCHAR AS conversation_id, d.session_no, d.place, NULL::VARCHAR AS speaker, m.category, m.tier,
    m.created_at, m.valid_from, m.invalidated_at, d.length, d.characters, d.asks, d.ends_asking, d.tells, d.noise, true AS live, NULL::VARCHAR AS role, d.wishes
FROM (
    SELECT doc_no, kind, session_no, place, length, characters, asks, ends_asking, tells, wishes, noise
    FROM mallard.main.documents
    WHERE live AND kind = 'memory'::document_kind
    UNION ALL BY NAME
    SELECT * EXCLUDE (owner_id, until), 'memory'::document_kind AS kind FROM mallard.main.past_documents
) AS d
JOIN memories AS m USING (doc_no)
UNION ALL BY NAME
SELECT d.*
FROM mallard.main.documents AS d
JOIN (
    SELECT doc_no FROM messages WHERE recorded_at <= TIMESTAMP '{known_at}'
    UNION ALL
    SELECT doc_no FROM summaries WHERE created_at <= TIMESTAMP '{known_at}'
    UNION ALL
    SELECT n.doc_no FROM notes AS n JOIN note_files AS f ON f.id = n.file_id WHERE f.indexed_at <= TIMESTAMP '{known_at}'
) AS said USING (doc_no)
WHERE d.live AND d.kind <> 'memory'::document_kind;
CREATE TEMP VIEW temp.main.postings AS FROM mallard.main.postings UNION ALL FROM mallard.main.past_postings;
CREATE TEMP VIEW temp.main.passages AS FROM mallard.main.passages UNION ALL FROM mallard.main.past_passages;
CREATE TEMP VIEW temp.main.vectors AS
SELECT doc_no, v FROM mallard.main.vectors
UNION ALL
SELECT doc_no, as_vector(v)
FROM (FROM mallard.main.past_vectors AS p WHERE model = {n} AND doc_no IN (SELECT d.doc_no FROM documents AS d UNION ALL SELECT s.number FROM mallard.main.past_passages AS s SEMI JOIN documents AS d USING (doc_no)));

-- name: recall_clear_marked
DELETE FROM temp.main.marked;
