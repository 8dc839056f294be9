-- name: large_file_find
-- A large file by its id or the ending of it, with the scope of its conversation; none of a message that is retracted.
SELECT f.id, f.conversation_id, f.message_id, f.name, f.mime, f.bytes, f.lines, f.sha256, f.summary, f.created_at, c.scope
FROM large_files AS f
JOIN conversations AS c ON c.id = f.conversation_id
WHERE (f.id = $id OR length($id) >= $shortest AND ends_with(f.id, $id))
  AND f.message_id NOT IN (SELECT id FROM messages WHERE set_aside = 'retracted')
ORDER BY f.id = $id DESC, f.id
LIMIT 4;

-- name: large_file_list
-- The large files of a conversation, in their order, but for those of messages that are retracted.
SELECT f.id, f.conversation_id, f.message_id, f.name, f.mime, f.bytes, f.lines, f.sha256, f.summary, f.created_at, c.scope
FROM large_files AS f
JOIN conversations AS c ON c.id = f.conversation_id
WHERE f.conversation_id = $conversation_id AND f.message_id NOT IN (SELECT id FROM messages WHERE set_aside = 'retracted')
ORDER BY f.rowid;
