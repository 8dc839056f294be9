-- Ranking: from candidates with what was found out of each to hits, and what is shown of them.

-- name: rank_tables
-- What is ranked stands in tables of the ranking's own instance; the weights are a variable there, which a statement has as constants once it is prepared.
CREATE TEMP TABLE offered (
    doc_no INTEGER, session_no INTEGER, place INTEGER, conversation_id VARCHAR, speaker VARCHAR, role VARCHAR, asks BOOLEAN, ends_asking BOOLEAN, tells FLOAT,
    kind VARCHAR, tier VARCHAR, created_at TIMESTAMP, valid_from TIMESTAMP, valid_until TIMESTAMP, characters INTEGER, noise BOOLEAN,
    importance DOUBLE, confidence DOUBLE, access_count INTEGER, last_accessed_at TIMESTAMP, temporal_type VARCHAR,
    cosine DOUBLE, near_cosine DOUBLE, raw DOUBLE);
CREATE TEMP TABLE asking (
    asked_at TIMESTAMP, hits INTEGER, rerankable BOOLEAN, words VARCHAR[], froms TIMESTAMP[], untils TIMESTAMP[], by_words BOOLEAN, by_vector BOOLEAN, chance DOUBLE);
CREATE TEMP TABLE alike (place INTEGER, before INTEGER);
CREATE TEMP MACRO weight(name) AS struct_extract(getvariable('weights'), name);

-- name: rank_weights
SET VARIABLE weights = '{weights}'::JSON::weights;

