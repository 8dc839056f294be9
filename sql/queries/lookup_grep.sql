-- Searching conversations. What is asked stands in temporary tables of the connection, so that the long statement has no parameters and is
-- planned once. kinds are those of conversations; of memories and notes scopes decide, in which * is no restriction.

-- name: grep_tables
CREATE OR REPLACE TEMP TABLE grep_asked (
    everywhere BOOLEAN, conversations VARCHAR[], kinds VARCHAR[], memories BOOLEAN, notes BOOLEAN, scopes VARCHAR[], roles VARCHAR[], speakers VARCHAR[], source_kinds VARCHAR[], not_source_kinds VARCHAR[], asked_at TIMESTAMP, since TIMESTAMP,
    until TIMESTAMP, must BIGINT, most BIGINT, newest BOOLEAN);
-- A word of the pattern has a number, which is its bit in a mask. It may be the year, the month or the day of a date: each message is
-- indexed with its own, which it does not say.
CREATE OR REPLACE TEMP TABLE grep_words (word INTEGER, term VARCHAR, year INTEGER, month INTEGER, day INTEGER);
-- Messages that the index leaves out, and which words of the pattern they have.
CREATE OR REPLACE TEMP TABLE grep_aside (doc_no INTEGER, word INTEGER, tf REAL, length REAL, said_at TIMESTAMP);

-- name: grep_clear_asked
DELETE FROM temp.main.grep_asked;

-- name: grep_clear_words
DELETE FROM temp.main.grep_words;

-- name: grep_clear_aside
DELETE FROM temp.main.grep_aside;

-- name: grep_family
-- A conversation and all others of its session key.
SELECT id, scope FROM conversations WHERE id = $id OR session_key = $session_key ORDER BY created_at, id;

