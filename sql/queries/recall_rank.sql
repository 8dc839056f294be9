-- Ranking: from candidates with what was found out of each to hits, and what is shown of them.

-- name: rank_macros
-- The weights are a variable, whose value a statement has as constants once it is prepared.
CREATE MACRO weight(name) AS struct_extract(getvariable('weights'), name);

-- name: rank_weights
SET VARIABLE weights = '{weights}'::JSON::weights;

-- name: recall_rank
-- Gives the candidates offered their signals, each from 0 to 1, joins these into one score, fused, and takes that through every stage after it. Each
-- candidate has one column per stage and, where a stage dropped it, that stage's name; those that are left come first, best first. The fused and the last
-- score are rounded, so that what is alike is the same, and stands in the order of its age. What it reads stands in Go (engine/recall/offer.go).
-- A line that ends with "if", or the lines from one to "end if", are left out where what is named is off: DuckDB drops a column that a weight of 0 makes
-- useless, but joins and orders in vain.
WITH signals AS (
    SELECT o.* REPLACE (CASE WHEN o.role = 'assistant' THEN o.tells * shortness(o.characters, weight('long_turn')) ELSE o.tells END AS tells),
        -- if scored
        CASE weight('normalise') WHEN 'maximum' THEN greatest(o.near_cosine, 0) / nullif(o.best_cosine, 0)
             WHEN 'plain' THEN greatest(o.near_cosine, 0)
             ELSE vector_score(o.near_cosine) END AS vector_score,
        CASE WHEN weight('normalise') = 'maximum' THEN o.raw / nullif(o.best_raw, 0)
             WHEN o.raw IS NULL THEN NULL
             WHEN weight('normalise') = 'plain' THEN o.raw / (1 + o.raw)
             ELSE lexical_score(o.raw) END AS lexical_score,
        -- end if
        -- if ranked
        CASE WHEN o.near_cosine IS NOT NULL THEN rank_score(rank() OVER (ORDER BY round(o.near_cosine, 6) DESC NULLS LAST)) END AS vector_score,
        CASE WHEN o.raw IS NOT NULL THEN rank_score(rank() OVER (ORDER BY round(o.raw, 9) DESC NULLS LAST)) END AS lexical_score,
        -- end if
        CASE WHEN o.kind = 'memory' THEN newness(days_between(o.created_at, o.asked_at), o.importance) END AS fresh_score,  -- if fresh
        CASE WHEN o.kind = 'memory' THEN rank_score(rank() OVER (ORDER BY CASE WHEN o.kind = 'memory' THEN newness(days_between(o.created_at, o.asked_at), o.importance) END DESC NULLS LAST)) END AS fresh_score,  -- if fresh_ranked
        -- if date
        list_max(list_transform(list_zip(a.froms, a.untils), lambda period:
            date_fit(coalesce(o.valid_from, o.created_at), period[1], period[2], weight('date_days')))) AS date_score,
        -- end if
        CASE WHEN n.speaker IS NOT NULL THEN (o.speaker IS NOT DISTINCT FROM n.speaker)::INTEGER END AS speaker_score,  -- if speaker
        CASE WHEN o.kind = 'memory' AND weight('decay') = 'engine'
            THEN memory_composite(o.created_at, o.last_accessed_at, o.access_count, o.importance, o.confidence, o.tier, o.temporal_type, o.asked_at,
                half_life := weight('half_life'), dynamic_half_life := weight('dynamic_half_life'), modulation := weight('modulation'),
                core_beta := weight('core_beta'), working_beta := weight('working_beta'), peripheral_beta := weight('peripheral_beta'),
                recency_part := weight('recency_part'), frequency_part := weight('frequency_part'), intrinsic_part := weight('intrinsic_part')) END AS composite,
        CASE WHEN o.kind = 'memory' AND weight('freshness_floor')
            THEN memory_recency(o.created_at, o.last_accessed_at, o.access_count, o.importance, o.tier, o.temporal_type, o.asked_at,
                half_life := weight('half_life'), dynamic_half_life := weight('dynamic_half_life'), modulation := weight('modulation'),
                core_beta := weight('core_beta'), working_beta := weight('working_beta'), peripheral_beta := weight('peripheral_beta')) ELSE 0 END AS freshness,
        days_between(o.created_at, o.asked_at) AS age,
        effective_half_life(CASE WHEN o.temporal_type = 'dynamic' THEN weight('life_days') / 3 ELSE weight('life_days') END,
            o.access_count, days_between(o.last_accessed_at, o.asked_at), weight('reinforcement'), weight('max_life')) AS life
    FROM offered() AS o
    CROSS JOIN asking() AS a  -- if date
    -- if speaker
    LEFT JOIN (
        SELECT s.conversation_id, any_value(s.speaker) AS speaker
        FROM (SELECT DISTINCT conversation_id, speaker FROM offered() WHERE speaker IS NOT NULL) AS s
        CROSS JOIN asking() AS a
        WHERE list_has_any(words(s.speaker), a.words)
        GROUP BY s.conversation_id
        HAVING count(*) = 1
    ) AS n USING (conversation_id)
    -- end if
),
relevant AS (
    SELECT *,
        CASE
            WHEN weight('normalise') = 'maximum' THEN coalesce(vector_score, 0) * weight('vector') + coalesce(lexical_score, 0) * weight('lexical')
            WHEN NOT by_words THEN vector_score
            WHEN weight('normalise') IN ('plain', 'rank') AND best_cosine IS NULL THEN lexical_score
            WHEN weight('normalise') IN ('plain', 'rank') THEN coalesce(vector_score, 0) * weight('vector') + coalesce(lexical_score, 0) * weight('lexical')
            ELSE fuse(vector_score, lexical_score, weight('vector'), weight('lexical'), exact_from := weight('exact_from'), exact_share := weight('exact_share'))
        END AS relevance,
        by_chance(raw, cosine, near_cosine, chance)
            AND coalesce(date_score, 0) < 1  -- if date
            AS by_chance,
        decay_multiplier(greatest(composite, freshness), tier,
            decay_floor := weight('decay_floor'), core_floor := weight('core_floor'), working_floor := weight('working_floor'), peripheral_floor := weight('peripheral_floor')) AS multiplier
    FROM signals
),
fused AS (
    SELECT r.*,
        p.relevance * shortness(r.characters, weight('long_turn')) AS reply_score,  -- if reply
        n.relevance AS answered_score,  -- if answered
        l.relation AS relation_score,  -- if relation
        CASE WHEN l.relation IS NOT NULL THEN rank_score(rank() OVER (ORDER BY l.relation DESC NULLS LAST)) END AS relation_score,  -- if relation_ranked
        round(greatest(0.0, least(CASE weight('normalise') WHEN 'plain' THEN 10.0 ELSE 1.0 END, (coalesce(r.relevance, 0)
                + coalesce(r.date_score, 0) * weight('date')  -- if date
                + coalesce(r.speaker_score, 0) * weight('speaker')  -- if speaker
                + coalesce(reply_score, 0) * weight('reply')  -- if reply
                + coalesce(answered_score, 0) * weight('answered')  -- if answered
                + coalesce(relation_score, 0) * weight('relation')  -- if relation
                + coalesce(relation_score, 0) * weight('relation')  -- if relation_ranked
                + coalesce(r.fresh_score, 0) * weight('fresh')  -- if fresh
                + coalesce(r.fresh_score, 0) * weight('fresh')  -- if fresh_ranked
                + r.verbatim::INTEGER * weight('verbatim')  -- if verbatim
                + r.tells * weight('tells')
                + r.wishes::INTEGER * weight('wish')
                - r.ends_asking::INTEGER * weight('question'))
            / CASE weight('normalise') WHEN 'maximum' THEN most_of(weight('vector'), weight('lexical'), weight('date'), weight('speaker'), weight('reply'), weight('answered'), weight('tells'), weight('wish'),
                    relation := weight('relation'), verbatim := weight('verbatim'), fresh := weight('fresh')) ELSE 1 END)), 12) AS fused
    FROM relevant AS r
    LEFT JOIN (SELECT session_no, place + 1 AS place, relevance FROM relevant WHERE asks) AS p USING (session_no, place)  -- if reply
    -- if answered
    LEFT JOIN (
        SELECT session_no, place - 1 AS place, 'user' AS role, relevance * elaboration(characters, weight('long_turn')) AS relevance
        FROM relevant
        WHERE role = 'assistant'
    ) AS n USING (session_no, place, role)
    -- end if
    -- if relating
    LEFT JOIN (
        SELECT e.doc_no, max(e.weight * CASE WHEN e.named THEN weight('vector') + weight('lexical') ELSE s.relevance END) AS relation
        FROM relating() AS e
        LEFT JOIN relevant AS s ON s.doc_no = e.source
        GROUP BY e.doc_no
    ) AS l USING (doc_no)
    -- end if
),
placed AS (
    SELECT *,
        -- if window
        row_number() OVER best - count_if(expired) OVER best AS position,  -- among those that have not expired
        -- end if
        -- if beside
        max(fused) OVER (PARTITION BY session_no ORDER BY place RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW) AS neighbour_score,
        max(fused) OVER (PARTITION BY session_no ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW) AS session_score,
        -- end if
    FROM fused
    WINDOW best AS (ORDER BY by_chance, fused DESC, round(cosine, 6) DESC NULLS LAST, round(raw, 12) DESC NULLS LAST, doc_no ROWS UNBOUNDED PRECEDING)  -- if window
),
reranked AS (
    SELECT *,
        CASE WHEN weight('rerank') = 'light' THEN light_blend(fused, cosine)
             WHEN weight('rerank') = 'model' THEN rerank_blend(fused, model_score, lexical_score(raw), model_share := weight('model_share'))  -- the words' own score, however the weights normalise it
             -- if features
             WHEN weight('rerank') = 'features' THEN features_blend(fused, cosine := CASE WHEN cosine IS NOT NULL THEN greatest(cosine, 0) END, lexical := lexical_score,
                 coverage := coverage, proximity := proximity, phrase := phrase, named := named,
                 dated := date_score,  -- if date
                 neighbour := neighbour_score, session_best := session_score,  -- if beside
                 cosine_weight := weight('feature_cosine'), lexical_weight := weight('feature_lexical'), coverage_weight := weight('feature_coverage'),
                 proximity_weight := weight('feature_proximity'), phrase_weight := weight('feature_phrase'), named_weight := weight('feature_name'), dated_weight := weight('feature_date'),
                 neighbour_weight := weight('feature_neighbour'), session_weight := weight('feature_session'))
             -- end if
             ELSE fused END AS reranked,
        CASE WHEN by_chance THEN 'chance'
             WHEN fused < weight('min_score') THEN 'min_score'
             WHEN expired THEN 'expired'
             WHEN position > 2 * hits THEN 'rerank_window'  -- if window
        END AS dropped_early
    FROM placed
),
normed AS (
    SELECT *,
        CASE WHEN kind = 'memory' AND weight('decay') = 'simple'
             THEN recency_boost(reranked, age, weight('recency_days'), weight('recency')) ELSE reranked END AS recency,
        CASE WHEN kind = 'memory' AND weight('decay') = 'simple' AND weight('importance')
             THEN importance_weight(recency, importance) ELSE recency END AS importance_weighted,
        trust_weight(importance_weighted, trust, weight('trust')) AS trusted,
        length_norm(trusted, shown_characters(characters, by_passage), weight('length_anchor')) AS length_normed
    FROM reranked
),
decayed AS (
    SELECT *,
        round(CASE
            WHEN kind = 'memory' AND weight('decay') = 'engine' THEN clamp01(length_normed * multiplier)
            WHEN kind = 'memory' AND weight('decay') = 'simple' THEN time_decay(length_normed, age, life)
            ELSE length_normed
        END, 12) AS decayed
    FROM normed
)
SELECT doc_no, tells, vector_score, lexical_score,
    date_score,  -- if date
    speaker_score,  -- if speaker
    reply_score,  -- if reply
    answered_score,  -- if answered
    relation_score,  -- if relation
    relation_score,  -- if relation_ranked
    fresh_score,  -- if fresh
    fresh_score,  -- if fresh_ranked
    position,  -- if window
    neighbour_score, session_score,  -- if beside
    fused, reranked, recency, importance_weighted, trusted, length_normed, composite, decayed,
    coalesce(dropped_early,
        CASE WHEN decayed < weight('hard_min_score') THEN 'hard_min_score'
             WHEN weight('noise') AND noise THEN 'noise' END) AS dropped
