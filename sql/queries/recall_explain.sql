-- The statements that explain a recall, right after it: in its transaction, from its tables (recall.sql), and in no hurry.

-- name: explain_tables
-- Each connection has a place of its own for what is explained. A row of sifted is a document that takes part, or one that somebody
-- misses, with what keeps it out; one of word_hits is a term in a document that takes part, one of meant its cosine; explained are candidates.
CREATE OR REPLACE TEMP TABLE sifted (doc_no INTEGER, kind VARCHAR, length FLOAT, characters INTEGER, session_no INTEGER, place INTEGER, outside VARCHAR[]);
CREATE OR REPLACE TEMP TABLE word_hits (
    doc_no INTEGER, word INTEGER, term VARCHAR, share DOUBLE, tf FLOAT, length FLOAT, idf DOUBLE, average_length DOUBLE);
CREATE OR REPLACE TEMP TABLE meant (doc_no INTEGER, cosine DOUBLE);
CREATE OR REPLACE TEMP TABLE explained (
    doc_no INTEGER, vector_score DOUBLE, lexical_score DOUBLE, date_score DOUBLE, speaker_score DOUBLE,
    reply_score DOUBLE, answered_score DOUBLE, tells DOUBLE, wish DOUBLE, asks DOUBLE, relation_score DOUBLE, verbatim DOUBLE, fresh_score DOUBLE, fused DOUBLE,
    cosine DOUBLE, coverage DOUBLE, proximity DOUBLE, phrase DOUBLE, named DOUBLE, neighbour DOUBLE, session_best DOUBLE);

-- name: explain_clear
DROP TABLE temp.main.sifted;
DROP TABLE temp.main.word_hits;
DROP TABLE temp.main.meant;
DROP TABLE temp.main.explained;

-- name: explain_find
-- The document with that id, or those with that ending, in the scopes that the caller may read.
SELECT d.doc_no, d.owner_id, d.kind::VARCHAR AS kind, d.scope, c.name AS conversation, d.category, d.tier, d.role, d.speaker,
    d.created_at, coalesce(d.valid_from, d.created_at) AS begins, d.invalidated_at, m.superseded_by, m.valid_until, m.retired_at, m.retired_reason, m.state, m.layer
FROM documents AS d
LEFT JOIN memories AS m ON m.id = d.owner_id
LEFT JOIN conversations AS c ON c.id = d.conversation_id
WHERE (d.owner_id = $id OR length($id) >= $shortest::INTEGER AND ends_with(d.owner_id, $id))
  AND ($scopes::VARCHAR[] IS NULL OR list_contains($scopes::VARCHAR[], d.scope))
ORDER BY d.owner_id <> $id, d.owner_id
LIMIT 6;

-- name: explain_find_now
-- The same in the present, whatever stands in the place of documents.
SELECT d.owner_id, d.kind::VARCHAR AS kind, coalesce(m.text, g.text, s.text, n.text) AS text
FROM mallard.main.documents AS d
LEFT JOIN mallard.main.memories AS m ON m.id = d.owner_id
LEFT JOIN mallard.main.messages AS g ON g.id = d.owner_id
LEFT JOIN mallard.main.summaries AS s ON s.id = d.owner_id
LEFT JOIN mallard.main.notes AS n ON n.doc_no = d.doc_no
WHERE (d.owner_id = $id OR length($id) >= $shortest::INTEGER AND ends_with(d.owner_id, $id))
  AND ($scopes::VARCHAR[] IS NULL OR list_contains($scopes::VARCHAR[], d.scope))
ORDER BY d.owner_id <> $id, d.owner_id
LIMIT 6;

