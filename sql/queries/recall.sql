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
SELECT doc_no FROM messages WHERE list_filter($tags::VARCHAR[], lambda tag: NOT contains(lower(text), tag)) = []
UNION ALL
SELECT doc_no FROM summaries WHERE list_filter($tags::VARCHAR[], lambda tag: NOT contains(lower(text), tag)) = [];

-- name: recall_clear_terms
-- Asks no words after all.
DELETE FROM temp.main.asked_terms;

-- name: recall_by_fts
-- Takes the hits of words from fts_hits in place of postings.
UPDATE temp.main.asking SET fts = true;