FROM decayed
ORDER BY dropped IS NOT NULL,  -- what is left stands by its last score, what was dropped as it came
    CASE WHEN dropped IS NULL THEN decayed END DESC, CASE WHEN dropped IS NULL THEN round(length_normed, 12) END DESC,
    CASE WHEN dropped IS NULL THEN round(reranked, 12) END DESC,
    by_chance, fused DESC, round(cosine, 6) DESC NULLS LAST, round(raw, 12) DESC NULLS LAST, doc_no;

-- name: recall_alike
-- Which of the documents listed, by their places, are more alike than $most: each with the earlier ones.
SELECT b.place, a.place
FROM (SELECT s.place, v.v FROM listed() AS s JOIN vectors AS v USING (doc_no)) AS a
JOIN (SELECT s.place, v.v FROM listed() AS s JOIN vectors AS v USING (doc_no)) AS b ON a.place < b.place
WHERE array_inner_product(a.v, b.v) > $most::FLOAT;

-- name: recall_passages
-- The cosines of the passages of the documents listed.
SELECT p.doc_no, p.start, array_inner_product(v.v, as_vector($v::FLOAT[]))::DOUBLE
FROM passages AS p
JOIN vectors AS v ON v.doc_no = p.number
WHERE p.doc_no IN (SELECT doc_no FROM listed());