-- name: explain_sift
-- Who takes part, by the filters of recall_gather.
INSERT INTO temp.main.sifted
SELECT doc_no, kind, length, characters, session_no, place, outside
FROM (
    SELECT d.doc_no, d.kind::VARCHAR AS kind, d.length, d.characters, d.session_no, d.place, list_filter([
        CASE WHEN NOT list_contains(q.kinds, d.kind::VARCHAR) THEN 'kind' END,
        CASE WHEN NOT list_has_any(q.scopes, ['*', d.scope]) THEN 'scope' END,
        CASE WHEN NOT list_has_any(q.conversations, ['*', d.conversation_id]) THEN 'conversation' END,
        CASE WHEN NOT list_has_any(q.categories, ['*', d.category]) THEN 'category' END,
        CASE WHEN NOT list_has_any(q.tiers, ['*', d.tier]) THEN 'tier' END,
        CASE WHEN NOT list_has_any(q.roles, ['*', d.role]) THEN 'role' END,
        CASE WHEN NOT list_has_any(q.speakers, ['*', lower(d.speaker)]) THEN 'speaker' END,
        CASE WHEN NOT list_has_any(q.source_kinds, ['*', d.source_kind]) OR list_has_any(q.not_source_kinds, [d.source_kind]) THEN 'source_kind' END,
        CASE WHEN d.created_at < q.since OR d.created_at >= q.until THEN 'time' END,
        CASE WHEN NOT q.apart AND d.doc_no IN (SELECT doc_no FROM memories WHERE set_apart(state, layer)) THEN 'state' END,
        CASE WHEN NOT d.live THEN 'forgotten' END,
        CASE WHEN d.invalidated_at <= q.asked_at THEN 'superseded' END,
        CASE WHEN CASE d.kind WHEN 'memory' THEN d.valid_from > CASE WHEN d.valid_from <= d.created_at THEN q.said_by ELSE q.asked_at END ELSE d.created_at > q.said_by END THEN 'not_yet' END,
        CASE WHEN q.marked AND d.doc_no NOT IN (FROM temp.main.marked) THEN 'marks' END
    ], lambda name: name IS NOT NULL) AS outside
    FROM documents AS d
    CROSS JOIN temp.main.asking AS q
)
WHERE outside = [] OR doc_no = $missed::INTEGER;

-- name: explain_hits
-- Where the terms asked stand, with the rarity of their words. postings has them, whichever backend found them.
INSERT INTO temp.main.word_hits
SELECT p.doc_no, a.word, a.term, term_share(a.share, s.characters, w.long_turn), p.tf, s.length, r.idf, r.average_length
FROM temp.main.asked_terms AS a
JOIN terms AS t ON t.hash = word_hash(a.term)
JOIN postings AS p USING (term_no)
JOIN temp.main.sifted AS s USING (doc_no)
JOIN temp.main.word_rarity AS r ON r.word = a.word AND r.kind = p.kind
CROSS JOIN temp.main.weighing AS w
WHERE a.share > 0 AND s.outside = [];

-- name: explain_meant
-- The cosines of who takes part, as recall_gather has them.
INSERT INTO temp.main.meant
SELECT o.doc_no, passage_cosine(o.cosine, p.cosine, w.passage)
FROM (
    SELECT v.doc_no, array_inner_product(v.v, a.v) AS cosine
    FROM vectors AS v
    CROSS JOIN (SELECT as_vector(v) AS v FROM temp.main.asked_vector WHERE v <> []) AS a
    WHERE v.doc_no IN (SELECT doc_no FROM temp.main.sifted WHERE outside = [])
) AS o
LEFT JOIN (
    SELECT p.doc_no, max(array_inner_product(v.v, a.v)) AS cosine
    FROM passages AS p
    JOIN vectors AS v ON v.doc_no = p.number
    CROSS JOIN (SELECT as_vector(v) AS v FROM temp.main.asked_vector WHERE v <> []) AS a
    GROUP BY p.doc_no
) AS p USING (doc_no)
CROSS JOIN temp.main.weighing AS w;

-- name: explain_offer
-- Candidates to explain, with their signals; one that is no number could not be known.
INSERT INTO temp.main.explained
SELECT unnest($doc_nos::INTEGER[]), nullif(unnest($vector::DOUBLE[]), 'nan'), nullif(unnest($lexical::DOUBLE[]), 'nan'),
    nullif(unnest($date::DOUBLE[]), 'nan'), nullif(unnest($speaker::DOUBLE[]), 'nan'),
    nullif(unnest($reply::DOUBLE[]), 'nan'), nullif(unnest($answered::DOUBLE[]), 'nan'), unnest($tells::DOUBLE[]), unnest($wish::DOUBLE[]), unnest($asks::DOUBLE[]),
    nullif(unnest($relation::DOUBLE[]), 'nan'), unnest($verbatim::DOUBLE[]), nullif(unnest($fresh::DOUBLE[]), 'nan'), unnest($fused::DOUBLE[]),
    nullif(unnest($cosine::DOUBLE[]), 'nan'), nullif(unnest($coverage::DOUBLE[]), 'nan'), nullif(unnest($proximity::DOUBLE[]), 'nan'), nullif(unnest($phrase::DOUBLE[]), 'nan'),
    nullif(unnest($named::DOUBLE[]), 'nan'), nullif(unnest($neighbour::DOUBLE[]), 'nan'), nullif(unnest($session_best::DOUBLE[]), 'nan');

