-- How conversations stood while their contexts filled, and what became of these.

-- Checkpoints of conversations; covers: made since the context was last compacted. None that knew what is retracted now.
CREATE OR REPLACE VIEW report.checkpoints AS
SELECT k.id, c.name AS conversation, k.conversation_id, k.upto_seq, k.tokens_at, k.user_count_at, k.message_count_at, k.cycle,
    k.cycle = coalesce(c.compactions, 0) AS covers, k.summary, k.topics, k.decisions, k.questions, k.generated_by, k.created_at
FROM main.checkpoints AS k
JOIN main.conversations AS c ON c.id = k.conversation_id
WHERE NOT EXISTS (FROM main.messages AS m WHERE m.conversation_id = k.conversation_id AND m.set_aside = 'retracted' AND m.seq <= k.upto_seq AND m.set_aside_at >= k.created_at);

-- Every compaction of a conversation in its order: which messages it summarised, from what, and which of them no summary tells of yet.
CREATE OR REPLACE VIEW report.compaction_chain AS
SELECT p.id, c.name AS conversation, p.conversation_id, row_number() OVER (PARTITION BY p.conversation_id ORDER BY p.started_at, p.first_kept_seq, p.id) AS step,
    p.policy, p.source, p.from_seq, p.first_kept_seq, p.items, p.tokens_before, p.tokens_after, p.level, p.model, p.calls, p.checkpoint_id, p.summary_id,
    s.id IS NOT NULL AS stands, p.retry_from IS NOT NULL AS needs_retry, p.retry_from, p.attempts, p.last_error, p.started_at, p.finished_at
FROM main.compactions AS p
JOIN main.conversations AS c ON c.id = p.conversation_id
LEFT JOIN main.summaries AS s ON s.id = p.summary_id;
