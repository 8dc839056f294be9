-- name: summaries_by_id
SELECT id, doc_no, conversation_id, caller_key, kind, depth, text, tokens, first_seq, last_seq, earliest_at, latest_at, messages, source_tokens,
    descendants, descendant_tokens, model, level, fallback, attempts, file_ids, created_at, updated_at
FROM summaries
WHERE id = ANY ($ids::VARCHAR[])
ORDER BY first_seq, depth DESC;

-- name: summary_list
-- Summaries of a conversation, in the order of the messages they stand for.
SELECT id, doc_no, conversation_id, caller_key, kind, depth, text, tokens, first_seq, last_seq, earliest_at, latest_at, messages, source_tokens,
    descendants, descendant_tokens, model, level, fallback, attempts, file_ids, created_at, updated_at
FROM summaries
WHERE conversation_id = $conversation_id
ORDER BY first_seq, depth DESC, id;

-- name: summary_all
-- Every summary with its scope; what the index is made anew from.
SELECT s.id, doc_no, conversation_id, caller_key, kind, depth, text, tokens, first_seq, last_seq, earliest_at, latest_at, messages, source_tokens,
    descendants, descendant_tokens, model, level, fallback, attempts, file_ids, s.created_at, updated_at, c.scope
FROM summaries AS s
JOIN conversations AS c ON c.id = s.conversation_id
ORDER BY doc_no;

-- name: summary_sources
-- What a summary was made from, in its order.
SELECT kind, source FROM summary_sources WHERE summary_id = $summary_id ORDER BY ordinal;
