-- What an id names. Each of these gives the kind, the id, its conversation and its scope.

-- name: find_memory
SELECT 'memory', id, NULL, scope FROM memories WHERE id = $id;

-- name: find_message
SELECT 'message', m.id, m.conversation_id, c.scope FROM messages AS m JOIN conversations AS c ON c.id = m.conversation_id WHERE m.id = $id;

-- name: find_summary
SELECT 'summary', s.id, s.conversation_id, c.scope FROM summaries AS s JOIN conversations AS c ON c.id = s.conversation_id WHERE s.id = $id;

-- name: find_file
SELECT 'file', f.id, f.conversation_id, c.scope FROM large_files AS f JOIN conversations AS c ON c.id = f.conversation_id WHERE f.id = $id;

-- name: find_conversation
SELECT 'conversation', id, id, scope FROM conversations WHERE id = $id;

-- name: find_ending
-- Everything whose id ends so, in the scopes that the caller may read.
WITH named AS (
    SELECT 'memory' AS kind, id, NULL AS conversation_id, scope FROM memories
    UNION ALL
    SELECT 'message', m.id, m.conversation_id, c.scope FROM messages AS m JOIN conversations AS c ON c.id = m.conversation_id
    UNION ALL
    SELECT 'summary', s.id, s.conversation_id, c.scope FROM summaries AS s JOIN conversations AS c ON c.id = s.conversation_id
    UNION ALL
    SELECT 'file', f.id, f.conversation_id, c.scope FROM large_files AS f JOIN conversations AS c ON c.id = f.conversation_id
    UNION ALL
    SELECT 'conversation', id, id, scope FROM conversations
    UNION ALL
    SELECT 'note', n.id, NULL, min(f.scope)
    FROM notes AS n
    JOIN note_files AS f ON f.id = n.file_id
    WHERE $scopes::VARCHAR[] IS NULL OR f.scope = ANY ($scopes::VARCHAR[])
    GROUP BY n.id
)
SELECT kind, id, conversation_id, scope
FROM named
WHERE ends_with(id, $ending) AND ($scopes::VARCHAR[] IS NULL OR scope = ANY ($scopes::VARCHAR[]))
ORDER BY id <> $ending, kind, id
LIMIT 6;

-- name: describe_note
-- Where a note stands, in the scopes that the caller may read.
SELECT f.folder, f.path, f.scope, f.modified_at, n.first_line, n.last_line, n.text
FROM notes AS n
JOIN note_files AS f ON f.id = n.file_id
WHERE n.id = $id AND ($scopes::VARCHAR[] IS NULL OR f.scope = ANY ($scopes::VARCHAR[]))
ORDER BY f.folder, f.path;

-- name: summary_tree
-- A summary and all those below it, each under the one that it is a source of, before its younger siblings.
WITH RECURSIVE below(id, distance, path, line) AS (
    SELECT id, 0, [0], [id] FROM summaries WHERE id = $id
    UNION ALL
    SELECT l.source, b.distance + 1, list_append(b.path, l.ordinal), list_append(b.line, l.source)
    FROM below AS b
    JOIN summary_sources AS l ON l.summary_id = b.id
    WHERE l.kind = 'summary' AND NOT list_contains(b.line, l.source)
)
SELECT b.distance, s.id, s.kind, s.depth, s.tokens, s.descendant_tokens, s.source_tokens, s.descendants,
    (SELECT count(*) FROM summary_sources AS l WHERE l.summary_id = s.id), s.earliest_at, s.latest_at
FROM below AS b
JOIN summaries AS s ON s.id = b.id
ORDER BY b.path;

-- name: summaries_above
-- The summaries that stand for a message or a summary, the nearest first.
WITH RECURSIVE above(id, distance) AS (
    SELECT summary_id, 1 FROM summary_sources WHERE source = $id
    UNION
    SELECT l.summary_id, a.distance + 1 FROM above AS a JOIN summary_sources AS l ON l.source = a.id WHERE a.distance < 100
)
SELECT id FROM above GROUP BY id ORDER BY min(distance), id;

-- name: message_of_file
-- The message that a large file came with.
SELECT message_id FROM large_files WHERE id = $id;

-- name: consumed_by
-- The summaries that a summary is a source of.
SELECT summary_id FROM summary_sources WHERE source = $id AND kind = 'summary' ORDER BY summary_id;

-- name: in_context
-- Whether the current context of its conversation has it.
SELECT count(*) > 0 FROM context_items WHERE conversation_id = $conversation_id AND ref = $id;
