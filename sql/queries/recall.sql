-- The statements of a recall. What is asked stands in the connection's temporary tables, so that the long statements have no
-- parameters and are planned once. In a list of asking, '*' is no restriction, and an empty list matches nothing; a time without
-- a bound lies in the year 1 or 9999. What others stand on twice, or what settles the order of joins, is materialized.

-- name: recall_clear
-- Forgets what the connection was last asked.
DELETE FROM temp.main.asking;
DELETE FROM temp.main.asked_terms;
DELETE FROM temp.main.fts_hits;
DELETE FROM temp.main.asked_vector;
DELETE FROM temp.main.offered;

-- name: recall_ask
-- What the statements below answer. weights is a row of weights as JSON; words are those of the question as they are written;
-- periods that it names go from an element of froms to the one in its place of untils.
INSERT INTO temp.main.asking VALUES (
    $weights::VARCHAR, $asked_at::TIMESTAMP, $said_by::TIMESTAMP, $rerankable::BOOLEAN, $hits::BIGINT, $pool::BIGINT, $offers::BIGINT,
    $kinds::VARCHAR[], $scopes::VARCHAR[], $conversations::VARCHAR[], $categories::VARCHAR[], $tiers::VARCHAR[], $tags::VARCHAR[],
    $since::TIMESTAMP, $until::TIMESTAMP, $words::VARCHAR[], $froms::VARCHAR[]::TIMESTAMP[], $untils::VARCHAR[]::TIMESTAMP[]);

-- name: recall_ask_terms
-- What the index is asked: word counts the words of the question, share is what a term adds to the frequency of its word, 1 for
-- the word itself and less for a related one. Its postings are those of the file, or, where fts is the backend, those in fts_hits.
INSERT INTO temp.main.asked_terms
SELECT unnest($words::INTEGER[]), unnest($terms::VARCHAR[]), unnest($shares::DOUBLE[]), $in_postings::BOOLEAN;

-- name: recall_ask_vector
-- The question's vector; without one a recall goes by words.
INSERT INTO temp.main.asked_vector VALUES ($vector::FLOAT[]);

-- name: recall_words
-- How many of the documents asked have each word of the question, and, for the word '', how many documents these are; rare
-- words say more.
WITH within AS (
    SELECT d.doc_no, d.kind, d.scope, d.live
    FROM documents AS d
    JOIN (SELECT unnest(conversations) AS conversation_id FROM temp.main.asking) AS c USING (conversation_id)
    UNION ALL
    SELECT d.doc_no, d.kind, d.scope, d.live
    FROM documents AS d
    SEMI JOIN (FROM temp.main.asking WHERE list_contains(conversations, '*')) ON true
),
eligible AS MATERIALIZED (
    SELECT w.doc_no
    FROM within AS w
    CROSS JOIN temp.main.asking AS q
    WHERE w.live AND list_contains(q.kinds, w.kind::VARCHAR) AND (list_contains(q.scopes, '*') OR list_contains(q.scopes, w.scope))
),
asked AS MATERIALIZED (
    SELECT surface, term_no FROM surfaces WHERE surface IN (SELECT unnest(words) FROM temp.main.asking)
)
SELECT a.surface AS word, count(*) AS documents
FROM asked AS a
JOIN postings AS p USING (term_no)
JOIN eligible AS e USING (doc_no)
GROUP BY a.surface
UNION ALL
SELECT '', count(*) FROM eligible;

-- name: recall_candidates
-- Gathers the documents that may answer the question, gives each its signals and joins these into one score, fused. Every
-- document is scored with its neighbours: what was said up to two places before and after it, in the same session.
WITH q AS MATERIALIZED (
    SELECT *, weights::JSON::weights AS w FROM temp.main.asking
),

