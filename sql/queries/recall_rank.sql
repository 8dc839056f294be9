-- Ranking: the stages that a candidate's score goes through, and what is shown of documents.

-- name: recall_rank
-- Takes the candidates offered through every stage after fusion. Each has one column per stage and, where a stage dropped it,
-- that stage's name; rank counts those that are left, the ones diversity deferred last.
WITH entered AS (
    SELECT g.* EXCLUDE (dropped), d.kind, d.tier, d.created_at, d.characters, d.noise,
        m.importance, m.confidence, m.access_count, m.last_accessed_at, m.temporal_type, q.asked_at, q.rerankable, q.hits,
        CASE WHEN g.dropped IS NOT NULL THEN g.dropped
             WHEN g.fused < w.min_score THEN 'min_score'
             WHEN m.valid_until <= q.asked_at THEN 'expired' END AS dropped
    FROM temp.main.offered AS g
    CROSS JOIN temp.main.asking AS q
    CROSS JOIN temp.main.weighing AS w
    JOIN documents AS d USING (doc_no)
    LEFT JOIN memories AS m ON m.id = d.owner_id
),
windowed AS (
    SELECT s.* REPLACE (coalesce(dropped, CASE WHEN w.rerank <> 'none' AND rerankable
        AND row_number() OVER (ORDER BY dropped IS NOT NULL, position) > 2 * hits THEN 'rerank_window' END) AS dropped)
    FROM entered AS s
    CROSS JOIN temp.main.weighing AS w
),
reranked AS MATERIALIZED (
    SELECT s.*, CASE WHEN w.rerank = 'light' AND rerankable THEN light_blend(fused, cosine) ELSE fused END AS reranked
    FROM windowed AS s
    CROSS JOIN temp.main.weighing AS w
),
recent AS MATERIALIZED (
    SELECT s.*, CASE WHEN kind = 'memory' AND w.decay = 'simple'
        THEN recency_boost(reranked, days_between(created_at, asked_at), w.recency_days, w.recency)
        ELSE reranked END AS recency
    FROM reranked AS s
    CROSS JOIN temp.main.weighing AS w
),
weighted AS MATERIALIZED (
    SELECT s.*, CASE WHEN kind = 'memory' AND w.decay = 'simple' AND w.importance
        THEN importance_weight(s.recency, s.importance) ELSE s.recency END AS importance_weighted
    FROM recent AS s
    CROSS JOIN temp.main.weighing AS w
),
normed AS MATERIALIZED (
    SELECT s.*, length_norm(importance_weighted, characters, w.length_anchor) AS length_normed
    FROM weighted AS s
    CROSS JOIN temp.main.weighing AS w
),
composed AS MATERIALIZED (
    SELECT s.*,
        CASE WHEN kind = 'memory' AND w.decay = 'engine'
            THEN memory_composite(created_at, last_accessed_at, access_count, s.importance, confidence, tier, temporal_type, asked_at)
        END AS composite,
        CASE WHEN kind = 'memory' AND w.freshness_floor
            THEN memory_recency(created_at, last_accessed_at, access_count, s.importance, tier, temporal_type, asked_at)
        ELSE 0 END AS freshness
    FROM normed AS s
    CROSS JOIN temp.main.weighing AS w
),
decayed AS MATERIALIZED (
    SELECT s.*,
        CASE
            WHEN kind = 'memory' AND w.decay = 'engine'
            THEN clamp01(length_normed * decay_multiplier(greatest(composite, freshness), tier))
            WHEN kind = 'memory' AND w.decay = 'simple'
            THEN time_decay(length_normed, days_between(created_at, asked_at), effective_half_life(
                CASE WHEN temporal_type = 'dynamic' THEN w.life_days / 3 ELSE w.life_days END,
                access_count, days_between(last_accessed_at, asked_at), w.reinforcement, w.max_life))
            ELSE length_normed
        END AS decayed
    FROM composed AS s
    CROSS JOIN temp.main.weighing AS w
),
floored AS (
    SELECT s.* REPLACE (coalesce(dropped,
        CASE WHEN decayed < w.hard_min_score THEN 'hard_min_score'
             WHEN w.noise AND s.noise THEN 'noise' END) AS dropped)
    FROM decayed AS s
    CROSS JOIN temp.main.weighing AS w
),
ordered AS MATERIALIZED (
    SELECT doc_no, row_number() OVER (ORDER BY decayed DESC, length_normed DESC, reranked DESC, position)::INTEGER AS place
    FROM floored
    WHERE dropped IS NULL
),
diverse AS MATERIALIZED (
    SELECT o.place, v.v, w.diversity AS threshold
    FROM ordered AS o
    JOIN vectors AS v USING (doc_no)
    CROSS JOIN temp.main.weighing AS w
    WHERE w.diversity < 1
),
close AS (
    SELECT b.place, list(a.place ORDER BY a.place) AS near
    FROM diverse AS a
    JOIN diverse AS b ON a.place < b.place
    WHERE array_inner_product(a.v, b.v) > a.threshold::FLOAT
    GROUP BY b.place
),
kept AS (
    SELECT unnest(kept_ranks(list(coalesce(near, []) ORDER BY o.place))) AS place
    FROM ordered AS o
    SEMI JOIN (FROM temp.main.weighing WHERE diversity < 1) ON true
    LEFT JOIN close USING (place)
    UNION ALL
    SELECT place FROM ordered SEMI JOIN (FROM temp.main.weighing WHERE diversity = 1) ON true
),
ranked AS (
    SELECT o.doc_no, k.place IS NULL AS deferred,
        row_number() OVER (ORDER BY k.place IS NULL, o.place) AS rank
    FROM ordered AS o
    LEFT JOIN kept AS k USING (place)
)
SELECT f.position, f.reranked, f.recency, f.importance_weighted, f.length_normed, f.composite, f.decayed,
    coalesce(f.dropped, CASE WHEN r.rank > f.hits THEN 'limit' END) AS dropped, coalesce(r.deferred, false) AS deferred, r.rank