-- name: recall_kept
-- Of so many ranked documents the places, from 1, of those that are kept beside the ones that are alike.
SELECT unnest(kept_ranks(list(coalesce(n.near, []) ORDER BY p.place)))
FROM (SELECT unnest(range(1, $documents::INTEGER + 1))::INTEGER AS place) AS p
LEFT JOIN (SELECT place, list(before ORDER BY before) AS near FROM alike() GROUP BY place) AS n USING (place);

-- name: recall_memories
-- What is shown of memories.
SELECT d.doc_no, m.id, d.kind::VARCHAR AS kind, m.scope, m.category, m.tier, NULL AS conversation_id, m.created_at,
    m.text, m.l0_abstract, m.l1_overview, m.l2_content, m.source_session AS session, NULL AS speaker, NULL AS role, NULL AS seq, NULL AS caption, NULL AS source_kind, NULL AS path, NULL AS first_line, NULL AS last_line
FROM documents AS d
JOIN memories AS m ON m.id = d.owner_id
WHERE d.doc_no IN (SELECT doc_no FROM listed());

-- name: recall_messages
-- What is shown of messages.
SELECT d.doc_no, m.id, d.kind::VARCHAR AS kind, d.scope, NULL AS category, NULL AS tier, m.conversation_id, m.said_at,
    m.text, NULL AS l0_abstract, NULL AS l1_overview, NULL AS l2_content, m.session, m.speaker, m.role, m.seq, m.caption, m.source_kind, NULL AS path, NULL AS first_line, NULL AS last_line