-- name: explain_question
-- How many of the documents asked have each word of the question, and its rarity as a share of the greatest there can be.
WITH asked AS (
    SELECT count(*) AS documents FROM temp.main.sifted WHERE outside = []
)
SELECT a.word, count(h.doc_no) AS documents, any_value(n.documents) AS of, idf(any_value(n.documents), count(h.doc_no)) / idf(any_value(n.documents), 0) AS rarity
FROM temp.main.asked_terms AS a
CROSS JOIN asked AS n
LEFT JOIN temp.main.word_hits AS h ON h.word = a.word AND h.term = a.term
WHERE a.share = 1
GROUP BY a.word
ORDER BY a.word;

-- name: explain_words
-- What each word of the question adds to the BM25 of a document with its neighbours, and the related terms that it stands there by.
WITH steps AS (
    SELECT unnest([0, -1, 1, -2, 2]) AS step, unnest([1, near, near, far, far]) AS share, near, far, long_turn FROM temp.main.weighing
),
around AS MATERIALIZED (
    SELECT e.doc_no, n.doc_no AS neighbour, s.step, n.length,
        CASE s.step WHEN 0 THEN 1 ELSE s.share * shortness(p.characters, s.long_turn) * shortness(n.characters, s.long_turn) END AS share,
        1 + (2 * s.near + 2 * s.far) * shortness(p.characters, s.long_turn) AS wide
    FROM temp.main.explained AS e
    JOIN temp.main.sifted AS p USING (doc_no)
    CROSS JOIN steps AS s
    JOIN temp.main.sifted AS n ON n.session_no = p.session_no AND n.place = p.place + s.step
    WHERE s.share > 0 AND n.outside = []
),
lengths AS (
    SELECT doc_no, sum(share * length) AS length, any_value(wide) AS wide FROM around GROUP BY doc_no
),
seen AS (
    SELECT a.doc_no, h.word, h.idf, h.average_length, sum(h.tf) FILTER (a.step = 0 AND h.share = 1) AS frequency, sum(a.share * h.share * h.tf) AS tf,
        string_agg(DISTINCT h.term, ' ' ORDER BY h.term) FILTER (h.share < 1) AS through
    FROM around AS a
    JOIN temp.main.word_hits AS h ON h.doc_no = a.neighbour
    GROUP BY a.doc_no, h.word, h.idf, h.average_length
)
SELECT s.doc_no, s.word, coalesce(s.frequency, 0), s.tf, s.through,
    bm25(s.idf, s.tf, l.length, s.average_length * l.wide, w.k1, w.b) AS points
FROM seen AS s
JOIN lengths AS l USING (doc_no)
CROSS JOIN temp.main.weighing AS w
ORDER BY s.doc_no, points DESC, s.word;

-- name: explain_neighbours
-- What was said up to two places before and after: its share in the score, and its own cosine and BM25.
WITH steps AS (
    SELECT unnest([-2, -1, 1, 2]) AS step, unnest([far, near, near, far]) AS share, long_turn FROM temp.main.weighing
)
SELECT e.doc_no, s.step, s.share * shortness(p.characters, s.long_turn) * shortness(n.characters, s.long_turn) AS share, n.doc_no AS neighbour,
    (SELECT m.cosine FROM temp.main.meant AS m WHERE m.doc_no = n.doc_no) AS cosine,
    (SELECT sum(bm25(h.idf, h.share * h.tf, h.length, h.average_length, w.k1, w.b))
     FROM temp.main.word_hits AS h CROSS JOIN temp.main.weighing AS w WHERE h.doc_no = n.doc_no) AS raw
FROM temp.main.explained AS e
JOIN temp.main.sifted AS p USING (doc_no)
CROSS JOIN steps AS s
JOIN temp.main.sifted AS n ON n.session_no = p.session_no AND n.place = p.place + s.step
WHERE n.outside = [] AND (s.share > 0 OR s.step = -1 AND e.reply_score IS NOT NULL)
ORDER BY e.doc_no, s.step;

