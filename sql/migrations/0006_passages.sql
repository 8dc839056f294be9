-- What is long is found by its passages too: stretches of the text that is embedded, each with a vector of its own.

-- A passage has a number as documents have; its vector stands under it among those of documents. Start and length are bytes.
CREATE TABLE passages (
    number INTEGER NOT NULL USING COMPRESSION bitpacking,
    doc_no INTEGER NOT NULL USING COMPRESSION bitpacking,
    start  INTEGER NOT NULL USING COMPRESSION bitpacking,
    length INTEGER NOT NULL USING COMPRESSION bitpacking
);

-- What was written before has none until the index is made anew.
INSERT INTO settings SELECT 'undivided', 'true' WHERE EXISTS (FROM documents WHERE live AND characters > 600);

-- Recall brings in what states a wish that is to last, where a question asks for help. What was written before has none until the index is made anew.
ALTER TABLE documents ADD COLUMN wishes BOOLEAN;
