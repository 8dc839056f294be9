-- Gathering: how rare the words of a question are, who may answer it, and every candidate's signals.

-- name: recall_count_words
-- How rare the words of the question are: in how many documents each stands, of how many, and how long these are on average. Counted
-- are all documents of a kind, or those asked, as the weights say. The word -1 stands in all. Few documents are looked through by
-- their own postings, which lie together in the file; many by the postings of the words.
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
    ANTI JOIN (SELECT doc_no FROM memories WHERE set_apart(state, layer) AND NOT (SELECT apart FROM temp.main.asking)) AS m USING (doc_no)
    CROSS JOIN temp.main.asking AS q
    CROSS JOIN temp.main.weighing AS w
    WHERE w.counted = 'asked' AND d.live
      AND list_contains(q.kinds, d.kind::VARCHAR)
      AND (list_contains(q.scopes, '*') OR list_contains(q.scopes, d.scope))
      AND (list_contains(q.categories, '*') OR list_contains(q.categories, d.category))
      AND (list_contains(q.tiers, '*') OR list_contains(q.tiers, d.tier))
      AND (list_contains(q.roles, '*') OR list_contains(q.roles, d.role))
      AND (list_contains(q.speakers, '*') OR list_contains(q.speakers, lower(d.speaker)))
      AND (list_contains(q.source_kinds, '*') OR list_contains(q.source_kinds, d.source_kind)) AND NOT coalesce(list_contains(q.not_source_kinds, d.source_kind), false)
      AND (d.created_at >= q.since AND d.created_at < q.until) IS TRUE  -- as one condition: two would become a join by ranges
      AND CASE d.kind WHEN 'memory'::document_kind
              THEN d.valid_from <= CASE WHEN d.valid_from <= d.created_at THEN q.said_by ELSE q.asked_at END AND (d.invalidated_at IS NULL OR d.invalidated_at > q.asked_at)
              ELSE d.created_at <= q.said_by END
      AND (NOT q.marked OR d.doc_no IN (FROM temp.main.marked))
),

few AS MATERIALIZED (SELECT true AS are_few FROM eligible HAVING count(*) BETWEEN 1 AND 5000),
asked AS MATERIALIZED (
    SELECT t.term_no, a.word FROM terms AS t JOIN temp.main.asked_terms AS a ON t.hash = word_hash(a.term)
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
    SELECT kind, documents, CASE WHEN documents > 0 THEN length / documents ELSE 1 END  -- of none there may be some in the past
    FROM kind_stats CROSS JOIN temp.main.weighing AS w WHERE w.counted = 'kind'
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

-- name: recall_population
-- How many documents of each kind they were counted in.
SELECT kind::VARCHAR, documents FROM temp.main.word_rarity WHERE word = -1;

-- name: recall_gather
-- Gathers the documents that may answer the question, with what is known of each before it is scored. Every document is looked at with its
-- neighbours: what was said up to two places before and after it, in the same session; the cosine of a long one is also that of its best passage. What is dated after now was written under a clock that ran ahead;
-- it takes part, but a memory that is said to begin later than it was made does not.
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
    SELECT d.doc_no, d.kind, d.length, d.characters, d.session_no, d.place, d.wishes
    FROM within AS d
    ANTI JOIN (SELECT doc_no FROM memories WHERE set_apart(state, layer) AND NOT (SELECT apart FROM temp.main.asking)) AS m USING (doc_no)
    CROSS JOIN temp.main.asking AS q
    WHERE d.live
      AND list_contains(q.kinds, d.kind::VARCHAR)
      AND (list_contains(q.scopes, '*') OR list_contains(q.scopes, d.scope))
      AND (list_contains(q.categories, '*') OR list_contains(q.categories, d.category))
      AND (list_contains(q.tiers, '*') OR list_contains(q.tiers, d.tier))
      AND (list_contains(q.roles, '*') OR list_contains(q.roles, d.role))
      AND (list_contains(q.speakers, '*') OR list_contains(q.speakers, lower(d.speaker)))
      AND (list_contains(q.source_kinds, '*') OR list_contains(q.source_kinds, d.source_kind)) AND NOT coalesce(list_contains(q.not_source_kinds, d.source_kind), false)
      AND (d.created_at >= q.since AND d.created_at < q.until) IS TRUE  -- as one condition: two would become a join by ranges
      AND CASE d.kind WHEN 'memory'::document_kind
              THEN d.valid_from <= CASE WHEN d.valid_from <= d.created_at THEN q.said_by ELSE q.asked_at END AND (d.invalidated_at IS NULL OR d.invalidated_at > q.asked_at)
              ELSE d.created_at <= q.said_by END
      AND (NOT q.marked OR d.doc_no IN (FROM temp.main.marked))
),

