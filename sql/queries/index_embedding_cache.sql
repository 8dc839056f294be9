-- What a slow model said before (Options.EmbeddingCacheMB).

-- name: embedding_cache_keys
-- What is kept, without the vectors.
SELECT place, sha256, dims FROM embedding_cache;

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

-- name: embedding_cache_sweep
-- What no vector of model {n} is any more leaves, and all that models said which are not in the file.
DELETE FROM embedding_cache AS e
WHERE fingerprint NOT IN (SELECT fingerprint FROM models)
   OR fingerprint = (SELECT fingerprint FROM models WHERE n = {n})
      AND NOT EXISTS (FROM vectors_{n} AS v WHERE v.doc_no = e.doc_no AND v.v::FLOAT[] = e.v)
      AND NOT EXISTS (FROM past_vectors AS p WHERE p.doc_no = e.doc_no AND p.model = {n} AND p.v = e.v);