-- name: explain_dates
-- The period of the question that a document fits best, counted as in asking, and how many days it lies off; 0 is within.
WITH periods AS (
    SELECT unnest(range(1, len(froms) + 1)) AS n, unnest(froms) AS begins, unnest(untils) AS ends FROM temp.main.asking
)
SELECT e.doc_no, p.n, coalesce(d.valid_from, d.created_at) AS said,
    greatest(days_between(said, p.begins), days_between(p.ends, said), 0) AS days
FROM temp.main.explained AS e
JOIN documents AS d USING (doc_no)
CROSS JOIN periods AS p
WHERE e.date_score IS NOT NULL
QUALIFY row_number() OVER (PARTITION BY e.doc_no ORDER BY days, p.n DESC) = 1;

-- name: explain_named
-- The speaker of a conversation whom the question names, from documents that were said by one.
SELECT conversation_id, any_value(speaker) AS speaker
FROM documents
WHERE doc_no IN (SELECT unnest($doc_nos::INTEGER[]))
GROUP BY conversation_id;

-- name: explain_shares
-- What each signal brings into the fused score: a row is a signal with its value, the most it can bring, and what it brought. The rows of a
-- document add up to its fused score. fuse may take the words alone, near-exact ones above all; cap is what the bounds 0 and 1 change.
WITH asked AS MATERIALIZED (
    SELECT w.*, a.v <> [] AS by_meaning, a.by_words,
        CASE w.normalise WHEN 'maximum' THEN most_of(w.vector, w.lexical, w.date, w.speaker, w.reply, w.answered, w.tells, w.wish,
            relation := w.relation, verbatim := w.verbatim, fresh := w.fresh) ELSE 1 END AS most,
        CASE w.normalise WHEN 'maximum' THEN w.vector + w.lexical ELSE 1 END AS relevance
    FROM temp.main.weighing AS w
    CROSS JOIN temp.main.asked_vector AS a
),
joined AS (
    SELECT e.*, coalesce(e.vector_score, 0) * q.vector + coalesce(e.lexical_score, 0) * q.lexical AS both,
        fuse(e.vector_score, e.lexical_score, q.vector, q.lexical, exact_from := q.exact_from, exact_share := q.exact_share) AS fusion
    FROM temp.main.explained AS e
    CROSS JOIN asked AS q
),
weighted AS (
    SELECT j.*,
        CASE WHEN q.normalise = 'maximum' THEN q.vector
             WHEN NOT q.by_meaning THEN 0
             WHEN NOT q.by_words THEN 1
             WHEN q.normalise IN ('plain', 'rank') THEN q.vector
             WHEN j.vector_score IS NULL OR j.fusion > j.both THEN 0
             ELSE q.vector END AS vector_weight,
        CASE WHEN q.normalise = 'maximum' THEN q.lexical
             WHEN NOT q.by_meaning THEN 1
             WHEN NOT q.by_words THEN 0
             WHEN q.normalise IN ('plain', 'rank') THEN q.lexical
             WHEN j.vector_score IS NULL THEN 1
             WHEN j.fusion > j.both THEN j.fusion / j.lexical_score
             ELSE q.lexical END AS lexical_weight
    FROM joined AS j
    CROSS JOIN asked AS q
),
signals AS MATERIALIZED (
    SELECT j.doc_no, j.fused, unnest([
        {n: 1, name: 'vector', value: j.vector_score, weight: j.vector_weight / q.most},
        {n: 2, name: 'lexical', value: j.lexical_score, weight: j.lexical_weight / q.most},
        {n: 3, name: 'date', value: j.date_score, weight: q.date / q.most},
        {n: 4, name: 'speaker', value: j.speaker_score, weight: q.speaker / q.most},
        {n: 5, name: 'reply', value: j.reply_score / nullif(q.relevance, 0), weight: q.reply * q.relevance / q.most},
        {n: 6, name: 'answered', value: j.answered_score / nullif(q.relevance, 0), weight: q.answered * q.relevance / q.most},
        {n: 7, name: 'tells', value: j.tells, weight: q.tells / q.most},
        {n: 8, name: 'wish', value: j.wish, weight: q.wish / q.most},
        {n: 9, name: 'question', value: j.asks, weight: -q.question / q.most},
        {n: 10, name: 'relation', value: j.relation_score / nullif(q.relevance, 0), weight: q.relation * q.relevance / q.most},
        {n: 11, name: 'verbatim', value: j.verbatim, weight: q.verbatim / q.most},
        {n: 12, name: 'fresh', value: j.fresh_score, weight: q.fresh / q.most}], recursive := true)
    FROM weighted AS j
    CROSS JOIN asked AS q
)
SELECT doc_no, n, name, value, weight, coalesce(value, 0) * weight AS points FROM signals WHERE weight <> 0 OR n <= 2
UNION ALL
SELECT doc_no, 13, 'cap', NULL, 0, any_value(fused) - sum(coalesce(value, 0) * weight) AS points FROM signals GROUP BY doc_no HAVING abs(points) > 1e-6
ORDER BY doc_no, n;

