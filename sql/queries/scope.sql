-- name: scopes_unused
-- Those of the scopes that nothing is in, in their order.
SELECT scope
FROM (SELECT unnest($scopes::VARCHAR[]) AS scope, generate_subscripts($scopes::VARCHAR[], 1) AS place) AS asked
ANTI JOIN (SELECT scope FROM memories UNION ALL SELECT scope FROM conversations UNION ALL SELECT scope FROM note_files) AS used USING (scope)
ORDER BY place;