-- name: grep_rank
-- Documents that have words of the pattern, and all those they must have: the best of each kind, or the newest. How rare a word is, and how
-- long documents are, is counted among those asked.
WITH asked AS MATERIALIZED (
    SELECT t.term_no, a.word, a.year, a.month, a.day FROM terms AS t JOIN temp.main.grep_words AS a ON t.hash = word_hash(a.term)
),
eligible AS MATERIALIZED (
    SELECT d.doc_no, d.kind, d.length, d.created_at
    FROM (
        SELECT doc_no, kind, length, created_at, live, role, speaker, source_kind
        FROM documents
        SEMI JOIN (SELECT unnest(conversations) AS conversation_id FROM temp.main.grep_asked WHERE NOT everywhere) AS c USING (conversation_id)
        UNION ALL
        SELECT doc_no, kind, length, created_at, live, role, speaker, source_kind
        FROM documents
        SEMI JOIN (FROM temp.main.grep_asked WHERE everywhere) ON true
    ) AS d
    SEMI JOIN (SELECT unnest(kinds)::document_kind AS kind FROM temp.main.grep_asked) AS k USING (kind)
    CROSS JOIN temp.main.grep_asked AS q
    WHERE d.live AND (d.created_at >= q.since AND d.created_at < q.until) IS TRUE  -- as one condition: two would become a join by ranges
      AND (list_contains(q.roles, '*') OR list_contains(q.roles, d.role))
      AND (list_contains(q.speakers, '*') OR list_contains(q.speakers, lower(d.speaker)))
      AND (list_contains(q.source_kinds, '*') OR list_contains(q.source_kinds, d.source_kind)) AND NOT coalesce(list_contains(q.not_source_kinds, d.source_kind), false)
    UNION ALL
    SELECT d.doc_no, d.kind, d.length, d.created_at
    FROM (FROM documents SEMI JOIN (FROM temp.main.grep_asked WHERE memories) ON true) AS d
    CROSS JOIN temp.main.grep_asked AS q
    WHERE d.live AND d.kind = 'memory'::document_kind
      AND (list_contains(q.scopes, '*') OR list_contains(q.scopes, d.scope))
      AND (d.valid_from <= q.asked_at OR d.valid_from <= d.created_at) AND (d.invalidated_at IS NULL OR d.invalidated_at > q.asked_at)
      AND (d.created_at >= q.since AND d.created_at < q.until) IS TRUE
    UNION ALL
    SELECT d.doc_no, d.kind, d.length, d.created_at
    FROM (FROM documents SEMI JOIN (FROM temp.main.grep_asked WHERE notes) ON true) AS d
    CROSS JOIN temp.main.grep_asked AS q
    WHERE d.live AND d.kind = 'note'::document_kind
      AND (list_contains(q.scopes, '*') OR list_contains(q.scopes, d.scope))
      AND (d.created_at >= q.since AND d.created_at < q.until) IS TRUE
),
posted AS MATERIALIZED (
    SELECT a.word, a.year, a.month, a.day, coalesce(a.year, a.month, a.day) IS NOT NULL AS dated, p.doc_no, p.tf
    FROM postings AS p
    JOIN asked AS a USING (term_no)
),
said AS (
    SELECT p.word, p.doc_no, e.kind, e.length, e.created_at,
        CASE WHEN p.dated THEN p.tf - CASE WHEN e.kind = 'message'::document_kind
                AND (p.year = year(e.created_at) OR p.month = month(e.created_at) OR p.day = day(e.created_at)) THEN 1 ELSE 0 END
            ELSE p.tf END AS tf
    FROM posted AS p
    JOIN eligible AS e USING (doc_no)
),
found AS MATERIALIZED (
    FROM said WHERE tf > 0
    UNION ALL
    SELECT word, doc_no, 'message'::document_kind, length, said_at, tf FROM temp.main.grep_aside
),
population AS (
    SELECT kind, count(*) AS documents, avg(length) AS average_length
    FROM (
        SELECT kind, length FROM eligible
        UNION ALL
        SELECT 'message'::document_kind, any_value(length) FROM temp.main.grep_aside GROUP BY doc_no
    )
    GROUP BY kind
),
rarity AS (
    SELECT f.kind, f.word, idf(p.documents, f.documents) AS idf, p.average_length
    FROM (SELECT kind, word, count(*) AS documents FROM found GROUP BY kind, word) AS f
    JOIN population AS p USING (kind)
),
scored AS (
    SELECT f.doc_no, any_value(f.kind) AS kind, any_value(f.created_at) AS created_at, bit_or(1::BIGINT << f.word) AS mask,
        sum(bm25(r.idf, f.tf, f.length, r.average_length, 1.2, 0.75)) AS score
    FROM found AS f
    JOIN rarity AS r USING (kind, word)
    GROUP BY f.doc_no
),
matching AS MATERIALIZED (
    SELECT s.*, CASE WHEN q.newest THEN epoch_us(s.created_at) ELSE s.score END AS worth
    FROM scored AS s
    CROSS JOIN temp.main.grep_asked AS q
    WHERE s.mask & q.must = q.must
)
SELECT doc_no, kind::VARCHAR, score, mask
FROM (
    (FROM matching WHERE kind = 'message'::document_kind ORDER BY worth DESC, doc_no DESC LIMIT (SELECT most FROM temp.main.grep_asked))
    UNION ALL
    (FROM matching WHERE kind = 'summary'::document_kind ORDER BY worth DESC, doc_no DESC LIMIT (SELECT most FROM temp.main.grep_asked))
    UNION ALL
    (FROM matching WHERE kind = 'memory'::document_kind ORDER BY worth DESC, doc_no DESC LIMIT (SELECT most FROM temp.main.grep_asked))
    UNION ALL
    (FROM matching WHERE kind = 'note'::document_kind ORDER BY worth DESC, doc_no DESC LIMIT (SELECT most FROM temp.main.grep_asked))
)
ORDER BY worth DESC, doc_no DESC;

-- name: grep_texts
-- What the documents listed say, and what is told of them; of a message also the leaf summary that has its place. Rows without an id
-- are the blocks of messages: what tools were given and gave, and files.
WITH shown AS MATERIALIZED (
    SELECT doc_no, owner_id FROM documents WHERE doc_no IN (SELECT doc_no FROM listed())
),
said AS MATERIALIZED (
    SELECT d.doc_no, m.id, m.conversation_id, m.seq, m.role, m.speaker, m.text, m.caption, m.said_at, m.set_aside, m.source_kind
    FROM shown AS d
    JOIN messages AS m ON m.id = d.owner_id
)
SELECT m.doc_no, [m.text, coalesce(m.caption, '')], m.id, m.conversation_id, m.seq, m.role, m.speaker, m.said_at, m.set_aside, s.id, m.source_kind, NULL, NULL
FROM said AS m
LEFT JOIN summaries AS s ON s.depth = 0 AND s.conversation_id = m.conversation_id AND m.seq BETWEEN s.first_seq AND s.last_seq
UNION ALL
SELECT d.doc_no, [s.text], s.id, s.conversation_id, s.first_seq, s.kind, NULL, s.latest_at, NULL, NULL, NULL, NULL, NULL
FROM shown AS d
JOIN summaries AS s ON s.id = d.owner_id
UNION ALL
SELECT d.doc_no, [m.text, coalesce(m.l0_abstract, ''), coalesce(m.l1_overview, ''), coalesce(m.l2_content, '')], m.id, NULL, NULL, m.category, NULL,
    m.created_at, NULL, NULL, NULL, NULL, NULL