-- The channels.
few AS MATERIALIZED (SELECT true AS are_few FROM eligible HAVING count(*) <= 5000),
many AS MATERIALIZED (SELECT true AS are_many FROM eligible HAVING count(*) > 5000),
asked AS MATERIALIZED (
    SELECT t.term_no, a.word, a.share
    FROM terms AS t
    JOIN temp.main.asked_terms AS a ON t.hash = word_hash(a.term)
    WHERE a.share > 0 AND NOT (SELECT fts FROM temp.main.asking)
),
nearby AS MATERIALIZED (  -- of few documents, all postings; they lie together in the file
    SELECT p.term_no, p.kind, p.doc_no, p.tf, e.length, e.characters
    FROM postings AS p
    JOIN (SELECT * FROM eligible SEMI JOIN few ON true) AS e USING (doc_no)
),
far_away AS MATERIALIZED (  -- of many, those of the terms
    SELECT a.word, a.share, p.kind, p.doc_no, p.tf
    FROM postings AS p
    JOIN (SELECT * FROM asked SEMI JOIN many ON true) AS a USING (term_no)
),
hits AS MATERIALIZED (
    SELECT h.word, h.doc_no, h.tf, r.idf, r.average_length, h.length
    FROM (
        SELECT a.word, n.kind, n.doc_no, term_share(a.share, n.characters, w.long_turn) * n.tf AS tf, n.length
        FROM nearby AS n
        JOIN asked AS a USING (term_no)
        CROSS JOIN temp.main.weighing AS w
        UNION ALL
        SELECT f.word, f.kind, f.doc_no, term_share(f.share, e.characters, w.long_turn) * f.tf, e.length
        FROM far_away AS f
        JOIN eligible AS e USING (doc_no)
        CROSS JOIN temp.main.weighing AS w
        UNION ALL
        SELECT f.word, f.kind, f.doc_no, f.tf, e.length
        FROM temp.main.fts_hits AS f
        JOIN eligible AS e USING (doc_no)
    ) AS h
    JOIN temp.main.word_rarity AS r ON r.word = h.word AND r.kind = h.kind
),
cosines AS MATERIALIZED (
    SELECT o.doc_no, passage_cosine(o.cosine, p.cosine, w.passage) AS cosine, by_passage(o.cosine, p.cosine, w.passage) AS by_passage
    FROM (
        SELECT v.doc_no, array_inner_product(v.v, a.v) AS cosine
        FROM vectors AS v
        CROSS JOIN (SELECT as_vector(v) AS v FROM temp.main.asked_vector WHERE v <> []) AS a
        WHERE v.doc_no IN (SELECT doc_no FROM eligible)
    ) AS o
    LEFT JOIN (
        SELECT p.doc_no, max(array_inner_product(v.v, a.v)) AS cosine
        FROM passages AS p
        JOIN vectors AS v ON v.doc_no = p.number
        CROSS JOIN (SELECT as_vector(v) AS v FROM temp.main.asked_vector WHERE v <> []) AS a
        WHERE p.doc_no IN (SELECT doc_no FROM eligible) AND (SELECT passage > 0 FROM temp.main.weighing)
        GROUP BY p.doc_no
    ) AS p USING (doc_no)
    CROSS JOIN temp.main.weighing AS w
),

