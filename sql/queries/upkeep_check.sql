-- name: check_memories
-- Contradictions about memories. What begins with "check" gives a row for each: what is wrong, and where. An intact file gives none.
SELECT 'memory without a document' AS fault, m.id AS subject
FROM memories AS m
WHERE NOT EXISTS (FROM documents AS d WHERE d.doc_no = m.doc_no AND d.kind = 'memory'::document_kind AND d.owner_id = m.id)
UNION ALL
SELECT 'document differs from its memory', m.id
FROM memories AS m
JOIN documents AS d USING (doc_no)
WHERE d.scope IS DISTINCT FROM m.scope OR d.category IS DISTINCT FROM m.category OR d.tier IS DISTINCT FROM m.tier
   OR d.created_at IS DISTINCT FROM m.created_at OR d.valid_from IS DISTINCT FROM m.valid_from
   OR d.invalidated_at IS DISTINCT FROM m.invalidated_at OR d.live IS DISTINCT FROM (m.retired_at IS NULL);

-- name: check_relations
-- Contradictions between memories.
SELECT 'relation of no memory' AS fault, memory_id AS subject
FROM memory_relations
WHERE memory_id NOT IN (SELECT id FROM memories)
UNION ALL
SELECT 'superseded by a memory that does not say so', m.id
FROM memories AS m
LEFT JOIN memories AS newer ON newer.id = m.superseded_by
WHERE m.superseded_by IS NOT NULL AND m.retracted_by IS NULL AND newer.id IS NOT NULL AND newer.supersedes IS DISTINCT FROM m.id;

-- name: check_messages
-- Contradictions about messages and their documents. Each message is looked at once; of most nothing is left to be told.
WITH contrary AS MATERIALIZED (
    SELECT m.id,
        (d.kind = 'message'::document_kind AND d.owner_id = m.id) IS NOT TRUE AS undocumented,
        d.doc_no IS NOT NULL AND c.id IS NOT NULL AND (
            d.conversation_id IS DISTINCT FROM m.conversation_id OR d.scope IS DISTINCT FROM c.scope OR d.created_at IS DISTINCT FROM m.said_at
            OR d.live AND m.set_aside IN ('heartbeat', 'event', 'retracted', 'purged')
            OR NOT d.live AND m.text <> '' AND coalesce(m.set_aside, '') NOT IN ('heartbeat', 'event', 'retracted')
            OR d.source_kind IS DISTINCT FROM coalesce(m.source_kind, 'talk')) AS differs,
        (m.set_aside IS NULL) <> (m.set_aside_at IS NULL) AS half_aside,
        coalesce(m.tokens, -1) < 0 AS uncounted,
        c.id IS NULL AS astray,
        d.doc_no IS NOT NULL AND (d.session_no IS DISTINCT FROM m.session_no OR d.place IS DISTINCT FROM m.place) AS elsewhere
    FROM messages AS m
    LEFT JOIN documents AS d USING (doc_no)
    LEFT JOIN conversations AS c ON c.id = m.conversation_id
    WHERE undocumented OR differs OR half_aside OR uncounted OR astray OR elsewhere
)
SELECT 'message without a document' AS fault, id AS subject
FROM contrary
WHERE undocumented
UNION ALL
SELECT 'document differs from its message', id
FROM contrary
WHERE differs
UNION ALL
SELECT 'message that is set aside at no time, or at a time but not set aside', id
FROM contrary
WHERE half_aside
UNION ALL
SELECT 'message whose tokens are not counted', id
FROM contrary
WHERE uncounted
UNION ALL
SELECT 'message of no conversation', id
FROM contrary
WHERE astray
UNION ALL
SELECT 'message stands elsewhere than its document', id
FROM contrary
WHERE elsewhere;

