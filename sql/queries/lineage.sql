-- What came from what, and what was withdrawn.

-- name: lineage_above
-- What these came from: edges from a source to what was made from it.
SELECT source, kind, memory_id, 'memory', how, derivation, part, label, said_at, noted_at
FROM memory_sources
WHERE memory_id IN (SELECT unnest($ids::VARCHAR[]))
UNION ALL
SELECT u.source, u.kind, u.summary_id, 'summary', 'summarised', 0, NULL, NULL, NULL, s.created_at
FROM summary_sources AS u
JOIN summaries AS s ON s.id = u.summary_id
WHERE u.summary_id IN (SELECT unnest($ids::VARCHAR[]))
ORDER BY ALL;

-- name: lineage_below
-- What came from these, likewise.
SELECT source, kind, memory_id, 'memory', how, derivation, part, label, said_at, noted_at
FROM memory_sources
WHERE source IN (SELECT unnest($ids::VARCHAR[]))
UNION ALL
SELECT u.source, u.kind, u.summary_id, 'summary', 'summarised', 0, NULL, NULL, NULL, s.created_at
FROM summary_sources AS u
JOIN summaries AS s ON s.id = u.summary_id
WHERE u.source IN (SELECT unnest($ids::VARCHAR[]))
ORDER BY ALL;

-- name: lineage_nodes
-- What these ids name, whose it is, and how it stands.
SELECT 'memory', id, text, scope, created_at,
    CASE WHEN retracted_by IS NOT NULL THEN 'retracted' WHEN retired_at IS NOT NULL THEN 'forgotten' WHEN invalidated_at IS NOT NULL THEN 'superseded' END,
    NULL AS conversation_id
FROM memories
WHERE id IN (SELECT unnest($ids::VARCHAR[]))
UNION ALL
SELECT 'message', m.id, coalesce(nullif(m.text, ''), m.caption), c.scope, m.said_at, m.set_aside, c.id
FROM messages AS m
JOIN conversations AS c ON c.id = m.conversation_id
WHERE m.id IN (SELECT unnest($ids::VARCHAR[]))
UNION ALL
SELECT 'summary', s.id, s.text, c.scope, s.latest_at, NULL, c.id
FROM summaries AS s
JOIN conversations AS c ON c.id = s.conversation_id
WHERE s.id IN (SELECT unnest($ids::VARCHAR[]))
UNION ALL
SELECT 'import', id, name, NULL, started_at,
    CASE WHEN id IN (SELECT source FROM retractions WHERE undone_at IS NULL) THEN 'retracted' END, NULL
FROM imports
WHERE id IN (SELECT unnest($ids::VARCHAR[]))
UNION ALL
SELECT 'call', k.id, k.label || ', ' || k.model, c.scope, k.started_at,
    CASE WHEN k.id IN (SELECT source FROM retractions WHERE undone_at IS NULL) THEN 'retracted' END, k.conversation_id
FROM model_calls AS k
LEFT JOIN conversations AS c ON c.id = k.conversation_id
WHERE k.id IN (SELECT unnest($ids::VARCHAR[]));

-- name: lineage_ending
-- Whatever has an id with that ending, in the scopes that the caller may read.
SELECT id
FROM (
    SELECT id, scope FROM memories
    UNION ALL
    SELECT m.id, c.scope FROM messages AS m JOIN conversations AS c ON c.id = m.conversation_id
    UNION ALL
    SELECT s.id, c.scope FROM summaries AS s JOIN conversations AS c ON c.id = s.conversation_id
    UNION ALL
    SELECT id, NULL FROM imports
    UNION ALL
    SELECT k.id, c.scope FROM model_calls AS k LEFT JOIN conversations AS c ON c.id = k.conversation_id
)
WHERE ends_with(id, $ending) AND ($scopes::VARCHAR[] IS NULL OR scope IS NULL OR scope = ANY ($scopes::VARCHAR[]))
ORDER BY id
LIMIT 6;

