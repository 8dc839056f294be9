-- name: conversation_by_name
SELECT id, name, scope, title, created_at, next_seq, last_session_no, last_place, last_session, last_said_at
FROM conversations WHERE name = $name OR id = $name ORDER BY id = $name DESC LIMIT 1;

-- name: conversation_list
-- Conversations with the number of their messages, the one with the newest message first.
SELECT c.id, c.name, c.scope, coalesce(c.title, ''), c.created_at, count(m.id) AS messages, max(m.said_at) AS last_said_at
FROM conversations AS c
LEFT JOIN messages AS m ON m.conversation_id = c.id
WHERE $scopes::VARCHAR[] IS NULL OR c.scope = ANY ($scopes::VARCHAR[])
GROUP BY c.id, c.name, c.scope, c.title, c.created_at
ORDER BY last_said_at DESC NULLS LAST, c.id;

-- name: conversation_grown
-- What the next message follows.
UPDATE conversations SET next_seq = $next_seq, last_session_no = $session_no, last_place = $place, last_session = $session,
    last_said_at = $said_at::TIMESTAMP
WHERE id = $id;

-- name: message_by_key
-- Messages that were appended to a conversation with these keys of the caller's.
SELECT id, caller_key, seq FROM messages
WHERE conversation_id = $conversation_id AND caller_key = ANY ($keys::VARCHAR[]);

-- name: message_list
-- Messages of a conversation in their order.
SELECT id, doc_no, conversation_id, seq, caller_key, session, role, speaker, text, caption, said_at, recorded_at, session_no, place
FROM messages
WHERE conversation_id = $conversation_id AND seq >= $from
ORDER BY seq
LIMIT $limit;

-- name: message_all
-- Every message with its scope, in the order it was recorded; what the index is made anew from.
SELECT m.id, doc_no, conversation_id, seq, caller_key, session, role, speaker, text, caption, said_at, recorded_at, session_no, place, c.scope
FROM messages AS m
JOIN conversations AS c ON c.id = m.conversation_id
ORDER BY doc_no;

-- name: messages_by_id
SELECT m.id, doc_no, conversation_id, seq, caller_key, session, role, speaker, text, caption, said_at, recorded_at, session_no, place, c.scope
FROM messages AS m
JOIN conversations AS c ON c.id = m.conversation_id
WHERE m.id = ANY ($ids::VARCHAR[]);