-- name: check_notes
-- Contradictions about notes, their files and their documents.
SELECT 'note without a document' AS fault, n.id AS subject
FROM notes AS n
WHERE NOT EXISTS (FROM documents AS d WHERE d.doc_no = n.doc_no AND d.kind = 'note'::document_kind AND d.owner_id = n.id)
UNION ALL
SELECT 'document differs from its note', n.id
FROM notes AS n
JOIN note_files AS f ON f.id = n.file_id
JOIN documents AS d USING (doc_no)
WHERE d.scope IS DISTINCT FROM f.scope OR d.created_at IS DISTINCT FROM f.modified_at OR d.place IS DISTINCT FROM n.place OR NOT d.live
UNION ALL
SELECT 'note of no file', id
FROM notes
WHERE file_id NOT IN (SELECT id FROM note_files)
UNION ALL
SELECT 'two files of one path', any_value(id)
FROM note_files
GROUP BY folder, path
HAVING count(*) > 1;

-- name: check_documents
-- Contradictions about documents.
SELECT 'document without an owner' AS fault, d.owner_id AS subject
FROM documents AS d
WHERE (d.kind = 'memory'::document_kind AND d.owner_id NOT IN (SELECT id FROM memories))
   OR (d.kind = 'message'::document_kind AND d.owner_id NOT IN (SELECT id FROM messages))
   OR (d.kind = 'summary'::document_kind AND d.owner_id NOT IN (SELECT id FROM summaries))
   OR (d.kind = 'note'::document_kind AND d.owner_id NOT IN (SELECT id FROM notes))
UNION ALL
SELECT 'two documents of one session at one place', min(doc_no)::VARCHAR
FROM documents
GROUP BY session_no, place
HAVING count(*) > 1
UNION ALL
SELECT 'blank scope', owner_id
FROM documents
WHERE trim(scope) = '';

-- name: check_words
-- Contradictions about terms and their surfaces.
SELECT 'surface of no term' AS fault, surface AS subject
FROM surfaces
WHERE term_no NOT IN (SELECT term_no FROM terms)
UNION ALL
SELECT 'two terms of one number', any_value(term)
FROM terms
GROUP BY term_no
HAVING count(*) > 1;

-- name: check_unposted
-- Live documents that can't be found by their words.
SELECT 'live document with words, but no postings' AS fault, d.owner_id AS subject
FROM documents AS d
WHERE d.live AND d.length > 0 AND NOT EXISTS (FROM postings AS p WHERE p.doc_no = d.doc_no);

-- name: check_postings
-- Documents whose postings are left over, or there twice.
SELECT 'posting of no live document, or twice' AS fault, p.doc_no::VARCHAR AS subject
FROM (SELECT doc_no, kind, count(*) AS n, count(DISTINCT term_no) AS terms FROM postings GROUP BY doc_no, kind) AS p
LEFT JOIN (FROM documents WHERE live) AS d USING (doc_no, kind)
WHERE d.doc_no IS NULL OR p.n <> p.terms;

-- name: check_posted_words
-- Postings of a word that nobody knows.
SELECT 'posting of no term' AS fault, doc_no::VARCHAR AS subject
FROM postings
WHERE term_no NOT IN (SELECT term_no FROM terms);

-- name: check_totals
-- Totals of a kind of document that differ from a count.
WITH counted AS (
    SELECT kind, count(*) AS documents, sum(length) AS length FROM documents WHERE live GROUP BY kind
)
SELECT 'totals of a kind differ from a count' AS fault, kind::VARCHAR AS subject
FROM kind_stats AS s
FULL JOIN counted AS c USING (kind)
WHERE s.documents IS DISTINCT FROM coalesce(c.documents, 0) OR abs(s.length - coalesce(c.length, 0)) > 1e-3 * (1 + s.documents);