-- name: lineage_withdrawn
-- Which of these are withdrawn by retractions that stand, but for one: since when, by which, and whether they themselves or for what they came from. What a
-- summary said when it was made anew is withdrawn.
SELECT source, retracted_at, id, true FROM retractions
WHERE undone_at IS NULL AND id <> $but AND source IN (SELECT unnest($ids::VARCHAR[])) AND kind <> 'summary'
UNION ALL
SELECT e.id, r.retracted_at, r.id, true
FROM retraction_effects AS e
JOIN retractions AS r ON r.id = e.retraction_id
WHERE r.undone_at IS NULL AND r.id <> $but AND e.kind = 'summary' AND e.effect IN ('rewritten', 'removed') AND e.id IN (SELECT unnest($ids::VARCHAR[]))
UNION ALL
SELECT id, updated_at, retracted_by, false FROM memories
WHERE retracted_by IS NOT NULL AND id IN (SELECT unnest($ids::VARCHAR[]))
ORDER BY ALL;

-- name: lineage_withdrawn_by
-- The memories that a retraction has withdrawn.
SELECT id FROM memories WHERE retracted_by = $retraction_id ORDER BY id;

-- name: lineage_successions
-- Which memories ended which: those that are named on either side, in the order it was noted. In files from before, and of imports, only the memories know.
SELECT memory_id, source, ended_at, keyed, noted_at
FROM memory_sources
WHERE how = 'superseded' AND (memory_id IN (SELECT unnest($ids::VARCHAR[])) OR source IN (SELECT unnest($ids::VARCHAR[])))
ORDER BY noted_at, memory_id, source;

-- name: lineage_drafts
-- How many drafts were drawn from a message, or by a call.
SELECT count(*) FROM drafts WHERE list_contains(message_ids, $id);

-- name: retraction_by_id
SELECT id, kind, source, reason, agent, retracted_at, undone_at FROM retractions
WHERE id = $id OR strlen($id) >= 6 AND ends_with(id, $id)
ORDER BY id;

-- name: retraction_list
-- Retractions, the newest first.
SELECT id, kind, source, reason, agent, retracted_at, undone_at FROM retractions
ORDER BY retracted_at DESC, id DESC
LIMIT $limit;

-- name: retraction_of
-- The retraction that stands of a source.
SELECT id FROM retractions WHERE source = $source AND undone_at IS NULL;

-- name: retraction_undone
UPDATE retractions SET undone_at = $at::TIMESTAMP WHERE id = $id;

-- name: retraction_effects
-- What a retraction did, in its order.
SELECT kind, id, effect, because, was::VARCHAR, became::VARCHAR FROM retraction_effects WHERE retraction_id = $id ORDER BY ordinal;

-- name: retraction_images
-- What a memory was before retractions changed it, the newest first, and whether it was withdrawn then.
SELECT e.was::VARCHAR, e.effect = 'withdrawn'
FROM retraction_effects AS e
JOIN retractions AS r ON r.id = e.retraction_id
WHERE e.id = $id AND e.kind = 'memory' AND e.was IS NOT NULL
ORDER BY r.retracted_at DESC, r.id DESC, e.ordinal DESC;

-- name: lineage_purge
DELETE FROM retraction_effects WHERE id IN (SELECT unnest($ids::VARCHAR[]));

-- name: lineage_purge_summaries
-- What summaries of a conversation said before.
UPDATE retraction_effects SET was = NULL, became = NULL
WHERE kind = 'summary' AND was IS NOT NULL AND json_extract_string(was, '$.conversation_id') = $conversation_id;

-- name: lineage_gone
-- Messages that memories came from, or that were withdrawn, and that are gone with their conversation.
SELECT DISTINCT id
FROM (
    SELECT source AS id FROM memory_sources WHERE kind = 'message'
    UNION ALL
    SELECT id FROM retraction_effects WHERE kind = 'message'
)
WHERE id NOT IN (SELECT id FROM messages);