-- name: recall_rank
-- Gives the candidates offered their signals, each from 0 to 1, joins these into one score, fused, and takes that through every stage after it. Each
-- candidate has one column per stage and, where a stage dropped it, that stage's name; those that are left come first, best first. What a weight of 0
-- asks for is not computed. The fused and the last score are rounded, so that what is alike is the same, and stands in the order of its age.
WITH described AS (
    SELECT o.* REPLACE (CASE WHEN o.role = 'assistant' THEN o.tells * shortness(o.characters, weight('long_turn')) ELSE o.tells END AS tells), q.asked_at, q.hits, q.rerankable,
        CASE WHEN weight('date') > 0 AND q.froms <> [] THEN list_max(list_transform(list_zip(q.froms, q.untils),
            lambda period: date_fit(coalesce(o.valid_from, o.created_at), period[1], period[2], weight('date_days')))) END AS date_score,
        q.by_words, q.by_vector, q.chance
    FROM temp.main.offered AS o
    CROSS JOIN temp.main.asking AS q
),
named AS (
    SELECT s.conversation_id, any_value(s.speaker) AS speaker
    FROM (SELECT DISTINCT conversation_id, speaker FROM temp.main.offered WHERE weight('speaker') > 0 AND speaker IS NOT NULL) AS s
    CROSS JOIN temp.main.asking AS q
    WHERE list_has_any(words(s.speaker), q.words)
    GROUP BY s.conversation_id
    HAVING count(*) = 1
),
most AS (
    SELECT max(greatest(near_cosine, 0)) AS near_cosine, max(raw) AS raw FROM temp.main.offered
),
normalised AS (
    SELECT d.*, CASE WHEN n.speaker IS NOT NULL THEN (d.speaker IS NOT DISTINCT FROM n.speaker)::INTEGER END AS speaker_score,
        CASE weight('normalise') WHEN 'maximum'
            THEN greatest(d.near_cosine, 0) / nullif(m.near_cosine, 0)
            ELSE vector_score(d.near_cosine) END AS vector_score,
        CASE weight('normalise') WHEN 'maximum'
            THEN d.raw / nullif(m.raw, 0)
            ELSE CASE WHEN d.raw IS NOT NULL THEN lexical_score(d.raw) END END AS lexical_score
    FROM described AS d
    CROSS JOIN most AS m
    LEFT JOIN named AS n USING (conversation_id)
),
joined AS (
    SELECT n.*,
        CASE
            WHEN weight('normalise') = 'maximum' THEN coalesce(n.vector_score, 0) * weight('vector') + coalesce(n.lexical_score, 0) * weight('lexical')
            WHEN NOT by_vector THEN coalesce(n.lexical_score, 0)
            WHEN NOT by_words THEN n.vector_score
            ELSE fuse(n.vector_score, n.lexical_score, weight('vector'), weight('lexical'))
        END AS relevance,
        shortness(n.characters, weight('long_turn')) AS shortness, by_chance(n.raw, n.cosine, n.near_cosine, n.date_score, chance) AS by_chance
    FROM normalised AS n
),
fused AS (
    SELECT j.*, p.relevance * j.shortness AS reply_score, a.relevance AS answered_score,
        round(clamp01((j.relevance + coalesce(j.date_score, 0) * weight('date') + coalesce(j.speaker_score, 0) * weight('speaker')
                + coalesce(p.relevance * j.shortness, 0) * weight('reply') + coalesce(a.relevance, 0) * weight('answered') + j.tells * weight('tells') - j.ends_asking::INTEGER * weight('question'))
            / CASE weight('normalise') WHEN 'maximum' THEN most_of(weight('vector'), weight('lexical'), weight('date'), weight('speaker'), weight('reply'), weight('answered'), weight('tells')) ELSE 1 END), 12) AS fused
    FROM joined AS j
    LEFT JOIN (SELECT session_no, place + 1 AS place, relevance FROM joined WHERE asks AND weight('reply') > 0) AS p
        USING (session_no, place)
    LEFT JOIN (SELECT session_no, place - 1 AS place, relevance * elaboration(characters, weight('long_turn')) AS relevance FROM joined WHERE role = 'assistant' AND weight('answered') > 0) AS a
        ON a.session_no = j.session_no AND a.place = j.place AND j.role = 'user'
),
placed AS (
    SELECT * EXCLUDE (chance, by_words, by_vector), row_number() OVER (ORDER BY by_chance, fused DESC, round(cosine, 6) DESC NULLS LAST, round(raw, 12) DESC NULLS LAST, doc_no) AS position
    FROM fused
),
reranked AS (
    SELECT *, CASE WHEN weight('rerank') = 'light' AND rerankable THEN light_blend(fused, cosine) ELSE fused END AS reranked,
        CASE WHEN by_chance THEN 'chance'
             WHEN fused < weight('min_score') THEN 'min_score'
             WHEN valid_until <= asked_at THEN 'expired'
             WHEN weight('rerank') <> 'none' AND rerankable AND row_number() OVER (ORDER BY coalesce(by_chance OR fused < weight('min_score') OR valid_until <= asked_at, false), position) > 2 * hits
             THEN 'rerank_window' END AS dropped
    FROM placed
),
recent AS (
    SELECT *, CASE WHEN kind = 'memory' AND weight('decay') = 'simple'
        THEN recency_boost(reranked, days_between(created_at, asked_at), weight('recency_days'), weight('recency')) ELSE reranked END AS recency
    FROM reranked
),
weighted AS (
    SELECT *, CASE WHEN kind = 'memory' AND weight('decay') = 'simple' AND weight('importance') THEN importance_weight(recency, importance) ELSE recency END AS importance_weighted
    FROM recent
),
normed AS (
    SELECT *, length_norm(importance_weighted, characters, weight('length_anchor')) AS length_normed,
        CASE WHEN kind = 'memory' AND weight('decay') = 'engine'
            THEN memory_composite(created_at, last_accessed_at, access_count, importance, confidence, tier, temporal_type, asked_at) END AS composite,
        CASE WHEN kind = 'memory' AND weight('freshness_floor')
            THEN memory_recency(created_at, last_accessed_at, access_count, importance, tier, temporal_type, asked_at) ELSE 0 END AS freshness
    FROM weighted
),
decayed AS (
    SELECT *,
        round(CASE
            WHEN kind = 'memory' AND weight('decay') = 'engine'
            THEN clamp01(length_normed * decay_multiplier(greatest(composite, freshness), tier))
            WHEN kind = 'memory' AND weight('decay') = 'simple'
            THEN time_decay(length_normed, days_between(created_at, asked_at), effective_half_life(
                CASE WHEN temporal_type = 'dynamic' THEN weight('life_days') / 3 ELSE weight('life_days') END,
                access_count, days_between(last_accessed_at, asked_at), weight('reinforcement'), weight('max_life')))
            ELSE length_normed
        END, 12) AS decayed
    FROM normed
),
floored AS (
    SELECT * REPLACE (coalesce(dropped,
        CASE WHEN decayed < weight('hard_min_score') THEN 'hard_min_score'
             WHEN weight('noise') AND noise THEN 'noise' END) AS dropped)
    FROM decayed
),
settled AS (  -- what is left stands by its last score, what was dropped as it came
    SELECT *, CASE WHEN dropped IS NULL THEN decayed END AS last, CASE WHEN dropped IS NULL THEN round(length_normed, 12) END AS before_last,
        CASE WHEN dropped IS NULL THEN round(reranked, 12) END AS first
    FROM floored
)
SELECT doc_no, cosine, near_cosine, raw, vector_score, lexical_score, date_score, speaker_score, reply_score, answered_score,
    tells, ends_asking, fused, reranked, recency, importance_weighted, length_normed, composite, decayed, dropped
