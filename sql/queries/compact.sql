-- name: summaries_by_id
-- Summaries by their ids, in the order of the messages they stand for.
SELECT id, doc_no, conversation_id, caller_key, kind, depth, text, tokens, first_seq, last_seq, earliest_at, latest_at, messages, source_tokens,
    descendants, descendant_tokens, model, level, fallback, attempts, file_ids, created_at, updated_at
FROM summaries
WHERE id = ANY ($ids::VARCHAR[])
ORDER BY first_seq, depth DESC;

-- name: summary_by_id
-- One summary: two thirds faster than a list of one.
SELECT id, doc_no, conversation_id, caller_key, kind, depth, text, tokens, first_seq, last_seq, earliest_at, latest_at, messages, source_tokens,
    descendants, descendant_tokens, model, level, fallback, attempts, file_ids, created_at, updated_at
FROM summaries
WHERE id = $id;

-- name: summary_list
-- Summaries of a conversation, in the order of the messages they stand for.
SELECT id, doc_no, conversation_id, caller_key, kind, depth, text, tokens, first_seq, last_seq, earliest_at, latest_at, messages, source_tokens,
    descendants, descendant_tokens, model, level, fallback, attempts, file_ids, created_at, updated_at
FROM summaries
WHERE conversation_id = $conversation_id
ORDER BY first_seq, depth DESC, id;

-- name: summaries_numbered
-- The summaries of documents {from} to {to} with their scope; what the index is made anew from.
SELECT s.id, doc_no, conversation_id, caller_key, kind, depth, text, tokens, first_seq, last_seq, earliest_at, latest_at, messages, source_tokens,
    descendants, descendant_tokens, model, level, fallback, attempts, file_ids, s.created_at, updated_at, c.scope
FROM summaries AS s
JOIN conversations AS c ON c.id = s.conversation_id
WHERE doc_no BETWEEN {from} AND {to}
ORDER BY doc_no;

-- name: summary_sources
-- What a summary was made from, in its order.
SELECT kind, source FROM summary_sources WHERE summary_id = $summary_id ORDER BY ordinal;

-- name: summary_ending
-- Ids that end so; more than one is ambiguous.
SELECT s.id
FROM summaries AS s
JOIN conversations AS c ON c.id = s.conversation_id
WHERE ends_with(s.id, $ending) AND ($scopes::VARCHAR[] IS NULL OR c.scope = ANY ($scopes::VARCHAR[]))
LIMIT 10;

-- name: summary_update
-- Another text.
UPDATE summaries SET text = $text, tokens = $tokens, level = $level, model = $model, fallback = $fallback, attempts = $attempts,
    updated_at = $updated_at::TIMESTAMP
WHERE id = $id;

-- name: summary_above
-- The summary that was made from this one.
SELECT summary_id FROM summary_sources WHERE source = $id AND kind = 'summary' LIMIT 1;

-- name: summary_recount
-- What a condensed summary says of those below it, from its sources.
UPDATE summaries SET descendants = n.descendants, descendant_tokens = n.descendant_tokens, source_tokens = n.source_tokens
FROM (
    SELECT sum(s.descendants + 1)::INTEGER AS descendants, sum(s.descendant_tokens + s.tokens)::INTEGER AS descendant_tokens,
        sum(s.source_tokens)::INTEGER AS source_tokens
    FROM summary_sources AS f
    JOIN summaries AS s ON s.id = f.source
    WHERE f.summary_id = $id
) AS n
WHERE summaries.id = $id;

-- name: summaries_above_grow
-- The messages under these summaries, those above this message, cost so many tokens more.
UPDATE summaries SET source_tokens = source_tokens + $tokens
WHERE id IN (
    WITH RECURSIVE above(id) AS (
        SELECT summary_id FROM summary_sources WHERE kind = 'message' AND source = $message_id
        UNION
        SELECT s.summary_id FROM summary_sources AS s JOIN above ON s.source = above.id WHERE s.kind = 'summary'
    )
    FROM above
);

-- name: summary_fallbacks
-- Summaries made without the model that was asked, sources before what was made from them.
SELECT s.id
FROM summaries AS s
JOIN conversations AS c ON c.id = s.conversation_id
WHERE s.fallback AND ($conversation_id::VARCHAR IS NULL OR s.conversation_id = $conversation_id)
  AND ($scopes::VARCHAR[] IS NULL OR c.scope = ANY ($scopes::VARCHAR[]))
ORDER BY s.depth, s.conversation_id, s.first_seq;

-- name: summary_source_items
-- The sources of a summary as items of the context.
SELECT coalesce(m.seq, s.first_seq), f.kind, f.source, coalesce(m.tokens, s.tokens)
FROM summary_sources AS f
LEFT JOIN messages AS m ON m.id = f.source
LEFT JOIN summaries AS s ON s.id = f.source
WHERE f.summary_id = $summary_id AND coalesce(m.seq, s.first_seq) IS NOT NULL
ORDER BY f.ordinal;

-- name: summary_delete
-- Deletes a summary; what it was made from stays.
DELETE FROM summaries WHERE id = $id;

