-- What became of conversations: their contexts, their summaries, and what compacting saved.

-- The current context of each conversation, an item per row; ordinal counts from 0.
CREATE OR REPLACE VIEW report.context_items AS
SELECT c.name AS conversation, c.id AS conversation_id, row_number() OVER (PARTITION BY i.conversation_id ORDER BY i.position) - 1 AS ordinal,
    i.position, i.kind, i.ref, i.tokens, s.depth, coalesce(m.seq, s.first_seq) AS first_seq, coalesce(m.seq, s.last_seq) AS last_seq,
    coalesce(m.text, s.text) AS text
FROM main.context_items AS i
JOIN main.conversations AS c ON c.id = i.conversation_id
LEFT JOIN main.messages AS m ON m.id = i.ref
LEFT JOIN main.summaries AS s ON s.id = i.ref;

-- Summaries as trees: those that no other stands for are the roots, whose parent is NULL. Ordered by conversation and path, what a
-- summary was made from comes right below it.
CREATE OR REPLACE VIEW report.summary_tree AS
WITH RECURSIVE tree AS (
    SELECT s.id, NULL::VARCHAR AS parent, [s.first_seq] AS path, [s.id] AS line
    FROM main.summaries AS s
    WHERE s.id NOT IN (SELECT source FROM main.summary_sources WHERE kind = 'summary')
    UNION ALL
    SELECT u.source, t.id, list_append(t.path, u.ordinal), list_append(t.line, u.source)
    FROM tree AS t
    JOIN main.summary_sources AS u ON u.summary_id = t.id AND u.kind = 'summary'
    WHERE NOT list_contains(t.line, u.source) -- in a damaged file one may stand for itself
)
SELECT s.id, c.name AS conversation, s.conversation_id, s.depth, s.kind, t.parent, t.path, s.tokens, s.source_tokens, s.messages, s.descendants,
    s.first_seq, s.last_seq, s.earliest_at, s.latest_at, s.level, s.model, s.fallback, i.ref IS NOT NULL AS in_context, s.text
FROM tree AS t
JOIN main.summaries AS s ON s.id = t.id
JOIN main.conversations AS c ON c.id = s.conversation_id
LEFT JOIN main.context_items AS i ON i.ref = s.id;

-- What each pass of compaction saved, in tokens of the context.
CREATE OR REPLACE VIEW report.compaction_savings AS
SELECT p.id, c.name AS conversation, p.conversation_id, row_number() OVER (PARTITION BY p.conversation_id ORDER BY p.started_at, p.id) AS pass,
    p.summary_id, p.kind, p.depth, p.items, p.tokens_before, p.tokens_after, p.tokens_before - p.tokens_after AS saved,
    p.level, p.model, p.calls, p.started_at, epoch(p.finished_at) - epoch(p.started_at) AS seconds
FROM main.compactions AS p
JOIN main.conversations AS c ON c.id = p.conversation_id;

-- How each conversation is: what it holds, what of it a model is shown, and what waits to be done. The fresh tail is counted as by
-- default: the newest 64 messages.
CREATE OR REPLACE VIEW report.conversation_health AS
WITH said AS (
    SELECT conversation_id, count(*) AS messages, sum(tokens)::BIGINT AS tokens, max(said_at) AS last_said_at, max(recorded_at) AS last_recorded_at
    FROM main.messages
    GROUP BY conversation_id
),
aside AS (
    SELECT conversation_id, map_from_entries(list((set_aside, n) ORDER BY set_aside)) AS counts
    FROM (SELECT conversation_id, set_aside, count(*) AS n FROM main.messages WHERE set_aside IS NOT NULL GROUP BY ALL)
    GROUP BY conversation_id
),
shown AS (
    SELECT conversation_id, count(*) AS items, sum(tokens)::BIGINT AS tokens, count(*) FILTER (kind = 'message') AS raw,
        coalesce(sum(tokens) FILTER (kind = 'message'), 0)::BIGINT AS raw_tokens,
        coalesce(sum(tokens) FILTER (kind = 'message' AND newer > 64), 0)::BIGINT AS outside
    FROM (
        SELECT conversation_id, kind, tokens, count(*) FILTER (kind = 'message') OVER (PARTITION BY conversation_id ORDER BY position DESC) AS newer
        FROM main.context_items
    )
    GROUP BY conversation_id
),
summed AS (
    SELECT conversation_id, map_from_entries(list((depth, n) ORDER BY depth)) AS depths, sum(fallbacks)::BIGINT AS fallbacks
    FROM (SELECT conversation_id, depth, count(*) AS n, count(*) FILTER (fallback) AS fallbacks FROM main.summaries GROUP BY ALL)
    GROUP BY conversation_id
),
compacted AS (
    SELECT conversation_id, max(finished_at) AS at FROM main.compactions GROUP BY conversation_id
),
owed AS (
    SELECT conversation_id, arg_max(reason, requested_at) AS reason FROM main.compaction_debts GROUP BY conversation_id
),
ingested AS (
    SELECT conversation_id, max(ingested_at) AS at FROM main.cursors GROUP BY conversation_id
)
SELECT c.id, c.name AS conversation, c.scope, c.active, coalesce(m.messages, 0) AS messages, coalesce(m.tokens, 0) AS message_tokens,
    coalesce(i.items, 0) AS context_items, coalesce(i.tokens, 0) AS context_tokens, coalesce(i.raw, 0) AS raw_messages,
    coalesce(i.raw_tokens, 0) AS raw_tokens, coalesce(i.outside, 0) AS raw_tokens_outside_tail, s.depths AS summaries_by_depth,
    coalesce(s.fallbacks, 0) AS fallbacks, a.counts AS set_aside, m.last_said_at, m.last_recorded_at, n.at AS last_ingested_at,
    p.at AS last_compacted_at, d.reason AS pending
