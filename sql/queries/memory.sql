-- name: memory_by_id
-- One memory, forgotten or not, with its relations.
SELECT m.* REPLACE (support_info::VARCHAR AS support_info, contexts::VARCHAR AS contexts, sources::VARCHAR AS sources,
                     history::VARCHAR AS history, extra::VARCHAR AS extra),
    (SELECT to_json(list({'type': r.type, 'target_id': r.target_id, 'weight': r.weight} ORDER BY r.position))
     FROM memory_relations AS r WHERE r.memory_id = m.id)::VARCHAR AS relations
FROM memories AS m
WHERE m.id = $id;

-- name: memory_list
-- Memories by filters, newest first. standing: current, superseded, expired, forgotten; NULL is all but forgotten, 'any' all.
WITH standings AS (
    SELECT m.*,
        CASE WHEN retired_at IS NOT NULL THEN 'forgotten'
             WHEN invalidated_at <= $at::TIMESTAMP THEN 'superseded'
             WHEN valid_until <= $at::TIMESTAMP THEN 'expired'
             ELSE 'current' END AS standing
    FROM memories AS m
)
SELECT s.* EXCLUDE (standing) REPLACE (support_info::VARCHAR AS support_info, contexts::VARCHAR AS contexts, sources::VARCHAR AS sources,
                     history::VARCHAR AS history, extra::VARCHAR AS extra),
    (SELECT to_json(list({'type': r.type, 'target_id': r.target_id, 'weight': r.weight} ORDER BY r.position))
     FROM memory_relations AS r WHERE r.memory_id = s.id)::VARCHAR AS relations
FROM standings AS s
WHERE ($scopes::VARCHAR[] IS NULL OR scope = ANY ($scopes::VARCHAR[]))
  AND ($categories::VARCHAR[] IS NULL OR category = ANY ($categories::VARCHAR[]))
  AND ($tiers::VARCHAR[] IS NULL OR tier = ANY ($tiers::VARCHAR[]))
  AND ($states::VARCHAR[] IS NULL OR state = ANY ($states::VARCHAR[]))
  AND CASE $standing::VARCHAR WHEN 'any' THEN true ELSE coalesce(standing = $standing::VARCHAR, standing <> 'forgotten') END
  AND ($since::TIMESTAMP IS NULL OR created_at >= $since::TIMESTAMP)
  AND ($until::TIMESTAMP IS NULL OR created_at < $until::TIMESTAMP)
  AND has_metadata(extra, $pointers::VARCHAR[], $values::VARCHAR[])
ORDER BY created_at DESC, id DESC
LIMIT $limit OFFSET $offset;

-- name: memory_export
-- Every memory, in the order it was recorded.
SELECT m.* REPLACE (support_info::VARCHAR AS support_info, contexts::VARCHAR AS contexts, sources::VARCHAR AS sources,
                     history::VARCHAR AS history, extra::VARCHAR AS extra),
    (SELECT to_json(list({'type': r.type, 'target_id': r.target_id, 'weight': r.weight} ORDER BY r.position))
     FROM memory_relations AS r WHERE r.memory_id = m.id)::VARCHAR AS relations
FROM memories AS m
WHERE $scopes::VARCHAR[] IS NULL OR scope = ANY ($scopes::VARCHAR[])
ORDER BY doc_no;

-- name: memories_numbered
-- The memories of documents {from} to {to}, in the order they were recorded; what the index is made anew from.
SELECT m.* REPLACE (support_info::VARCHAR AS support_info, contexts::VARCHAR AS contexts, sources::VARCHAR AS sources,
                     history::VARCHAR AS history, extra::VARCHAR AS extra),
    NULL::VARCHAR AS relations
FROM memories AS m
WHERE doc_no BETWEEN {from} AND {to}
ORDER BY doc_no;

-- name: memory_seats
-- The last stand in the talk of these source sessions. A memory that was moved to another scope since keeps its place in the session,
-- and no other may have it.
SELECT s.scope, s.source_session, s.session_no, max(d.place)
FROM (SELECT m.scope, m.source_session, min(d.session_no) AS session_no
      FROM memories AS m
      JOIN documents AS d USING (doc_no)
      WHERE m.source_session IN (SELECT unnest($sessions::VARCHAR[]))
      GROUP BY m.scope, m.source_session) AS s
JOIN documents AS d USING (session_no)
GROUP BY s.scope, s.source_session, s.session_no;

-- name: memories_by_id
SELECT m.* REPLACE (support_info::VARCHAR AS support_info, contexts::VARCHAR AS contexts, sources::VARCHAR AS sources,
                     history::VARCHAR AS history, extra::VARCHAR AS extra),
    NULL::VARCHAR AS relations
