-- What a purge takes away of messages, or with a whole conversation.

-- name: parts_purge
DELETE FROM parts WHERE message_id = ANY ($ids::VARCHAR[]);

-- name: large_files_purge
DELETE FROM large_files WHERE message_id = ANY ($ids::VARCHAR[]);

-- name: messages_purge
-- Number, role, keys and times are left.
UPDATE messages SET text = '', caption = NULL, speaker = NULL, raw = NULL, raw_sha256 = NULL, tokens = 0, actions = NULL, set_aside = 'purged',
    set_aside_at = $at::TIMESTAMP
WHERE id = ANY ($ids::VARCHAR[]);

-- name: purge_context
DELETE FROM context_items WHERE conversation_id = $conversation_id;

-- name: purge_parts
DELETE FROM parts WHERE conversation_id = $conversation_id;

-- name: purge_files
DELETE FROM large_files WHERE conversation_id = $conversation_id;

-- name: purge_cursors
-- A transcript stays read as far as it was, so that what was purged does not come back with its next line.
UPDATE cursors SET conversation_id = NULL WHERE conversation_id = $conversation_id;

-- name: purge_children
UPDATE conversations SET parent_id = NULL WHERE parent_id = $conversation_id;

-- name: purge_messages
DELETE FROM messages WHERE conversation_id = $conversation_id;

-- name: purge_conversation
DELETE FROM conversations WHERE id = $conversation_id;
