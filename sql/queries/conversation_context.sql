-- The items of contexts. A row is a message, or a summary at the place of the first message that it stands for.

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

-- name: context_items_leave
-- Messages leave the context.
DELETE FROM context_items WHERE conversation_id = $conversation_id AND ref = ANY ($refs::VARCHAR[]);

-- name: branch_items
DELETE FROM context_items WHERE conversation_id = $conversation_id AND kind = 'message' AND ref IN (SELECT unnest($ids::VARCHAR[]));

-- name: context_remove
-- Takes items from one position to another out of a context.
DELETE FROM context_items WHERE conversation_id = $conversation_id AND position BETWEEN $from AND $to;

-- name: context_remove_ref
-- Takes one item out of a context.
DELETE FROM context_items WHERE conversation_id = $conversation_id AND ref = $ref;

-- name: context_remove_before
-- Takes messages before a position out of the context, and the given summaries.
DELETE FROM context_items
WHERE conversation_id = $conversation_id AND position < $before AND (kind = 'message' OR ref = ANY ($summaries::VARCHAR[]));

-- name: context_tokens
-- What an item costs, after what it refers to was changed.
UPDATE context_items SET tokens = $tokens WHERE conversation_id = $conversation_id AND ref = $ref;

-- name: doctor_context
-- Takes out of the contexts what refers to nothing, what is there twice, and what is under a summary or set aside; puts in the messages
-- that are nowhere; and gives every item the position and the tokens of what it refers to.
DELETE FROM context_items WHERE rowid NOT IN (
    SELECT min(i.rowid)
    FROM context_items AS i
    LEFT JOIN messages AS m ON m.id = i.ref AND m.conversation_id = i.conversation_id
    LEFT JOIN summaries AS s ON s.id = i.ref AND s.conversation_id = i.conversation_id
    WHERE i.ref NOT IN (SELECT source FROM summary_sources)
      AND CASE i.kind WHEN 'message' THEN m.id IS NOT NULL AND m.set_aside IS NULL ELSE s.id IS NOT NULL END
    GROUP BY i.ref);
INSERT INTO context_items
SELECT conversation_id, seq, 'message', id, tokens
FROM messages
WHERE set_aside IS NULL AND id NOT IN (SELECT ref FROM context_items) AND id NOT IN (SELECT source FROM summary_sources)
  AND conversation_id IN (SELECT id FROM conversations)
ORDER BY conversation_id, seq;
UPDATE context_items SET position = n.position, tokens = n.tokens
FROM (SELECT id, seq AS position, tokens FROM messages UNION ALL SELECT id, first_seq, tokens FROM summaries) AS n
WHERE n.id = context_items.ref AND (context_items.position, context_items.tokens) IS DISTINCT FROM (n.position, n.tokens);

-- name: messages_said
-- What summaries are made of: messages of a conversation from one seq to another.
SELECT id, seq, role, speaker, text, caption, said_at, tokens
FROM messages
WHERE conversation_id = $conversation_id AND seq BETWEEN $from AND $to
ORDER BY seq;

-- name: parts_said
-- The blocks of these messages, likewise.
SELECT seq, type, CASE WHEN kind = 'file' THEN text END, tool, input, output, is_error, file_name
FROM parts
WHERE conversation_id = $conversation_id AND seq BETWEEN $from AND $to
ORDER BY seq, ordinal;

-- name: conversation_compacted
-- Its context was compacted.
UPDATE conversations SET compactions = coalesce(compactions, 0) + $times, compacted_seq = next_seq - 1 WHERE id = $id;

-- name: user_turns
-- How many messages of the user there are after one, up to another; what holds results of tools is none of the user's, nor what a host polled or edited away.
SELECT count(*) FROM messages
WHERE conversation_id = $conversation_id AND seq > $after AND seq <= $upto AND role = 'user'
  AND (set_aside IS NULL OR set_aside IN ('new', 'reset', 'purged', 'retracted'))
  AND seq NOT IN (SELECT seq FROM parts WHERE conversation_id = $conversation_id AND type = 'tool_result' AND call_id IS NOT NULL);

-- name: context_usage
-- What the provider counted for the newest answer after a message, and the tokens of what came to the context after that.
SELECT u.usage, (SELECT coalesce(sum(tokens), 0)::BIGINT FROM context_items WHERE conversation_id = $conversation_id AND kind = 'message' AND position > u.seq)
FROM (
    SELECT seq, usage::VARCHAR AS usage FROM messages
    WHERE conversation_id = $conversation_id AND seq > $after AND usage IS NOT NULL AND set_aside IS NULL
    ORDER BY seq DESC
    LIMIT 1
) AS u;