FROM memories AS m
WHERE m.id = ANY ($ids::VARCHAR[]);

-- name: memory_taken
-- Which of these ids are in use.
SELECT id FROM memories WHERE id = ANY ($ids::VARCHAR[]);

-- name: memory_by_key
-- Memories that were written with these keys of the caller's; a key belongs to a scope.
SELECT id, caller_key, scope FROM memories
WHERE caller_key = ANY ($keys::VARCHAR[]) AND retired_at IS NULL;

-- name: memory_by_text
-- Current memories of equal text.
SELECT id, text, scope FROM memories
WHERE text = ANY ($texts::VARCHAR[]) AND retired_at IS NULL AND (invalidated_at IS NULL OR invalidated_at > $at::TIMESTAMP);

-- name: memory_by_fact
-- Current memories of these fact keys, the newest last.
SELECT id, fact_key, scope, valid_from FROM memories
WHERE fact_key = ANY ($fact_keys::VARCHAR[]) AND retired_at IS NULL AND superseded_by IS NULL AND (valid_until IS NULL OR valid_until > $at::TIMESTAMP)
ORDER BY valid_from, doc_no;

-- name: memory_said
-- Memories of equal text, forgotten and superseded ones too, with what else tells them apart where there is no id.
SELECT id, text, scope, category, created_at FROM memories
WHERE text = ANY ($texts::VARCHAR[]);

-- name: memory_succession
-- What memories say of who replaced whom: those that are named, and those that say one of these ids replaced them.
SELECT id, supersedes, superseded_by FROM memories
WHERE id = ANY ($named::VARCHAR[]) OR superseded_by = ANY ($ids::VARCHAR[])
ORDER BY doc_no;

-- name: memories_there
-- Which of these memories the file has.
SELECT id FROM memories WHERE id IN (SELECT unnest($ids::VARCHAR[]));

-- name: memory_sources_named
-- What ids name that a memory is said to come from, in which scope, and whether it can be recalled, or of an import whether it is not retracted.
SELECT owner_id, kind::VARCHAR, scope, live FROM documents WHERE owner_id IN (SELECT unnest($ids::VARCHAR[]))
UNION ALL
SELECT id, 'import', NULL, id NOT IN (SELECT source FROM retractions WHERE undone_at IS NULL) FROM imports WHERE id IN (SELECT unnest($ids::VARCHAR[]));

-- name: memory_derivations
-- The number of a memory's next derivation.
SELECT coalesce(max(derivation), 0) + 1 FROM memory_sources WHERE memory_id = $id;

-- name: memory_sources_purge
-- What a memory that is purged came from, and what came from it.
DELETE FROM memory_sources WHERE memory_id = $id OR source = $id;

-- name: memory_sources_gone
DELETE FROM memory_sources WHERE source IN (SELECT unnest($ids::VARCHAR[]));

-- name: memory_stand
SELECT session_no, place FROM documents WHERE doc_no = $doc_no;

-- name: memory_delete
DELETE FROM memories WHERE id = $id;

-- name: relations_delete
DELETE FROM memory_relations WHERE memory_id = $id;

-- name: relations_to
-- Memories that speak of this one.
UPDATE memories SET
    supersedes = CASE WHEN supersedes = $id THEN NULL ELSE supersedes END,
    superseded_by = CASE WHEN superseded_by = $id THEN NULL ELSE superseded_by END,
    canonical_id = CASE WHEN canonical_id = $id THEN NULL ELSE canonical_id END
WHERE supersedes = $id OR superseded_by = $id OR canonical_id = $id;

-- name: relations_to_delete
DELETE FROM memory_relations WHERE target_id = $id;

-- name: relations_of
-- The relations of some memories to others that stand, in the scopes that the caller may read, whoever of both says so: from whom to whom, and whether the former says it.
SELECT r.memory_id, r.target_id, r.type, coalesce(r.weight, 1), true AS says
FROM memory_relations AS r
JOIN memories AS m ON m.id = r.target_id
WHERE r.memory_id = ANY ($ids::VARCHAR[]) AND m.retired_at IS NULL AND ($scopes::VARCHAR[] IS NULL OR m.scope = ANY ($scopes::VARCHAR[]))
  AND ($types::VARCHAR[] IS NULL OR r.type = ANY ($types::VARCHAR[]))
UNION ALL
SELECT r.target_id, r.memory_id, r.type, coalesce(r.weight, 1), false
FROM memory_relations AS r
JOIN memories AS m ON m.id = r.memory_id
WHERE r.target_id = ANY ($ids::VARCHAR[]) AND m.retired_at IS NULL AND ($scopes::VARCHAR[] IS NULL OR m.scope = ANY ($scopes::VARCHAR[]))
  AND ($types::VARCHAR[] IS NULL OR r.type = ANY ($types::VARCHAR[]))
