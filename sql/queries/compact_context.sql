-- name: context_list
-- The context in its order, with what its items say.
SELECT row_number() OVER (ORDER BY i.position) - 1 AS ordinal, i.position, i.kind, i.ref, i.tokens, coalesce(s.depth, 0), coalesce(m.role, ''),
    coalesce(m.text, s.text), coalesce(m.said_at, s.earliest_at), coalesce(s.latest_at, m.said_at), coalesce(s.messages, 1)
FROM context_items AS i
LEFT JOIN messages AS m ON m.id = i.ref
LEFT JOIN summaries AS s ON s.id = i.ref
WHERE i.conversation_id = $conversation_id
ORDER BY i.position;

-- name: context_ends
-- The size of a context, where its first message stands, where its last item, and where its last summary.
SELECT count(*), count(*) FILTER (kind = 'message'), coalesce(sum(tokens), 0)::BIGINT, coalesce(sum(tokens) FILTER (kind = 'message'), 0)::BIGINT,
    coalesce(min(position) FILTER (kind = 'message'), 0), coalesce(max(position), 0), coalesce(max(position) FILTER (kind = 'summary'), 0)
FROM context_items
WHERE conversation_id = $conversation_id;

-- name: context_items
-- Items of a context from one position to another.
SELECT i.position, i.kind, i.ref, i.tokens, coalesce(s.depth, 0), CASE i.kind WHEN 'message' THEN coalesce(m.role, '') ELSE '' END
FROM context_items AS i
LEFT JOIN (SELECT seq, role FROM messages WHERE conversation_id = $conversation_id AND seq BETWEEN $from AND $to) AS m ON m.seq = i.position
LEFT JOIN summaries AS s ON s.id = i.ref
WHERE i.conversation_id = $conversation_id AND i.position BETWEEN $from AND $to
ORDER BY i.position;

-- name: context_calls
-- Calls of tools and their results in the messages of a conversation, from one seq to another.
SELECT seq, call_id, output IS NOT NULL FROM parts
WHERE conversation_id = $conversation_id AND seq BETWEEN $from AND $to AND kind = 'tool'::part_kind AND call_id IS NOT NULL
ORDER BY seq, ordinal;

-- name: context_range
-- Which items stand at positions from one to another now, and what they cost.
SELECT position, ref, tokens FROM context_items
WHERE conversation_id = $conversation_id AND position BETWEEN $from AND $to
ORDER BY position;

-- name: assemble_asked
-- The position of the newest message of a user in the context, before a position; one that holds results of tools is no user's.
SELECT coalesce(max(position), 0)
FROM context_items
WHERE conversation_id = $conversation_id AND kind = 'message' AND position < $before
  AND position IN (SELECT seq FROM messages WHERE conversation_id = $conversation_id AND role = 'user')
  AND position NOT IN (SELECT seq FROM parts WHERE conversation_id = $conversation_id AND type = 'tool_result' AND call_id IS NOT NULL);