-- Who takes part.
within AS (
    SELECT d.*
    FROM documents AS d
    JOIN (SELECT unnest(conversations) AS conversation_id FROM temp.main.asking) AS c USING (conversation_id)
    UNION ALL BY NAME
    SELECT d.*
    FROM documents AS d
    SEMI JOIN (FROM temp.main.asking WHERE list_contains(conversations, '*')) ON true
),
tagged AS (
    SELECT m.doc_no FROM memories AS m CROSS JOIN (SELECT tags FROM q WHERE tags <> []) AS t
    WHERE list_filter(t.tags, lambda tag: NOT contains(lower(m.text), tag)) = []
    UNION ALL
    SELECT m.doc_no FROM messages AS m CROSS JOIN (SELECT tags FROM q WHERE tags <> []) AS t
    WHERE list_filter(t.tags, lambda tag: NOT contains(lower(m.text), tag)) = []
),
eligible AS MATERIALIZED (
    SELECT d.doc_no, d.kind, d.length, d.session_no, d.place
    FROM within AS d
    CROSS JOIN q
    WHERE d.live
      AND list_contains(q.kinds, d.kind::VARCHAR)
      AND (list_contains(q.scopes, '*') OR list_contains(q.scopes, d.scope))
      AND (list_contains(q.categories, '*') OR list_contains(q.categories, d.category))
      AND (list_contains(q.tiers, '*') OR list_contains(q.tiers, d.tier))
      AND (d.created_at >= q.since AND d.created_at < q.until) IS TRUE  -- as one condition: two would become a join by ranges
      AND CASE d.kind WHEN 'memory'
              THEN d.valid_from <= q.asked_at AND (d.invalidated_at IS NULL OR d.invalidated_at > q.asked_at)
              ELSE d.created_at <= q.said_by END
      AND (q.tags = [] OR d.doc_no IN (SELECT doc_no FROM tagged))
),

-- The channels. How rare a word is, and how long a document, is counted over the whole kind or over what takes part.
found AS MATERIALIZED (
    SELECT a.word, a.share, p.kind, p.doc_no, p.tf
    FROM postings AS p
    JOIN (SELECT t.term_no, a.word, a.share FROM terms AS t JOIN temp.main.asked_terms AS a USING (term) WHERE a.in_postings) AS a USING (term_no)
    UNION ALL
    SELECT a.word, a.share, f.kind::document_kind, f.doc_no, f.tf
    FROM temp.main.fts_hits AS f
    JOIN temp.main.asked_terms AS a USING (term)
),
partaking AS MATERIALIZED (
    SELECT f.word, f.share, f.kind, f.doc_no, f.tf, e.length, e.session_no
    FROM found AS f
    JOIN eligible AS e USING (doc_no)
),
population AS (
    SELECT kind, documents, length / documents AS average_length FROM kind_stats CROSS JOIN q WHERE (q.w).counted = 'kind' AND documents > 0
    UNION ALL
    SELECT kind, count(*), avg(length) FROM eligible CROSS JOIN q WHERE (q.w).counted = 'asked' GROUP BY kind
),
rarity AS (
    SELECT f.word, f.kind, idf(n.documents, f.documents) AS idf, n.average_length
    FROM (
        SELECT word, kind, count(*) FILTER (share = 1) AS documents FROM found CROSS JOIN q WHERE (q.w).counted = 'kind' GROUP BY word, kind
        UNION ALL
        SELECT word, kind, count(*) FILTER (share = 1) FROM partaking CROSS JOIN q WHERE (q.w).counted = 'asked' GROUP BY word, kind
    ) AS f
    JOIN population AS n USING (kind)
),
hits AS MATERIALIZED (
    SELECT p.word, p.doc_no, p.share * p.tf AS tf, r.idf, r.average_length, p.length, p.session_no
    FROM partaking AS p
    JOIN rarity AS r USING (word, kind)
),
cosines AS MATERIALIZED (
    SELECT v.doc_no, array_inner_product(v.v, a.v) AS cosine
    FROM vectors AS v
    CROSS JOIN (SELECT as_vector(v) AS v FROM temp.main.asked_vector) AS a
    WHERE v.doc_no IN (SELECT doc_no FROM eligible)
),

-- The pool: the best of each channel, or everybody where they are few enough.
pool AS (
    SELECT doc_no FROM (
        SELECT doc_no, row_number() OVER (ORDER BY raw DESC, doc_no) AS place
        FROM (SELECT h.doc_no, sum(bm25(h.idf, h.tf, h.length, h.average_length, (q.w).k1, (q.w).b)) AS raw
              FROM hits AS h CROSS JOIN q GROUP BY h.doc_no ORDER BY raw DESC, h.doc_no LIMIT 2000)
    ) JOIN q ON place <= q.pool
    UNION ALL
    SELECT doc_no FROM (
        SELECT doc_no, row_number() OVER (ORDER BY cosine DESC, doc_no) AS place
        FROM (FROM cosines ORDER BY cosine DESC, doc_no LIMIT 2000)
    ) JOIN q ON place <= q.pool
    UNION ALL
    SELECT doc_no FROM eligible CROSS JOIN q
    WHERE (SELECT count(*) FROM eligible) <= (q.w).whole
),

