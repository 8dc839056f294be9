-- The analysts' contract: what these views are named, and their columns, stay. docs/schema.md lists them.
CREATE SCHEMA IF NOT EXISTS report;

-- Memories that are not forgotten, with how they stand now.
CREATE OR REPLACE VIEW report.memories AS
SELECT id, text, category, scope, tier, state, layer, importance, confidence, created_at, valid_from, valid_until, invalidated_at,
    CASE
        WHEN invalidated_at <= current_timestamp AT TIME ZONE 'UTC' THEN 'superseded'
        WHEN valid_until <= current_timestamp AT TIME ZONE 'UTC' THEN 'expired'
        ELSE 'current'
    END AS standing,
    access_count, last_accessed_at, supersedes, superseded_by, source, source_session, recorded_at, trust
FROM main.memories
WHERE retired_at IS NULL;

-- Forgotten and retracted memories, and why.
CREATE OR REPLACE VIEW report.forgotten AS
SELECT id, text, category, scope, created_at, retired_at, retired_reason, retracted_by
FROM main.memories
WHERE retired_at IS NOT NULL;

-- The weights by which memories fade: those of the set memory, as it is stored or built in.
CREATE OR REPLACE VIEW report.fading AS
SELECT
    coalesce((s.value ->> 'half_life')::DOUBLE, 30) AS half_life,
    coalesce((s.value ->> 'dynamic_half_life')::DOUBLE, 10) AS dynamic_half_life,
    coalesce((s.value ->> 'modulation')::DOUBLE, 1.5) AS modulation,
    coalesce((s.value ->> 'core_beta')::DOUBLE, 0.8) AS core_beta,
    coalesce((s.value ->> 'working_beta')::DOUBLE, 1) AS working_beta,
    coalesce((s.value ->> 'peripheral_beta')::DOUBLE, 1.3) AS peripheral_beta,
    coalesce((s.value ->> 'recency_part')::DOUBLE, 0.4) AS recency_part,
    coalesce((s.value ->> 'frequency_part')::DOUBLE, 0.3) AS frequency_part,
    coalesce((s.value ->> 'intrinsic_part')::DOUBLE, 0.3) AS intrinsic_part
FROM (SELECT 'weights:memory' AS name) AS n
LEFT JOIN main.settings AS s USING (name);

-- Every memory that stands and is confirmed, with its use, how alive it is, and the tier that it is due for; NULL where it stays.
CREATE OR REPLACE VIEW report.tiers AS
SELECT id, scope, category, tier, due.tier AS due_tier, due.reason, access_count, last_accessed_at, age_days, importance, composite, text
FROM (
    SELECT *, next_tier(tier::VARCHAR, access_count, composite, importance, age_days) AS due
    FROM (
        SELECT id, scope, category, tier, access_count, last_accessed_at, importance, text, days_between(created_at, asked_at) AS age_days,
            memory_composite(created_at, last_accessed_at, access_count, importance, confidence, tier::VARCHAR, temporal_type, asked_at,
                half_life := w.half_life, dynamic_half_life := w.dynamic_half_life, modulation := w.modulation, core_beta := w.core_beta, working_beta := w.working_beta, peripheral_beta := w.peripheral_beta,
                recency_part := w.recency_part, frequency_part := w.frequency_part, intrinsic_part := w.intrinsic_part) AS composite
        FROM main.memories CROSS JOIN (SELECT make_timestamp(epoch_us(now())) AS asked_at) CROSS JOIN report.fading AS w
        WHERE retired_at IS NULL AND (invalidated_at IS NULL OR invalidated_at > asked_at) AND state = 'confirmed'
    )
);

-- What became of memories that were recalled: those that were used or shown at least once.
CREATE OR REPLACE VIEW report.touches AS
SELECT id, scope, category, tier, access_count, last_accessed_at, injected_count, last_injected_at, last_confirmed_use_at, bad_recall_count, suppressed_until,
    coalesce(suppressed_until > asked_at, false) AS suppressed,
    CASE WHEN injected_count = 0 THEN NULL ELSE coalesce(last_confirmed_use_at >= last_injected_at, false) END AS confirmed, text
FROM main.memories CROSS JOIN (SELECT make_timestamp(epoch_us(now())) AS asked_at)
WHERE access_count > 0 OR injected_count > 0;

