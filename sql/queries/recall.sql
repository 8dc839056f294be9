-- The statements of a recall. What is asked stands in the connection's temporary tables, so that the long statements have no
-- parameters and are planned once. In a list of asking, '*' is no restriction, and an empty list matches nothing; a time without
-- a bound lies in the year 1 or 9999. What others stand on twice, or what settles the order of joins, is materialized.

-- name: recall_tables
-- Each connection has a place of its own for the recall under way: what is asked, and what is offered for ranking. They are made
-- anew now and then, since the rows that were deleted would go on taking room and time. Weights are columns, for in a struct all
-- of them would be carried through every stage.
CREATE OR REPLACE TEMP TABLE weighing AS SELECT unnest(NULL::weights) LIMIT 0;
CREATE OR REPLACE TEMP TABLE asking (
    asked_at TIMESTAMP, said_by TIMESTAMP, rerankable BOOLEAN, hits BIGINT, pool BIGINT,
    kinds VARCHAR[], scopes VARCHAR[], conversations VARCHAR[], categories VARCHAR[], tiers VARCHAR[], roles VARCHAR[], speakers VARCHAR[], source_kinds VARCHAR[], not_source_kinds VARCHAR[], marked BOOLEAN, apart BOOLEAN, fts BOOLEAN,
    since TIMESTAMP, until TIMESTAMP, words VARCHAR[], froms TIMESTAMP[], untils TIMESTAMP[]);
-- What the index is asked: word counts the words of the question, share is what a term adds to the frequency of its word: 1 for
-- the word itself, less for a related one, 0 for one that is only counted.
CREATE OR REPLACE TEMP TABLE asked_terms (word INTEGER, term VARCHAR, share DOUBLE);
-- The question's vector, or an empty list; whether words are asked too; and the cosine that random text reaches, 0 where nobody knows it.
CREATE OR REPLACE TEMP TABLE asked_vector (v FLOAT[], by_words BOOLEAN, chance DOUBLE);
CREATE OR REPLACE TEMP TABLE word_rarity (word INTEGER, kind document_kind, documents BIGINT, population BIGINT, idf DOUBLE, average_length DOUBLE);
-- Documents that have all tags and all metadata that are asked, where any are.
CREATE OR REPLACE TEMP TABLE marked (doc_no INTEGER);
-- Documents that are candidates for another reason than the channels': they say the question as it is, or are related to a candidate.
CREATE OR REPLACE TEMP TABLE besides (doc_no INTEGER);
CREATE OR REPLACE TEMP TABLE fts_hits (word INTEGER, kind document_kind, doc_no INTEGER, tf DOUBLE);

-- name: recall_clear
-- Forgets what the connection was last asked. The weights stay: the next question mostly has the same.
DELETE FROM temp.main.asking;
DELETE FROM temp.main.asked_terms;
DELETE FROM temp.main.asked_vector;
DELETE FROM temp.main.word_rarity;

-- name: recall_clear_rest
-- Forgets what only some recalls fill.
DELETE FROM temp.main.marked;
DELETE FROM temp.main.besides;
DELETE FROM temp.main.fts_hits;

-- name: recall_conversations
-- The conversations that are named, by id or name.
SELECT name, id, scope FROM conversations WHERE list_contains($names::VARCHAR[], name) OR list_contains($names::VARCHAR[], id);

-- name: recall_clear_weights
DELETE FROM temp.main.weighing;

-- name: recall_weigh
-- The weights that rank, from JSON, one column each.
INSERT INTO temp.main.weighing SELECT unnest($weights::VARCHAR::JSON::weights);

-- name: recall_tagged
-- Documents that have all tags of the question in their text.
SELECT doc_no FROM memories WHERE list_filter($tags::VARCHAR[], lambda tag: NOT contains(lower(text), tag)) = []
UNION ALL
SELECT doc_no FROM messages WHERE list_filter($tags::VARCHAR[], lambda tag: NOT contains(lower(text), tag)) = []
UNION ALL
SELECT doc_no FROM summaries WHERE list_filter($tags::VARCHAR[], lambda tag: NOT contains(lower(text), tag)) = []
UNION ALL
SELECT doc_no FROM notes WHERE list_filter($tags::VARCHAR[], lambda tag: NOT contains(lower(text), tag)) = []
ORDER BY doc_no;

-- name: recall_described
-- Memories of these sources and this trust, in one of these states and layers, whose metadata has all these values, read as text, at these JSON pointers.
SELECT doc_no FROM memories
WHERE has_metadata(extra, $pointers::VARCHAR[], $values::VARCHAR[])
  AND ($sources::VARCHAR[] IS NULL OR source = ANY ($sources::VARCHAR[])) AND ($trust::VARCHAR[] IS NULL OR trust = ANY ($trust::VARCHAR[]))
  AND ($states::VARCHAR[] IS NULL OR state = ANY ($states::VARCHAR[])) AND ($layers::VARCHAR[] IS NULL OR layer = ANY ($layers::VARCHAR[]))
ORDER BY doc_no;

-- name: recall_clear_besides
DELETE FROM temp.main.besides;

-- name: recall_verbatim_memories
-- Memories whose text has the question in it, in any case of letters. Those of the other kinds likewise.
SELECT doc_no FROM memories WHERE contains(lower(text), lower($text));

-- name: recall_verbatim_messages
SELECT doc_no FROM messages WHERE contains(lower(text), lower($text)) OR contains(lower(caption), lower($text));

-- name: recall_verbatim_summaries
SELECT doc_no FROM summaries WHERE contains(lower(text), lower($text));

-- name: recall_verbatim_notes
SELECT doc_no FROM notes WHERE contains(lower(text), lower($text));

-- name: recall_relations
-- From which of the memories listed relations lead to which others, whoever of both says so: the strongest of two.
SELECT source, doc_no, max(weight) AS weight
FROM (
    SELECT a.doc_no AS source, b.doc_no, coalesce(r.weight, 1) AS weight
    FROM memory_relations AS r
    JOIN memories AS a ON a.id = r.memory_id
    JOIN memories AS b ON b.id = r.target_id
    WHERE a.doc_no IN (SELECT doc_no FROM listed())
    UNION ALL
    SELECT b.doc_no, a.doc_no, coalesce(r.weight, 1)
    FROM memory_relations AS r
    JOIN memories AS a ON a.id = r.memory_id
    JOIN memories AS b ON b.id = r.target_id
    WHERE b.doc_no IN (SELECT doc_no FROM listed())
)
WHERE source <> doc_no
GROUP BY source, doc_no
ORDER BY source, doc_no;

-- name: recall_named
-- The memory with that id, or those with that ending, in the scopes that the caller may read.
SELECT doc_no, id FROM memories
WHERE (id = $id OR length($id) >= $shortest::INTEGER AND ends_with(id, $id)) AND ($scopes::VARCHAR[] IS NULL OR scope = ANY ($scopes::VARCHAR[]))
ORDER BY id <> $id, id
LIMIT 6;

-- name: recall_clear_terms
-- Asks no words after all.
DELETE FROM temp.main.asked_terms;

-- name: recall_by_fts
-- Takes the hits of words from fts_hits in place of postings.
UPDATE temp.main.asking SET fts = true;

-- name: setting_list
SELECT name, value::VARCHAR FROM settings WHERE starts_with(name, $prefix) ORDER BY name;
