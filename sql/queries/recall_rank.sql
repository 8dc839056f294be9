-- Ranking: the signals of a candidate, its score, and the stages that this goes through.

-- name: recall_candidates
-- Scores what was gathered: gives each candidate its signals, and joins these into one score, fused. A document is scored with its
-- neighbours.
WITH steps AS (
    SELECT unnest([0, -1, 1, -2, 2]) AS step, unnest([1, near, near, far, far]) AS share FROM temp.main.weighing
),
around AS MATERIALIZED (
    SELECT c.doc_no, n.doc_no AS neighbour, c.share, n.length, n.cosine
    FROM (SELECT doc_no, session_no, place + step AS place, share FROM temp.main.scored CROSS JOIN steps WHERE candidate AND share > 0) AS c
    JOIN temp.main.scored AS n USING (session_no, place)
),
blended AS MATERIALIZED (
    SELECT doc_no, sum(share * length) AS length,
        sum(share * cosine) / sum(share) FILTER (cosine IS NOT NULL) AS near_cosine,
        max(cosine) FILTER (neighbour = doc_no) AS cosine
    FROM around
    GROUP BY doc_no
),
hits AS (
    SELECT s.doc_no, s.hit.word AS word, s.hit.tf AS tf, r.idf, r.average_length
    FROM (SELECT doc_no, kind, unnest(hits) AS hit FROM temp.main.scored) AS s
    JOIN temp.main.word_rarity AS r ON r.word = s.hit.word AND r.kind = s.kind
),
words AS (
    SELECT a.doc_no, h.word, h.idf, h.average_length, sum(a.share * h.tf) AS tf
    FROM around AS a
    JOIN hits AS h ON h.doc_no = a.neighbour
    GROUP BY a.doc_no, h.word, h.idf, h.average_length
),
lexical AS (
    SELECT b.doc_no, sum(bm25(t.idf, t.tf, b.length, t.average_length * (1 + 2 * w.near + 2 * w.far), w.k1, w.b)) AS raw
    FROM words AS t
    JOIN blended AS b USING (doc_no)
    CROSS JOIN temp.main.weighing AS w
    GROUP BY b.doc_no
),

