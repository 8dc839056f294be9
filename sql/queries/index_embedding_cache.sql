-- What a slow model said before (Options.EmbeddingCacheMB).

-- name: embedding_cache_keys
-- What is kept, without the vectors.
SELECT place, sha256, dims FROM embedding_cache;

-- name: embedding_cache_held
SELECT EXISTS (FROM embedding_cache);

-- name: embedding_cache_count
-- How many vectors are kept, and about how many bytes that is.
SELECT count(*), coalesce(sum(4 * dims + $row), 0)::BIGINT FROM embedding_cache;

-- name: embedding_cache_get
-- Some of it.
SELECT place, sha256, v FROM embedding_cache WHERE place IN ({places});

-- name: embedding_cache_leave
-- Those of other models leave, and then, where that is allowed, the oldest of this one, until so many bytes are free.
DELETE FROM embedding_cache
WHERE place IN (
    SELECT place
    FROM (
        SELECT place, own, sum(4 * dims + $row) OVER (ORDER BY own, place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
        FROM (SELECT place, dims, fingerprint = $fingerprint AS own FROM embedding_cache)
    )
    WHERE coalesce(before, 0) < $bytes AND (NOT own OR $oldest)
);

-- name: embedding_cache_disown
-- What these documents and passages had is no more the vector of any.
UPDATE embedding_cache SET doc_no = 0 WHERE doc_no IN ({numbers});

-- name: embedding_cache_sweep
-- What is not the vector of a document or passage, live or of the past, leaves, and all that models said which are not in the file.
DELETE FROM embedding_cache
WHERE fingerprint NOT IN (SELECT fingerprint FROM models)
   OR doc_no NOT IN (
       SELECT doc_no FROM documents WHERE live UNION ALL SELECT number FROM passages UNION ALL SELECT doc_no FROM past_documents UNION ALL SELECT number FROM past_passages
   )
RETURNING sha256, dims;
