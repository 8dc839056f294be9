-- What memctl doctor repairs, each by statements that may be run again, all in one transaction, after a copy of the file was made; the index is
-- made anew afterwards.

-- name: doctor_references
-- Which message parts and large files are of, where another row says it; and of what kind sources are.
UPDATE parts SET message_id = m.id
FROM messages AS m
WHERE m.conversation_id = parts.conversation_id AND m.seq = parts.seq AND m.set_aside IS DISTINCT FROM 'purged'
  AND parts.message_id NOT IN (SELECT id FROM messages) AND m.id NOT IN (SELECT message_id FROM parts);
UPDATE large_files SET message_id = p.message_id
FROM parts AS p
WHERE p.file_id = large_files.id AND p.message_id IN (SELECT id FROM messages) AND large_files.message_id NOT IN (SELECT id FROM messages);
UPDATE summary_sources SET kind = n.kind
FROM (SELECT id, 'message' AS kind FROM messages UNION ALL SELECT id, 'summary' FROM summaries) AS n
WHERE n.id = summary_sources.source AND n.kind <> summary_sources.kind;

-- name: doctor_homes
-- A summary is in the conversation that all its sources are in; one level at a time.
UPDATE summaries SET conversation_id = n.conversation_id
FROM (
    SELECT u.summary_id, any_value(coalesce(m.conversation_id, b.conversation_id)) AS conversation_id
    FROM summary_sources AS u
    LEFT JOIN messages AS m ON m.id = u.source
    LEFT JOIN summaries AS b ON b.id = u.source
    GROUP BY u.summary_id
    HAVING count(DISTINCT coalesce(m.conversation_id, b.conversation_id)) = 1
) AS n
WHERE n.summary_id = summaries.id AND n.conversation_id <> summaries.conversation_id AND n.conversation_id IN (SELECT id FROM conversations);

-- name: doctor_items
-- A context item is of the kind and the conversation of what it refers to; one that refers to nothing, at the beginning of a summary that is
-- nowhere, refers to that.
UPDATE context_items SET kind = n.kind, conversation_id = n.conversation_id
FROM (SELECT id, 'message' AS kind, conversation_id FROM messages UNION ALL SELECT id, 'summary', conversation_id FROM summaries) AS n
WHERE n.id = context_items.ref AND (n.kind, n.conversation_id) IS DISTINCT FROM (context_items.kind, context_items.conversation_id)
  AND n.conversation_id IN (SELECT id FROM conversations);
UPDATE context_items SET kind = 'summary', ref = s.id
FROM summaries AS s
WHERE s.conversation_id = context_items.conversation_id AND s.first_seq = context_items.position
  AND context_items.ref NOT IN (SELECT id FROM messages) AND context_items.ref NOT IN (SELECT id FROM summaries)
  AND s.id NOT IN (SELECT source FROM summary_sources) AND s.id NOT IN (SELECT ref FROM context_items);

-- name: doctor_leftovers
-- What belongs to nothing. No message, no summary and no content that anything refers to is among it.
DELETE FROM parts WHERE message_id NOT IN (SELECT id FROM messages);
UPDATE parts SET conversation_id = m.conversation_id, seq = m.seq
FROM messages AS m
WHERE m.id = parts.message_id AND (m.conversation_id, m.seq) IS DISTINCT FROM (parts.conversation_id, parts.seq);
DELETE FROM large_files
WHERE message_id NOT IN (SELECT id FROM messages) AND id NOT IN (SELECT file_id FROM parts WHERE file_id IS NOT NULL);
UPDATE large_files SET conversation_id = m.conversation_id
FROM messages AS m
WHERE m.id = large_files.message_id AND m.conversation_id <> large_files.conversation_id;
DELETE FROM payloads
WHERE sha256 NOT IN (SELECT sha256 FROM large_files)
  AND sha256 NOT IN (SELECT raw_sha256 FROM messages WHERE raw_sha256 IS NOT NULL)
  AND sha256 NOT IN (SELECT raw_sha256 FROM parts WHERE raw_sha256 IS NOT NULL);
