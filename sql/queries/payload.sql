-- name: payload_put
-- A content by its hash; NULL where it lies in the folder.
INSERT INTO payloads VALUES ($sha256, $bytes, $content::BLOB) ON CONFLICT DO NOTHING;

-- name: payload_get
SELECT bytes, content FROM payloads WHERE sha256 = $sha256;

-- name: payloads_apart
-- Those that lie in the folder: none of 16 MB or less does, and without that condition all others would be read.
SELECT sha256, bytes FROM payloads WHERE bytes > 16 * 1024 * 1024 AND content IS NULL ORDER BY sha256;

-- name: payloads_unused
-- Of these, the ones that no row names.
SELECT sha256, content IS NULL FROM payloads
WHERE sha256 = ANY ($sha256s::VARCHAR[])
  AND sha256 NOT IN (SELECT sha256 FROM large_files)
  AND sha256 NOT IN (SELECT raw_sha256 FROM messages WHERE raw_sha256 IS NOT NULL)
  AND sha256 NOT IN (SELECT raw_sha256 FROM parts WHERE raw_sha256 IS NOT NULL);

-- name: payloads_delete
DELETE FROM payloads WHERE sha256 = ANY ($sha256s::VARCHAR[]);
