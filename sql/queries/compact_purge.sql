-- name: messages_to_purge
-- Messages of a conversation that are not purged yet.
SELECT id, doc_no, tokens FROM messages
WHERE conversation_id = $conversation_id AND id = ANY ($ids::VARCHAR[]) AND set_aside IS DISTINCT FROM 'purged';

-- name: messages_known
SELECT id FROM messages WHERE conversation_id = $conversation_id AND id = ANY ($ids::VARCHAR[]);

-- name: payloads_of_messages
-- The contents that messages refer to, their blocks and their large files.
SELECT raw_sha256 FROM messages WHERE id = ANY ($ids::VARCHAR[]) AND raw_sha256 IS NOT NULL
UNION
SELECT raw_sha256 FROM parts WHERE message_id = ANY ($ids::VARCHAR[]) AND raw_sha256 IS NOT NULL
UNION
SELECT sha256 FROM large_files WHERE message_id = ANY ($ids::VARCHAR[]);

-- name: summaries_over_messages
-- Every summary that stands for one of these messages, or may tell of it because it is a checkpoint's that had read it, those that others were made from first.
WITH RECURSIVE above(id) AS (
    SELECT summary_id FROM summary_sources WHERE kind = 'message' AND source = ANY ($ids::VARCHAR[])
    UNION
    SELECT p.summary_id
    FROM messages AS m
    JOIN compactions AS q ON q.conversation_id = m.conversation_id
    JOIN checkpoints AS k ON k.id = q.checkpoint_id AND k.upto_seq >= m.seq
    JOIN compactions AS p ON p.conversation_id = m.conversation_id AND p.policy = 'rolling'
    WHERE m.id = ANY ($ids::VARCHAR[])
    UNION
    SELECT s.summary_id FROM summary_sources AS s JOIN above ON s.source = above.id WHERE s.kind = 'summary'
)
SELECT id FROM summaries WHERE id IN (FROM above) ORDER BY depth, first_seq;

-- name: sources_purge
DELETE FROM summary_sources WHERE source = ANY ($ids::VARCHAR[]);

-- name: summaries_of_nothing
-- Summaries whose last source is gone.
SELECT id FROM summaries WHERE conversation_id = $conversation_id AND id NOT IN (SELECT summary_id FROM summary_sources);

-- name: summary_files
UPDATE summaries SET file_ids = $file_ids::VARCHAR[] WHERE id = $id;

-- name: set_aside_old
-- What was set aside for one of these reasons before a time.
SELECT m.conversation_id, m.id, m.tokens, strlen(m.text) + coalesce(octet_length(m.raw), 0)
FROM messages AS m
JOIN conversations AS c ON c.id = m.conversation_id
WHERE m.set_aside = ANY ($reasons::VARCHAR[]) AND m.set_aside_at <= $before::TIMESTAMP
  AND ($conversation_id::VARCHAR IS NULL OR m.conversation_id = $conversation_id)
  AND ($scopes::VARCHAR[] IS NULL OR c.scope = ANY ($scopes::VARCHAR[]))
ORDER BY m.conversation_id, m.seq;

-- name: purge_list
-- All messages of a conversation.
SELECT id, tokens FROM messages WHERE conversation_id = $conversation_id;

-- name: purge_sources
DELETE FROM summary_sources WHERE summary_id IN (SELECT id FROM summaries WHERE conversation_id = $conversation_id);

-- name: purge_summaries
DELETE FROM summaries WHERE conversation_id = $conversation_id;

-- name: purge_compactions
DELETE FROM compactions WHERE conversation_id = $conversation_id;

-- name: purge_debts
DELETE FROM compaction_debts WHERE conversation_id = $conversation_id;

-- name: summaries_over
-- A summary and those that stand on it, or those over a message or that may tell of it, as above: those that others were made from first.
WITH RECURSIVE above(id) AS (
    SELECT id FROM summaries WHERE id = $id
    UNION
    SELECT summary_id FROM summary_sources WHERE kind = 'message' AND source = $id
    UNION
    SELECT p.summary_id
    FROM messages AS m
    JOIN compactions AS q ON q.conversation_id = m.conversation_id
    JOIN checkpoints AS k ON k.id = q.checkpoint_id AND k.upto_seq >= m.seq
    JOIN compactions AS p ON p.conversation_id = m.conversation_id AND p.policy = 'rolling'
    WHERE m.id = $id
    UNION
    SELECT s.summary_id FROM summary_sources AS s JOIN above ON s.source = above.id WHERE s.kind = 'summary'
)
SELECT id FROM summaries WHERE id IN (FROM above) ORDER BY depth, first_seq;

-- name: summary_shown
-- Whether a summary is in the context.
SELECT count(*) > 0 FROM context_items WHERE conversation_id = $conversation_id AND ref = $id;

-- name: summaries_stand
-- Which summaries of a conversation there are, in which wording, on what, and in the context or not.
SELECT md5(coalesce(string_agg(s.id || ' ' || s.attempts || ' ' || epoch_us(s.updated_at) || ' ' || coalesce(u.sources, '') || ' ' || (i.ref IS NOT NULL), chr(10) ORDER BY s.id), ''))
FROM summaries AS s
LEFT JOIN (SELECT summary_id, string_agg(source, ' ' ORDER BY ordinal) AS sources FROM summary_sources GROUP BY summary_id) AS u ON u.summary_id = s.id
LEFT JOIN context_items AS i ON i.conversation_id = s.conversation_id AND i.ref = s.id
WHERE s.conversation_id = $conversation_id;

-- name: summary_about
-- The leaf under which a message comes back: the one that had it, or that reaches over its place, or where others do, the last before it.
SELECT s.id
FROM messages AS m
JOIN summaries AS s ON s.conversation_id = m.conversation_id AND s.depth = 0
WHERE m.id = $message_id
  AND (s.id = $had OR m.seq BETWEEN s.first_seq AND s.last_seq
    OR s.last_seq < m.seq AND EXISTS (FROM summaries AS o WHERE o.conversation_id = m.conversation_id AND m.seq BETWEEN o.first_seq AND o.last_seq))
ORDER BY s.id = $had DESC, m.seq BETWEEN s.first_seq AND s.last_seq DESC, s.last_seq DESC
LIMIT 1;

-- name: summary_join
-- Puts a message among the sources of a summary; they are numbered anew after that.
INSERT INTO summary_sources SELECT $summary_id, seq, 'message', id FROM messages WHERE id = $message_id;
