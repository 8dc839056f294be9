-- name: conversation_by_name
-- By id, name or session key; the caller chooses, since an order would take longer to plan than to make.
SELECT id, name, scope, title, created_at, next_seq, last_session_no, last_place, last_session, last_said_at, session_key, session_id, parent_id,
    active, archived_at, archive_cause, estimator, coalesce(compactions, 0), coalesce(compacted_seq, 0)
FROM conversations WHERE name = $name OR id = $name OR session_key = $name;

-- name: conversation_by_ending
SELECT id, name, scope, title, created_at, next_seq, last_session_no, last_place, last_session, last_said_at, session_key, session_id, parent_id,
    active, archived_at, archive_cause, estimator, coalesce(compactions, 0), coalesce(compacted_seq, 0)
FROM conversations WHERE ends_with(id, $ending);

-- name: conversation_by_key
-- The active conversation of a session key.
SELECT id, name, scope, title, created_at, next_seq, last_session_no, last_place, last_session, last_said_at, session_key, session_id, parent_id,
    active, archived_at, archive_cause, estimator, coalesce(compactions, 0), coalesce(compacted_seq, 0)
FROM conversations WHERE session_key = $session_key AND active;

-- name: conversation_by_session
-- The conversations that are or were in a host's session.
SELECT id, name, scope, title, created_at, next_seq, last_session_no, last_place, last_session, last_said_at, session_key, session_id, parent_id,
    active, archived_at, archive_cause, estimator, coalesce(compactions, 0), coalesce(compacted_seq, 0)
FROM conversations WHERE session_id = $session_id;

-- name: conversation_session
-- It goes on in another session of the host, or has a key now, and is called by that unless another active one is.
UPDATE conversations
SET name = CASE WHEN EXISTS (FROM conversations AS o WHERE o.name = $name AND o.active AND o.id <> $id) THEN name ELSE $name END,
    session_key = $session_key, session_id = $session_id WHERE id = $id;

-- name: conversation_list
-- Conversations with the number of their messages, the one with the newest message first.
SELECT c.id, c.name, c.scope, c.title, c.created_at, count(m.id) AS messages, max(m.said_at) AS last_said_at,
    c.session_key, c.session_id, c.parent_id, c.active, c.archived_at, c.archive_cause, c.estimator, coalesce(c.compactions, 0)
FROM conversations AS c
LEFT JOIN messages AS m ON m.conversation_id = c.id
WHERE $scopes::VARCHAR[] IS NULL OR c.scope = ANY ($scopes::VARCHAR[])
GROUP BY ALL
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

-- name: message_by_one_key
SELECT id, caller_key, seq FROM messages WHERE conversation_id = $conversation_id AND caller_key = $key;

-- name: message_list
-- Messages of a conversation in their order.
SELECT id, doc_no, conversation_id, seq, caller_key, session, role, speaker, text, caption, said_at, recorded_at, session_no, place,
    tokens, set_aside, set_aside_at, reply_to, source_kind, withheld, fallback, usage::VARCHAR AS usage, actions
FROM messages
WHERE conversation_id = $conversation_id AND seq >= $from
ORDER BY seq
LIMIT $limit;

-- name: messages_numbered
-- The messages of documents {from} to {to} with their scope, in the order they were recorded; what the index is made anew from.
SELECT m.id, doc_no, conversation_id, seq, caller_key, session, role, speaker, text, caption, said_at, recorded_at, session_no, place,
    tokens, set_aside, set_aside_at, reply_to, source_kind, withheld, fallback, usage::VARCHAR AS usage, actions, c.scope
FROM messages AS m
JOIN conversations AS c ON c.id = m.conversation_id
WHERE doc_no BETWEEN {from} AND {to}
ORDER BY doc_no;

-- name: messages_by_id
SELECT m.id, doc_no, conversation_id, seq, caller_key, session, role, speaker, text, caption, said_at, recorded_at, session_no, place,
    tokens, set_aside, set_aside_at, reply_to, source_kind, withheld, fallback, usage::VARCHAR AS usage, actions, c.scope
FROM messages AS m
JOIN conversations AS c ON c.id = m.conversation_id
WHERE m.id = ANY ($ids::VARCHAR[]);

-- name: part_list
-- The blocks of messages of a conversation, from one seq to another.
SELECT message_id, type, text, call_id, tool, input, output, is_error, file_name, mime, file_id, caller_key, raw, raw_sha256
FROM parts
WHERE conversation_id = $conversation_id AND seq BETWEEN $from AND $to
ORDER BY seq, ordinal;

-- name: tools_called
-- Which tools these calls of a conversation are of.
SELECT call_id, tool FROM parts
WHERE conversation_id = $conversation_id AND type = 'tool_call' AND tool IS NOT NULL AND call_id = ANY ($calls::VARCHAR[]);

-- name: part_of_messages
-- Blocks of these messages, as the index wants them.
SELECT message_id, type, CASE WHEN kind = 'file' THEN text END, tool, input, output, file_name FROM parts
WHERE message_id = ANY ($ids::VARCHAR[])
ORDER BY conversation_id, seq, ordinal;

-- name: message_raw
-- What the host wrote of messages of a conversation, from one seq to another.
SELECT seq, raw, raw_sha256 FROM messages
WHERE conversation_id = $conversation_id AND seq BETWEEN $from AND $to AND (raw IS NOT NULL OR raw_sha256 IS NOT NULL);

-- name: cursor_list
SELECT path, host, conversation_id, file_id, first_line, bytes, lines, skipped, read_at, ingested_at FROM cursors ORDER BY path;

-- name: cursor_put
-- How far a transcript was read; ingested: it brought a new message.
INSERT INTO cursors VALUES ($path, $host, $conversation_id, $file_id, $first_line, $bytes, $lines, $skipped, $read_at::TIMESTAMP,
    CASE WHEN $ingested THEN $read_at::TIMESTAMP END)
ON CONFLICT (path) DO UPDATE SET host = excluded.host, conversation_id = coalesce(excluded.conversation_id, cursors.conversation_id),
    file_id = excluded.file_id, first_line = excluded.first_line, bytes = excluded.bytes, lines = excluded.lines, skipped = excluded.skipped,
    read_at = excluded.read_at, ingested_at = coalesce(excluded.ingested_at, cursors.ingested_at);
