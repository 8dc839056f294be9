-- name: message_of_conversation
-- One message by its id or the caller's key.
SELECT id, doc_no, conversation_id, seq, caller_key, session, role, speaker, text, caption, said_at, recorded_at, session_no, place,
    tokens, set_aside, set_aside_at
FROM messages
WHERE conversation_id = $conversation_id AND (id = $id OR caller_key = $key AND $key <> '');

-- name: message_longer
UPDATE messages SET text = $text, tokens = $tokens WHERE id = $id;

-- name: context_item_tokens
-- What an item of the context costs now.
UPDATE context_items SET tokens = $tokens WHERE conversation_id = $conversation_id AND ref = $ref;

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
