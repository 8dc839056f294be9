-- What was drawn from talk, and what became of it.

-- Drafts with their verdicts, and the memory each became. The text of what was purged is empty.
CREATE OR REPLACE VIEW report.extraction AS
SELECT d.id, c.name AS conversation, d.conversation_id, d.first_seq, d.last_seq, d.message_ids, d.scope, d.category, d.text, d.rule, d.language, d.model,
    d.confidence, d.importance, d.verdict, d.action, d.reason, d.match_id, d.similarity, d.memory_id,
    m.id IS NOT NULL AND m.retired_at IS NULL AND (m.invalidated_at IS NULL OR m.invalidated_at > current_timestamp AT TIME ZONE 'UTC') AS stands,
    d.said_at, d.made_at,
    m.retracted_by IS NOT NULL OR list_has_any(d.message_ids, (SELECT coalesce(list(id), []) FROM main.messages WHERE set_aside = 'retracted')) AS retracted
FROM main.drafts AS d
LEFT JOIN main.conversations AS c ON c.id = d.conversation_id
LEFT JOIN main.memories AS m ON m.id = d.memory_id;

-- What admission thought of drafts.
CREATE OR REPLACE VIEW report.admission AS
SELECT a.draft_id, d.text, d.category, d.scope, a.preset, a.decision, a.hint, a.score, a.reject_below, a.admit_from, a.utility, a.confidence, a.novelty,
    a.recency, a.type_prior, a.greatest_similarity, a.reason, a.utility_reason, d.memory_id, a.evaluated_at
FROM main.admissions AS a
JOIN main.drafts AS d ON d.id = a.draft_id;
