-- What hints point at.

-- name: build_hint_talks
-- The conversations but one, with where they began.
SELECT id, name, scope, parent_id FROM conversations WHERE id <> $conversation_id;

-- name: build_hint_learned
-- Which of some memories were learned by reflecting.
SELECT id FROM memories WHERE layer = 'reflection' AND list_contains($ids::VARCHAR[], id);

-- name: build_hint_withheld
-- Which of some messages are withheld.
SELECT id FROM messages WHERE withheld AND list_contains($ids::VARCHAR[], id);

-- name: build_pointed_notes
-- What notes say now, in the columns of build_pointed_messages.
SELECT n.id, n.text, f.scope, f.modified_at, NULL AS conversation, 0 AS seq, NULL AS role, NULL AS speaker, NULL AS caption, f.path, n.first_line, n.last_line
FROM notes AS n
JOIN note_files AS f ON f.id = n.file_id
WHERE list_contains($ids::VARCHAR[], n.id);

-- name: build_pointed_messages
-- What messages say now; of those without a text what tools were given and gave, as recall_tool_texts has it.
SELECT m.id, CASE WHEN m.text = '' THEN coalesce(t.text, '') ELSE m.text END, c.scope, m.said_at, c.name, m.seq, m.role, m.speaker, m.caption, NULL AS path, 0 AS first_line, 0 AS last_line
FROM messages AS m
JOIN conversations AS c ON c.id = m.conversation_id
LEFT JOIN (
    SELECT message_id, left(string_agg(concat_ws(' ', tool, input, output), chr(10) ORDER BY ordinal), 1000) AS text
    FROM parts
    WHERE kind = 'tool'::part_kind AND list_contains($ids::VARCHAR[], message_id)
    GROUP BY message_id
) AS t ON t.message_id = m.id
WHERE list_contains($ids::VARCHAR[], m.id);

-- name: build_pointed_summaries
-- What summaries say, in the columns of build_pointed_messages.
SELECT s.id, s.text, c.scope, s.latest_at, c.name, s.first_seq, NULL AS role, NULL AS speaker, NULL AS caption, NULL AS path, 0 AS first_line, 0 AS last_line
FROM summaries AS s
JOIN conversations AS c ON c.id = s.conversation_id
WHERE list_contains($ids::VARCHAR[], s.id);