DELETE FROM summary_sources
WHERE summary_id NOT IN (SELECT id FROM summaries) OR rowid NOT IN (SELECT min(rowid) FROM summary_sources GROUP BY summary_id, source);
DELETE FROM memory_relations WHERE memory_id NOT IN (SELECT id FROM memories);
DELETE FROM note_files WHERE rowid NOT IN (SELECT arg_max(rowid, indexed_at) FROM note_files GROUP BY folder, path);
DELETE FROM notes WHERE file_id NOT IN (SELECT id FROM note_files);
DELETE FROM compactions WHERE conversation_id NOT IN (SELECT id FROM conversations);
UPDATE compactions SET retry_from = NULL, carried = NULL
WHERE retry_from IS NOT NULL AND (retry_from >= first_kept_seq OR summary_id NOT IN (SELECT id FROM summaries WHERE fallback));
UPDATE compactions SET from_seq = first_kept_seq WHERE from_seq > first_kept_seq;
DELETE FROM checkpoints
WHERE conversation_id NOT IN (SELECT id FROM conversations)
   OR EXISTS (FROM conversations AS c WHERE c.id = checkpoints.conversation_id AND checkpoints.upto_seq >= c.next_seq)
   OR EXISTS (FROM messages AS m WHERE m.conversation_id = checkpoints.conversation_id AND m.set_aside = 'purged' AND m.seq <= checkpoints.upto_seq AND m.set_aside_at > checkpoints.created_at);
DELETE FROM flush_state
WHERE conversation_id NOT IN (SELECT id FROM conversations)
   OR rowid NOT IN (SELECT min(rowid) FROM flush_state GROUP BY conversation_id, cycle, percent);
DELETE FROM compaction_debts
WHERE conversation_id NOT IN (SELECT id FROM conversations)
   OR rowid NOT IN (SELECT min(rowid) FROM compaction_debts GROUP BY conversation_id);
UPDATE cursors SET conversation_id = NULL WHERE conversation_id NOT IN (SELECT id FROM conversations);
DELETE FROM context_snapshots WHERE conversation_id NOT IN (SELECT id FROM conversations);
DELETE FROM drafts WHERE conversation_id IS NOT NULL AND conversation_id NOT IN (SELECT id FROM conversations);
DELETE FROM admissions WHERE draft_id NOT IN (SELECT id FROM drafts);
DELETE FROM extraction_cursors WHERE conversation_id NOT IN (SELECT id FROM conversations);
UPDATE drafts SET text = '', content = NULL, fact_key = NULL, context = NULL, reason = 'purged', nearest = NULL
WHERE text <> '' AND list_has_any(message_ids, (SELECT coalesce(list(id), []) FROM messages WHERE set_aside = 'purged'));
UPDATE drafts SET text = '', content = NULL, fact_key = NULL, context = NULL, reason = 'purged', nearest = NULL, memory_id = NULL
WHERE memory_id IS NOT NULL AND memory_id NOT IN (SELECT id FROM memories);

-- name: doctor_retractions
-- What is left of where memories came from, and of retractions. A message that no retraction withdraws comes back to recall, for the index is made anew; the
-- context has moved on without it.
DELETE FROM memory_sources WHERE memory_id NOT IN (SELECT id FROM memories);
DELETE FROM memory_sources
WHERE CASE kind WHEN 'memory' THEN source NOT IN (SELECT id FROM memories) WHEN 'message' THEN source NOT IN (SELECT id FROM messages)
    WHEN 'import' THEN source NOT IN (SELECT id FROM imports) WHEN 'call' THEN source NOT IN (SELECT id FROM model_calls) ELSE kind <> 'summary' END;
DELETE FROM retraction_effects WHERE retraction_id NOT IN (SELECT id FROM retractions);
UPDATE retractions SET undone_at = retracted_at
WHERE undone_at IS NULL AND id NOT IN (SELECT arg_min(id, (retracted_at, id)) FROM retractions WHERE undone_at IS NULL GROUP BY source);
UPDATE memories SET retracted_by = NULL
WHERE retracted_by IS NOT NULL AND (retired_at IS NULL OR retracted_by NOT IN (SELECT id FROM retractions WHERE undone_at IS NULL));
UPDATE messages SET set_aside = 'new' WHERE set_aside = 'retracted' AND id NOT IN (SELECT source FROM retractions WHERE undone_at IS NULL);

-- name: doctor_parts
-- Numbers the parts of a message from 0, in the order they have.
UPDATE parts SET ordinal = n.ordinal
FROM (SELECT rowid AS row, row_number() OVER (PARTITION BY message_id ORDER BY ordinal, rowid) - 1 AS ordinal FROM parts) AS n
WHERE n.row = parts.rowid AND n.ordinal <> parts.ordinal;