-- name: summary_delete_sources
-- Forgets what a summary was made from.
DELETE FROM summary_sources WHERE summary_id = $id;

-- name: debt_list
-- Conversations whose compaction was put off, oldest first.
SELECT conversation_id, reason, budget, requested_at, attempts, next_attempt_at, last_error FROM compaction_debts ORDER BY requested_at, conversation_id;

-- name: debt_insert
-- A new debt, unless the conversation is gone meanwhile.
INSERT INTO compaction_debts SELECT id, $reason, $budget::INTEGER, $requested_at::TIMESTAMP, 0, NULL, NULL FROM conversations WHERE id = $conversation_id;

-- name: debt_renew
-- A debt that is noted already, with the newest budget.
UPDATE compaction_debts SET budget = $budget WHERE conversation_id = $conversation_id;

-- name: debt_fail
-- A failed attempt, and when the next one is due.
UPDATE compaction_debts SET attempts = attempts + 1, next_attempt_at = $next_attempt_at::TIMESTAMP, last_error = $last_error
WHERE conversation_id = $conversation_id;

-- name: debt_delete
-- A debt that is paid.
DELETE FROM compaction_debts WHERE conversation_id = $conversation_id;

-- name: summary_by_key
-- A summary by its host's key.
SELECT id FROM summaries WHERE conversation_id = $conversation_id AND caller_key = $key;

-- name: context_summaries_before
-- Summaries that stand in the context before a position, and those below them. One that reaches beyond it is not among them.
WITH RECURSIVE unfolded(id) AS (
    SELECT i.ref FROM context_items AS i
    JOIN summaries AS s ON s.id = i.ref
    WHERE i.conversation_id = $conversation_id AND i.kind = 'summary' AND s.last_seq < $before
    UNION
    SELECT f.source FROM summary_sources AS f JOIN unfolded AS u ON u.id = f.summary_id WHERE f.kind = 'summary'
)
SELECT id FROM unfolded;

-- name: context_messages_before
-- Messages in the context before a position, and those that are sources of the given summaries.
SELECT m.id, m.seq, m.tokens, m.said_at
FROM messages AS m
WHERE m.conversation_id = $conversation_id AND m.seq < $before
  AND (m.seq IN (SELECT position FROM context_items WHERE conversation_id = $conversation_id AND kind = 'message')
    OR m.id IN (SELECT source FROM summary_sources WHERE kind = 'message' AND summary_id = ANY ($summaries::VARCHAR[])))
ORDER BY m.seq;

-- name: term_rarity
-- How rare the words of messages are, from one seq of a conversation to another, among all messages of the file; and which of those messages have each, their
-- seqs in one text.
WITH documents AS (
    SELECT doc_no, seq FROM messages WHERE conversation_id = $conversation_id AND seq BETWEEN $from AND $to
),
said AS MATERIALIZED (
    SELECT term_no, string_agg(seq, ' ') AS seqs FROM postings JOIN documents USING (doc_no) GROUP BY term_no
),
counted AS (
    SELECT term_no, count(*) AS documents FROM postings
    WHERE kind = 'message'::document_kind AND term_no IN (SELECT term_no FROM said) GROUP BY term_no
)
SELECT t.term, idf((SELECT documents FROM kind_stats WHERE kind = 'message'::document_kind), c.documents), s.seqs
FROM counted AS c
JOIN terms AS t USING (term_no)
JOIN said AS s USING (term_no);

-- name: compaction_from
-- The first message of a context before a position, or where compaction by the policy rolling ended, if that is before it.
SELECT least($before::INTEGER, coalesce((SELECT min(position) FROM context_items WHERE conversation_id = $conversation_id AND kind = 'message'), $before::INTEGER),
    (SELECT max(first_kept_seq) FROM compactions WHERE conversation_id = $conversation_id));

-- name: compaction_pending
-- Which messages summaries do not tell of: ranges of seqs, without their ends, the oldest first.
SELECT id, retry_from, first_kept_seq, carried FROM compactions
WHERE summary_id = ANY ($ids::VARCHAR[]) AND retry_from IS NOT NULL
ORDER BY retry_from, id;

-- name: compaction_mark
-- What a compaction owes after another attempt.
UPDATE compactions SET summary_id = $summary_id, retry_from = $retry_from::INTEGER, carried = $carried, source = coalesce($source, source),
    attempts = attempts + 1, last_error = $last_error
WHERE id = $id;

-- name: compactions_settle
-- A summary owes nothing more: it is gone, or says something else.
UPDATE compactions SET retry_from = NULL, carried = NULL WHERE summary_id = $summary_id AND retry_from IS NOT NULL;

-- name: compactions_owe_all
-- The last compaction that made a summary owes all of it: what was told of it is gone.
UPDATE compactions SET retry_from = $from::INTEGER, carried = NULL
WHERE policy = 'rolling' AND id = (SELECT arg_max(id, first_kept_seq) FROM compactions WHERE summary_id = $summary_id AND policy = 'rolling');