-- Neighbours.
steps AS MATERIALIZED (
    SELECT unnest([0, -1, 1, -2, 2]) AS step, unnest([1, (w).near, (w).near, (w).far, (w).far]) AS share FROM q
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
    SELECT b.doc_no, sum(bm25(t.idf, t.tf, b.length, t.average_length * (1 + 2 * (q.w).near + 2 * (q.w).far), (q.w).k1, (q.w).b)) AS raw
    FROM words AS t
    JOIN blended AS b USING (doc_no)
    CROSS JOIN q
    GROUP BY b.doc_no
),
sessions AS (
    SELECT session_no, sum(bm25(idf, tf, 1, 1, k1, 0)) AS raw
    FROM (SELECT h.session_no, h.idf, sum(h.tf) AS tf, (q.w).k1 AS k1
          FROM hits AS h CROSS JOIN q
          WHERE (q.w).session > 0
          GROUP BY h.session_no, h.word, h.idf, (q.w).k1)
    GROUP BY session_no
),

-- Signals, each from 0 to 1.
described AS MATERIALIZED (
    SELECT c.doc_no, c.session_no, c.place, d.conversation_id, d.speaker, d.asks, d.ends_asking, d.tells, b.cosine, b.near_cosine, l.raw, s.raw AS session_raw,
        CASE WHEN (q.w).date > 0 AND q.froms <> [] THEN list_max(list_transform(list_zip(q.froms, q.untils),
            lambda period: date_fit(coalesce(d.valid_from, d.created_at), period[1], period[2], (q.w).date_days))) END AS date_score
    FROM candidates AS c
    CROSS JOIN q
    JOIN documents AS d USING (doc_no)
    JOIN blended AS b USING (doc_no)
    LEFT JOIN lexical AS l USING (doc_no)
    LEFT JOIN sessions AS s ON s.session_no = c.session_no
),
named AS (
    SELECT conversation_id, any_value(speaker) AS speaker
    FROM (SELECT DISTINCT conversation_id, speaker FROM described WHERE speaker IS NOT NULL)
    CROSS JOIN q
    WHERE (q.w).speaker > 0 AND list_has_any(words(speaker), q.words)
    GROUP BY conversation_id
    HAVING count(*) = 1
),
normalised AS (
    SELECT d.*, CASE WHEN n.speaker IS NOT NULL THEN (d.speaker IS NOT DISTINCT FROM n.speaker)::INTEGER END AS speaker_score,
        CASE (q.w).normalise WHEN 'maximum'
            THEN greatest(d.near_cosine, 0) / nullif(max(greatest(d.near_cosine, 0)) OVER (), 0)
            ELSE vector_score(d.near_cosine) END AS vector_score,
        CASE (q.w).normalise WHEN 'maximum'
            THEN d.raw / nullif(max(d.raw) OVER (), 0)
            ELSE CASE WHEN d.raw IS NOT NULL THEN lexical_score(d.raw) END END AS lexical_score,
        d.session_raw / nullif(max(d.session_raw) OVER (), 0) AS session_score
    FROM described AS d
    CROSS JOIN q
    LEFT JOIN named AS n USING (conversation_id)
),
joined AS MATERIALIZED (
    SELECT n.*, q.w, q.offers,
        CASE
            WHEN (q.w).normalise = 'maximum' THEN coalesce(n.vector_score, 0) * (q.w).vector + coalesce(n.lexical_score, 0) * (q.w).lexical
            WHEN c.vectors = 0 THEN coalesce(n.lexical_score, 0)
            WHEN c.terms = 0 THEN n.vector_score
            ELSE fuse(n.vector_score, n.lexical_score, (q.w).vector, (q.w).lexical)
        END AS relevance
    FROM normalised AS n
    CROSS JOIN q
    CROSS JOIN (SELECT (SELECT count(*) FROM temp.main.asked_vector) AS vectors, (SELECT count(*) FROM temp.main.asked_terms) AS terms) AS c
),
fused AS (
    SELECT j.*, p.relevance AS reply_score,
        clamp01((j.relevance + coalesce(j.session_score, 0) * (j.w).session + coalesce(j.date_score, 0) * (j.w).date
                + coalesce(j.speaker_score, 0) * (j.w).speaker + coalesce(p.relevance, 0) * (j.w).reply + j.tells * (j.w).tells - j.ends_asking::INTEGER * (j.w).question)
            / CASE (j.w).normalise WHEN 'maximum' THEN (j.w).vector + (j.w).lexical + (j.w).session + (j.w).date + (j.w).speaker
                   + (j.w).reply * ((j.w).vector + (j.w).lexical) + (j.w).tells ELSE 1 END) AS fused
    FROM joined AS j
    LEFT JOIN (SELECT session_no, place + 1 AS place, relevance FROM joined WHERE asks AND (w).reply > 0) AS p USING (session_no, place)
),
placed AS (
    SELECT *, row_number() OVER (ORDER BY fused DESC, cosine DESC NULLS LAST, raw DESC NULLS LAST, doc_no) AS position,
        count(*) OVER () AS candidates, count(cosine) OVER () AS with_vector, count(raw) OVER () AS with_words,
        min(fused) OVER () AS lowest, max(fused) OVER () AS highest
    FROM fused
)
SELECT doc_no, cosine, near_cosine, raw, vector_score, lexical_score, session_score, date_score, speaker_score, reply_score, tells, ends_asking, fused,
    candidates, with_vector, with_words, lowest, highest
