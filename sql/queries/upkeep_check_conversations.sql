-- name: check_context
-- Contradictions about where messages are: each is in the context, or a source of one leaf, or set aside, and the items of a context
-- are what they refer to, in their order, each message once.
WITH standing AS MATERIALIZED (
    SELECT m.id, m.conversation_id, coalesce(i.n, 0) AS shown, coalesce(s.n, 0) AS leaves, m.set_aside IS NOT NULL AS aside
    FROM messages AS m
    LEFT JOIN (SELECT ref, count(*) AS n FROM context_items WHERE kind = 'message' GROUP BY ref) AS i ON i.ref = m.id
    LEFT JOIN (SELECT source, count(*) AS n FROM summary_sources WHERE kind = 'message' GROUP BY source) AS s ON s.source = m.id
    WHERE coalesce(i.n, 0) + coalesce(s.n, 0) + (m.set_aside IS NOT NULL)::INTEGER <> 1
),
items AS MATERIALIZED (
    SELECT i.conversation_id, i.position, i.ref, i.tokens, m.conversation_id AS owner, m.seq AS first_seq, m.seq AS last_seq, m.tokens AS costs
    FROM (FROM context_items WHERE kind = 'message') AS i
    LEFT JOIN messages AS m ON m.id = i.ref
    UNION ALL
    SELECT i.conversation_id, i.position, i.ref, i.tokens, s.conversation_id, s.first_seq, s.last_seq, s.tokens
    FROM (FROM context_items WHERE kind <> 'message') AS i
    LEFT JOIN summaries AS s ON s.id = i.ref AND i.kind = 'summary'
)
SELECT 'message that is lost: neither in the context nor under a summary nor set aside' AS fault, id AS subject
FROM standing
WHERE shown + leaves + aside::INTEGER = 0
UNION ALL
SELECT 'message that is in the context twice', id
FROM standing
WHERE shown > 1
UNION ALL
SELECT 'message that is in the context and under a summary', id
FROM standing
WHERE shown > 0 AND leaves > 0
UNION ALL
SELECT 'message that is in the context and set aside', id
FROM standing
WHERE shown > 0 AND aside
UNION ALL
SELECT 'message that is under a summary and set aside', id
FROM standing
WHERE leaves > 0 AND aside
UNION ALL
SELECT 'message that is under two summaries', id
FROM standing
WHERE leaves > 1
UNION ALL
SELECT 'context item that refers to nothing of its conversation', ref
FROM items
WHERE owner IS DISTINCT FROM conversation_id
UNION ALL
SELECT 'context item at another position than that of its first message', ref
FROM items
WHERE owner = conversation_id AND position <> first_seq
UNION ALL
SELECT 'context item with other tokens than what it refers to', ref
FROM items
WHERE owner = conversation_id AND tokens IS DISTINCT FROM costs
UNION ALL
SELECT 'context items that overlap', ref
FROM (
    SELECT ref, position, max(last_seq) OVER (PARTITION BY conversation_id ORDER BY position, last_seq, ref ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
    FROM items
    WHERE owner = conversation_id
)
WHERE position <= before
UNION ALL
SELECT 'context item in the midst of what a summary stands for', ref
FROM (
    SELECT ref, position, max(last_seq) OVER (PARTITION BY conversation_id ORDER BY position, ref IS NULL ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS covered
    FROM (
        SELECT conversation_id, position, ref, NULL AS last_seq FROM items
        UNION ALL
        SELECT conversation_id, first_seq, NULL, last_seq FROM summaries
    )
)
WHERE ref IS NOT NULL AND position <= covered;

-- name: check_conversations
-- Contradictions about conversations, and what stands of them elsewhere.
SELECT 'two active conversations of one name' AS fault, name AS subject
FROM conversations
WHERE active
GROUP BY name
HAVING count(*) > 1
UNION ALL
SELECT 'two active conversations of one session key', session_key
FROM conversations
WHERE active AND session_key IS NOT NULL
GROUP BY session_key
HAVING count(*) > 1
UNION ALL
SELECT 'conversation that is both active and archived, or neither', id
FROM conversations
WHERE active IS DISTINCT FROM (archived_at IS NULL)
UNION ALL
SELECT 'conversation whose tokens nobody can count', id
FROM conversations
WHERE estimator IS NULL OR estimator NOT IN ('chars4', 'weighted')
UNION ALL
SELECT 'debt of no conversation, or a second one', conversation_id
FROM compaction_debts
GROUP BY conversation_id
HAVING count(*) > 1 OR conversation_id NOT IN (SELECT id FROM conversations)
UNION ALL
SELECT 'compaction of no conversation', id
FROM compactions
WHERE conversation_id NOT IN (SELECT id FROM conversations)
UNION ALL
SELECT 'cursor of no conversation', path
FROM cursors
WHERE conversation_id IS NOT NULL AND conversation_id NOT IN (SELECT id FROM conversations)
UNION ALL
SELECT 'snapshot of a context of no conversation', id
FROM context_snapshots
WHERE conversation_id NOT IN (SELECT id FROM conversations);

-- name: check_rolling
-- Contradictions about how contexts were compacted, and what was noted while they filled.
SELECT 'conversation that was compacted more or less often than is recorded' AS fault, c.id AS subject
FROM conversations AS c
WHERE coalesce(c.compactions, 0) <> (SELECT count(*) FROM compactions AS p WHERE p.conversation_id = c.id)
UNION ALL
SELECT 'compaction that owes nobody', id
FROM compactions
WHERE retry_from IS NOT NULL AND summary_id NOT IN (SELECT id FROM summaries WHERE fallback)
UNION ALL
SELECT 'compaction that ends before it begins', id
FROM compactions
WHERE from_seq > first_kept_seq OR retry_from >= first_kept_seq
UNION ALL
SELECT 'checkpoint of no conversation', id
FROM checkpoints
WHERE conversation_id NOT IN (SELECT id FROM conversations)
UNION ALL
SELECT 'checkpoint that has read what was not said', k.id
FROM checkpoints AS k
JOIN conversations AS c ON c.id = k.conversation_id
WHERE k.upto_seq >= c.next_seq
UNION ALL
SELECT 'checkpoint that says what was purged', k.id
FROM checkpoints AS k
WHERE EXISTS (FROM messages AS m WHERE m.conversation_id = k.conversation_id AND m.set_aside = 'purged' AND m.seq <= k.upto_seq AND m.set_aside_at > k.created_at)
UNION ALL
SELECT 'checkpoint or prompt of a time that has not come', k.id
FROM checkpoints AS k
JOIN conversations AS c ON c.id = k.conversation_id
WHERE k.cycle > coalesce(c.compactions, 0)
UNION ALL
SELECT 'checkpoint or prompt of a time that has not come', f.conversation_id
FROM flush_state AS f
JOIN conversations AS c ON c.id = f.conversation_id
WHERE f.cycle > coalesce(c.compactions, 0)
UNION ALL
SELECT 'prompt to nobody, or twice', conversation_id
FROM flush_state
GROUP BY conversation_id, cycle, percent
HAVING count(*) > 1 OR conversation_id NOT IN (SELECT id FROM conversations);

-- name: check_extraction
-- Contradictions about what was drawn from talk.
SELECT 'draft of no conversation' AS fault, id AS subject
FROM drafts
WHERE conversation_id IS NOT NULL AND conversation_id NOT IN (SELECT id FROM conversations)
UNION ALL
SELECT 'draft that says what was purged', d.id
FROM drafts AS d
WHERE d.text <> '' AND EXISTS (FROM messages AS m WHERE m.conversation_id = d.conversation_id AND m.set_aside = 'purged' AND list_contains(d.message_ids, m.id))
UNION ALL
SELECT 'draft that became a memory that is gone', id
FROM drafts
WHERE memory_id IS NOT NULL AND memory_id NOT IN (SELECT id FROM memories)
UNION ALL
SELECT 'admission of no draft', draft_id
FROM admissions
WHERE draft_id NOT IN (SELECT id FROM drafts)
UNION ALL
SELECT 'extraction that has read on in no conversation', conversation_id
FROM extraction_cursors
WHERE conversation_id NOT IN (SELECT id FROM conversations);

-- name: check_lineage
-- Contradictions about where memories come from, and what was withdrawn. A summary that is a source may be gone.
SELECT 'source of no memory' AS fault, memory_id AS subject
FROM memory_sources
WHERE memory_id NOT IN (SELECT id FROM memories)
UNION ALL
SELECT 'source of a memory that is not there', source
FROM memory_sources
WHERE CASE kind WHEN 'memory' THEN source NOT IN (SELECT id FROM memories) WHEN 'message' THEN source NOT IN (SELECT id FROM messages)
    WHEN 'import' THEN source NOT IN (SELECT id FROM imports) WHEN 'call' THEN source NOT IN (SELECT id FROM model_calls) ELSE kind <> 'summary' END
UNION ALL
SELECT 'effect of no retraction', retraction_id
FROM retraction_effects
WHERE retraction_id NOT IN (SELECT id FROM retractions)
UNION ALL
SELECT 'source that is retracted twice', source
FROM retractions
WHERE undone_at IS NULL
GROUP BY source
HAVING count(*) > 1
UNION ALL
SELECT 'memory that no retraction withdraws', id
FROM memories
WHERE retracted_by IS NOT NULL AND (retired_at IS NULL OR retracted_by NOT IN (SELECT id FROM retractions WHERE undone_at IS NULL))
UNION ALL
SELECT 'message that no retraction withdraws', id
FROM messages
WHERE set_aside = 'retracted' AND id NOT IN (SELECT source FROM retractions WHERE undone_at IS NULL)
UNION ALL
SELECT 'retracted source that can be recalled', r.source
FROM retractions AS r
LEFT JOIN memories AS m ON m.id = r.source
LEFT JOIN messages AS t ON t.id = r.source
WHERE r.undone_at IS NULL AND (m.id IS NOT NULL AND m.retracted_by IS NULL OR t.id IS NOT NULL AND coalesce(t.set_aside, '') NOT IN ('retracted', 'purged'));

-- name: check_lost_summaries
-- Summaries that are neither in the context nor under another, although no new session took them out: that would have set aside every
-- message that was in the context then. So a summary is lost if, ever since it was made, there was a message that did not leave the context.
WITH unshown AS MATERIALIZED (
    SELECT s.id, s.conversation_id, s.created_at
    FROM summaries AS s
    WHERE s.id NOT IN (SELECT ref FROM context_items) AND s.id NOT IN (SELECT source FROM summary_sources)
      AND NOT EXISTS (
          FROM messages AS m
          WHERE m.conversation_id = s.conversation_id AND m.set_aside IN ('new', 'retracted', 'purged') AND m.set_aside_at >= s.created_at)
),
stays AS (
    SELECT m.conversation_id, m.recorded_at AS since,
        CASE WHEN i.ref IS NOT NULL THEN 'infinity'::TIMESTAMP ELSE coalesce(s.created_at, m.set_aside_at, m.recorded_at) END AS until
    FROM messages AS m
    LEFT JOIN context_items AS i ON i.ref = m.id
    LEFT JOIN summary_sources AS u ON u.source = m.id
    LEFT JOIN summaries AS s ON s.id = u.summary_id
    WHERE m.conversation_id IN (SELECT conversation_id FROM unshown)
),
gaps AS (
    SELECT conversation_id, until, since >= coalesce(max(until) OVER before, since) AS after_gap, since
    FROM stays
    WINDOW before AS (PARTITION BY conversation_id ORDER BY since, until ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
),
never_empty AS (
    SELECT conversation_id, max(since) FILTER (after_gap) AS since FROM gaps GROUP BY conversation_id HAVING max(until) = 'infinity'::TIMESTAMP
)
SELECT 'summary that is lost: neither in the context nor under another' AS fault, u.id AS subject
FROM unshown AS u
JOIN never_empty AS e ON e.conversation_id = u.conversation_id
WHERE u.created_at > e.since;

-- name: check_summaries
-- Contradictions about summaries: what they were made from, and what they count. Leaf by leaf and level by level, each node has to agree
-- with its sources, so that all of them agree with the messages. Each summary is looked at once, beside what its sources come to.
WITH sources AS (
    SELECT u.summary_id, u.ordinal, m.conversation_id AS owner, m.seq AS first_seq, m.seq AS last_seq, m.said_at AS earliest_at,
        m.said_at AS latest_at, 1 AS messages, m.tokens AS source_tokens, 0 AS descendants, 0 AS descendant_tokens, 0 AS depth
    FROM (FROM summary_sources WHERE kind = 'message') AS u
    LEFT JOIN messages AS m ON m.id = u.source
    UNION ALL
    SELECT u.summary_id, u.ordinal, s.conversation_id, s.first_seq, s.last_seq, s.earliest_at,
        s.latest_at, s.messages, s.source_tokens, 1 + s.descendants, s.tokens + s.descendant_tokens, 1 + s.depth
    FROM (FROM summary_sources WHERE kind <> 'message') AS u
    LEFT JOIN summaries AS s ON s.id = u.source AND u.kind = 'summary'
),
in_order AS (
    SELECT *, row_number() OVER following - 1 AS nth, lag(last_seq) OVER following AS before
    FROM sources
    WINDOW following AS (PARTITION BY summary_id ORDER BY ordinal)
),
made AS (
    SELECT summary_id, bool_or(ordinal <> nth) AS misnumbered, coalesce(bool_or(first_seq <= before), false) AS overlap,
        min(owner) AS owner, max(owner) AS last_owner, count(owner) < count(*) AS unknown, min(depth) AS shallowest, max(depth) AS deepest,
        min(first_seq) AS first_seq, max(last_seq) AS last_seq, min(earliest_at) AS earliest_at, max(latest_at) AS latest_at,
        sum(messages) AS messages, sum(source_tokens) AS source_tokens, sum(descendants) AS descendants, sum(descendant_tokens) AS descendant_tokens
    FROM in_order
    GROUP BY summary_id
),
contrary AS MATERIALIZED (
    SELECT coalesce(s.id, m.summary_id) AS id,
        s.id IS NOT NULL AND c.id IS NULL AS astray,
        s.id IS NOT NULL AND (d.kind = 'summary'::document_kind AND d.owner_id = s.id) IS NOT TRUE AS undocumented,
        d.doc_no IS NOT NULL AND c.id IS NOT NULL AND (
            d.conversation_id IS DISTINCT FROM s.conversation_id OR d.scope IS DISTINCT FROM c.scope OR d.created_at IS DISTINCT FROM s.latest_at
            OR NOT d.live) AS differs,
        m.summary_id IS NULL AS unmade,
        s.id IS NULL AS unsaid,
        s.id IS NOT NULL AND coalesce(m.unknown OR m.owner <> s.conversation_id OR m.last_owner <> s.conversation_id, false) AS foreign_source,
        coalesce(m.misnumbered, false) AS misnumbered,
        coalesce(m.overlap, false) AS overlap,
        m.summary_id IS NOT NULL AND coalesce(NOT m.unknown AND (m.shallowest <> s.depth OR m.deepest <> s.depth)
            OR s.kind <> CASE s.depth WHEN 0 THEN 'leaf' ELSE 'condensed' END, false) AS misplaced,
        s.id IS NOT NULL AND NOT m.unknown
            AND (s.messages, s.source_tokens, s.descendants, s.descendant_tokens) IS DISTINCT FROM (m.messages, m.source_tokens, m.descendants, m.descendant_tokens) AS miscounted,
        s.id IS NOT NULL AND NOT m.unknown
            AND (s.first_seq, s.last_seq, s.earliest_at, s.latest_at) IS DISTINCT FROM (m.first_seq, m.last_seq, m.earliest_at, m.latest_at) AS misranged
    FROM summaries AS s
    LEFT JOIN conversations AS c ON c.id = s.conversation_id
    LEFT JOIN documents AS d ON d.doc_no = s.doc_no
    FULL JOIN made AS m ON m.summary_id = s.id
    WHERE astray OR undocumented OR differs OR unmade OR unsaid OR foreign_source OR misnumbered OR overlap OR misplaced OR miscounted OR misranged
)
SELECT 'summary of no conversation' AS fault, id AS subject
FROM contrary
WHERE astray
UNION ALL
SELECT 'summary without a document', id
FROM contrary
WHERE undocumented
UNION ALL
SELECT 'document differs from its summary', id
FROM contrary
WHERE differs
UNION ALL
SELECT 'summary that was made from nothing', id
FROM contrary
WHERE unmade
UNION ALL
SELECT 'sources of no summary', id
FROM contrary
WHERE unsaid
UNION ALL
SELECT 'source that is not in the conversation', id
FROM contrary
WHERE foreign_source
UNION ALL
SELECT 'sources that are not numbered from 0', id
FROM contrary
WHERE misnumbered
UNION ALL
SELECT 'sources that are out of order, or overlap', id
FROM contrary
WHERE overlap
UNION ALL
SELECT 'summary that is not one deeper than each of its sources', id
FROM contrary
WHERE misplaced
UNION ALL
SELECT 'summary that is a source of two, or of one and in the context', id
FROM (SELECT ref AS id FROM context_items WHERE kind = 'summary' UNION ALL SELECT source FROM summary_sources WHERE kind = 'summary')
GROUP BY id
HAVING count(*) > 1
UNION ALL
SELECT 'counts of a summary differ from its sources', id
FROM contrary
WHERE miscounted
UNION ALL
SELECT 'range of a summary differs from its sources', id
FROM contrary
WHERE misranged;

-- name: check_circles
-- Summaries that stand, through others, for themselves. Where each is deeper than its sources there is none, so only where that fails
-- are they looked for.
WITH RECURSIVE uphill AS (
    SELECT s.id
    FROM summaries AS s
    JOIN summary_sources AS u ON u.summary_id = s.id AND u.kind = 'summary'
    JOIN summaries AS below ON below.id = u.source
    WHERE below.depth >= s.depth
),
below AS (
    SELECT id AS top, id FROM uphill
    UNION
    SELECT b.top, u.source FROM below AS b JOIN summary_sources AS u ON u.summary_id = b.id AND u.kind = 'summary'
)
SELECT DISTINCT 'summary that stands for itself' AS fault, b.top AS subject
FROM below AS b
JOIN summary_sources AS u ON u.summary_id = b.id AND u.kind = 'summary' AND u.source = b.top;

-- name: check_contents
-- Contradictions about what messages are made of, and about large contents.
SELECT 'part of no message' AS fault, p.message_id AS subject
FROM parts AS p
LEFT JOIN messages AS m ON m.id = p.message_id
WHERE (m.conversation_id, m.seq) IS DISTINCT FROM (p.conversation_id, p.seq)
UNION ALL
SELECT 'parts that are not numbered from 0', message_id
FROM parts
GROUP BY message_id
HAVING min(ordinal) <> 0 OR max(ordinal) <> count(*) - 1 OR count(DISTINCT ordinal) <> count(*)
UNION ALL
SELECT 'two messages of one key', any_value(id)
FROM messages
WHERE caller_key IS NOT NULL
GROUP BY conversation_id, caller_key
HAVING count(*) > 1
UNION ALL
SELECT 'part that refers to no large file', message_id
FROM parts
WHERE file_id IS NOT NULL AND file_id NOT IN (SELECT id FROM large_files)
UNION ALL
SELECT 'large file of no message', f.id
FROM large_files AS f
LEFT JOIN messages AS m ON m.id = f.message_id
WHERE m.conversation_id IS DISTINCT FROM f.conversation_id
UNION ALL
SELECT 'content that is missing', sha256
FROM (
    SELECT sha256 FROM large_files
    UNION
    SELECT raw_sha256 FROM messages WHERE raw_sha256 IS NOT NULL
    UNION
    SELECT raw_sha256 FROM parts WHERE raw_sha256 IS NOT NULL
)
WHERE sha256 NOT IN (SELECT sha256 FROM payloads)
UNION ALL
SELECT 'content that is missing', sha256
FROM payloads
WHERE content IS NULL AND bytes BETWEEN 1 AND 16 * 1024 * 1024  -- a longer one lies in the folder
UNION ALL
SELECT 'content that nobody refers to', sha256
FROM payloads
WHERE sha256 NOT IN (SELECT sha256 FROM large_files)
  AND sha256 NOT IN (SELECT raw_sha256 FROM messages WHERE raw_sha256 IS NOT NULL)
  AND sha256 NOT IN (SELECT raw_sha256 FROM parts WHERE raw_sha256 IS NOT NULL)
UNION ALL
SELECT 'content that was altered', sha256
FROM payloads
WHERE content IS NOT NULL AND sha256(content) <> sha256
UNION ALL
SELECT 'content of another length', p.sha256
FROM payloads AS p
LEFT JOIN large_files AS f USING (sha256)
WHERE octet_length(p.content) <> p.bytes OR f.bytes <> p.bytes;
