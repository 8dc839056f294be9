-- Markdown files of hosts, and their notes.

-- name: note_files
-- The files that have notes, in these scopes, with how many; of a folder and a path, where these are given.
SELECT f.id, f.folder, f.path, f.scope, f.sha256, f.bytes, f.lines, count(n.id)::INTEGER, f.modified_at, f.indexed_at
FROM note_files AS f
LEFT JOIN notes AS n ON n.file_id = f.id
WHERE ($folder::VARCHAR IS NULL OR f.folder = $folder) AND ($path::VARCHAR IS NULL OR f.path = $path)
  AND ($scopes::VARCHAR[] IS NULL OR f.scope = ANY ($scopes::VARCHAR[]))
GROUP BY ALL
ORDER BY f.folder, f.path;

-- name: notes_of
-- The notes of a file in their order.
SELECT first_line, last_line, text FROM notes WHERE file_id = $file_id ORDER BY place;

-- name: notes_numbers
SELECT doc_no, id FROM notes WHERE file_id = $file_id;

-- name: notes_delete
DELETE FROM notes WHERE file_id = $file_id;

-- name: note_file_delete
DELETE FROM note_files WHERE id = $file_id;

-- name: notes_numbered
-- Notes by their numbers {from} to {to}, with where they stand: in the session of their file.
SELECT n.doc_no, n.id, n.text, s.session_no, n.place, f.scope, f.modified_at
FROM notes AS n
JOIN (SELECT file_id, min(doc_no) AS session_no FROM notes GROUP BY file_id) AS s USING (file_id)
JOIN note_files AS f ON f.id = n.file_id
WHERE n.doc_no BETWEEN {from} AND {to}
ORDER BY n.doc_no;

-- name: notes_by_id
SELECT DISTINCT id, text FROM notes WHERE id IN (SELECT unnest($ids::VARCHAR[]));
