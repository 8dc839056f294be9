-- What was said, when, and how often. A list that has '*' is no restriction.

-- name: search_recent
-- The newest messages, with as much of each as is shown.
SELECT m.id, m.conversation_id, m.seq, m.role, m.speaker, m.source_kind, m.said_at, left(coalesce(nullif(m.text, ''), m.caption, ''), $characters::BIGINT)
FROM messages AS m
WHERE m.conversation_id = ANY ($conversations::VARCHAR[]) AND m.said_at >= $since::TIMESTAMP AND m.said_at < $until::TIMESTAMP
  AND (list_contains($roles::VARCHAR[], '*') OR list_contains($roles::VARCHAR[], m.role))
  AND (list_contains($speakers::VARCHAR[], '*') OR list_contains($speakers::VARCHAR[], lower(m.speaker)))
  AND (list_contains($source_kinds::VARCHAR[], '*') OR list_contains($source_kinds::VARCHAR[], coalesce(m.source_kind, 'talk')))
  AND NOT list_contains($not_source_kinds::VARCHAR[], coalesce(m.source_kind, 'talk'))
  AND coalesce(m.set_aside, '') NOT IN ('retracted', 'purged')
ORDER BY m.said_at DESC, m.doc_no DESC
LIMIT $limit;

-- name: search_gaps
-- The silences of so many microseconds or more between one message and the next of those asked, in each conversation, newest first.
SELECT g.conversation_id, c.name, g.before, g.began_at, g.after, g.ended_at
FROM (
    SELECT m.conversation_id, m.id AS before, m.said_at AS began_at, lead(m.id) OVER talk AS after, lead(m.said_at) OVER talk AS ended_at
    FROM messages AS m
    WHERE m.conversation_id = ANY ($conversations::VARCHAR[]) AND m.said_at >= $since::TIMESTAMP AND m.said_at < $until::TIMESTAMP
      AND (list_contains($roles::VARCHAR[], '*') OR list_contains($roles::VARCHAR[], m.role))
      AND (list_contains($speakers::VARCHAR[], '*') OR list_contains($speakers::VARCHAR[], lower(m.speaker)))
      AND (list_contains($source_kinds::VARCHAR[], '*') OR list_contains($source_kinds::VARCHAR[], coalesce(m.source_kind, 'talk')))
      AND NOT list_contains($not_source_kinds::VARCHAR[], coalesce(m.source_kind, 'talk'))
      AND coalesce(m.set_aside, '') NOT IN ('retracted', 'purged')
    WINDOW talk AS (PARTITION BY m.conversation_id ORDER BY m.seq)
) AS g
JOIN conversations AS c ON c.id = g.conversation_id
WHERE epoch_us(g.ended_at) - epoch_us(g.began_at) >= $least::BIGINT
ORDER BY g.began_at DESC, g.before DESC
LIMIT $limit;

-- name: search_tally
-- How many messages there are of each, as $by says, with what they cost and the first and last of them.
SELECT CASE $by WHEN 'role' THEN m.role WHEN 'speaker' THEN coalesce(m.speaker, '') WHEN 'source_kind' THEN coalesce(m.source_kind, 'talk')
        WHEN 'conversation' THEN c.name WHEN 'day' THEN strftime(m.said_at, '%Y-%m-%d') WHEN 'month' THEN strftime(m.said_at, '%Y-%m')
        WHEN 'hour' THEN strftime(m.said_at, '%H') ELSE 'all' END AS name,
    count(*) AS messages, coalesce(sum(m.tokens), 0)::BIGINT AS tokens, min(m.said_at), max(m.said_at)
FROM messages AS m
JOIN conversations AS c ON c.id = m.conversation_id
WHERE m.conversation_id = ANY ($conversations::VARCHAR[]) AND m.said_at >= $since::TIMESTAMP AND m.said_at < $until::TIMESTAMP
  AND (list_contains($roles::VARCHAR[], '*') OR list_contains($roles::VARCHAR[], m.role))
  AND (list_contains($speakers::VARCHAR[], '*') OR list_contains($speakers::VARCHAR[], lower(m.speaker)))
  AND (list_contains($source_kinds::VARCHAR[], '*') OR list_contains($source_kinds::VARCHAR[], coalesce(m.source_kind, 'talk')))
  AND NOT list_contains($not_source_kinds::VARCHAR[], coalesce(m.source_kind, 'talk'))
  AND coalesce(m.set_aside, '') NOT IN ('retracted', 'purged')
GROUP BY 1
ORDER BY CASE WHEN $by IN ('day', 'month', 'hour') THEN 0 ELSE -count(*) END, name;
