-- Drawing memories from talk: what is known already, what is near, what became of each draft.

-- name: extract_cursor
-- Up to which message a conversation was read.
SELECT seq FROM extraction_cursors WHERE conversation_id = $conversation_id;

-- name: extract_cursor_forget
DELETE FROM extraction_cursors WHERE conversation_id = $conversation_id;

-- name: extract_known
-- What rules found before in these messages, and where.
SELECT first_seq, rule, span_start FROM drafts
WHERE conversation_id = $conversation_id AND first_seq BETWEEN $from AND $to AND span_start IS NOT NULL;

-- name: extract_alike
-- For each of some vectors, which lie one behind the other in a list, the twenty memories of a scope that are true now and nearest to it, with their cosines.
WITH asked AS (
    SELECT n::INTEGER AS n, as_vector(list_slice($vectors::FLOAT[], n * $dims::BIGINT + 1, (n + 1) * $dims::BIGINT)) AS v FROM range($count::BIGINT) AS r(n)
),
within AS MATERIALIZED (
    SELECT m.id, v.v
    FROM memories AS m
    JOIN vectors AS v USING (doc_no)
    WHERE m.scope = $scope AND m.retired_at IS NULL AND m.state <> 'archived'
      AND (m.invalidated_at IS NULL OR m.invalidated_at > $at::TIMESTAMP) AND (m.valid_until IS NULL OR m.valid_until > $at::TIMESTAMP)
),
nearest AS (
    SELECT n, arg_max({'id': id, 'cosine': cosine}, cosine, 20) AS best
    FROM (SELECT a.n, w.id, array_inner_product(a.v, w.v)::DOUBLE AS cosine FROM asked AS a CROSS JOIN within AS w)
    GROUP BY n
)
SELECT n, b.id, b.cosine FROM (SELECT n, unnest(best) AS b FROM nearest);

-- name: extract_sharing
-- For each of some drafts the twenty memories of a scope that are true now and share most of its terms, and those that have one of its fact keys. of_term and
-- of_key say whose the terms and keys are.
WITH asked AS (
    SELECT n, term_no
    FROM (SELECT unnest($of_term::INTEGER[]) AS n, unnest($terms::VARCHAR[]) AS said) AS q
    JOIN terms AS t ON t.hash = word_hash(q.said)
),
within AS MATERIALIZED (
    SELECT m.id, m.doc_no, m.fact_key
    FROM memories AS m
    WHERE m.scope = $scope AND m.retired_at IS NULL AND m.state <> 'archived'
      AND (m.invalidated_at IS NULL OR m.invalidated_at > $at::TIMESTAMP) AND (m.valid_until IS NULL OR m.valid_until > $at::TIMESTAMP)
),
shared AS (
    SELECT n, arg_max(id, terms, 20) AS best
    FROM (
        SELECT a.n, w.id, count(*) AS terms
        FROM asked AS a
        JOIN postings AS p USING (term_no)
        JOIN within AS w USING (doc_no)
        WHERE p.kind = 'memory'::document_kind
        GROUP BY a.n, w.id
    )
    GROUP BY n
)
SELECT n, unnest(best) AS id FROM shared
UNION ALL
SELECT k.n, w.id
FROM (SELECT unnest($of_key::INTEGER[]) AS n, unnest($fact_keys::VARCHAR[]) AS fact_key) AS k
JOIN within AS w USING (fact_key);

-- name: extract_current
-- Which of these memories are still true, and neither forgotten nor superseded.
SELECT id FROM memories
WHERE id = ANY ($ids::VARCHAR[]) AND retired_at IS NULL AND superseded_by IS NULL;

-- name: extract_unpurged
-- Which of these messages still say what they said, and stand.
SELECT id FROM messages WHERE id = ANY ($ids::VARCHAR[]) AND coalesce(set_aside, '') NOT IN ('purged', 'retracted');

