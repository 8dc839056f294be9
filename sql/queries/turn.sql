-- What is kept of the sessions that turns belong to.

-- name: turn_sessions_of
-- The settings of the sessions of a conversation.
SELECT name FROM settings WHERE starts_with(name, $prefix) AND (value ->> 'conversation_id') = $conversation_id;

-- name: turn_sessions_left
-- The settings of the sessions that had no turn since.
SELECT name FROM settings WHERE starts_with(name, $prefix) AND (value ->> 'last')::TIMESTAMPTZ < $since::TIMESTAMP AT TIME ZONE 'UTC';
