-- What contexts are built from. Few and plain statements, as for assemble: each is planned anew in a new connection, and sorting is done in Go.

-- name: build_messages
-- Messages of a conversation from one seq to another that are not set aside, in no order, as message_list has them; what no context needs is not read.
SELECT id, 0 AS doc_no, conversation_id, seq, caller_key, NULL AS session, role, speaker, text, caption, said_at, said_at AS recorded_at, 0 AS session_no, 0 AS place,
    tokens, set_aside, NULL AS set_aside_at, reply_to, source_kind, withheld, fallback, NULL AS usage, actions
FROM messages
WHERE conversation_id = $conversation_id AND seq BETWEEN $from AND $to AND set_aside IS NULL;

-- name: build_seq_of_id
-- Where a message stands, by its id.
SELECT seq FROM messages WHERE id = $id AND conversation_id = $conversation_id AND set_aside IS NULL;

-- name: build_seq_of_key
-- Where a message stands, by the caller's key: the newest of them.
SELECT max(seq) FROM messages WHERE conversation_id = $conversation_id AND caller_key = $key AND set_aside IS NULL HAVING count(*) > 0;

-- name: build_unseen
-- How many messages that somebody said lie between two.
SELECT count(*) FROM messages
WHERE conversation_id = $conversation_id AND seq > $from AND seq < $to AND set_aside IS NULL AND role <> 'tool' AND text <> '' AND withheld IS NOT TRUE;

-- name: build_summary
-- The newest summary of a context, up to a seq.
SELECT coalesce(arg_max(ref, position), '') FROM context_items WHERE conversation_id = $conversation_id AND kind = 'summary' AND position <= $until;

-- name: build_summary_of
-- A summary by its id.
SELECT id, text, first_seq, last_seq FROM summaries WHERE id = $id;

-- name: build_checkpoint
-- Whether there may be a checkpoint to show.
SELECT id FROM checkpoints WHERE conversation_id = $conversation_id AND upto_seq BETWEEN $from AND $until LIMIT 1;

-- name: build_usage
-- What the provider counted for some messages.
SELECT seq, usage::VARCHAR FROM messages
WHERE conversation_id = $conversation_id AND seq BETWEEN $from AND $to AND usage IS NOT NULL;

-- name: build_sources
-- The messages that memories were made from.
SELECT memory_id, source FROM memory_sources WHERE kind = 'message' AND list_contains($ids::VARCHAR[], memory_id);

-- name: build_memories
-- What memories say now.
SELECT id, text, l0_abstract, l1_overview, l2_content, scope, category, created_at FROM memories WHERE list_contains($ids::VARCHAR[], id);

-- name: build_purge_conversation
DELETE FROM context_snapshots WHERE conversation_id = $conversation_id;

-- name: build_prunable
-- Snapshots that were built before a time, but the newest few of each conversation, and whether their build failed.
SELECT id, conversation_id, failed
FROM (
    SELECT s.id, s.conversation_id, s.status = 'failed' AS failed, s.built_at, row_number() OVER (PARTITION BY s.conversation_id ORDER BY s.built_at DESC, s.id DESC) AS place
    FROM context_snapshots AS s
    JOIN conversations AS c ON c.id = s.conversation_id
    WHERE ($conversation_id IS NULL OR s.conversation_id = $conversation_id) AND ($scopes IS NULL OR list_contains($scopes::VARCHAR[], c.scope))
)
WHERE place > $keep AND built_at <= $before;

-- name: build_prune
DELETE FROM context_snapshots WHERE list_contains($ids::VARCHAR[], id);

-- name: build_snapshots
-- Snapshots of conversations, the newest first; NULL: of all that may be seen.
SELECT s.id, s.conversation_id, s.turn, s.until_seq, s.preset, s.status, s.hash, s.config_hash, s.config::VARCHAR, s.items::VARCHAR, s.selection::VARCHAR, s.counts::VARCHAR, s.trim_note::VARCHAR,
    s.trimmed, s.over_budget, s.error_class, s.stage, s.next_action, s.error, s.built_at, c.name
FROM context_snapshots AS s
JOIN conversations AS c ON c.id = s.conversation_id
WHERE ($conversation_id IS NULL OR s.conversation_id = $conversation_id) AND ($scopes IS NULL OR list_contains($scopes::VARCHAR[], c.scope))
ORDER BY s.built_at DESC, s.id DESC
LIMIT $limit;

-- name: build_snapshot
-- A snapshot by its id, or the ending of that.
SELECT s.id, s.conversation_id, s.turn, s.until_seq, s.preset, s.status, s.hash, s.config_hash, s.config::VARCHAR, s.items::VARCHAR, s.selection::VARCHAR, s.counts::VARCHAR, s.trim_note::VARCHAR,
    s.trimmed, s.over_budget, s.error_class, s.stage, s.next_action, s.error, s.built_at, c.name
FROM context_snapshots AS s
JOIN conversations AS c ON c.id = s.conversation_id
WHERE (s.id = $id OR length($id) >= $shortest AND ends_with(s.id, $id)) AND ($scopes IS NULL OR list_contains($scopes::VARCHAR[], c.scope))
ORDER BY s.id = $id DESC, s.id;
