-- name: message_of_conversation
-- One message by its id or the caller's key.
SELECT id, doc_no, conversation_id, seq, caller_key, session, role, speaker, text, caption, said_at, recorded_at, session_no, place,
    tokens, set_aside, set_aside_at
FROM messages
WHERE conversation_id = $conversation_id AND (id = $id OR caller_key = $key AND $key <> '');

-- name: message_longer
UPDATE messages SET text = $text, tokens = $tokens WHERE id = $id;

-- name: summaries_above_grow
-- The messages under these summaries, those above this message, cost so many tokens more.
UPDATE summaries SET source_tokens = source_tokens + $tokens
WHERE id IN (
    WITH RECURSIVE above(id) AS (
        SELECT summary_id FROM summary_sources WHERE kind = 'message' AND source = $message_id
        UNION
        SELECT s.summary_id FROM summary_sources AS s JOIN above ON s.source = above.id WHERE s.kind = 'summary'
    )
    FROM above
);

-- name: context_size
-- How many items a context has, and their tokens.
SELECT count(*), coalesce(sum(tokens), 0)::BIGINT FROM context_items WHERE conversation_id = $conversation_id;

-- name: context_set_aside
-- Every message of a context is set aside; context_messages_leave then takes it out.
UPDATE messages SET set_aside = $why, set_aside_at = $at::TIMESTAMP
WHERE conversation_id = $conversation_id
  AND id IN (SELECT ref FROM context_items WHERE conversation_id = $conversation_id AND kind = 'message');

-- name: context_messages_leave
DELETE FROM context_items WHERE conversation_id = $conversation_id AND kind = 'message';

-- name: context_summaries_leave
-- Summaries that are less deep leave the context.
DELETE FROM context_items
WHERE conversation_id = $conversation_id AND kind = 'summary'
  AND ref IN (SELECT id FROM summaries WHERE conversation_id = $conversation_id AND depth < $depth);

-- name: conversation_archive
UPDATE conversations SET active = false, archived_at = $at::TIMESTAMP, archive_cause = $cause WHERE id = $id AND active;

-- name: messages_set_aside
UPDATE messages SET set_aside = $why, set_aside_at = $at::TIMESTAMP WHERE id = ANY ($ids::VARCHAR[]);

-- name: context_items_leave
-- Messages leave the context.
DELETE FROM context_items WHERE conversation_id = $conversation_id AND ref = ANY ($refs::VARCHAR[]);

-- name: heartbeat_turns
-- Messages in the context of turns that are heartbeats: from a user's message to the acknowledgement, with the host's file named in
-- between. Only acknowledgements from a seq on.
WITH turns AS MATERIALIZED (
    SELECT id, doc_no, seq,
        max(seq) FILTER (role = 'user' AND coalesce(set_aside, '') NOT IN ('off_branch', 'event')) OVER (ORDER BY seq) AS turn,
        role = 'assistant' AND coalesce(set_aside, '') NOT IN ('off_branch', 'event') AND strlen(text) < 100 AND regexp_full_match(text, '(?i)\s*heartbeat_ok\s*') AS acknowledges
    FROM messages
    WHERE conversation_id = $conversation_id AND seq >= coalesce((
        SELECT max(seq) FROM messages
        WHERE conversation_id = $conversation_id AND seq < $from AND role = 'user' AND coalesce(set_aside, '') NOT IN ('off_branch', 'event')), 1)
),
acknowledged AS MATERIALIZED (
    SELECT t.id, t.doc_no, t.seq, t.turn
    FROM turns AS t
    JOIN (SELECT turn, max(seq) AS last FROM turns WHERE acknowledges AND seq >= $from GROUP BY turn) AS a ON a.turn = t.turn AND t.seq <= a.last
),
heartbeats AS (
    SELECT DISTINCT a.turn
    FROM acknowledged AS a
    JOIN messages AS m ON m.id = a.id AND m.conversation_id = $conversation_id
    LEFT JOIN parts AS p ON p.message_id = a.id AND p.conversation_id = $conversation_id
    WHERE contains(lower(concat_ws(' ', m.text, p.text, p.input, p.output)), 'heartbeat.md')
)
SELECT id, doc_no FROM acknowledged
WHERE turn IN (FROM heartbeats) AND id IN (SELECT ref FROM context_items WHERE conversation_id = $conversation_id AND kind = 'message')
ORDER BY seq;

-- name: documents_live
-- How many of these documents are in the index, and their length.
SELECT count(*), coalesce(sum(length), 0)::DOUBLE FROM documents WHERE doc_no = ANY ($doc_nos::INTEGER[]) AND live;

-- name: postings_retire
DELETE FROM postings WHERE doc_no = ANY ($doc_nos::INTEGER[]);

-- name: documents_retire
UPDATE documents SET live = false, length = 0 WHERE doc_no = ANY ($doc_nos::INTEGER[]) AND live;

-- name: vectors_retire
DELETE FROM {table} WHERE doc_no IN ({doc_nos});
