-- Words are found by a hash instead of by a key. DuckDB holds all of a key's index in memory as soon as it writes, and a file has words without end:
-- ids, numbers, hashes. A hash is the lower half of the MD5 of the word, and stands for it: among ten million words the chance that two have the
-- same is one in three hundred thousand.

CREATE TABLE terms_4 (
    term_no INTEGER NOT NULL USING COMPRESSION bitpacking,
    term    VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    hash    UBIGINT NOT NULL USING COMPRESSION bitpacking
);
INSERT INTO terms_4 SELECT term_no, term, md5_number_lower(term) FROM terms;
DROP TABLE terms;
ALTER TABLE terms_4 RENAME TO terms;

CREATE TABLE surfaces_4 (
    surface VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    term_no INTEGER NOT NULL USING COMPRESSION bitpacking,
    hash    UBIGINT NOT NULL USING COMPRESSION bitpacking
);
INSERT INTO surfaces_4 SELECT surface, term_no, md5_number_lower(surface) FROM surfaces;
DROP TABLE surfaces;
ALTER TABLE surfaces_4 RENAME TO surfaces;