FROM floored AS f
LEFT JOIN ranked AS r USING (doc_no)
ORDER BY r.rank NULLS LAST, f.position;

-- name: recall_memories
-- What is shown of memories.
SELECT d.doc_no, m.id, d.kind::VARCHAR AS kind, m.scope, m.category, m.tier, NULL AS conversation_id, m.created_at,
    m.text, m.l0_abstract, m.l1_overview, m.l2_content, m.source_session AS session, NULL AS speaker, NULL AS role, NULL AS seq, NULL AS caption
FROM documents AS d
JOIN memories AS m ON m.id = d.owner_id
WHERE d.doc_no IN (FROM temp.main.shown);

-- name: recall_messages
-- What is shown of messages; of those without a text what tools were given and gave.
SELECT d.doc_no, m.id, d.kind::VARCHAR AS kind, d.scope, NULL AS category, NULL AS tier, m.conversation_id, m.said_at,
    coalesce(nullif(m.text, ''), t.text, ''), NULL AS l0_abstract, NULL AS l1_overview, NULL AS l2_content, m.session, m.speaker, m.role, m.seq, m.caption
FROM documents AS d
JOIN messages AS m ON m.id = d.owner_id
LEFT JOIN (
    SELECT message_id, left(string_agg(concat_ws(' ', tool, input, output), chr(10) ORDER BY ordinal), 1000) AS text
    FROM parts
    WHERE kind = 'tool'::part_kind AND message_id IN (SELECT owner_id FROM documents WHERE doc_no IN (FROM temp.main.shown))
    GROUP BY message_id
) AS t ON t.message_id = m.id AND m.text = ''
WHERE d.doc_no IN (FROM temp.main.shown);

-- name: recall_summaries
-- What is shown of summaries.
SELECT d.doc_no, s.id, d.kind::VARCHAR AS kind, d.scope, NULL AS category, NULL AS tier, s.conversation_id, s.latest_at,
    s.text, NULL AS l0_abstract, NULL AS l1_overview, NULL AS l2_content, NULL AS session, NULL AS speaker, NULL AS role, s.first_seq, NULL AS caption
FROM documents AS d
JOIN summaries AS s ON s.id = d.owner_id
WHERE d.doc_no IN (FROM temp.main.shown);
