-- The statements of a recall. What is asked stands in the connection's temporary tables, so that the long statements have no
-- parameters and are planned once. In a list of asking, '*' is no restriction, and an empty list matches nothing; a time without
-- a bound lies in the year 1 or 9999. What others stand on twice, or what settles the order of joins, is materialized.

-- name: recall_clear
-- Forgets what the connection was last asked. The weights stay: the next question mostly has the same.
DELETE FROM temp.main.asking;
DELETE FROM temp.main.asked_conversations;
DELETE FROM temp.main.asked_terms;
DELETE FROM temp.main.asked_vector;
DELETE FROM temp.main.word_rarity;
DELETE FROM temp.main.shown;

-- name: recall_clear_rest
-- Forgets what only some recalls fill.
DELETE FROM temp.main.tagged;
DELETE FROM temp.main.fts_hits;
DELETE FROM temp.main.offered;

-- name: recall_conversations
-- The conversations that are named, by id or name.
SELECT a.name, c.id, c.scope
FROM temp.main.asked_conversations AS a
JOIN conversations AS c ON c.name = a.name
UNION
SELECT a.name, c.id, c.scope
FROM temp.main.asked_conversations AS a
JOIN conversations AS c ON c.id = a.name;

-- name: recall_clear_weights
DELETE FROM temp.main.weighing;

-- name: recall_weigh
-- The weights that rank, from JSON, one column each.
INSERT INTO temp.main.weighing SELECT unnest($weights::VARCHAR::JSON::weights);

-- name: recall_ask_tags
-- Documents that have all tags of the question in their text.
INSERT INTO temp.main.tagged
SELECT doc_no FROM memories WHERE list_filter($tags::VARCHAR[], lambda tag: NOT contains(lower(text), tag)) = []
UNION ALL
SELECT doc_no FROM messages WHERE list_filter($tags::VARCHAR[], lambda tag: NOT contains(lower(text), tag)) = [];

-- name: recall_clear_terms
-- Asks no words after all.
DELETE FROM temp.main.asked_terms;

-- name: recall_by_fts
-- Takes the hits of words from fts_hits in place of postings.
UPDATE temp.main.asking SET fts = true;

-- name: recall_count_words
-- How rare the words of the question are: in how many documents each stands, of how many, and how long these are on average.
-- Counted are all documents of a kind, or those of the conversations and scopes asked, as the weights say. The word -1 is in all.
INSERT INTO temp.main.word_rarity
WITH within AS (
    SELECT d.doc_no, d.kind, d.scope, d.length, d.live
    FROM documents AS d
    SEMI JOIN (SELECT unnest(conversations) AS conversation_id FROM temp.main.asking) AS c USING (conversation_id)
    UNION ALL
    SELECT d.doc_no, d.kind, d.scope, d.length, d.live
    FROM documents AS d
    SEMI JOIN (FROM temp.main.asking WHERE list_contains(conversations, '*')) ON true
),
eligible AS MATERIALIZED (
    SELECT d.doc_no, d.kind, d.length
    FROM within AS d
    CROSS JOIN temp.main.asking AS q
    CROSS JOIN temp.main.weighing AS w
    WHERE w.counted = 'asked' AND d.live AND list_contains(q.kinds, d.kind::VARCHAR) AND (list_contains(q.scopes, '*') OR list_contains(q.scopes, d.scope))
),
few AS MATERIALIZED (SELECT true AS are_few FROM eligible HAVING count(*) BETWEEN 1 AND 5000),
asked AS MATERIALIZED (
    SELECT t.term_no, a.word FROM terms AS t JOIN temp.main.asked_terms AS a USING (term)
),
nearby AS MATERIALIZED (  -- of few documents, all postings; they lie together in the file
    SELECT p.term_no, p.kind
    FROM postings AS p
    JOIN (SELECT doc_no FROM eligible SEMI JOIN few ON true) AS e USING (doc_no)
),
far_away AS MATERIALIZED (  -- of many, or of the whole kind, those of the terms
    SELECT a.word, p.kind, p.doc_no
    FROM postings AS p
    JOIN (SELECT * FROM asked WHERE NOT EXISTS (FROM few)) AS a USING (term_no)
),
population AS MATERIALIZED (
    SELECT kind, count(*) AS documents, avg(length) AS average_length FROM eligible GROUP BY kind
    UNION ALL
    SELECT kind, documents, length / documents FROM kind_stats CROSS JOIN temp.main.weighing AS w WHERE w.counted = 'kind' AND documents > 0
),
counts AS (
    SELECT a.word, n.kind, count(*) AS documents FROM nearby AS n JOIN asked AS a USING (term_no) GROUP BY a.word, n.kind
    UNION ALL
    SELECT f.word, f.kind, count(*)
    FROM far_away AS f
    JOIN eligible AS e USING (doc_no)
    GROUP BY f.word, f.kind
    UNION ALL
    SELECT f.word, f.kind, count(*)
    FROM far_away AS f
    CROSS JOIN temp.main.weighing AS w
    WHERE w.counted = 'kind'
    GROUP BY f.word, f.kind
)
SELECT a.word, n.kind, coalesce(c.documents, 0), n.documents, idf(n.documents, coalesce(c.documents, 0)), n.average_length
FROM temp.main.asked_terms AS a
CROSS JOIN population AS n
LEFT JOIN counts AS c ON c.word = a.word AND c.kind = n.kind
UNION ALL
SELECT -1, kind, documents, documents, 0, average_length FROM population;