-- How the memories of each scope are: how many stand, and what is the matter with the others.
CREATE OR REPLACE VIEW report.memory_health AS
SELECT scope, count(*) AS memories,
    count(*) FILTER (standing = 'current') AS current, count(*) FILTER (standing = 'expired') AS expired, count(*) FILTER (standing = 'superseded') AS superseded, count(*) FILTER (standing = 'forgotten') AS forgotten,
    count(*) FILTER (standing = 'current' AND state = 'pending') AS pending, count(*) FILTER (standing = 'current' AND set_apart(state, layer) AND state <> 'pending') AS archived,
    count(*) FILTER (canonical_id IS NOT NULL) AS merged, count(*) FILTER (alive AND access_count = 0) AS unused, count(*) FILTER (alive AND composite < 0.3) AS faded,
    count(*) FILTER (alive AND coalesce(suppressed_until > asked_at, false)) AS suppressed,
    count(*) FILTER (alive AND doc_no NOT IN (SELECT doc_no FROM main.vectors)) AS without_vector,
    avg(importance) FILTER (alive) AS importance, avg(confidence) FILTER (alive) AS confidence, avg(composite) FILTER (alive) AS composite
FROM (
    SELECT *, standing = 'current' AND NOT set_apart(state, layer) AS alive
    FROM (
        SELECT m.*, asked_at,
            CASE WHEN retired_at IS NOT NULL THEN 'forgotten'
                 WHEN invalidated_at <= asked_at THEN 'superseded'
                 WHEN valid_until <= asked_at THEN 'expired'
                 ELSE 'current' END AS standing,
            memory_composite(created_at, last_accessed_at, access_count, importance, confidence, tier::VARCHAR, temporal_type, asked_at,
                half_life := w.half_life, dynamic_half_life := w.dynamic_half_life, modulation := w.modulation,
                core_beta := w.core_beta, working_beta := w.working_beta, peripheral_beta := w.peripheral_beta,
                recency_part := w.recency_part, frequency_part := w.frequency_part, intrinsic_part := w.intrinsic_part) AS composite
        FROM main.memories AS m CROSS JOIN (SELECT make_timestamp(epoch_us(now())) AS asked_at) CROSS JOIN report.fading AS w
    )
)
GROUP BY scope;

-- Turns of talk in their order.
CREATE OR REPLACE VIEW report.messages AS
SELECT m.id, c.name AS conversation, c.scope, m.seq, m.session, m.role, m.speaker, m.text, m.caption, m.said_at,
    m.tokens, m.set_aside, m.set_aside_at, m.recorded_at, m.reply_to, m.source_kind, coalesce(m.withheld, false) AS withheld,
    coalesce(m.fallback, false) AS fallback, m.usage, m.actions
FROM main.messages AS m
JOIN main.conversations AS c ON c.id = m.conversation_id;

-- One row per conversation: how many turns, by whom, from when to when.
CREATE OR REPLACE VIEW report.conversations AS
SELECT c.id, c.name, c.scope, c.title, count(m.id) AS messages, count(DISTINCT m.session) AS sessions,
    list(DISTINCT m.speaker ORDER BY m.speaker) FILTER (m.speaker IS NOT NULL) AS speakers,
    min(m.said_at) AS first_said_at, max(m.said_at) AS last_said_at,
    c.session_key, c.session_id, c.parent_id, c.active, c.archived_at, c.archive_cause
FROM main.conversations AS c
LEFT JOIN main.messages AS m ON m.conversation_id = c.id
GROUP BY ALL;

-- Words of the index and in how many documents of a kind they stand.
CREATE OR REPLACE VIEW report.terms AS
SELECT t.term, p.kind::VARCHAR AS kind, count(*) AS documents, sum(p.tf) AS occurrences
FROM main.postings AS p
JOIN main.terms AS t USING (term_no)
GROUP BY t.term, p.kind;

-- How much of each kind is in the index, and has a vector of the chosen model.
CREATE OR REPLACE VIEW report.coverage AS
SELECT d.kind::VARCHAR AS kind, count(*) AS documents, sum(d.length) / count(*) AS average_length,
    count(v.doc_no) AS vectors, count(v.doc_no) / count(*) AS coverage
FROM main.documents AS d
LEFT JOIN main.vectors AS v USING (doc_no)
WHERE d.live
GROUP BY d.kind;
