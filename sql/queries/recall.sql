-- The statements of a recall. Those with parameters are planned with their values, so that a filter that restricts nothing costs
-- nothing; hence no parameter is ever NULL: the list ['*'] is no restriction, an empty one matches nothing, and a time without a
-- bound lies in the year 1 or 9999. $weights is a row of weights as JSON.

-- name: recall_words
-- How many documents of the kinds asked, within the filters, have each word of the query; rare words say more.
SELECT s.surface, count(DISTINCT p.doc_no) AS documents
FROM surfaces AS s
JOIN postings AS p USING (term_no)
JOIN documents AS d USING (doc_no)
WHERE s.surface IN (SELECT unnest($surfaces::VARCHAR[]))
  AND d.live
  AND list_contains($kinds::VARCHAR[], d.kind::VARCHAR)
  AND (list_contains($scopes::VARCHAR[], '*') OR list_contains($scopes::VARCHAR[], d.scope))
  AND (list_contains($conversations::VARCHAR[], '*') OR list_contains($conversations::VARCHAR[], d.conversation_id))
GROUP BY s.surface;

-- name: recall_population
-- How many documents the filters of recall_words leave.
SELECT count(*) AS documents
FROM documents AS d
WHERE d.live
  AND list_contains($kinds::VARCHAR[], d.kind::VARCHAR)
  AND (list_contains($scopes::VARCHAR[], '*') OR list_contains($scopes::VARCHAR[], d.scope))
  AND (list_contains($conversations::VARCHAR[], '*') OR list_contains($conversations::VARCHAR[], d.conversation_id));

-- name: recall_candidates
-- Gathers the documents that may answer a query, from both channels, with both raw values wherever they can be known,
-- and fuses the two. An empty $vector is lexical only, empty $terms are vector only; every tag must be in a document's text.
WITH asked AS (
    SELECT as_vector($vector::FLOAT[]) AS v WHERE $vector::FLOAT[] <> []
),
tagged AS (
    SELECT doc_no FROM memories
    WHERE $tags::VARCHAR[] <> [] AND list_filter($tags::VARCHAR[], lambda tag: NOT contains(lower(text), tag)) = []
    UNION ALL
    SELECT doc_no FROM messages
    WHERE $tags::VARCHAR[] <> [] AND list_filter($tags::VARCHAR[], lambda tag: NOT contains(lower(text), tag)) = []
),
eligible AS MATERIALIZED (
    SELECT doc_no, length
    FROM documents
    WHERE live
      AND list_contains($kinds::VARCHAR[], kind::VARCHAR)
      AND (list_contains($scopes::VARCHAR[], '*') OR list_contains($scopes::VARCHAR[], scope))
      AND (list_contains($conversations::VARCHAR[], '*') OR list_contains($conversations::VARCHAR[], conversation_id))
      AND (list_contains($categories::VARCHAR[], '*') OR list_contains($categories::VARCHAR[], category))
      AND (list_contains($tiers::VARCHAR[], '*') OR list_contains($tiers::VARCHAR[], tier))
      AND created_at >= $since::TIMESTAMP AND created_at < $until::TIMESTAMP
      AND CASE kind WHEN 'memory'
              THEN valid_from <= $at::TIMESTAMP AND (invalidated_at IS NULL OR invalidated_at > $at::TIMESTAMP)
              ELSE created_at <= $said_by::TIMESTAMP END
      AND ($tags::VARCHAR[] = [] OR doc_no IN (SELECT doc_no FROM tagged))
),
hits AS MATERIALIZED (
    SELECT p.term_no, p.kind, p.doc_no, p.tf
    FROM terms AS t
    JOIN postings AS p USING (term_no)
    WHERE t.term IN (SELECT unnest($terms::VARCHAR[]))
),
rarity AS (
    SELECT h.term_no, h.kind, idf(s.documents, count(*)) AS idf, s.length / s.documents AS average_length
    FROM hits AS h
    JOIN kind_stats AS s USING (kind)
    GROUP BY h.term_no, h.kind, s.documents, s.length
),
lexical AS MATERIALIZED (
    SELECT h.doc_no, sum(bm25(r.idf, h.tf, e.length, r.average_length, ($weights::VARCHAR::JSON::weights).k1, ($weights::VARCHAR::JSON::weights).b)) AS raw
    FROM hits AS h
    JOIN rarity AS r USING (term_no, kind)
    JOIN eligible AS e USING (doc_no)
    GROUP BY h.doc_no
),
cosines AS MATERIALIZED (
    SELECT v.doc_no, array_inner_product(v.v, asked.v) AS cosine
    FROM vectors AS v
    CROSS JOIN asked
    WHERE v.doc_no IN (SELECT doc_no FROM eligible)
),
pool AS (
    (SELECT doc_no FROM lexical ORDER BY raw DESC, doc_no LIMIT $pool::BIGINT)
    UNION
    (SELECT doc_no FROM cosines ORDER BY cosine DESC, doc_no LIMIT $pool::BIGINT)
),
scored AS (
    SELECT p.doc_no, c.cosine, l.raw,
        CASE ($weights::VARCHAR::JSON::weights).normalise WHEN 'maximum'
            THEN greatest(c.cosine, 0) / nullif(max(greatest(c.cosine, 0)) OVER (), 0)
            ELSE vector_score(c.cosine) END AS vector_score,
        CASE ($weights::VARCHAR::JSON::weights).normalise WHEN 'maximum'
            THEN l.raw / nullif(max(l.raw) OVER (), 0)
            ELSE CASE WHEN l.raw IS NOT NULL THEN lexical_score(l.raw) END END AS lexical_score
    FROM pool AS p
    LEFT JOIN lexical AS l USING (doc_no)
    LEFT JOIN cosines AS c USING (doc_no)
)
SELECT doc_no, cosine, raw, vector_score, lexical_score,
    CASE
        WHEN $vector::FLOAT[] = [] THEN lexical_score
        WHEN $terms::VARCHAR[] = [] AND ($weights::VARCHAR::JSON::weights).normalise = 'absolute' THEN vector_score
        WHEN ($weights::VARCHAR::JSON::weights).normalise = 'maximum' THEN coalesce(vector_score, 0) * ($weights::VARCHAR::JSON::weights).vector + coalesce(lexical_score, 0) * ($weights::VARCHAR::JSON::weights).lexical
        ELSE fuse(vector_score, lexical_score, ($weights::VARCHAR::JSON::weights).vector, ($weights::VARCHAR::JSON::weights).lexical)
    END AS fused
