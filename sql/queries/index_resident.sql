-- What the resident index is filled from.

-- name: resident_size
SELECT (SELECT count(*) FROM documents WHERE live), (SELECT count(*) FROM postings), (SELECT count(*) FROM passages);

-- name: resident_documents
-- What takes part in recall, and whether its owner is passed over.
SELECT d.doc_no, d.kind::VARCHAR, d.scope, d.conversation_id, d.category, d.tier, d.speaker, d.role, d.source_kind, d.session_no, d.place, epoch_us(d.created_at),
    epoch_us(d.valid_from), epoch_us(d.invalidated_at), d.length, d.tells, coalesce(d.wishes, false), d.asks, d.ends_asking, coalesce(set_apart(m.state, m.layer), false) AS hidden,
    d.characters, d.noise, epoch_us(m.valid_until), m.importance, m.confidence, m.access_count, epoch_us(m.last_accessed_at), m.temporal_type, m.trust
FROM documents AS d
LEFT JOIN memories AS m USING (doc_no)
WHERE d.live
ORDER BY d.doc_no;

-- name: resident_terms
SELECT term_no, hash FROM terms;

-- name: resident_postings
SELECT term_no, doc_no, tf FROM postings;

-- name: resident_vectors
-- A passage has the number of its document, and its place there; the length of what is none is 0.
SELECT coalesce(p.doc_no, v.doc_no), coalesce(p.start, 0), coalesce(p.length, 0), v.v
FROM vectors AS v
LEFT JOIN passages AS p ON p.number = v.doc_no;
