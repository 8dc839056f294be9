-- name: message_of_conversation
-- One message by its id or the caller's key.
SELECT id, doc_no, conversation_id, seq, caller_key, session, role, speaker, text, caption, said_at, recorded_at, session_no, place,
    tokens, set_aside, set_aside_at, reply_to, source_kind, withheld, fallback, usage::VARCHAR AS usage, actions
FROM messages
WHERE conversation_id = $conversation_id AND (id = $id OR caller_key = $key AND $key <> '');

-- name: message_longer
UPDATE messages SET text = $text, tokens = $tokens WHERE id = $id;

-- name: conversation_archive
UPDATE conversations SET active = false, archived_at = $at::TIMESTAMP, archive_cause = $cause WHERE id = $id AND active;

-- name: messages_mark
-- What is said of messages later; NULL leaves a mark as it is.
UPDATE messages SET withheld = coalesce($withheld::BOOLEAN, withheld), fallback = coalesce($fallback::BOOLEAN, fallback)
WHERE conversation_id = $conversation_id AND (id = ANY ($ids::VARCHAR[]) OR caller_key = ANY ($keys::VARCHAR[]))
  AND (coalesce(withheld, false) <> coalesce($withheld::BOOLEAN, withheld, false) OR coalesce(fallback, false) <> coalesce($fallback::BOOLEAN, fallback, false));

-- name: messages_set_aside
UPDATE messages SET set_aside = $why, set_aside_at = $at::TIMESTAMP WHERE id = ANY ($ids::VARCHAR[]);

-- name: heartbeat_turns
-- Messages in the context of turns that are heartbeats: from a user's message to the acknowledgement, with the host's file named in
-- between. Only acknowledgements from a seq on.
WITH turns AS MATERIALIZED (
    SELECT id, doc_no, seq,
        max(seq) FILTER (role = 'user' AND coalesce(set_aside, '') NOT IN ('off_branch', 'event', 'retracted')) OVER (ORDER BY seq) AS turn,
        role = 'assistant' AND coalesce(set_aside, '') NOT IN ('off_branch', 'event', 'retracted') AND strlen(text) < 100 AND regexp_full_match(text, '(?i)\s*heartbeat_ok\s*') AS acknowledges
    FROM messages
    WHERE conversation_id = $conversation_id AND seq >= coalesce((
        SELECT max(seq) FROM messages
        WHERE conversation_id = $conversation_id AND seq < $from AND role = 'user' AND coalesce(set_aside, '') NOT IN ('off_branch', 'event', 'retracted')), 1)
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