FROM shown AS d
JOIN memories AS m ON m.id = d.owner_id
UNION ALL
SELECT d.doc_no, [n.text], n.id, NULL, NULL, f.path, NULL, f.modified_at, NULL, NULL, NULL, n.first_line, n.last_line
FROM shown AS d
JOIN notes AS n USING (doc_no)
JOIN note_files AS f ON f.id = n.file_id
UNION ALL
SELECT m.doc_no, [coalesce(p.text, ''), coalesce(p.tool, ''), coalesce(p.input, ''), coalesce(p.output, ''), coalesce(p.file_name, '')],
    NULL, NULL, p.ordinal, p.type, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM said AS m
JOIN parts AS p ON p.conversation_id = m.conversation_id AND p.seq = m.seq
WHERE p.kind IN ('tool'::part_kind, 'file'::part_kind);

-- name: grep_aside_any
SELECT count(*) > 0 FROM (FROM messages WHERE set_aside IN ('heartbeat', 'event') LIMIT 1);

-- name: grep_aside
-- Messages that the index leaves out, being set aside as no talk, with what it would have of them.
WITH aside AS MATERIALIZED (
    SELECT doc_no, conversation_id, seq, said_at, concat_ws(chr(10), speaker, text, caption) AS said
    FROM messages
    WHERE set_aside IN ('heartbeat', 'event') AND conversation_id = ANY ($conversations::VARCHAR[])
      AND said_at >= $since::TIMESTAMP AND said_at < $until::TIMESTAMP
      AND (list_contains($roles::VARCHAR[], '*') OR list_contains($roles::VARCHAR[], role))
      AND (list_contains($speakers::VARCHAR[], '*') OR list_contains($speakers::VARCHAR[], lower(speaker)))
      AND (list_contains($source_kinds::VARCHAR[], '*') OR list_contains($source_kinds::VARCHAR[], coalesce(source_kind, 'talk')))
      AND NOT list_contains($not_source_kinds::VARCHAR[], coalesce(source_kind, 'talk'))
)
SELECT a.doc_no, a.said_at, concat_ws(chr(10), a.said, p.given)
FROM aside AS a
LEFT JOIN (
    SELECT conversation_id, seq, string_agg(concat_ws(' ', tool, input, output, file_name, text), chr(10) ORDER BY ordinal) AS given
    FROM parts
    JOIN (SELECT conversation_id, seq FROM aside) USING (conversation_id, seq)
    WHERE kind IN ('tool'::part_kind, 'file'::part_kind)
    GROUP BY conversation_id, seq
) AS p USING (conversation_id, seq);

-- name: grep_conversations
-- Every conversation that may be read.
SELECT id FROM conversations WHERE $scopes::VARCHAR[] IS NULL OR scope = ANY ($scopes::VARCHAR[]);

-- name: grep_slices
-- The messages asked in pieces that are searched one after the other, those with the newest first.
SELECT min(doc_no), max(doc_no), max(said_at) AS newest
FROM messages
WHERE conversation_id = ANY ($conversations::VARCHAR[]) AND said_at >= $since::TIMESTAMP AND said_at < $until::TIMESTAMP
GROUP BY doc_no // 16384
ORDER BY newest DESC, max(doc_no) DESC;

-- name: grep_parts_any
SELECT count(*) > 0 FROM (FROM parts LIMIT 1);