-- The pool: the best of each channel, the newest wishes where the question asks for help, the newest of those that are candidates besides, or everybody where they are few enough.
pool AS (
    SELECT doc_no
    FROM (SELECT h.doc_no, sum(bm25(h.idf, h.tf, h.length, h.average_length, w.k1, w.b)) AS raw
          FROM hits AS h CROSS JOIN temp.main.weighing AS w GROUP BY h.doc_no ORDER BY round(raw, 9) DESC, h.doc_no LIMIT 2000)
    CROSS JOIN temp.main.asking AS q
    QUALIFY row_number() OVER (ORDER BY round(raw, 9) DESC, doc_no) <= q.pool
    UNION ALL
    SELECT doc_no
    FROM (FROM cosines ORDER BY cosine DESC, doc_no LIMIT 2000)
    CROSS JOIN temp.main.asking AS q
    QUALIFY row_number() OVER (ORDER BY cosine DESC, doc_no) <= q.pool
    UNION ALL
    SELECT doc_no
    FROM (SELECT e.doc_no FROM eligible AS e CROSS JOIN temp.main.weighing AS w WHERE e.wishes AND w.wish > 0 ORDER BY e.doc_no DESC LIMIT 2000)
    CROSS JOIN temp.main.asking AS q
    QUALIFY row_number() OVER (ORDER BY doc_no DESC) <= q.pool
    UNION ALL
    SELECT doc_no
    FROM (SELECT e.doc_no FROM eligible AS e SEMI JOIN temp.main.besides AS b USING (doc_no) ORDER BY e.doc_no DESC LIMIT 2000)
    CROSS JOIN temp.main.asking AS q
    QUALIFY row_number() OVER (ORDER BY doc_no DESC) <= q.pool
    UNION ALL
    SELECT e.doc_no FROM eligible AS e CROSS JOIN temp.main.weighing AS w WHERE (SELECT count(*) FROM eligible) <= w.whole
),

-- Neighbours.
steps AS MATERIALIZED (
    SELECT unnest([0, -1, 1, -2, 2]) AS step, unnest([1, near, near, far, far]) AS share, long_turn FROM temp.main.weighing
),
candidates AS MATERIALIZED (
    SELECT e.*
    FROM (SELECT DISTINCT p.session_no, p.place + s.step AS place
          FROM pool JOIN eligible AS p USING (doc_no) CROSS JOIN steps AS s
          WHERE s.share > 0) AS places
    JOIN eligible AS e USING (session_no, place)
),
around AS MATERIALIZED (
    SELECT c.doc_no, n.doc_no AS neighbour, c.shortness, n.length,
        CASE c.step WHEN 0 THEN 1 ELSE c.share * c.shortness * shortness(n.characters, c.long_turn) END AS share
    FROM (SELECT doc_no, session_no, place + step AS place, step, share, long_turn, shortness(characters, long_turn) AS shortness
          FROM candidates CROSS JOIN steps WHERE share > 0) AS c
    JOIN eligible AS n USING (session_no, place)
),
blended AS MATERIALIZED (
    SELECT a.doc_no, sum(a.share * a.length) AS length, any_value(a.shortness) AS shortness,
        sum(a.share * v.cosine) / sum(a.share) FILTER (v.cosine IS NOT NULL) AS near_cosine,
        max(v.cosine) FILTER (a.neighbour = a.doc_no) AS cosine, bool_or(v.by_passage) FILTER (a.neighbour = a.doc_no) AS by_passage
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
    SELECT b.doc_no, sum(bm25(t.idf, t.tf, b.length, t.average_length * (1 + (2 * w.near + 2 * w.far) * b.shortness), w.k1, w.b)) AS raw,
        sum(t.idf * least(t.tf, 1)) AS met
    FROM words AS t
    JOIN blended AS b USING (doc_no)
    CROSS JOIN temp.main.weighing AS w
    GROUP BY b.doc_no
),
rarities AS (  -- of all words that are looked up
    SELECT r.kind, sum(r.idf) AS idf
    FROM temp.main.word_rarity AS r
    SEMI JOIN (SELECT word FROM temp.main.asked_terms WHERE share > 0) AS a USING (word)
    GROUP BY r.kind
)
SELECT c.doc_no, c.session_no, c.place, d.conversation_id, d.speaker, d.role, coalesce(d.wishes, false), d.asks, d.ends_asking, d.tells, d.kind::VARCHAR AS kind, d.tier,
    epoch_us(d.created_at), epoch_us(d.valid_from), epoch_us(m.valid_until), d.characters, d.noise,
    m.importance, m.confidence, m.access_count, epoch_us(m.last_accessed_at), m.temporal_type, m.trust,
    b.cosine::DOUBLE, b.near_cosine, l.raw, CASE WHEN r.idf > 0 THEN coalesce(l.met, 0) / r.idf END, coalesce(b.by_passage, false)
FROM candidates AS c
JOIN documents AS d USING (doc_no)
JOIN blended AS b USING (doc_no)
LEFT JOIN memories AS m ON m.id = d.owner_id
LEFT JOIN lexical AS l USING (doc_no)
LEFT JOIN rarities AS r ON r.kind = c.kind;