FROM placed
WHERE position <= offers
ORDER BY position;

-- name: recall_offer
-- The rows of recall_candidates in their order; a cosine that is no number could not be known.
INSERT INTO temp.main.offered
SELECT unnest($positions::INTEGER[]), unnest($doc_nos::INTEGER[]), unnest($fused::DOUBLE[]), nullif(unnest($cosines::DOUBLE[]), 'nan');

-- name: recall_rank
-- Takes the candidates offered through every stage after fusion. Each has one column per stage and, where a stage dropped it,
-- that stage's name; rank counts those that are left, the ones diversity deferred last.
WITH asked AS MATERIALIZED (
    SELECT weights::JSON::weights AS w, asked_at, rerankable, hits FROM temp.main.asking
),
entered AS (
    SELECT g.*, d.kind, d.tier, d.created_at, d.characters, d.noise,
        m.importance, m.confidence, m.access_count, m.last_accessed_at, m.temporal_type, q.*,
        CASE WHEN g.fused < (q.w).min_score THEN 'min_score'
             WHEN m.valid_until <= q.asked_at THEN 'expired' END AS dropped
    FROM temp.main.offered AS g
    CROSS JOIN asked AS q
    JOIN documents AS d USING (doc_no)
    LEFT JOIN memories AS m ON m.id = d.owner_id
),
windowed AS (
    SELECT * REPLACE (coalesce(dropped, CASE WHEN (w).rerank <> 'none' AND rerankable
        AND row_number() OVER (ORDER BY dropped IS NOT NULL, position) > 2 * hits THEN 'rerank_window' END) AS dropped)
    FROM entered
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
    SELECT *, length_norm(importance_weighted, characters, (w).length_anchor) AS length_normed
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
             WHEN (w).noise AND noise THEN 'noise' END) AS dropped)
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
    CROSS JOIN (FROM asked WHERE (w).diversity < 1)
    LEFT JOIN close USING (place)
    UNION ALL
    SELECT place FROM ordered CROSS JOIN (FROM asked WHERE (w).diversity = 1)
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
WHERE d.doc_no IN (SELECT unnest($doc_nos::INTEGER[])) AND d.kind = 'memory';

-- name: recall_messages
-- What is shown of messages.
SELECT d.doc_no, m.id, d.kind::VARCHAR AS kind, d.scope, NULL AS category, NULL AS tier, m.conversation_id, m.said_at,
    m.text, NULL AS l0_abstract, NULL AS l1_overview, NULL AS l2_content, m.session, m.speaker, m.role, m.seq, m.caption
FROM documents AS d
JOIN messages AS m ON m.id = d.owner_id
WHERE d.doc_no IN (SELECT unnest($doc_nos::INTEGER[])) AND d.kind = 'message';
