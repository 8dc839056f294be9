-- name: checkpoint_list
-- Checkpoints of a conversation, the newest first; none that knew what is retracted now.
SELECT id, conversation_id, caller_key, upto_seq, tokens_at, user_count_at, message_count_at, cycle, summary, topics, decisions, questions, generated_by, created_at
FROM checkpoints AS k
WHERE conversation_id = $conversation_id AND upto_seq <= $upto
  AND NOT EXISTS (FROM messages AS m WHERE m.conversation_id = k.conversation_id AND m.set_aside = 'retracted' AND m.seq <= k.upto_seq AND m.set_aside_at >= k.created_at)
ORDER BY upto_seq DESC, created_at DESC, id DESC
LIMIT $limit;

-- name: checkpoint_ending
-- Checkpoints whose ids end so, likewise, with the scope of their conversation.
SELECT k.id, conversation_id, caller_key, upto_seq, tokens_at, user_count_at, message_count_at, cycle, summary, topics, decisions, questions, generated_by, k.created_at
FROM checkpoints AS k
JOIN conversations AS c ON c.id = k.conversation_id
WHERE ends_with(k.id, $ending) AND ($scopes::VARCHAR[] IS NULL OR c.scope = ANY ($scopes::VARCHAR[]))
  AND NOT EXISTS (FROM messages AS m WHERE m.conversation_id = k.conversation_id AND m.set_aside = 'retracted' AND m.seq <= k.upto_seq AND m.set_aside_at >= k.created_at)
ORDER BY k.id = $ending DESC
LIMIT 10;

-- name: checkpoint_by_key
-- The checkpoint that has a host's key.
SELECT id FROM checkpoints WHERE conversation_id = $conversation_id AND caller_key = $key;

-- name: checkpoint_context
-- What stands in a context: messages by their seq, summaries with their texts.
SELECT i.position, i.kind, coalesce(s.text, '')
FROM context_items AS i
LEFT JOIN summaries AS s ON s.id = i.ref AND i.kind = 'summary'
WHERE i.conversation_id = $conversation_id
ORDER BY i.position;

-- name: checkpoints_purge
-- Those that may say what these messages said.
DELETE FROM checkpoints
WHERE conversation_id = $conversation_id AND upto_seq >= (SELECT min(seq) FROM messages WHERE conversation_id = $conversation_id AND id = ANY ($ids::VARCHAR[]));

-- name: checkpoints_purge_conversation
DELETE FROM checkpoints WHERE conversation_id = $conversation_id;

-- name: flush_purge
DELETE FROM flush_state WHERE conversation_id = $conversation_id;

-- name: flush_fired
-- Which thresholds have fired since the context was last compacted.
SELECT percent FROM flush_state WHERE conversation_id = $conversation_id AND cycle = $cycle ORDER BY percent;

-- name: flush_clear
-- They may fire again.
DELETE FROM flush_state WHERE conversation_id = $conversation_id AND cycle = $cycle;

-- name: messages_withdrawn
-- How many messages of a conversation are purged or retracted.
SELECT count(*) FROM messages WHERE conversation_id = $conversation_id AND set_aside IN ('purged', 'retracted');