-- name: check_vectors
-- Contradictions about vectors and models.
SELECT 'vector of no live document' AS fault, v.doc_no::VARCHAR AS subject
FROM vectors AS v
WHERE v.doc_no NOT IN (SELECT doc_no FROM documents WHERE live UNION ALL SELECT number FROM passages)
UNION ALL
SELECT 'passage of no live document', p.number::VARCHAR
FROM passages AS p
WHERE p.doc_no NOT IN (SELECT doc_no FROM documents WHERE live)
UNION ALL
SELECT 'passages of a document that are not one after the other', doc_no::VARCHAR
FROM (SELECT doc_no, start <> coalesce(lag(start + length) OVER (PARTITION BY doc_no ORDER BY start, number), 0) AS gap FROM passages)
WHERE gap
GROUP BY doc_no
UNION ALL
SELECT 'number that two have', number::VARCHAR
FROM (SELECT number FROM passages UNION ALL SELECT number FROM past_passages UNION ALL SELECT doc_no FROM documents)
GROUP BY number
HAVING count(*) > 1
UNION ALL
SELECT 'vector that is not of unit length', doc_no::VARCHAR
FROM vectors
WHERE NOT coalesce(abs(array_inner_product(v, v) - 1) < 1e-3, false)
UNION ALL
SELECT 'more than one chosen model, or none', string_agg(name, ', ')
FROM models
HAVING count(*) > 0 AND count(*) FILTER (chosen) <> 1;

-- name: check_embedding_cache
-- What a model is said to have said before.
SELECT 'kept vector that is not of unit length, or of no text' AS fault, place::VARCHAR AS subject
FROM embedding_cache
WHERE len(v) <> dims OR NOT coalesce(abs(list_inner_product(v, v) - 1) < 1e-3, false) OR NOT regexp_full_match(sha256, '[0-9a-f]{64}')
UNION ALL
SELECT 'vector that is kept twice', sha256
FROM embedding_cache
GROUP BY sha256
HAVING count(*) > 1;

-- name: vectors_check_beside
-- The same of the vectors of a model beside the chosen one.
SELECT 'vector of no live document' AS fault, doc_no::VARCHAR AS subject
FROM {table}
WHERE doc_no NOT IN (SELECT doc_no FROM documents WHERE live UNION ALL SELECT number FROM passages)
UNION ALL
SELECT 'vector that is not of unit length', doc_no::VARCHAR
FROM {table}
WHERE NOT coalesce(abs(array_inner_product(v, v) - 1) < 1e-3, false);

-- name: check_sequences
-- Conversations whose messages are not one after the other, or that would go on elsewhere than after the last.
SELECT 'messages are not numbered 1 to ' || (any_value(c.next_seq) - 1) AS fault, c.id AS subject
FROM conversations AS c
LEFT JOIN messages AS m ON m.conversation_id = c.id
GROUP BY c.id
HAVING count(m.id) <> any_value(c.next_seq) - 1 OR count(DISTINCT m.seq) <> count(m.id) OR coalesce(min(m.seq), 1) <> 1
UNION ALL
SELECT 'conversation goes on elsewhere than after its last message', c.id
FROM conversations AS c
LEFT JOIN messages AS m ON m.conversation_id = c.id AND m.seq = c.next_seq - 1
WHERE c.last_session_no IS DISTINCT FROM m.session_no OR c.last_place IS DISTINCT FROM m.place
   OR c.last_session IS DISTINCT FROM m.session OR c.last_said_at IS DISTINCT FROM m.said_at;

-- name: check_macros
-- Macros in the file. One that is not Mallard's could stand in the way of a formula, or of a built-in function; those of an index that
-- DuckDB's text extension made stand apart.
SELECT DISTINCT function_name
FROM duckdb_functions()
WHERE database_name = current_database() AND function_type IN ('macro', 'table_macro') AND NOT internal
  AND NOT regexp_matches(schema_name, '^fts_main_\w+_texts$');

-- name: stored_tables
-- Every table of the file, by its whole name, and how many rows it has or had: those that were deleted may be among them.
SELECT '"' || replace(schema_name, '"', '""') || '"."' || replace(table_name, '"', '""') || '"', coalesce(estimated_size, 0)
FROM duckdb_tables()
WHERE database_name = current_database() AND NOT internal
ORDER BY ALL;

-- name: stored_values
-- Reads every value of a table, and counts its rows. It is one of several in a statement.
SELECT {number}, count(*), bit_xor(hash(t)) FROM {table} AS t