-- name: explain_features
-- What the fused score and each feature bring into the score after the rerank by features, of the features that are known and weigh something.
WITH features AS (
    SELECT e.doc_no, unnest([
        {n: 1, name: 'fused', value: e.fused, weight: 1},
        {n: 2, name: 'feature_cosine', value: CASE WHEN e.cosine IS NOT NULL THEN greatest(e.cosine, 0) END, weight: w.feature_cosine},
        {n: 3, name: 'feature_lexical', value: e.lexical_score, weight: w.feature_lexical},
        {n: 4, name: 'feature_coverage', value: e.coverage, weight: w.feature_coverage},
        {n: 5, name: 'feature_proximity', value: e.proximity, weight: w.feature_proximity},
        {n: 6, name: 'feature_phrase', value: e.phrase, weight: w.feature_phrase},
        {n: 7, name: 'feature_name', value: e.named, weight: w.feature_name},
        {n: 8, name: 'feature_date', value: e.date_score, weight: w.feature_date},
        {n: 9, name: 'feature_neighbour', value: e.neighbour, weight: w.feature_neighbour},
        {n: 10, name: 'feature_session', value: e.session_best, weight: w.feature_session}], recursive := true)
    FROM temp.main.explained AS e
    CROSS JOIN temp.main.weighing AS w
)
SELECT f.doc_no, f.n, f.name, f.value, f.weight / s.weight, f.value * f.weight / s.weight
FROM features AS f
JOIN (SELECT doc_no, sum(feature_weight(value, weight)) AS weight FROM features GROUP BY doc_no) AS s USING (doc_no)
WHERE f.value IS NOT NULL AND f.weight > 0
ORDER BY f.doc_no, f.n;

-- name: explain_alike
-- Pairs of a deferred document and one that stays before it, with a cosine above the threshold.
SELECT a.doc_no, b.doc_no AS like_doc_no, array_inner_product(a.v, b.v)::DOUBLE AS cosine
FROM vectors AS a
JOIN vectors AS b ON array_inner_product(a.v, b.v) > (SELECT diversity::FLOAT FROM temp.main.weighing)
WHERE a.doc_no IN (SELECT unnest($deferred::INTEGER[])) AND b.doc_no IN (SELECT unnest($kept::INTEGER[]))
ORDER BY a.doc_no, cosine DESC;

-- name: explain_standing
-- Where a document stands among all that take part, by its own words and by its own cosine, and how many have one.
WITH by_words AS (
    SELECT doc_no, raw, row_number() OVER (ORDER BY raw DESC, doc_no) AS place
    FROM (SELECT h.doc_no, sum(bm25(h.idf, h.share * h.tf, h.length, h.average_length, w.k1, w.b)) AS raw
          FROM temp.main.word_hits AS h CROSS JOIN temp.main.weighing AS w GROUP BY h.doc_no)
),
by_meaning AS (
    SELECT doc_no, cosine, row_number() OVER (ORDER BY cosine DESC, doc_no) AS place FROM temp.main.meant
)
SELECT w.raw, coalesce(w.place, 0), (SELECT count(*) FROM by_words), m.cosine, coalesce(m.place, 0), (SELECT count(*) FROM by_meaning), q.pool
FROM temp.main.asking AS q
LEFT JOIN by_words AS w ON w.doc_no = $doc_no::INTEGER
LEFT JOIN by_meaning AS m ON m.doc_no = $doc_no::INTEGER;

-- name: explain_outside
-- The filters that a document does not pass.
SELECT array_to_string(outside, ' ') FROM temp.main.sifted WHERE doc_no = $doc_no::INTEGER;
