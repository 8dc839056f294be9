-- name: check_versions
-- Contradictions about what memories were: each version begins when the one before it ends, the first when the memory was recorded, and its text is found.
WITH timed AS (
    SELECT v.id, v.known_from, v.known_until,
        coalesce(lag(v.known_until) OVER (PARTITION BY v.id ORDER BY v.known_from, v.known_until), d.known_until, v.recorded_at) AS due
    FROM memory_versions AS v
    LEFT JOIN dropped_versions AS d USING (id)
)
SELECT 'versions that are not one after the other' AS fault, id AS subject
FROM timed
WHERE known_from <> due OR known_until < known_from
GROUP BY id
UNION ALL
SELECT 'version of no memory', id
FROM (SELECT id FROM memory_versions UNION SELECT id FROM dropped_versions)
WHERE id NOT IN (SELECT id FROM memories)
UNION ALL
SELECT 'version whose text has no document', v.id
FROM memory_versions AS v
ANTI JOIN (
    SELECT doc_no, owner_id AS id FROM past_documents
    UNION ALL
    SELECT doc_no, owner_id AS id FROM documents WHERE live AND kind = 'memory'::document_kind
) AS d USING (doc_no, id)
WHERE v.retired_at IS NULL AND v.id IN (SELECT id FROM memories)
GROUP BY v.id;

-- name: check_past
-- Contradictions about the index of the past.
SELECT 'document of the past that no version has' AS fault, p.doc_no::VARCHAR AS subject
FROM past_documents AS p
WHERE p.doc_no NOT IN (SELECT doc_no FROM memory_versions) AND p.doc_no NOT IN (SELECT doc_no FROM memories WHERE retired_at IS NOT NULL)
UNION ALL
SELECT 'document both of the present and of the past, or twice of the past', doc_no::VARCHAR
FROM (SELECT doc_no FROM past_documents UNION ALL SELECT doc_no FROM documents WHERE live)
GROUP BY doc_no
HAVING count(*) > 1
UNION ALL
SELECT 'document of the past with words, but no postings', doc_no::VARCHAR
FROM past_documents
WHERE length > 0 AND doc_no NOT IN (SELECT doc_no FROM past_postings)
UNION ALL
SELECT 'posting of no document of the past, of no term, or twice', doc_no::VARCHAR
FROM past_postings
GROUP BY doc_no
HAVING count(*) <> count(DISTINCT term_no) OR doc_no NOT IN (SELECT doc_no FROM past_documents) OR bool_or(term_no NOT IN (SELECT term_no FROM terms))
UNION ALL
SELECT 'passage of no document of the past', number::VARCHAR
FROM past_passages
WHERE doc_no NOT IN (SELECT doc_no FROM past_documents)
UNION ALL
SELECT 'vector of no document of the past, or not of unit length', doc_no::VARCHAR
FROM past_vectors
WHERE doc_no NOT IN (SELECT doc_no FROM past_documents UNION ALL SELECT number FROM past_passages) OR model NOT IN (SELECT n FROM models)
   OR NOT coalesce(abs(list_inner_product(v, v) - 1) < 1e-3, false);
