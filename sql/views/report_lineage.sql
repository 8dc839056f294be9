-- What came from what, and what was withdrawn.

-- A row for every step from a source to a memory or summary. stands is whether the source is neither retracted nor purged.
CREATE OR REPLACE VIEW report.lineage AS
WITH steps AS (
    SELECT memory_id AS id, 'memory' AS kind, source, kind AS source_kind, how, derivation, part, label, said_at, noted_at FROM main.memory_sources
    UNION ALL
    SELECT u.summary_id, 'summary', u.source, u.kind, 'summarised', 0, NULL, NULL, NULL, s.created_at
    FROM main.summary_sources AS u
    JOIN main.summaries AS s ON s.id = u.summary_id
)
SELECT s.*, coalesce(m.text, t.text, y.text, i.name, c.label) AS source_text,
    CASE s.source_kind WHEN 'memory' THEN m.id IS NOT NULL AND m.retracted_by IS NULL WHEN 'message' THEN t.id IS NOT NULL AND coalesce(t.set_aside, '') NOT IN ('retracted', 'purged')
        ELSE coalesce(y.id, i.id, c.id) IS NOT NULL AND s.source NOT IN (SELECT source FROM main.retractions WHERE undone_at IS NULL) END AS stands
FROM steps AS s
LEFT JOIN main.memories AS m ON m.id = s.source
LEFT JOIN main.messages AS t ON t.id = s.source
LEFT JOIN main.summaries AS y ON y.id = s.source
LEFT JOIN main.imports AS i ON i.id = s.source
LEFT JOIN main.model_calls AS c ON c.id = s.source;

-- Retractions, each with how much it withdrew; undone ones too.
CREATE OR REPLACE VIEW report.retractions AS
SELECT r.id, r.kind, r.source, r.reason, r.agent, r.retracted_at, r.undone_at, count(*) FILTER (e.kind = 'memory' AND e.effect = 'withdrawn') AS withdrawn,
    count(*) FILTER (e.effect = 'restored') AS restored, count(*) FILTER (e.kind = 'summary') AS summaries
FROM main.retractions AS r
LEFT JOIN main.retraction_effects AS e ON e.retraction_id = r.id
GROUP BY ALL;
