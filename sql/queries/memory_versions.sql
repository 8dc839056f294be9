-- What memories were before they changed.

-- name: version_keep
-- Keeps a memory as it is, which it was known to be until now. A clock that was set back makes a version that nobody could ask for.
INSERT INTO memory_versions BY NAME
SELECT m.*,
    (SELECT to_json(list({'type': r.type, 'target_id': r.target_id, 'weight': r.weight} ORDER BY r.position)) FROM memory_relations AS r WHERE r.memory_id = m.id) AS relations,
    k.known_from, greatest($at::TIMESTAMP, k.known_from) AS known_until
FROM memories AS m
JOIN (
    SELECT m.id, coalesce((SELECT max(known_until) FROM memory_versions WHERE id = $id), (SELECT known_until FROM dropped_versions WHERE id = $id),
        m.recorded_at) AS known_from
    FROM memories AS m
    WHERE m.id = $id
) AS k USING (id)
WHERE m.id = $id;

-- name: version_keep_many
-- Keeps memories as they are, as version_keep does one.
INSERT INTO memory_versions BY NAME
SELECT m.*,
    (SELECT to_json(list({'type': r.type, 'target_id': r.target_id, 'weight': r.weight} ORDER BY r.position)) FROM memory_relations AS r WHERE r.memory_id = m.id) AS relations,
    k.known_from, greatest($at::TIMESTAMP, k.known_from) AS known_until
FROM memories AS m
JOIN (
    SELECT m.id, coalesce(max(v.known_until), any_value(d.known_until), any_value(m.recorded_at)) AS known_from
    FROM memories AS m
    LEFT JOIN memory_versions AS v USING (id)
    LEFT JOIN dropped_versions AS d USING (id)
    WHERE m.id IN (SELECT unnest($ids::VARCHAR[]))
    GROUP BY m.id
) AS k USING (id);

-- name: version_renumber
-- Gives the versions of a text that is none of the present any more the number that its document has from now on.
UPDATE memory_versions SET doc_no = $former WHERE id = $id AND doc_no = $doc_no;

-- name: versions_of
-- The versions of a memory, oldest first.
SELECT v.* EXCLUDE (relations, known_from, known_until) REPLACE (support_info::VARCHAR AS support_info, contexts::VARCHAR AS contexts, sources::VARCHAR AS sources,
                     history::VARCHAR AS history, extra::VARCHAR AS extra),
    relations::VARCHAR AS relations, known_from, known_until
FROM memory_versions AS v
WHERE id = $id
ORDER BY known_from, known_until, doc_no;

-- name: versions_dropped_of
SELECT versions, known_until FROM dropped_versions WHERE id = $id;

-- name: versions_delete
DELETE FROM memory_versions WHERE id = $id;

-- name: versions_dropped_delete
DELETE FROM dropped_versions WHERE id = $id;

-- name: versions_to
-- Versions of memories that speak of one that is purged.
UPDATE memory_versions SET
    supersedes = CASE WHEN supersedes = $id THEN NULL ELSE supersedes END,
    superseded_by = CASE WHEN superseded_by = $id THEN NULL ELSE superseded_by END,
    canonical_id = CASE WHEN canonical_id = $id THEN NULL ELSE canonical_id END,
    relations = to_json(list_filter(json_transform(relations, '[{"type": "VARCHAR", "target_id": "VARCHAR", "weight": "DOUBLE"}]'), lambda r: r.target_id <> $id))
WHERE supersedes = $id OR superseded_by = $id OR canonical_id = $id OR contains(relations::VARCHAR, $id);

-- name: memory_past_documents
-- Texts that have a document of the past, by their numbers {from} to {to}: former ones of memories, and those of forgotten ones, as they were known last, and until when
-- they stood.
SELECT p.* EXCLUDE (relations, known_from, known_until) REPLACE (support_info::VARCHAR AS support_info, contexts::VARCHAR AS contexts, sources::VARCHAR AS sources,
                     history::VARCHAR AS history, extra::VARCHAR AS extra),
    NULL::VARCHAR AS relations, p.known_until
FROM (
    SELECT v.*
    FROM memory_versions AS v
    WHERE v.doc_no BETWEEN {from} AND {to} AND v.doc_no NOT IN (SELECT doc_no FROM memories WHERE doc_no BETWEEN {from} AND {to})
    QUALIFY row_number() OVER (PARTITION BY v.doc_no ORDER BY v.known_until DESC, v.known_from DESC) = 1
    UNION ALL BY NAME
    SELECT m.*, NULL::JSON AS relations, m.recorded_at AS known_from, m.retired_at AS known_until
    FROM memories AS m
    WHERE m.doc_no BETWEEN {from} AND {to} AND m.retired_at IS NOT NULL
      AND NOT EXISTS (FROM dropped_versions AS d WHERE d.id = m.id AND d.known_until >= m.retired_at)
) AS p
ORDER BY p.doc_no;

-- name: memory_past_texts
-- The texts of documents of the past.
SELECT doc_no, text, l0_abstract, l1_overview, l2_content
FROM (
    SELECT doc_no, text, l0_abstract, l1_overview, l2_content FROM memory_versions
    UNION ALL
    SELECT doc_no, text, l0_abstract, l1_overview, l2_content FROM memories WHERE retired_at IS NOT NULL
)
WHERE doc_no = ANY ($doc_nos::INTEGER[])
GROUP BY ALL;

-- name: versions_leaving
SELECT count(*) FROM memory_versions WHERE known_until <= $before::TIMESTAMP;