FROM settled
ORDER BY dropped IS NOT NULL, last DESC, before_last DESC, first DESC, position;

-- name: recall_alike
-- Which of the documents in shown, by their places, are more alike than $most: each with the earlier ones.
SELECT b.place, a.place
FROM (SELECT s.place, v.v FROM temp.main.shown AS s JOIN vectors AS v USING (doc_no)) AS a
JOIN (SELECT s.place, v.v FROM temp.main.shown AS s JOIN vectors AS v USING (doc_no)) AS b ON a.place < b.place
WHERE array_inner_product(a.v, b.v) > $most::FLOAT;

-- name: recall_kept
-- Of so many ranked documents the places, from 1, of those that are kept beside the ones that are alike.
SELECT unnest(kept_ranks(list(coalesce(n.near, []) ORDER BY p.place)))
FROM (SELECT unnest(range(1, $documents::INTEGER + 1))::INTEGER AS place) AS p
LEFT JOIN (SELECT place, list(before ORDER BY before) AS near FROM temp.main.alike GROUP BY place) AS n USING (place);

-- name: recall_memories
-- What is shown of memories.
SELECT d.doc_no, m.id, d.kind::VARCHAR AS kind, m.scope, m.category, m.tier, NULL AS conversation_id, m.created_at,
    m.text, m.l0_abstract, m.l1_overview, m.l2_content, m.source_session AS session, NULL AS speaker, NULL AS role, NULL AS seq, NULL AS caption
FROM documents AS d
JOIN memories AS m ON m.id = d.owner_id
WHERE d.doc_no IN (SELECT doc_no FROM temp.main.shown);

-- name: recall_messages
-- What is shown of messages; of those without a text what tools were given and gave.
SELECT d.doc_no, m.id, d.kind::VARCHAR AS kind, d.scope, NULL AS category, NULL AS tier, m.conversation_id, m.said_at,
    coalesce(nullif(m.text, ''), t.text, ''), NULL AS l0_abstract, NULL AS l1_overview, NULL AS l2_content, m.session, m.speaker, m.role, m.seq, m.caption
FROM documents AS d
JOIN messages AS m ON m.id = d.owner_id
LEFT JOIN (
    SELECT message_id, left(string_agg(concat_ws(' ', tool, input, output), chr(10) ORDER BY ordinal), 1000) AS text
    FROM parts
    WHERE kind = 'tool'::part_kind AND message_id IN (SELECT owner_id FROM documents WHERE doc_no IN (SELECT doc_no FROM temp.main.shown))
    GROUP BY message_id
) AS t ON t.message_id = m.id AND m.text = ''
WHERE d.doc_no IN (SELECT doc_no FROM temp.main.shown);

-- name: recall_summaries
-- What is shown of summaries.
SELECT d.doc_no, s.id, d.kind::VARCHAR AS kind, d.scope, NULL AS category, NULL AS tier, s.conversation_id, s.latest_at,
    s.text, NULL AS l0_abstract, NULL AS l1_overview, NULL AS l2_content, NULL AS session, NULL AS speaker, NULL AS role, s.first_seq, NULL AS caption
FROM documents AS d
JOIN summaries AS s ON s.id = d.owner_id
WHERE d.doc_no IN (SELECT doc_no FROM temp.main.shown);
