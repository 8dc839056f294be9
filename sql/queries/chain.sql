-- name: chain_states
-- Models that failed when they were last asked.
SELECT name, failures, last_attempt_at, last_class, rests_until FROM summarizer_state ORDER BY name;

-- name: chain_forget
DELETE FROM summarizer_state WHERE name = $name;

-- name: chain_note
-- A model that failed.
INSERT INTO summarizer_state VALUES ($name, $failures::INTEGER, $last_attempt_at::TIMESTAMP, $last_class, $rests_until::TIMESTAMP);