-- name: grep_messages
-- The newest messages of a piece whose text matches a regular expression.
SELECT doc_no, said_at
FROM messages
WHERE doc_no BETWEEN $from AND $to AND conversation_id = ANY ($conversations::VARCHAR[])
  AND said_at >= $since::TIMESTAMP AND said_at < $until::TIMESTAMP
  AND (list_contains($roles::VARCHAR[], '*') OR list_contains($roles::VARCHAR[], role))
  AND (list_contains($speakers::VARCHAR[], '*') OR list_contains($speakers::VARCHAR[], lower(speaker)))
  AND (list_contains($source_kinds::VARCHAR[], '*') OR list_contains($source_kinds::VARCHAR[], coalesce(source_kind, 'talk')))
  AND NOT list_contains($not_source_kinds::VARCHAR[], coalesce(source_kind, 'talk'))
  AND set_aside IS DISTINCT FROM 'retracted' AND (regexp_matches(text, $pattern) OR regexp_matches(caption, $pattern))
ORDER BY said_at DESC, doc_no DESC
LIMIT $limit OFFSET $skip;

-- name: grep_parts
-- The newest messages of a piece in which what a tool was given or gave, or the name or text of a file, matches a regular expression.
SELECT DISTINCT m.doc_no, m.said_at
FROM parts AS p
JOIN messages AS m ON m.conversation_id = p.conversation_id AND m.seq = p.seq
WHERE m.doc_no BETWEEN $from AND $to AND m.conversation_id = ANY ($conversations::VARCHAR[])
  AND m.said_at >= $since::TIMESTAMP AND m.said_at < $until::TIMESTAMP
  AND (list_contains($roles::VARCHAR[], '*') OR list_contains($roles::VARCHAR[], m.role))
  AND (list_contains($speakers::VARCHAR[], '*') OR list_contains($speakers::VARCHAR[], lower(m.speaker)))
  AND (list_contains($source_kinds::VARCHAR[], '*') OR list_contains($source_kinds::VARCHAR[], coalesce(m.source_kind, 'talk')))
  AND NOT list_contains($not_source_kinds::VARCHAR[], coalesce(m.source_kind, 'talk'))
  AND m.set_aside IS DISTINCT FROM 'retracted' AND p.kind IN ('tool'::part_kind, 'file'::part_kind)
  AND (regexp_matches(p.tool, $pattern) OR regexp_matches(p.input, $pattern) OR regexp_matches(p.output, $pattern) OR regexp_matches(p.file_name, $pattern)
    OR regexp_matches(p.text, $pattern))
ORDER BY m.said_at DESC, m.doc_no DESC
LIMIT $limit OFFSET $skip;

-- name: grep_summaries
-- The newest summaries whose text matches a regular expression.
SELECT doc_no, latest_at
FROM summaries
WHERE conversation_id = ANY ($conversations::VARCHAR[]) AND latest_at >= $since::TIMESTAMP AND latest_at < $until::TIMESTAMP
  AND regexp_matches(text, $pattern)
ORDER BY latest_at DESC, doc_no DESC
LIMIT $limit OFFSET $skip;

-- name: grep_memories
-- The newest standing memories in which a text matches a regular expression.
SELECT doc_no, created_at
FROM memories
WHERE ($scopes::VARCHAR[] IS NULL OR scope = ANY ($scopes::VARCHAR[])) AND retired_at IS NULL
  AND (valid_from <= $at::TIMESTAMP OR valid_from <= created_at) AND (invalidated_at IS NULL OR invalidated_at > $at::TIMESTAMP)
  AND created_at >= $since::TIMESTAMP AND created_at < $until::TIMESTAMP
  AND (regexp_matches(text, $pattern) OR regexp_matches(l0_abstract, $pattern) OR regexp_matches(l1_overview, $pattern)
    OR regexp_matches(l2_content, $pattern))
ORDER BY created_at DESC, doc_no DESC
LIMIT $limit OFFSET $skip;

-- name: grep_notes
-- The newest notes whose text matches a regular expression.
SELECT n.doc_no, f.modified_at
FROM notes AS n
JOIN note_files AS f ON f.id = n.file_id
WHERE ($scopes::VARCHAR[] IS NULL OR f.scope = ANY ($scopes::VARCHAR[])) AND f.modified_at >= $since::TIMESTAMP AND f.modified_at < $until::TIMESTAMP
  AND regexp_matches(n.text, $pattern)
ORDER BY f.modified_at DESC, n.doc_no DESC
LIMIT $limit OFFSET $skip;