ORDER BY 4 DESC, 2, 3, 5 DESC;

-- name: memory_ending
-- Ids of memories with that ending, in the scopes that the caller may read.
SELECT id FROM memories
WHERE ends_with(id, $ending) AND ($scopes::VARCHAR[] IS NULL OR scope = ANY ($scopes::VARCHAR[]))
ORDER BY id LIMIT 6;

-- name: memory_used
-- Notes what use made of a memory. Only numbers and times: no text comes from nothing.
UPDATE memories SET access_count = $access_count, last_accessed_at = $last_accessed_at::TIMESTAMP, last_confirmed_use_at = $last_confirmed_use_at::TIMESTAMP,
    injected_count = $injected_count, last_injected_at = $last_injected_at::TIMESTAMP, bad_recall_count = $bad_recall_count,
    suppressed_until = $suppressed_until::TIMESTAMP, suppressed_until_turn = 0, importance = $importance
WHERE id = $id;

-- name: memory_tiers
-- Which of some memories, or of all that stand, are due for another tier, and why.
WITH looked AS (
    SELECT id, tier, next_tier(tier::VARCHAR, access_count,
        memory_composite(created_at, last_accessed_at, access_count, importance, confidence, tier::VARCHAR, temporal_type, $at::TIMESTAMP,
            half_life := w.half_life, dynamic_half_life := w.dynamic_half_life, modulation := w.modulation, core_beta := w.core_beta, working_beta := w.working_beta, peripheral_beta := w.peripheral_beta,
            recency_part := w.recency_part, frequency_part := w.frequency_part, intrinsic_part := w.intrinsic_part),
        importance, days_between(created_at, $at::TIMESTAMP)) AS due
    FROM memories
    CROSS JOIN report.fading AS w
    WHERE retired_at IS NULL AND (invalidated_at IS NULL OR invalidated_at > $at::TIMESTAMP) AND state = 'confirmed'
      AND ($ids::VARCHAR[] IS NULL OR id IN (SELECT unnest($ids::VARCHAR[])))
)
SELECT id, tier, due.tier, due.reason FROM looked WHERE due IS NOT NULL ORDER BY id;

-- name: memory_settle
-- Gives memories other tiers: one text for another.
UPDATE memories SET tier = s.tier, updated_at = $at::TIMESTAMP
FROM (SELECT unnest($ids::VARCHAR[]) AS id, unnest($tiers::VARCHAR[]) AS tier) AS s
WHERE memories.id = s.id;

-- name: memory_vectors_sampled
-- Some vectors.
SELECT v FROM vectors LIMIT {limit};

-- name: memory_mergeable
-- Memories that are true now, were confirmed and lie in no archive, with their vectors. It is read without parameters, row by row.
SELECT m.doc_no, m.id, m.scope, m.category, coalesce(m.l2_content, m.text), m.importance, epoch_us(m.created_at), v.v
FROM memories AS m
LEFT JOIN vectors AS v USING (doc_no)
WHERE m.retired_at IS NULL AND m.invalidated_at IS NULL AND m.superseded_by IS NULL AND NOT set_apart(m.state, m.layer);

-- name: memory_cosines
-- Which pairs of documents, numbered from 0, have vectors that are so much alike.
SELECT p.n::INTEGER
FROM (SELECT unnest(range(len($a::INTEGER[]))) AS n, unnest($a::INTEGER[]) AS a, unnest($b::INTEGER[]) AS b) AS p
JOIN vectors AS x ON x.doc_no = p.a
JOIN vectors AS y ON y.doc_no = p.b
WHERE array_inner_product(x.v, y.v) >= $least::FLOAT
ORDER BY p.n;

-- name: memory_expired
-- Memories that came to their end since a time, and are in no way ended otherwise.
SELECT id FROM memories
WHERE valid_until <= $at::TIMESTAMP AND valid_until > $since::TIMESTAMP AND retired_at IS NULL AND invalidated_at IS NULL AND state <> 'archived'
ORDER BY valid_until, id;

-- name: memory_retainable
-- What retention looks at: all memories, whether they stand or not, with their last use.
SELECT id, category, tier, layer, scope, source, importance, created_at, greatest(created_at, coalesce(last_accessed_at, created_at)), access_count,
    retired_at IS NULL AND superseded_by IS NULL AND coalesce(invalidated_at > $at::TIMESTAMP, true)
FROM memories
ORDER BY doc_no;