-- name: recall_rarity
-- Of each word of the question, over all kinds.
SELECT word, sum(documents)::DOUBLE, sum(population)::DOUBLE FROM temp.main.word_rarity GROUP BY word;

-- name: recall_candidates
-- Gathers the documents that may answer the question, gives each its signals and joins these into one score, fused. Every
-- document is scored with its neighbours: what was said up to two places before and after it, in the same session.
WITH within AS (  -- who takes part
    SELECT d.*
    FROM documents AS d
    SEMI JOIN (SELECT unnest(conversations) AS conversation_id FROM temp.main.asking) AS c USING (conversation_id)
    UNION ALL BY NAME
    SELECT d.*
    FROM documents AS d
    SEMI JOIN (FROM temp.main.asking WHERE list_contains(conversations, '*')) ON true
),
eligible AS MATERIALIZED (
    SELECT d.doc_no, d.kind, d.length, d.session_no, d.place
    FROM within AS d
    CROSS JOIN temp.main.asking AS q
    WHERE d.live
      AND list_contains(q.kinds, d.kind::VARCHAR)
      AND (list_contains(q.scopes, '*') OR list_contains(q.scopes, d.scope))
      AND (list_contains(q.categories, '*') OR list_contains(q.categories, d.category))
      AND (list_contains(q.tiers, '*') OR list_contains(q.tiers, d.tier))
      AND (d.created_at >= q.since AND d.created_at < q.until) IS TRUE  -- as one condition: two would become a join by ranges
      AND CASE d.kind WHEN 'memory'
              THEN d.valid_from <= q.asked_at AND (d.invalidated_at IS NULL OR d.invalidated_at > q.asked_at)
              ELSE d.created_at <= q.said_by END
      AND (NOT q.tagged OR d.doc_no IN (FROM temp.main.tagged))
),

-- The channels.
few AS MATERIALIZED (SELECT true AS are_few FROM eligible HAVING count(*) <= 5000),
many AS MATERIALIZED (SELECT true AS are_many FROM eligible HAVING count(*) > 5000),
asked AS MATERIALIZED (
    SELECT t.term_no, a.word, a.share
    FROM terms AS t
    JOIN temp.main.asked_terms AS a USING (term)
    WHERE a.share > 0 AND NOT (SELECT fts FROM temp.main.asking)
),
nearby AS MATERIALIZED (  -- of few documents, all postings; they lie together in the file
    SELECT p.term_no, p.kind, p.doc_no, p.tf, e.length, e.session_no
    FROM postings AS p
    JOIN (SELECT * FROM eligible SEMI JOIN few ON true) AS e USING (doc_no)
),
far_away AS MATERIALIZED (  -- of many, those of the terms
    SELECT a.word, a.share, p.kind, p.doc_no, p.tf
    FROM postings AS p
    JOIN (SELECT * FROM asked SEMI JOIN many ON true) AS a USING (term_no)
),
hits AS MATERIALIZED (
    SELECT h.word, h.doc_no, h.tf, r.idf, r.average_length, h.length, h.session_no
    FROM (
        SELECT a.word, n.kind, n.doc_no, a.share * n.tf AS tf, n.length, n.session_no
        FROM nearby AS n
        JOIN asked AS a USING (term_no)
        UNION ALL
        SELECT f.word, f.kind, f.doc_no, f.share * f.tf, e.length, e.session_no
        FROM far_away AS f
        JOIN eligible AS e USING (doc_no)
        UNION ALL
        SELECT f.word, f.kind, f.doc_no, f.tf, e.length, e.session_no
        FROM temp.main.fts_hits AS f
        JOIN eligible AS e USING (doc_no)
    ) AS h
    JOIN temp.main.word_rarity AS r ON r.word = h.word AND r.kind = h.kind
),
cosines AS MATERIALIZED (
    SELECT v.doc_no, array_inner_product(v.v, a.v) AS cosine
    FROM vectors AS v
    CROSS JOIN (SELECT as_vector(v) AS v FROM temp.main.asked_vector WHERE v <> []) AS a
    WHERE v.doc_no IN (SELECT doc_no FROM eligible)
),