-- name: extract_drafts
-- Drafts by filters, newest first.
SELECT d.id, d.conversation_id, c.name, d.first_seq, d.last_seq, d.message_ids, d.span_start, d.span_end, d.scope, d.category, d.rule, d.language, d.model,
    d.text, d.content, d.fact_key, d.context, d.importance, d.confidence, d.verdict, d.action, d.reason, d.match_id, d.similarity, d.nearest::VARCHAR,
    d.memory_id, d.said_at, d.made_at,
    list_has_any(d.message_ids, (SELECT coalesce(list(id), []) FROM messages WHERE set_aside = 'retracted'))
        OR d.memory_id IN (SELECT id FROM memories WHERE retracted_by IS NOT NULL) IS TRUE
FROM drafts AS d
LEFT JOIN conversations AS c ON c.id = d.conversation_id
WHERE ($scopes::VARCHAR[] IS NULL OR d.scope = ANY ($scopes::VARCHAR[]))
  AND ($verdicts::VARCHAR[] IS NULL OR d.verdict = ANY ($verdicts::VARCHAR[]))
  AND ($conversation_id::VARCHAR IS NULL OR d.conversation_id = $conversation_id)
  AND ($memory_id::VARCHAR IS NULL OR d.memory_id = $memory_id OR d.match_id = $memory_id)
ORDER BY d.made_at DESC, d.id DESC
LIMIT $limit OFFSET $offset;

-- name: extract_purge_messages
-- What was drawn from messages that are purged loses what it says.
UPDATE drafts SET text = '', content = NULL, fact_key = NULL, context = NULL, reason = 'purged'
WHERE conversation_id = $conversation_id AND list_has_any(message_ids, $ids::VARCHAR[]);

-- name: extract_purge_conversation
DELETE FROM drafts WHERE conversation_id = $conversation_id;

-- name: extract_purge_admissions
DELETE FROM admissions WHERE draft_id NOT IN (SELECT id FROM drafts);

-- name: extract_purge_calls
UPDATE model_calls SET conversation_id = NULL WHERE conversation_id = $conversation_id;

-- name: extract_purge_memory
-- What became a memory that is purged, or was held against it, loses what it says; so does the name of the memory.
UPDATE drafts SET text = '', content = NULL, fact_key = NULL, context = NULL, reason = 'purged',
    memory_id = CASE WHEN memory_id = $id THEN NULL ELSE memory_id END, match_id = CASE WHEN match_id = $id THEN NULL ELSE match_id END, nearest = NULL
WHERE memory_id = $id OR match_id = $id AND action IN ('support', 'skip', 'merge');

-- name: extract_purge_nearest
UPDATE drafts SET nearest = NULL, match_id = CASE WHEN match_id = $id THEN NULL ELSE match_id END
WHERE match_id = $id OR contains(nearest::VARCHAR, $id);

-- name: extract_purge_reasons
-- What a model said of drafts without their text.
UPDATE admissions SET utility_reason = NULL, matched = [], compared = []
WHERE draft_id IN (SELECT id FROM drafts WHERE text = '');

-- name: extract_calls
-- How many calls of a model there were lately, and how many of the last ones refused the key.
SELECT (SELECT count(*) FROM model_calls WHERE started_at > $since::TIMESTAMP),
    (SELECT count(*) FILTER (outcome = 'refused')
     FROM (SELECT outcome FROM model_calls WHERE started_at > $cooled::TIMESTAMP ORDER BY started_at DESC, id DESC LIMIT $last));

-- name: extract_admissions
-- How often admission decided what, and why: all, since yesterday, since a week ago.
SELECT a.decision = 'rejected', d.category, d.scope, regexp_replace(a.reason, '\d+', '#', 'g') AS reason, count(*)::INTEGER,
    count(*) FILTER (a.evaluated_at > $day::TIMESTAMP)::INTEGER, count(*) FILTER (a.evaluated_at > $week::TIMESTAMP)::INTEGER
FROM admissions AS a
JOIN drafts AS d ON d.id = a.draft_id
WHERE $scopes::VARCHAR[] IS NULL OR d.scope = ANY ($scopes::VARCHAR[])
GROUP BY ALL
ORDER BY ALL;
