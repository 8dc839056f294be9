-- name: context_totals
-- What the context of a conversation is: items, messages among them, tokens of all and of the messages.
SELECT count(*), count(*) FILTER (kind = 'message'), coalesce(sum(tokens), 0)::BIGINT, coalesce(sum(tokens) FILTER (kind = 'message'), 0)::BIGINT
FROM context_items
WHERE conversation_id = $conversation_id;

-- name: context_list
-- The context in its order, with what its items say.
SELECT row_number() OVER (ORDER BY i.position) - 1 AS ordinal, i.position, i.kind, i.ref, i.tokens, coalesce(s.depth, 0), coalesce(m.role, ''),
    coalesce(m.text, s.text), coalesce(m.said_at, s.earliest_at), coalesce(s.latest_at, m.said_at), coalesce(s.messages, 1)
FROM context_items AS i
LEFT JOIN messages AS m ON i.kind = 'message' AND m.id = i.ref
LEFT JOIN summaries AS s ON i.kind = 'summary' AND s.id = i.ref
WHERE i.conversation_id = $conversation_id
ORDER BY i.position;

-- name: context_newest
-- The newest items: so many messages, what lies between them, and everything since the newest message of a user.
WITH items AS (
    SELECT position, kind, ref, tokens FROM context_items WHERE conversation_id = $conversation_id
),
counted AS (
    SELECT list_min(max(position, $messages::BIGINT)) AS first FROM items WHERE kind = 'message'
),
asked AS (
    SELECT max(seq) AS first FROM messages
    WHERE conversation_id = $conversation_id AND role = 'user' AND seq IN (SELECT position FROM items WHERE kind = 'message')
)
SELECT i.position, i.kind, i.ref, i.tokens, coalesce(s.depth, 0), coalesce(m.role, '')
FROM items AS i
CROSS JOIN counted
CROSS JOIN asked
LEFT JOIN messages AS m ON i.kind = 'message' AND m.conversation_id = $conversation_id AND m.seq = i.position
LEFT JOIN summaries AS s ON i.kind = 'summary' AND s.id = i.ref
WHERE i.position >= least(counted.first, coalesce(asked.first, counted.first))
ORDER BY i.position;

-- name: context_oldest
-- The oldest items before a position: all summaries, and messages up to so many tokens. Of every run of messages beyond these the
-- first one stands for all, so that what lies between the summaries shows.
WITH items AS (
    SELECT position, kind, ref, tokens, lag(kind) OVER (ORDER BY position) AS before,
        sum(CASE kind WHEN 'message' THEN tokens ELSE 0 END) OVER (ORDER BY position) AS running
    FROM context_items
    WHERE conversation_id = $conversation_id AND position < $before
),
chosen AS (
    SELECT position, kind, ref, tokens, running FROM items
    WHERE kind = 'summary' OR running <= $tokens OR before IS DISTINCT FROM 'message'
)
SELECT i.position, i.kind, i.ref, i.tokens, coalesce(s.depth, 0), coalesce(m.role, ''), i.running::BIGINT
FROM chosen AS i
LEFT JOIN messages AS m ON i.kind = 'message' AND m.conversation_id = $conversation_id AND m.seq = i.position
LEFT JOIN summaries AS s ON i.kind = 'summary' AND s.id = i.ref
ORDER BY i.position;

-- name: context_calls
-- Calls of tools and their results in the messages of a conversation, from one seq to another.
SELECT seq, call_id, output IS NOT NULL FROM parts
WHERE conversation_id = $conversation_id AND seq BETWEEN $from AND $to AND kind = 'tool' AND call_id IS NOT NULL
ORDER BY seq, ordinal;

-- name: context_range
-- Which items stand at positions from one to another now.
SELECT position, ref FROM context_items
WHERE conversation_id = $conversation_id AND position BETWEEN $from AND $to
ORDER BY position;

-- name: context_remove
DELETE FROM context_items WHERE conversation_id = $conversation_id AND position BETWEEN $from AND $to;

-- name: context_tokens
-- What an item costs, after what it refers to was changed.
UPDATE context_items SET tokens = $tokens WHERE conversation_id = $conversation_id AND ref = $ref;
