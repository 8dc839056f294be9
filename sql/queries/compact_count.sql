-- What summaries say of their sources, counted from the bottom up. Each statement changes nothing that is right, and may be run again.

-- name: doctor_sources
-- Numbers the sources of a summary from 0, in the order of their messages.
UPDATE summary_sources SET ordinal = n.ordinal
FROM (
    SELECT u.rowid AS row, row_number() OVER (PARTITION BY u.summary_id ORDER BY coalesce(m.seq, s.first_seq), u.ordinal, u.rowid) - 1 AS ordinal
    FROM summary_sources AS u
    LEFT JOIN messages AS m ON m.id = u.source
    LEFT JOIN summaries AS s ON s.id = u.source
) AS n
WHERE n.row = summary_sources.rowid AND n.ordinal <> summary_sources.ordinal;

-- name: doctor_leaves
-- What leaves say of their messages.
UPDATE summaries SET kind = 'leaf', depth = 0, messages = n.messages, source_tokens = n.tokens, descendants = 0, descendant_tokens = 0,
    first_seq = n.first_seq, last_seq = n.last_seq, earliest_at = n.earliest_at, latest_at = n.latest_at
FROM (
    SELECT u.summary_id, count(*) AS messages, sum(m.tokens) AS tokens, min(m.seq) AS first_seq, max(m.seq) AS last_seq,
        min(m.said_at) AS earliest_at, max(m.said_at) AS latest_at
    FROM summary_sources AS u
    JOIN messages AS m ON m.id = u.source
    GROUP BY u.summary_id
    HAVING count(*) = (SELECT count(*) FROM summary_sources AS all_of WHERE all_of.summary_id = u.summary_id)
) AS n
WHERE n.summary_id = summaries.id
  AND (summaries.kind, summaries.depth, summaries.messages, summaries.source_tokens, summaries.descendants, summaries.descendant_tokens,
       summaries.first_seq, summaries.last_seq, summaries.earliest_at, summaries.latest_at)
    IS DISTINCT FROM ('leaf', 0, n.messages, n.tokens, 0, 0, n.first_seq, n.last_seq, n.earliest_at, n.latest_at);

-- name: doctor_condensed
-- What other summaries say of those they were made from, one level at a time: to be run until it changes nothing. Those that stand for
-- themselves would grow for ever, and are left alone.
WITH RECURSIVE uphill AS (
    SELECT s.id
    FROM summaries AS s
    JOIN summary_sources AS u ON u.summary_id = s.id AND u.kind = 'summary'
    JOIN summaries AS below ON below.id = u.source
    WHERE below.depth >= s.depth
),
below AS (
    SELECT id AS top, id FROM uphill
    UNION
    SELECT b.top, u.source FROM below AS b JOIN summary_sources AS u ON u.summary_id = b.id AND u.kind = 'summary'
)
UPDATE summaries SET kind = 'condensed', depth = n.depth, messages = n.messages, source_tokens = n.tokens, descendants = n.descendants,
    descendant_tokens = n.descendant_tokens, first_seq = n.first_seq, last_seq = n.last_seq, earliest_at = n.earliest_at, latest_at = n.latest_at
FROM (
    SELECT u.summary_id, 1 + max(s.depth) AS depth, sum(s.messages) AS messages, sum(s.source_tokens) AS tokens, sum(1 + s.descendants) AS descendants,
        sum(s.tokens + s.descendant_tokens) AS descendant_tokens, min(s.first_seq) AS first_seq, max(s.last_seq) AS last_seq,
        min(s.earliest_at) AS earliest_at, max(s.latest_at) AS latest_at
    FROM summary_sources AS u
    JOIN summaries AS s ON s.id = u.source
    WHERE u.summary_id NOT IN (SELECT b.top FROM below AS b JOIN summary_sources AS c ON c.summary_id = b.id AND c.source = b.top)
    GROUP BY u.summary_id
    HAVING count(*) = (SELECT count(*) FROM summary_sources AS all_of WHERE all_of.summary_id = u.summary_id) AND min(s.depth) = max(s.depth)
) AS n
WHERE n.summary_id = summaries.id
  AND (summaries.kind, summaries.depth, summaries.messages, summaries.source_tokens, summaries.descendants, summaries.descendant_tokens,
       summaries.first_seq, summaries.last_seq, summaries.earliest_at, summaries.latest_at)
    IS DISTINCT FROM ('condensed', n.depth, n.messages, n.tokens, n.descendants, n.descendant_tokens, n.first_seq, n.last_seq, n.earliest_at, n.latest_at);
