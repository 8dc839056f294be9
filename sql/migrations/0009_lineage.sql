-- Where memories come from, how far each is to be trusted, and what was withdrawn with all that descends from it.

-- How far a memory is to be trusted: stated, extracted, imported or untrusted. retracted_by is the retraction that took it out of recall; it is NULL
-- where nobody did, and of one that was only forgotten. Both may get a value later, so they are not compressed (as messages.set_aside).
ALTER TABLE memories ADD COLUMN trust VARCHAR USING COMPRESSION uncompressed;
ALTER TABLE memories ADD COLUMN retracted_by VARCHAR USING COMPRESSION uncompressed;
ALTER TABLE memory_versions ADD COLUMN trust VARCHAR USING COMPRESSION uncompressed;
ALTER TABLE memory_versions ADD COLUMN retracted_by VARCHAR USING COMPRESSION uncompressed;
UPDATE memory_versions SET trust = CASE source WHEN 'manual' THEN 'stated' WHEN 'legacy' THEN 'imported' ELSE 'extracted' END;
UPDATE memories SET trust = CASE source WHEN 'manual' THEN 'stated' WHEN 'legacy' THEN 'imported' ELSE 'extracted' END;

-- What a memory came from. Rows of one derivation belong together: the memory stands while all sources of one derivation stand. 0 is how it was made;
-- a memory that has no row of that was made by itself. Later ones are confirmations. how is drawn (from messages, by rules or a model), asked (the call
-- of the model that found it), merged (the older memory that went into its text), imported, named (by who remembered it) or supported; and two that
-- the memory does not stand on: superseded (the older memory that it ended) and contradicted. kind is message, summary, memory, import or call. part
-- is where in an import it stands, label the context of a confirmation or contradiction, said_at when that was observed. ended_at and keyed say of a
-- superseded memory when it had ended before, and whether it had a fact key.
CREATE TABLE memory_sources (
    memory_id  VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    derivation INTEGER NOT NULL USING COMPRESSION bitpacking,
    how        VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    kind       VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    source     VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    part       VARCHAR USING COMPRESSION dict_fsst,
    label      VARCHAR USING COMPRESSION dict_fsst,
    said_at    TIMESTAMP USING COMPRESSION bitpacking,
    ended_at   TIMESTAMP USING COMPRESSION bitpacking,
    keyed      BOOLEAN USING COMPRESSION rle,
    noted_at   TIMESTAMP NOT NULL USING COMPRESSION bitpacking
);

-- Files of memories that were imported, and what a run of import was called.
CREATE TABLE imports (
    id         VARCHAR PRIMARY KEY,
    name       VARCHAR,
    agent      VARCHAR,
    started_at TIMESTAMP NOT NULL
);

-- What was withdrawn, and why; undone_at is when it was taken back.
CREATE TABLE retractions (
    id           VARCHAR PRIMARY KEY,
    kind         VARCHAR NOT NULL,
    source       VARCHAR NOT NULL,
    reason       VARCHAR NOT NULL,
    agent        VARCHAR,
    retracted_at TIMESTAMP NOT NULL,
    undone_at    TIMESTAMP
);

-- What a retraction did, in its order: effect is withdrawn, restored, relinked, unsupported, rewritten, removed or kept, and because is the id of
-- what it follows from. was and became are what it changed, so that it can be taken back; a purge empties them.
CREATE TABLE retraction_effects (
    retraction_id VARCHAR NOT NULL,
    ordinal       INTEGER NOT NULL,
    kind          VARCHAR NOT NULL,
    id            VARCHAR NOT NULL,
    effect        VARCHAR NOT NULL,
    because       VARCHAR NOT NULL,
    was           JSON,
    became        JSON
);

-- Of what was drawn from talk before, drafts know the messages.
INSERT INTO memory_sources
SELECT d.memory_id, 0, 'drawn', 'message', unnest(d.message_ids), NULL, NULL, NULL, NULL, NULL, d.made_at
FROM drafts AS d
WHERE d.memory_id IN (SELECT id FROM memories);
INSERT INTO memory_sources
SELECT memory_id, 0, 'merged', 'memory', match_id, NULL, NULL, NULL, NULL, NULL, made_at
FROM drafts
WHERE action = 'merge' AND memory_id IN (SELECT id FROM memories) AND match_id IN (SELECT id FROM memories);
INSERT INTO memory_sources
SELECT match_id, nth, 'supported', 'message', unnest(message_ids), NULL, coalesce(context, 'general'), said_at, NULL, NULL, made_at
FROM (
    SELECT *, row_number() OVER (PARTITION BY match_id ORDER BY made_at, id) AS nth
    FROM drafts
    WHERE action = 'support' AND match_id IN (SELECT id FROM memories)
);
INSERT INTO memory_sources
SELECT superseded_by, 0, 'superseded', 'memory', id, NULL, NULL, NULL, NULL, fact_key IS NOT NULL, updated_at
FROM memories
WHERE superseded_by IN (SELECT id FROM memories);
