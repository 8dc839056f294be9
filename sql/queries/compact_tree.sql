-- name: tree_sources
-- Which summaries of a conversation were made from which.
SELECT u.summary_id, u.source
FROM summary_sources AS u
JOIN summaries AS s ON s.id = u.summary_id
WHERE s.conversation_id = $conversation_id AND u.kind = 'summary'
ORDER BY u.summary_id, u.ordinal;

-- name: tree_context
-- The context of a conversation: each summary, and each run of messages without a summary in between.
SELECT kind, any_value(ref) AS ref, min(position), max(position), count(*), sum(tokens)::BIGINT, min(said_at), max(said_at)
FROM (
    SELECT i.kind, i.ref, i.position, i.tokens, m.said_at, count(*) FILTER (i.kind = 'summary') OVER (ORDER BY i.position) AS run
    FROM context_items AS i
    LEFT JOIN messages AS m ON m.id = i.ref
    WHERE i.conversation_id = $conversation_id
)
GROUP BY kind, run
ORDER BY min(position);
