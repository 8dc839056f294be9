-- name: stats_memories
-- Memories by what they are filtered by; forgotten ones stand apart.
SELECT scope, category, tier, state,
    CASE WHEN retired_at IS NOT NULL THEN 'forgotten'
         WHEN invalidated_at <= $at::TIMESTAMP THEN 'superseded'
         WHEN valid_until <= $at::TIMESTAMP THEN 'expired'
         ELSE 'current' END AS standing,
    count(*) AS memories
FROM memories
GROUP BY ALL;

-- name: stats_coverage
-- How many live documents of each kind there are, and how many of them have a vector.
SELECT d.kind::VARCHAR, count(*) AS documents, count(v.doc_no) AS vectors
FROM documents AS d
LEFT JOIN vectors AS v USING (doc_no)
WHERE d.live
GROUP BY d.kind
ORDER BY d.kind;

-- name: stats_passages
-- How many passages there are, and how many long documents of a file that was written before there were any have none.
SELECT (SELECT count(*) FROM passages),
    (SELECT count(*) FROM documents AS d
     WHERE live AND characters > 600 AND doc_no NOT IN (SELECT doc_no FROM passages) AND EXISTS (FROM settings WHERE name = 'undivided'));

-- name: stats_next
-- How far the vectors are that will take the place of those there are.
SELECT (SELECT count(*) FROM documents WHERE live) + (SELECT count(*) FROM passages), (SELECT count(*) FROM {table});

-- name: stats_totals
SELECT (SELECT count(*) FROM conversations), (SELECT count(*) FROM terms), (SELECT count(*) FROM postings), (SELECT max(version) FROM migrations);

-- name: stats_layout
-- The share of the vectors that is stored so that it can be scanned fast, as far as it has reached the file.
SELECT coalesce(count(*) FILTER (compression = 'Uncompressed') / nullif(count(*), 0), 1)
FROM pragma_storage_info('{table}')
WHERE segment_type = 'FLOAT' AND persistent;
