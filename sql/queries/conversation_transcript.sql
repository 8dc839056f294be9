-- name: key_known
-- Where keys of a host's were stored: as messages, as parts of messages, or as summaries.
WITH asked AS (SELECT DISTINCT unnest($keys::VARCHAR[]) AS key),
known AS (
    SELECT caller_key AS key, conversation_id, id, set_aside, said_at FROM messages WHERE caller_key IN (SELECT key FROM asked)
    UNION ALL
    SELECT caller_key, conversation_id, message_id, NULL, NULL FROM parts WHERE caller_key IN (SELECT key FROM asked)
    UNION ALL
    SELECT caller_key, conversation_id, id, NULL, NULL FROM summaries WHERE caller_key IN (SELECT key FROM asked)
)
SELECT k.key, k.conversation_id, k.id, k.set_aside, k.said_at
FROM known AS k
JOIN conversations AS c ON c.id = k.conversation_id
WHERE $scopes::VARCHAR[] IS NULL OR c.scope = ANY ($scopes::VARCHAR[])
ORDER BY c.active, k.id;

-- name: branch_left
-- Messages of a conversation that are in its context, by their keys.
SELECT m.id
FROM messages AS m
JOIN context_items AS i ON i.conversation_id = m.conversation_id AND i.kind = 'message' AND i.ref = m.id
WHERE m.conversation_id = $conversation_id AND m.caller_key IN (SELECT unnest($keys::VARCHAR[]));

-- name: branch_found
-- Messages of a conversation that were edited away and can come back, by their keys: no summary stands for what is around them.
SELECT m.id, m.seq, m.tokens
FROM messages AS m
WHERE m.conversation_id = $conversation_id AND m.set_aside = 'off_branch' AND m.caller_key IN (SELECT unnest($keys::VARCHAR[]))
  AND NOT EXISTS (FROM summaries AS s WHERE s.conversation_id = m.conversation_id AND s.first_seq < m.seq AND m.seq < s.last_seq)
ORDER BY m.seq;

-- name: branch_aside
-- Messages leave the context: they were edited away, or with NULL they come back.
UPDATE messages SET set_aside = $set_aside, set_aside_at = $at::TIMESTAMP
WHERE conversation_id = $conversation_id AND id IN (SELECT unnest($ids::VARCHAR[]));

-- name: conversation_title
UPDATE conversations SET title = $title WHERE id = $id;