-- Signals, each from 0 to 1.
described AS MATERIALIZED (
    SELECT c.doc_no, c.session_no, c.place, d.conversation_id, d.speaker, d.asks, d.ends_asking, d.tells, b.cosine, b.near_cosine, l.raw, c.session_raw,
        CASE WHEN w.date > 0 AND q.froms <> [] THEN list_max(list_transform(list_zip(q.froms, q.untils),
            lambda period: date_fit(coalesce(d.valid_from, d.created_at), period[1], period[2], w.date_days))) END AS date_score
    FROM temp.main.scored AS c
    CROSS JOIN temp.main.asking AS q
    CROSS JOIN temp.main.weighing AS w
    JOIN documents AS d USING (doc_no)
    JOIN blended AS b USING (doc_no)
    LEFT JOIN lexical AS l USING (doc_no)
),
named AS (
    SELECT s.conversation_id, any_value(s.speaker) AS speaker
    FROM (SELECT DISTINCT conversation_id, speaker FROM described WHERE speaker IS NOT NULL) AS s
    CROSS JOIN temp.main.asking AS q
    CROSS JOIN temp.main.weighing AS w
    WHERE w.speaker > 0 AND list_has_any(words(s.speaker), q.words)
    GROUP BY s.conversation_id
    HAVING count(*) = 1
),
normalised AS (
    SELECT d.*, CASE WHEN n.speaker IS NOT NULL THEN (d.speaker IS NOT DISTINCT FROM n.speaker)::INTEGER END AS speaker_score,
        CASE w.normalise WHEN 'maximum'
            THEN greatest(d.near_cosine, 0) / nullif(max(greatest(d.near_cosine, 0)) OVER (), 0)
            ELSE vector_score(d.near_cosine) END AS vector_score,
        CASE w.normalise WHEN 'maximum'
            THEN d.raw / nullif(max(d.raw) OVER (), 0)
            ELSE CASE WHEN d.raw IS NOT NULL THEN lexical_score(d.raw) END END AS lexical_score,
        d.session_raw / nullif(max(d.session_raw) OVER (), 0) AS session_score
    FROM described AS d
    CROSS JOIN temp.main.weighing AS w
    LEFT JOIN named AS n USING (conversation_id)
),
joined AS MATERIALIZED (
    SELECT n.*,
        CASE
            WHEN w.normalise = 'maximum' THEN coalesce(n.vector_score, 0) * w.vector + coalesce(n.lexical_score, 0) * w.lexical
            WHEN a.v = [] THEN coalesce(n.lexical_score, 0)
            WHEN NOT a.by_words THEN n.vector_score
            ELSE fuse(n.vector_score, n.lexical_score, w.vector, w.lexical)
        END AS relevance
    FROM normalised AS n
    CROSS JOIN temp.main.weighing AS w
    CROSS JOIN temp.main.asked_vector AS a
),
fused AS (
    SELECT j.*, p.relevance AS reply_score,
        clamp01((j.relevance + coalesce(j.session_score, 0) * w.session + coalesce(j.date_score, 0) * w.date + coalesce(j.speaker_score, 0) * w.speaker
                + coalesce(p.relevance, 0) * w.reply + j.tells * w.tells - j.ends_asking::INTEGER * w.question)
            / CASE w.normalise WHEN 'maximum' THEN most_of(w.vector, w.lexical, w.session, w.date, w.speaker, w.reply, w.tells) ELSE 1 END) AS fused
    FROM joined AS j
    CROSS JOIN temp.main.weighing AS w
    LEFT JOIN (SELECT session_no, place + 1 AS place, relevance FROM joined CROSS JOIN temp.main.weighing AS w WHERE asks AND w.reply > 0) AS p USING (session_no, place)
),
placed AS (
    SELECT *, row_number() OVER (ORDER BY fused DESC, cosine DESC NULLS LAST, raw DESC NULLS LAST, doc_no) AS position,
        count(*) OVER () AS candidates, count(cosine) OVER () AS with_vector, count(raw) OVER () AS with_words,
        min(fused) OVER () AS lowest, max(fused) OVER () AS highest
    FROM fused
)
SELECT p.doc_no, p.cosine, p.near_cosine, p.raw, p.vector_score, p.lexical_score, p.session_score, p.date_score, p.speaker_score, p.reply_score,
    p.tells, p.ends_asking, p.fused, p.candidates, p.with_vector, p.with_words, p.lowest, p.highest
FROM placed AS p
CROSS JOIN temp.main.asking AS q
WHERE least(p.position, q.offers) = p.position  -- one condition on both: as a comparison it would become a join by ranges
ORDER BY p.position;

-- name: recall_rank
-- Takes the candidates offered through every stage after fusion. Each has one column per stage and, where a stage dropped it,
-- that stage's name; rank counts those that are left, the ones diversity deferred last.
WITH entered AS (
    SELECT g.*, d.kind, d.tier, d.created_at, d.characters, d.noise,
        m.importance, m.confidence, m.access_count, m.last_accessed_at, m.temporal_type, q.asked_at, q.rerankable, q.hits,
        CASE WHEN g.fused < w.min_score THEN 'min_score'
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
WHERE d.doc_no IN (FROM temp.main.shown) AND d.kind = 'memory';

-- name: recall_messages
-- What is shown of messages.
SELECT d.doc_no, m.id, d.kind::VARCHAR AS kind, d.scope, NULL AS category, NULL AS tier, m.conversation_id, m.said_at,
    m.text, NULL AS l0_abstract, NULL AS l1_overview, NULL AS l2_content, m.session, m.speaker, m.role, m.seq, m.caption
FROM documents AS d
JOIN messages AS m ON m.id = d.owner_id
WHERE d.doc_no IN (FROM temp.main.shown) AND d.kind = 'message';