-- name: doctor_conversations
-- A conversation goes on after its last message, and is archived or active, not both.
UPDATE conversations SET next_seq = m.next_seq
FROM (SELECT conversation_id, max(seq) + 1 AS next_seq FROM messages GROUP BY conversation_id) AS m
WHERE m.conversation_id = conversations.id AND conversations.next_seq <> m.next_seq;
UPDATE conversations SET last_session_no = m.session_no, last_place = m.place, last_session = m.session, last_said_at = m.said_at
FROM messages AS m
WHERE m.conversation_id = conversations.id AND m.seq = conversations.next_seq - 1
  AND (last_session_no, last_place, last_session, last_said_at) IS DISTINCT FROM (m.session_no, m.place, m.session, m.said_at);
UPDATE conversations SET active = archived_at IS NULL WHERE active IS DISTINCT FROM (archived_at IS NULL);
UPDATE conversations SET compactions = (SELECT count(*) FROM compactions AS p WHERE p.conversation_id = conversations.id)
WHERE coalesce(compactions, 0) <> (SELECT count(*) FROM compactions AS p WHERE p.conversation_id = conversations.id);
UPDATE checkpoints SET cycle = c.compactions FROM conversations AS c WHERE c.id = checkpoints.conversation_id AND checkpoints.cycle > c.compactions;
DELETE FROM flush_state WHERE EXISTS (FROM conversations AS c WHERE c.id = flush_state.conversation_id AND flush_state.cycle > c.compactions);

-- name: doctor_archive
-- Of the active conversations of one name or key, all but the one with the newest message are archived.
UPDATE conversations SET active = false, archived_at = $at::TIMESTAMP, archive_cause = 'doctor'
WHERE active AND (id NOT IN (SELECT arg_max(id, (coalesce(last_said_at, created_at), id)) FROM conversations WHERE active GROUP BY name)
    OR session_key IS NOT NULL AND id NOT IN (
        SELECT arg_max(id, (coalesce(last_said_at, created_at), id)) FROM conversations WHERE active AND session_key IS NOT NULL GROUP BY session_key));

-- name: doctor_aside
-- What a summary stands for was not set aside, unless it was purged; and what was set aside has a time.
UPDATE messages SET set_aside = NULL, set_aside_at = NULL
WHERE set_aside <> 'purged' AND id IN (SELECT source FROM summary_sources WHERE kind = 'message');
UPDATE messages SET set_aside_at = CASE WHEN set_aside IS NOT NULL THEN recorded_at END WHERE (set_aside IS NULL) <> (set_aside_at IS NULL);

-- name: doctor_lineage
-- Puts messages and summaries back under the summaries that were made from them. What a summary says of itself, how many messages it stands
-- for and from which to which, tells what is missing: nothing is put back unless that number then is right. A source outside of that range
-- that stands elsewhere too is let go, and so is one that nothing is known of, once nothing is missing.
WITH links AS (
    SELECT u.rowid AS row, u.source, n.first_seq >= s.first_seq AND n.last_seq <= s.last_seq AS fits
    FROM summary_sources AS u
    JOIN summaries AS s ON s.id = u.summary_id
    JOIN (SELECT id, seq AS first_seq, seq AS last_seq FROM messages UNION ALL SELECT id, first_seq, last_seq FROM summaries) AS n ON n.id = u.source
)
DELETE FROM summary_sources WHERE rowid IN (
    SELECT row
    FROM links
    WHERE NOT fits AND (source IN (SELECT ref FROM context_items) OR source IN (SELECT source FROM links WHERE fits)));