FROM scored
ORDER BY fused DESC, cosine DESC NULLS LAST, raw DESC NULLS LAST, doc_no;

-- name: recall_clear
-- Forgets what the connection's last recall asked and was offered.
DELETE FROM temp.main.asking;
DELETE FROM temp.main.candidates;

-- name: recall_ask
-- The question that recall_rank answers: hits is how many are wanted.
INSERT INTO temp.main.asking VALUES ($weights::VARCHAR, $at::TIMESTAMP, $rerankable::BOOLEAN, $limit::BIGINT);

-- name: recall_offer
-- The rows of recall_candidates in their order; a cosine that is no number could not be known.
INSERT INTO temp.main.candidates
SELECT unnest($positions::INTEGER[]), unnest($doc_nos::INTEGER[]), unnest($fused::DOUBLE[]), nullif(unnest($cosines::DOUBLE[]), 'nan');

-- name: recall_rank
-- Takes the candidates offered through every stage after fusion. Each has one column per stage and, where a stage dropped it,
-- that stage's name; rank counts those that are left, the ones diversity deferred last. It has no parameters, so it is planned
-- once; its stages are materialized, or each formula would be copied into all that stand on it.
WITH asked AS MATERIALIZED (
    SELECT weights::JSON::weights AS w, asked_at, rerankable, hits FROM temp.main.asking
),
rows AS MATERIALIZED (
    SELECT g.*, d.kind, d.owner_id, d.scope, d.category, d.tier, d.conversation_id, d.created_at,
        coalesce(m.text, g2.text) AS text, m.l0_abstract, m.l1_overview, m.l2_content,
        m.importance, m.confidence, m.access_count, m.last_accessed_at, m.temporal_type, m.valid_until,
        g2.session, g2.speaker, g2.role, g2.seq, g2.caption, q.*,
        CASE WHEN g.fused < (q.w).min_score THEN 'min_score'
             WHEN m.valid_until <= q.asked_at THEN 'expired' END AS dropped
    FROM temp.main.candidates AS g
    CROSS JOIN asked AS q
    JOIN documents AS d USING (doc_no)
    LEFT JOIN memories AS m ON m.id = d.owner_id
    LEFT JOIN messages AS g2 ON g2.id = d.owner_id
),
windowed AS (
    SELECT * REPLACE (coalesce(dropped, CASE WHEN (w).rerank <> 'none' AND rerankable
        AND row_number() OVER (PARTITION BY dropped IS NULL ORDER BY position) > 2 * hits THEN 'rerank_window' END) AS dropped)
    FROM rows
),
reranked AS MATERIALIZED (
    SELECT *, CASE WHEN (w).rerank = 'light' AND rerankable THEN light_blend(fused, cosine) ELSE fused END AS reranked
    FROM windowed
),
recent AS MATERIALIZED (
    SELECT *, CASE WHEN kind = 'memory' AND (w).decay = 'simple'
        THEN recency_boost(reranked, days_between(created_at, asked_at), (w).recency_days, (w).recency)
        ELSE reranked END AS recency
    FROM reranked
),
weighted AS MATERIALIZED (
    SELECT *, CASE WHEN kind = 'memory' AND (w).decay = 'simple' AND (w).importance
        THEN importance_weight(recency, importance) ELSE recency END AS importance_weighted
    FROM recent
),
normed AS MATERIALIZED (
    SELECT *, length_norm(importance_weighted, length(text), (w).length_anchor) AS length_normed
    FROM weighted
),
composed AS MATERIALIZED (
    SELECT *,
        CASE WHEN kind = 'memory' AND (w).decay = 'engine'
            THEN memory_composite(created_at, last_accessed_at, access_count, importance, confidence, tier, temporal_type, asked_at)
        END AS composite,
        CASE WHEN kind = 'memory' AND (w).freshness_floor
            THEN memory_recency(created_at, last_accessed_at, access_count, importance, tier, temporal_type, asked_at)
        ELSE 0 END AS freshness
    FROM normed
),
decayed AS MATERIALIZED (
    SELECT *,
        CASE
            WHEN kind = 'memory' AND (w).decay = 'engine'
            THEN clamp01(length_normed * decay_multiplier(greatest(composite, freshness), tier))
            WHEN kind = 'memory' AND (w).decay = 'simple'
            THEN time_decay(length_normed, days_between(created_at, asked_at), effective_half_life(
                CASE WHEN temporal_type = 'dynamic' THEN (w).life_days / 3 ELSE (w).life_days END,
                access_count, days_between(last_accessed_at, asked_at), (w).reinforcement, (w).max_life))
            ELSE length_normed
        END AS decayed
    FROM composed
),
floored AS (
    SELECT * REPLACE (coalesce(dropped,
        CASE WHEN decayed < (w).hard_min_score THEN 'hard_min_score'
             WHEN (w).noise AND is_noise(text) THEN 'noise' END) AS dropped)
    FROM decayed
),
ordered AS MATERIALIZED (
    SELECT doc_no, row_number() OVER (ORDER BY decayed DESC, length_normed DESC, reranked DESC, position)::INTEGER AS place
    FROM floored
    WHERE dropped IS NULL
),
diverse AS MATERIALIZED (
    SELECT o.place, v.v, (q.w).diversity AS threshold
    FROM ordered AS o
    JOIN vectors AS v USING (doc_no)
    CROSS JOIN asked AS q
    WHERE (q.w).diversity < 1
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
    LEFT JOIN close USING (place)
),
ranked AS (
    SELECT o.doc_no, k.place IS NULL AS deferred,
        row_number() OVER (ORDER BY k.place IS NULL, o.place) AS rank
    FROM ordered AS o
    LEFT JOIN kept AS k USING (place)
)
SELECT f.position, f.doc_no, f.owner_id, f.kind::VARCHAR AS kind, f.scope, f.category, f.tier, f.conversation_id, f.created_at,
    f.text, f.l0_abstract, f.l1_overview, f.l2_content, f.session, f.speaker, f.role, f.seq, f.caption,
    f.reranked, f.recency, f.importance_weighted, f.length_normed, f.composite, f.decayed,
    coalesce(f.dropped, CASE WHEN r.rank > f.hits THEN 'limit' END) AS dropped, coalesce(r.deferred, false) AS deferred, r.rank
FROM floored AS f
LEFT JOIN ranked AS r USING (doc_no)
ORDER BY r.rank NULLS LAST, f.position;