-- name: versions_drop_begin
-- What is dropped of versions that were known only until before a moment: of every memory how many, until when they were known, and since when the
-- text stood that it went on with. A memory that was forgotten before has no text any more since then.
CREATE OR REPLACE TEMP TABLE leaving_versions AS
WITH gone AS (
    SELECT id, count(*)::INTEGER AS versions, max(known_until) AS known_until
    FROM memory_versions
    WHERE known_until <= TIMESTAMP '{before}'
    GROUP BY id
),
forgotten AS (SELECT id, retired_at FROM memories WHERE retired_at <= TIMESTAMP '{before}'),
next AS (  -- the text that each goes on with
    SELECT g.id, coalesce(arg_min(v.doc_no, (v.known_from, v.known_until)), any_value(m.doc_no)) AS doc_no
    FROM gone AS g
    JOIN memories AS m USING (id)
    LEFT JOIN memory_versions AS v ON v.id = g.id AND v.known_until > TIMESTAMP '{before}'
    GROUP BY g.id
)
SELECT id, coalesce(g.versions, 0) + coalesce(d.versions, 0) AS versions, greatest(g.known_until, f.retired_at, d.known_until) AS known_until,
    coalesce(f.retired_at, (SELECT max(v.known_until) FROM memory_versions AS v WHERE v.id = g.id AND v.known_until <= TIMESTAMP '{before}' AND v.doc_no <> n.doc_no), d.text_from) AS text_from
FROM gone AS g
FULL JOIN forgotten AS f USING (id)
LEFT JOIN next AS n USING (id)
LEFT JOIN dropped_versions AS d USING (id);

-- name: versions_drop
-- Drops them.
DELETE FROM dropped_versions WHERE id IN (SELECT id FROM temp.main.leaving_versions);
INSERT INTO dropped_versions SELECT id, versions, known_until, text_from FROM temp.main.leaving_versions;
DELETE FROM memory_versions WHERE known_until <= TIMESTAMP '{before}';

-- name: versions_dropped_documents
-- Documents of the past that nothing needs any more.
SELECT doc_no FROM past_documents
WHERE doc_no NOT IN (SELECT doc_no FROM memory_versions)
  AND doc_no NOT IN (SELECT m.doc_no FROM memories AS m
      WHERE m.retired_at IS NOT NULL AND NOT EXISTS (FROM dropped_versions AS d WHERE d.id = m.id AND d.known_until >= m.retired_at));

-- name: memory_then
-- Puts memories and their relations as they stood at {as_of} in the light of what was known at {known_at} in the place of those of the file, for this
-- transaction: of all that was known then what was true, with the text that stood.
CREATE TEMP TABLE then_known AS
WITH known AS (
    SELECT m.*, NULL::JSON AS relations, coalesce(v.known_until, d.known_until, m.recorded_at) AS known_from, TIMESTAMP '9999-12-31' AS known_until
    FROM mallard.main.memories AS m
    LEFT JOIN (SELECT id, max(known_until) AS known_until FROM mallard.main.memory_versions GROUP BY id) AS v USING (id)
    LEFT JOIN mallard.main.dropped_versions AS d USING (id)
    WHERE coalesce(v.known_until, d.known_until, m.recorded_at) <= TIMESTAMP '{known_at}'
    UNION ALL BY NAME
    SELECT * FROM mallard.main.memory_versions WHERE known_from <= TIMESTAMP '{known_at}' AND known_until > TIMESTAMP '{known_at}'
),
standing AS (
    SELECT k.*
    FROM known AS k
    LEFT JOIN mallard.main.dropped_versions AS d USING (id)
    WHERE true_at(k.valid_from, k.valid_until, k.invalidated_at, k.retired_at, k.retracted_by, TIMESTAMP '{as_of}')
      AND (d.text_from IS NULL OR d.text_from <= TIMESTAMP '{as_of}')
),
former AS (  -- the text that stood before it was edited
    SELECT v.id, v.doc_no, v.text, v.l0_abstract, v.l1_overview, v.l2_content
    FROM mallard.main.memory_versions AS v
    JOIN standing AS k USING (id)
    WHERE v.known_until > TIMESTAMP '{as_of}' AND v.known_until <= k.known_from
    QUALIFY row_number() OVER (PARTITION BY v.id ORDER BY v.known_until, v.known_from, v.doc_no) = 1
)
SELECT k.* REPLACE (coalesce(f.doc_no, k.doc_no) AS doc_no, coalesce(f.text, k.text) AS text,
    CASE WHEN f.id IS NULL THEN k.l0_abstract ELSE f.l0_abstract END AS l0_abstract,
    CASE WHEN f.id IS NULL THEN k.l1_overview ELSE f.l1_overview END AS l1_overview,
    CASE WHEN f.id IS NULL THEN k.l2_content ELSE f.l2_content END AS l2_content)
FROM standing AS k
LEFT JOIN former AS f USING (id);
CREATE TEMP TABLE temp.main.memories AS SELECT * EXCLUDE (relations, known_from, known_until) FROM then_known;
CREATE TEMP TABLE temp.main.memory_relations AS
SELECT r.* FROM mallard.main.memory_relations AS r WHERE r.memory_id IN (SELECT id FROM then_known WHERE known_until = TIMESTAMP '9999-12-31')
UNION ALL
SELECT id, (position - 1)::INTEGER, related[position].type, related[position].target_id, related[position].weight
FROM (
    SELECT id, json_transform(relations, '[{"type": "VARCHAR", "target_id": "VARCHAR", "weight": "DOUBLE"}]') AS related, unnest(range(1, len(related) + 1)) AS position
    FROM then_known
    WHERE known_until < TIMESTAMP '9999-12-31' AND relations IS NOT NULL
);
DROP TABLE then_known;

-- name: memory_then_formerly
-- Whether what was true at a moment takes texts or memories that are not of the present.
SELECT true FROM past_documents WHERE until > $as_of::TIMESTAMP LIMIT 1;
