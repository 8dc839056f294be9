-- What was true when, once.

-- Whether a memory's source was withdrawn, so that it never was true, whatever was thought of it until then.
CREATE OR REPLACE MACRO was_retracted(retired_reason) AS coalesce(starts_with(retired_reason, 'retracted'), false);

-- Whether a memory was true at a moment, as far as its row knows: it had begun, and had neither expired nor been superseded, forgotten or ever retracted.
CREATE OR REPLACE MACRO true_at(valid_from, valid_until, invalidated_at, retired_at, retired_reason, moment) AS
    valid_from <= moment
    AND (valid_until IS NULL OR valid_until > moment)
    AND (invalidated_at IS NULL OR invalidated_at > moment)
    AND (retired_at IS NULL OR retired_at > moment AND NOT was_retracted(retired_reason));