FROM documents AS d
JOIN messages AS m ON m.id = d.owner_id
WHERE d.doc_no IN (SELECT doc_no FROM listed());

-- name: recall_tool_texts
-- What tools were given and gave, of messages without a text.
SELECT d.doc_no, left(string_agg(concat_ws(' ', p.tool, p.input, p.output), chr(10) ORDER BY p.ordinal), 1000)
FROM documents AS d
JOIN parts AS p ON p.message_id = d.owner_id
WHERE p.kind = 'tool'::part_kind AND d.doc_no IN (SELECT doc_no FROM listed())
GROUP BY d.doc_no;

-- name: recall_summaries
-- What is shown of summaries.
SELECT d.doc_no, s.id, d.kind::VARCHAR AS kind, d.scope, NULL AS category, NULL AS tier, s.conversation_id, s.latest_at,
    s.text, NULL AS l0_abstract, NULL AS l1_overview, NULL AS l2_content, NULL AS session, NULL AS speaker, NULL AS role, s.first_seq, NULL AS caption, NULL AS source_kind, NULL AS path, NULL AS first_line, NULL AS last_line
FROM documents AS d
JOIN summaries AS s ON s.id = d.owner_id
WHERE d.doc_no IN (SELECT doc_no FROM listed());

-- name: recall_notes
-- What is shown of notes.
SELECT d.doc_no, n.id, d.kind::VARCHAR AS kind, d.scope, NULL AS category, NULL AS tier, NULL AS conversation_id, d.created_at,
    n.text, NULL AS l0_abstract, NULL AS l1_overview, NULL AS l2_content, NULL AS session, NULL AS speaker, NULL AS role, NULL AS seq, NULL AS caption, NULL AS source_kind,
    f.path, n.first_line, n.last_line
FROM documents AS d
JOIN notes AS n USING (doc_no)
JOIN note_files AS f ON f.id = n.file_id
WHERE d.doc_no IN (SELECT doc_no FROM listed());