FROM main.conversations AS c
LEFT JOIN said AS m ON m.conversation_id = c.id
LEFT JOIN aside AS a ON a.conversation_id = c.id
LEFT JOIN shown AS i ON i.conversation_id = c.id
LEFT JOIN summed AS s ON s.conversation_id = c.id
LEFT JOIN compacted AS p ON p.conversation_id = c.id
LEFT JOIN owed AS d ON d.conversation_id = c.id
LEFT JOIN ingested AS n ON n.conversation_id = c.id;

-- Silences of an hour or more between what users said themselves, in each conversation.
CREATE OR REPLACE VIEW report.gaps AS
SELECT c.name AS conversation, g.conversation_id, c.scope, g.before, g.began_at, g.after, g.ended_at,
    (epoch_us(g.ended_at) - epoch_us(g.began_at)) / 3600000000.0 AS hours
FROM (
    SELECT conversation_id, id AS before, said_at AS began_at, lead(id) OVER talk AS after, lead(said_at) OVER talk AS ended_at
    FROM main.messages
    WHERE role = 'user' AND coalesce(set_aside, '') NOT IN ('retracted', 'purged')
      AND coalesce(source_kind, '') NOT IN ('scheduled', 'briefing', 'subtask', 'heartbeat', 'cron')
    WINDOW talk AS (PARTITION BY conversation_id ORDER BY seq)
) AS g
JOIN main.conversations AS c ON c.id = g.conversation_id
WHERE g.ended_at >= g.began_at + INTERVAL 1 HOUR;

-- What stands in the Markdown files of hosts.
CREATE OR REPLACE VIEW report.notes AS
SELECT n.id, f.folder, f.path, f.scope, n.first_line, n.last_line, n.text, f.modified_at, f.indexed_at
FROM main.notes AS n
JOIN main.note_files AS f ON f.id = n.file_id;

-- What models were shown: each context that was built and kept, and builds that failed. items are how many were shown; drifted says of builds of one
-- conversation and preset whether the preset has changed since the build before.
CREATE OR REPLACE VIEW report.context_snapshots AS
SELECT s.id, c.name AS conversation, s.conversation_id, s.turn, s.until_seq, s.preset, s.status, s.hash, s.config_hash,
    s.config_hash <> lag(s.config_hash) OVER (PARTITION BY s.conversation_id, s.preset ORDER BY s.built_at, s.id) AS drifted,
    (s.counts ->> 'messages')::INTEGER AS messages, (s.counts ->> 'messages_left')::INTEGER AS messages_left, (s.counts ->> 'summaries')::INTEGER AS summaries,
    (s.counts ->> 'memory_pointers')::INTEGER AS memory_pointers, (s.counts ->> 'tool_snippets')::INTEGER AS tool_snippets,
    (s.counts ->> 'cost')::INTEGER AS cost, (s.counts ->> 'budget')::INTEGER AS budget, json_array_length(s.items)::INTEGER AS items,
    s.selection ->> '$.selection.outcome' AS selection, s.trimmed, s.trim_note ->> 'note' AS note, s.over_budget, s.error_class, s.stage, s.next_action, s.error, s.built_at
FROM main.context_snapshots AS s
JOIN main.conversations AS c ON c.id = s.conversation_id;
