-- What was true when, once.

-- Of files that an earlier version wrote; who retracted a memory stands in its row now.
DROP MACRO IF EXISTS was_retracted;

-- Whether a memory was true at a moment, as far as its row knows: it had begun, and had neither expired nor been superseded or forgotten. What a retraction
-- withdrew never was true, whatever was thought of it until then.
CREATE OR REPLACE MACRO true_at(valid_from, valid_until, invalidated_at, retired_at, retracted_by, moment) AS
    valid_from <= moment
    AND (valid_until IS NULL OR valid_until > moment)
    AND (invalidated_at IS NULL OR invalidated_at > moment)
    AND (retired_at IS NULL OR retired_at > moment) AND retracted_by IS NULL;