WITH lost AS MATERIALIZED (
    SELECT id, conversation_id, 'message' AS kind, -1 AS depth, seq AS first_seq, seq AS last_seq, 1 AS messages
    FROM messages
    WHERE set_aside IS NULL AND id NOT IN (SELECT ref FROM context_items) AND id NOT IN (SELECT source FROM summary_sources)
    UNION ALL
    SELECT id, conversation_id, 'summary', depth, first_seq, last_seq, messages
    FROM summaries
    WHERE id NOT IN (SELECT ref FROM context_items) AND id NOT IN (SELECT source FROM summary_sources)
),
had AS MATERIALIZED (
    SELECT u.summary_id, sum(coalesce(b.messages, 1)) AS messages
    FROM summary_sources AS u
    LEFT JOIN summaries AS b ON b.id = u.source
    WHERE b.id IS NOT NULL OR u.source IN (SELECT id FROM messages)
    GROUP BY u.summary_id
)
INSERT INTO summary_sources
SELECT summary_id, seq, kind, id
FROM (
    SELECT s.id AS summary_id, l.first_seq AS seq, l.kind, l.id, s.messages - coalesce(h.messages, 0) AS missing,
        sum(l.messages) OVER (PARTITION BY s.id) AS found
    FROM summaries AS s
    JOIN lost AS l ON l.conversation_id = s.conversation_id AND l.depth = s.depth - 1 AND l.first_seq >= s.first_seq AND l.last_seq <= s.last_seq
    LEFT JOIN had AS h ON h.summary_id = s.id
)
WHERE missing = found;
DELETE FROM summary_sources
WHERE source NOT IN (SELECT id FROM messages) AND source NOT IN (SELECT id FROM summaries)
  AND summary_id IN (
      SELECT s.id
      FROM summaries AS s
      JOIN summary_sources AS u ON u.summary_id = s.id
      LEFT JOIN messages AS m ON m.id = u.source
      LEFT JOIN summaries AS b ON b.id = u.source
      GROUP BY s.id, s.messages
      HAVING sum(CASE WHEN m.id IS NOT NULL THEN 1 ELSE coalesce(b.messages, 0) END) = s.messages);

-- name: doctor_shown
-- Lost summaries come back into the context.
INSERT INTO context_items
SELECT conversation_id, first_seq, 'summary', id, tokens FROM summaries WHERE id = ANY ($ids::VARCHAR[]) ORDER BY conversation_id, first_seq;

-- name: doctor_estimators
UPDATE conversations SET estimator = $estimator WHERE estimator IS NULL OR NOT list_contains($known::VARCHAR[], estimator);

-- name: doctor_superseded
-- The newer of two memories says what it replaced, where it says nothing.
UPDATE memories SET supersedes = old.id
FROM memories AS old
WHERE old.superseded_by = memories.id AND memories.supersedes IS NULL AND old.retracted_by IS NULL;

-- name: doctor_versions
-- What a memory was follows on what it was before, from when it was recorded; and what was of no memory goes.
DELETE FROM memory_versions WHERE id NOT IN (SELECT id FROM memories);
DELETE FROM dropped_versions WHERE id NOT IN (SELECT id FROM memories);
UPDATE memory_versions SET known_until = known_from WHERE known_until < known_from;
UPDATE memory_versions SET known_from = n.due, known_until = greatest(memory_versions.known_until, n.due)
FROM (
    SELECT v.rowid AS row, coalesce(lag(v.known_until) OVER (PARTITION BY v.id ORDER BY v.known_from, v.known_until), d.known_until, v.recorded_at) AS due
    FROM memory_versions AS v
    LEFT JOIN dropped_versions AS d USING (id)
) AS n
WHERE n.row = memory_versions.rowid AND n.due <> memory_versions.known_from;

-- name: doctor_uncounted
-- Messages whose tokens are not counted.
SELECT m.id, m.conversation_id, c.estimator FROM messages AS m JOIN conversations AS c ON c.id = m.conversation_id
WHERE coalesce(m.tokens, -1) < 0
ORDER BY m.conversation_id, m.seq;

-- name: doctor_said
SELECT seq, text, caption FROM messages WHERE id = $id;

-- name: doctor_count
UPDATE messages SET tokens = $tokens WHERE id = $id;

-- name: doctor_kinds
-- A row of totals for each kind; what they are is counted with the index.
INSERT INTO kind_stats
SELECT kind, 0, 0 FROM (SELECT unnest(enum_range(NULL::document_kind))::document_kind AS kind) WHERE kind NOT IN (SELECT kind FROM kind_stats);

-- name: doctor_vectors
-- Vectors of what cannot be recalled, and those of a wrong length, which are made anew.
DELETE FROM {table}
WHERE doc_no NOT IN (SELECT doc_no FROM documents WHERE live UNION ALL SELECT number FROM passages) OR NOT coalesce(abs(array_inner_product(v, v) - 1) < 1e-3, false);

-- name: doctor_embedding_cache
-- Of what a model said before, what it can't have said, and what is there twice.
DELETE FROM embedding_cache
WHERE place NOT IN (
    SELECT max(place)
    FROM embedding_cache
    WHERE len(v) = dims AND coalesce(abs(list_inner_product(v, v) - 1) < 1e-3, false) AND regexp_full_match(sha256, '[0-9a-f]{64}')
    GROUP BY sha256
);

-- name: doctor_fallbacks
-- Summaries that were made without the model that was asked.
SELECT id FROM summaries WHERE fallback ORDER BY depth, id;
