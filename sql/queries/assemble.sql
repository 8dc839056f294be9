-- Few and plain statements: each is planned anew whenever it runs, and to sort in SQL takes as long to plan as all the rest.

-- name: assemble_totals
-- What the context of a conversation is, up to a position: items, the summaries among them, tokens, and the first and last position.
SELECT count(*), count(*) FILTER (kind = 'summary'), coalesce(sum(tokens), 0)::BIGINT, coalesce(min(position), 0), coalesce(max(position), 0)
FROM context_items
WHERE conversation_id = $conversation_id AND position <= $until;

-- name: assemble_items
-- The items of a context from one position to another, in no order.
SELECT position, kind, ref, tokens
FROM context_items
WHERE conversation_id = $conversation_id AND position BETWEEN $from AND $to;

-- name: assemble_items_at
-- The items of a context at some positions, in no order.
SELECT position, kind, ref, tokens
FROM context_items
WHERE conversation_id = $conversation_id AND position IN (SELECT unnest($positions::INTEGER[]));

-- name: assemble_messages
-- What messages say, from one seq to another.
SELECT id, seq, role, speaker, text, caption, said_at, withheld, fallback
FROM messages
WHERE conversation_id = $conversation_id AND seq BETWEEN $from AND $to;

-- name: assemble_messages_at
-- What some messages say; from and to are the first and the last of them.
SELECT id, seq, role, speaker, text, caption, said_at, withheld, fallback
FROM messages
WHERE conversation_id = $conversation_id AND seq BETWEEN $from AND $to AND seq IN (SELECT unnest($positions::INTEGER[]));

-- name: assemble_parts
-- Blocks of messages, from one seq to another, in no order.
SELECT seq, ordinal, type, text, call_id, tool, input, output, is_error, file_name, mime, file_id
FROM parts
WHERE conversation_id = $conversation_id AND seq BETWEEN $from AND $to;

-- name: assemble_parts_at
-- Blocks of some messages, in no order; from and to are the first and the last of them.
SELECT seq, ordinal, type, text, call_id, tool, input, output, is_error, file_name, mime, file_id
FROM parts
WHERE conversation_id = $conversation_id AND seq BETWEEN $from AND $to AND seq IN (SELECT unnest($positions::INTEGER[]));

-- name: assemble_summaries
-- What summaries say. list_contains is planned in half the time of = ANY.
SELECT id, kind, depth, text, tokens, first_seq, last_seq, earliest_at, latest_at, messages, source_tokens, descendants, descendant_tokens
FROM summaries
WHERE conversation_id = $conversation_id AND list_contains($ids::VARCHAR[], id);

-- name: assemble_sources
-- The summaries that condensed ones were made from.
SELECT summary_id, ordinal, source
FROM summary_sources
WHERE kind = 'summary' AND list_contains($ids::VARCHAR[], summary_id);

-- name: assemble_condensed
-- How deep the condensed summaries of a conversation go.
SELECT id, depth FROM summaries WHERE conversation_id = $conversation_id AND depth > 0;

-- name: assemble_refs
-- The summaries of a context, up to a position.
SELECT ref FROM context_items WHERE conversation_id = $conversation_id AND kind = 'summary' AND position <= $until;

-- name: assemble_partners
-- Positions of messages in the context that make some calls of tools, or hold their results.
SELECT DISTINCT i.position
FROM parts AS p
JOIN context_items AS i ON i.position = p.seq AND i.kind = 'message'
WHERE p.conversation_id = $conversation_id AND i.conversation_id = $conversation_id AND list_contains($calls::VARCHAR[], p.call_id);

-- name: assemble_relevant
-- The items of a context that have words of the question and fit into the budget, best first up to twice as much: BM25, with the rarity
-- of words and the average length among the conversation's own messages and summaries.
WITH own AS (
    SELECT doc_no, owner_id, length FROM documents
    WHERE conversation_id = $conversation_id AND live AND kind IN ('message'::document_kind, 'summary'::document_kind)
),
hits AS MATERIALIZED (
    SELECT p.term_no, p.doc_no, own.length, p.tf
    FROM postings AS p
    JOIN own USING (doc_no)
    WHERE p.term_no IN (SELECT term_no FROM terms WHERE hash IN (SELECT word_hash(unnest($terms::VARCHAR[]))))
),
rarity AS (
    SELECT term_no, idf(any_value(n.documents), count(*)) AS idf, any_value(n.average_length) AS average_length
    FROM hits CROSS JOIN (SELECT count(*) AS documents, avg(length) AS average_length FROM own) AS n
    GROUP BY term_no
),
scored AS (
    SELECT doc_no, sum(bm25(idf, tf, length, average_length, $k1, $b)) AS score
    FROM hits JOIN rarity USING (term_no)
    GROUP BY doc_no
)
SELECT i.position, s.score
FROM scored AS s
JOIN own USING (doc_no)
JOIN context_items AS i ON i.ref = own.owner_id
WHERE i.conversation_id = $conversation_id AND s.score > 0 AND i.tokens <= $budget
QUALIFY sum(i.tokens) OVER (ORDER BY s.score DESC, i.position DESC) - i.tokens < 2 * $budget;

-- name: assemble_found
-- The items of a context that stand for the documents listed and fit into the budget.
SELECT l.place, i.position, i.tokens
FROM listed() AS l
JOIN documents AS d USING (doc_no)
JOIN context_items AS i ON i.ref = d.owner_id
WHERE i.conversation_id = $conversation_id AND i.tokens <= $budget
ORDER BY l.place;

-- name: assemble_images
-- Images that messages show, up to so many bytes each, and so many in all, in the order of their ids.
WITH shown AS (
    SELECT id, sha256 FROM large_files
    WHERE conversation_id = $conversation_id AND list_contains($ids::VARCHAR[], id) AND bytes <= $largest
    QUALIFY sum(bytes) OVER (ORDER BY list_position($ids::VARCHAR[], id)) <= $most
)
SELECT shown.id, p.content
FROM shown
JOIN payloads AS p USING (sha256)
WHERE p.content IS NOT NULL;
