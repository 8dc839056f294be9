-- Vectors that a slow model gave are kept, so that it is not asked for them again.

-- The place counts those that came, so the oldest have the lowest. sha256 is that of the model's fingerprint, a line's end, and the text. doc_no is the document, or the passage,
-- that the vector was written for.
CREATE TABLE embedding_cache (
    place       INTEGER PRIMARY KEY USING COMPRESSION bitpacking,
    sha256      VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    fingerprint VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    doc_no      INTEGER NOT NULL USING COMPRESSION bitpacking,
    dims        INTEGER NOT NULL USING COMPRESSION bitpacking,
    v           FLOAT[] NOT NULL
);
