-- name: lift_to_session
-- The session that a message stands in, and which messages that has.
SELECT h.id, m.session_no::VARCHAR AS key, m.session_no, min(m.seq), max(m.seq)
FROM messages AS h
JOIN messages AS m ON m.session_no = h.session_no AND m.conversation_id = h.conversation_id
WHERE h.id IN (SELECT unnest($ids::VARCHAR[]))
GROUP BY h.id, m.session_no;

-- name: lift_to_summary
-- The leaf summary above a message.
SELECT u.source, s.id, s.doc_no, s.first_seq, s.last_seq
FROM summary_sources AS u
JOIN summaries AS s ON s.id = u.summary_id
WHERE u.kind = 'message' AND u.source IN (SELECT unnest($ids::VARCHAR[]));
