-- name: expand_summaries
-- The summaries that a condensed one was made from, in its order.
SELECT s.id, doc_no, conversation_id, caller_key, s.kind, depth, text, tokens, first_seq, last_seq, earliest_at, latest_at, messages, source_tokens,
    descendants, descendant_tokens, model, level, fallback, attempts, file_ids, created_at, updated_at
FROM summary_sources AS l
JOIN summaries AS s ON s.id = l.source
WHERE l.summary_id = $summary_id AND l.kind = 'summary'
ORDER BY l.ordinal;

-- name: expand_sources
-- The messages that a leaf was made from.
SELECT source FROM summary_sources WHERE summary_id = $summary_id AND kind = 'message';

-- name: expand_shown
-- Which of these messages are in the context.
SELECT ref FROM context_items WHERE kind = 'message' AND ref IN (SELECT unnest($ids::VARCHAR[]));

-- name: expand_parts
-- The blocks of these messages, which are given by conversation and seq.
SELECT p.message_id, p.type, p.text, p.call_id, p.tool, p.input, p.output, p.is_error, p.file_name, p.mime, p.file_id, p.caller_key, p.raw, p.raw_sha256
FROM parts AS p
JOIN (SELECT unnest($conversations::VARCHAR[]) AS conversation_id, unnest($seqs::INTEGER[]) AS seq) AS h USING (conversation_id, seq)
ORDER BY p.conversation_id, p.seq, p.ordinal;

-- name: expand_beside
-- The messages at these places of conversations.
SELECT m.id, m.conversation_id, m.seq
FROM (SELECT unnest($conversations::VARCHAR[]) AS conversation_id, unnest($seqs::INTEGER[]) AS seq) AS h
JOIN messages AS m USING (conversation_id, seq);

-- name: leaves_above
-- The leaf summary that stands for each of these messages, which are given by conversation and seq.
SELECT h.conversation_id, h.seq, s.id
FROM (SELECT unnest($conversations::VARCHAR[]) AS conversation_id, unnest($seqs::INTEGER[]) AS seq) AS h
JOIN summaries AS s ON s.conversation_id = h.conversation_id AND s.depth = 0 AND h.seq BETWEEN s.first_seq AND s.last_seq;

-- name: message_range
-- Messages of a conversation from one seq to another.
SELECT id, doc_no, conversation_id, seq, caller_key, session, role, speaker, text, caption, said_at, recorded_at, session_no, place,
    tokens, set_aside, set_aside_at, reply_to, source_kind, withheld, fallback, usage::VARCHAR AS usage, actions
FROM messages
WHERE conversation_id = $conversation_id AND seq BETWEEN $from AND $to
ORDER BY seq;