-- The pool: the best of each channel, or everybody where they are few enough.
pool AS (
    SELECT doc_no
    FROM (SELECT h.doc_no, sum(bm25(h.idf, h.tf, h.length, h.average_length, w.k1, w.b)) AS raw
          FROM hits AS h CROSS JOIN temp.main.weighing AS w GROUP BY h.doc_no ORDER BY raw DESC, h.doc_no LIMIT 2000)
    CROSS JOIN temp.main.asking AS q
    QUALIFY row_number() OVER (ORDER BY raw DESC, doc_no) <= q.pool
    UNION ALL
    SELECT doc_no
    FROM (FROM cosines ORDER BY cosine DESC, doc_no LIMIT 2000)
    CROSS JOIN temp.main.asking AS q
    QUALIFY row_number() OVER (ORDER BY cosine DESC, doc_no) <= q.pool
    UNION ALL
    SELECT e.doc_no FROM eligible AS e CROSS JOIN temp.main.weighing AS w WHERE (SELECT count(*) FROM eligible) <= w.whole
),

-- Neighbours.
steps AS MATERIALIZED (
    SELECT unnest([0, -1, 1, -2, 2]) AS step, unnest([1, near, near, far, far]) AS share FROM temp.main.weighing
),
candidates AS MATERIALIZED (
    SELECT e.*
    FROM (SELECT DISTINCT p.session_no, p.place + s.step AS place
          FROM pool JOIN eligible AS p USING (doc_no) CROSS JOIN steps AS s
          WHERE s.share > 0) AS places
    JOIN eligible AS e USING (session_no, place)
),
around AS MATERIALIZED (
    SELECT c.doc_no, n.doc_no AS neighbour, c.share, n.length
    FROM (SELECT doc_no, session_no, place + step AS place, share FROM candidates CROSS JOIN steps WHERE share > 0) AS c
    JOIN eligible AS n USING (session_no, place)
),
blended AS MATERIALIZED (
    SELECT a.doc_no, sum(a.share * a.length) AS length,
        sum(a.share * v.cosine) / sum(a.share) FILTER (v.cosine IS NOT NULL) AS near_cosine,
        max(v.cosine) FILTER (a.neighbour = a.doc_no) AS cosine
    FROM around AS a
    LEFT JOIN cosines AS v ON v.doc_no = a.neighbour
    GROUP BY a.doc_no
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
sessions AS (
    SELECT session_no, sum(bm25(idf, tf, 1, 1, k1, 0)) AS raw
    FROM (SELECT h.session_no, h.idf, sum(h.tf) AS tf, w.k1
          FROM hits AS h CROSS JOIN temp.main.weighing AS w
          WHERE w.session > 0
          GROUP BY h.session_no, h.word, h.idf, w.k1)
    GROUP BY session_no
),

-- Signals, each from 0 to 1.
described AS MATERIALIZED (
    SELECT c.doc_no, c.session_no, c.place, d.conversation_id, d.speaker, d.asks, d.ends_asking, d.tells, b.cosine, b.near_cosine, l.raw, s.raw AS session_raw,
        CASE WHEN w.date > 0 AND q.froms <> [] THEN list_max(list_transform(list_zip(q.froms, q.untils),
            lambda period: date_fit(coalesce(d.valid_from, d.created_at), period[1], period[2], w.date_days))) END AS date_score
    FROM candidates AS c
    CROSS JOIN temp.main.asking AS q
    CROSS JOIN temp.main.weighing AS w
    JOIN documents AS d USING (doc_no)
    JOIN blended AS b USING (doc_no)
    LEFT JOIN lexical AS l USING (doc_no)
    LEFT JOIN sessions AS s ON s.session_no = c.session_no
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
