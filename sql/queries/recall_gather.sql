-- Gathering: who takes part in a recall, how rare its words are, and what both channels say.

-- name: recall_partake
-- Who takes part in the recall, where that are few: then what follows is found by document, else by word.
INSERT INTO temp.main.partakers
WITH within AS (  -- the conversations asked
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
    LIMIT 5001
)
SELECT * FROM eligible WHERE (SELECT count(*) FROM eligible) <= 5000;

-- name: recall_count_words
-- How rare the words of the question are: in how many documents each stands, of how many, and how long these are on average. Counted
-- are all documents of a kind, or those asked, as the weights say. The word -1 stands in all.
INSERT INTO temp.main.word_rarity
WITH within AS (  -- the conversations asked
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

asked AS MATERIALIZED (
    SELECT t.term_no, a.word FROM terms AS t JOIN temp.main.asked_terms AS a USING (term)
),
found AS MATERIALIZED (
    SELECT a.word, p.kind, p.doc_no FROM postings AS p JOIN asked AS a USING (term_no)
),
population AS MATERIALIZED (
    SELECT kind, count(*) AS documents, avg(length) AS average_length FROM eligible CROSS JOIN temp.main.weighing AS w WHERE w.counted = 'asked' GROUP BY kind
    UNION ALL
    SELECT kind, documents, length / documents FROM kind_stats CROSS JOIN temp.main.weighing AS w WHERE w.counted = 'kind' AND documents > 0
),
counts AS (
    SELECT word, kind, count(*) AS documents FROM found SEMI JOIN eligible USING (doc_no) CROSS JOIN temp.main.weighing AS w WHERE w.counted = 'asked' GROUP BY word, kind
    UNION ALL
    SELECT word, kind, count(*) FROM found CROSS JOIN temp.main.weighing AS w WHERE w.counted = 'kind' GROUP BY word, kind
)
SELECT a.word, n.kind, coalesce(c.documents, 0), n.documents, idf(n.documents, coalesce(c.documents, 0)), n.average_length
FROM temp.main.asked_terms AS a
CROSS JOIN population AS n
LEFT JOIN counts AS c ON c.word = a.word AND c.kind = n.kind
UNION ALL
SELECT -1, kind, documents, documents, 0, average_length FROM population;

-- name: recall_count_words_few
-- The same among few, by their own postings, which lie together in the file.
INSERT INTO temp.main.word_rarity
WITH nearby AS MATERIALIZED (
    SELECT p.term_no, p.kind FROM postings AS p SEMI JOIN temp.main.partakers USING (doc_no)
),
population AS MATERIALIZED (
    SELECT kind, count(*) AS documents, avg(length) AS average_length FROM temp.main.partakers GROUP BY kind
),
counts AS (
    SELECT a.word, n.kind, count(*) AS documents
    FROM nearby AS n
    JOIN (SELECT t.term_no, a.word FROM terms AS t JOIN temp.main.asked_terms AS a USING (term)) AS a USING (term_no)
    GROUP BY a.word, n.kind
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

-- name: recall_gather_few
-- Asks both channels about few documents, all of which are candidates.
INSERT INTO temp.main.scored
WITH nearby AS MATERIALIZED (
    SELECT p.term_no, p.kind, p.doc_no, p.tf, e.length, e.session_no FROM postings AS p JOIN temp.main.partakers AS e USING (doc_no)
),
asked AS MATERIALIZED (
    SELECT t.term_no, a.word, a.share
    FROM terms AS t
    JOIN temp.main.asked_terms AS a USING (term)
    WHERE a.share > 0 AND NOT (SELECT fts FROM temp.main.asking)
),
hits AS MATERIALIZED (
    SELECT h.word, h.doc_no, h.tf, r.idf, h.session_no
    FROM (
        SELECT a.word, n.kind, n.doc_no, a.share * n.tf AS tf, n.session_no
        FROM nearby AS n
        JOIN asked AS a USING (term_no)
        UNION ALL
        SELECT f.word, f.kind, f.doc_no, f.tf, e.session_no
        FROM temp.main.fts_hits AS f
        JOIN temp.main.partakers AS e USING (doc_no)
    ) AS h
    JOIN temp.main.word_rarity AS r ON r.word = h.word AND r.kind = h.kind
),
cosines AS MATERIALIZED (
    SELECT v.doc_no, array_inner_product(v.v, a.v) AS cosine
    FROM vectors AS v
    CROSS JOIN (SELECT as_vector(v) AS v FROM temp.main.asked_vector WHERE v <> []) AS a
    WHERE v.doc_no IN (SELECT doc_no FROM temp.main.partakers)
),
sessions AS (
    SELECT session_no, sum(bm25(idf, tf, 1, 1, k1, 0)) AS raw
    FROM (SELECT h.session_no, h.idf, sum(h.tf) AS tf, w.k1
          FROM hits AS h CROSS JOIN temp.main.weighing AS w
          WHERE w.session > 0
          GROUP BY h.session_no, h.word, h.idf, w.k1)
    GROUP BY session_no
),
listed AS (
    SELECT doc_no, list({'word': word, 'tf': tf}) AS hits FROM hits GROUP BY doc_no
)
SELECT e.doc_no, e.kind, e.session_no, e.place, e.length, true AS candidate, c.cosine, s.raw, l.hits
FROM temp.main.partakers AS e
LEFT JOIN cosines AS c USING (doc_no)
LEFT JOIN listed AS l USING (doc_no)
LEFT JOIN sessions AS s USING (session_no);

-- name: recall_gather_pool
-- Asks both channels; candidates are the best of each with their neighbours: what was said up to two places before and after, in the
-- same session. Neighbours of these are scored too, as neighbours.
INSERT INTO temp.main.scored
WITH within AS (  -- the conversations asked
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

asked AS MATERIALIZED (
    SELECT t.term_no, a.word, a.share
    FROM terms AS t
    JOIN temp.main.asked_terms AS a USING (term)
    WHERE a.share > 0 AND NOT (SELECT fts FROM temp.main.asking)
),
found AS MATERIALIZED (
    SELECT a.word, a.share, p.kind, p.doc_no, p.tf FROM postings AS p JOIN asked AS a USING (term_no)
),
hits AS MATERIALIZED (
    SELECT h.word, h.doc_no, h.tf, r.idf, r.average_length, h.length, h.session_no
    FROM (
        SELECT f.word, f.kind, f.doc_no, f.share * f.tf AS tf, e.length, e.session_no
        FROM found AS f
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
),
reach AS (
    SELECT CASE WHEN far > 0 THEN 2 WHEN near > 0 THEN 1 ELSE 0 END AS places FROM temp.main.weighing
),
places AS (
    SELECT p.session_no, p.place + s.step AS place, min(abs(s.step)) <= any_value(s.places) AS candidate
    FROM pool
    JOIN eligible AS p USING (doc_no)
    CROSS JOIN (SELECT places, unnest(range(-2 * places, 2 * places + 1)) AS step FROM reach) AS s
    GROUP BY p.session_no, p.place + s.step
),
sessions AS (
    SELECT session_no, sum(bm25(idf, tf, 1, 1, k1, 0)) AS raw
    FROM (SELECT h.session_no, h.idf, sum(h.tf) AS tf, w.k1
          FROM hits AS h CROSS JOIN temp.main.weighing AS w
          WHERE w.session > 0
          GROUP BY h.session_no, h.word, h.idf, w.k1)
    GROUP BY session_no
),
listed AS (
    SELECT doc_no, list({'word': word, 'tf': tf}) AS hits FROM hits GROUP BY doc_no
)
SELECT e.doc_no, e.kind, e.session_no, e.place, e.length, p.candidate, c.cosine, s.raw, l.hits
FROM places AS p
JOIN eligible AS e USING (session_no, place)
LEFT JOIN cosines AS c USING (doc_no)
LEFT JOIN listed AS l USING (doc_no)
LEFT JOIN sessions AS s USING (session_no);
