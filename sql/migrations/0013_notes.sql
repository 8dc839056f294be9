-- Notes: what stands in Markdown files of hosts is recalled too. Recall filters by what brought a message about. Relations have weights.

-- One kind more. The next comes in the same way (docs/decisions/0021): columns are given the type by its values, for DuckDB 1.5.5 can't replay an ALTER that
-- names it.
DROP TYPE document_kind;
CREATE TYPE document_kind AS ENUM ('memory', 'message', 'summary', 'note');
ALTER TABLE postings ALTER COLUMN kind TYPE ENUM ('memory', 'message', 'summary', 'note');
ALTER TABLE past_postings ALTER COLUMN kind TYPE ENUM ('memory', 'message', 'summary', 'note');
ALTER TABLE kind_stats ALTER COLUMN kind TYPE ENUM ('memory', 'message', 'summary', 'note');
INSERT INTO kind_stats VALUES ('note', 0, 0);

-- The new column: what brought a message about; talk where nothing is said of that, and NULL of what is no message. The table is made anew, for a compressed
-- text that an UPDATE gives a value where it had none is lost when the log is replayed.
CREATE TABLE documents_3 (
    doc_no          INTEGER PRIMARY KEY USING COMPRESSION bitpacking,
    kind            document_kind NOT NULL USING COMPRESSION bitpacking,
    owner_id        VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    scope           VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    conversation_id VARCHAR USING COMPRESSION dict_fsst,
    session_no      INTEGER NOT NULL USING COMPRESSION bitpacking,
    place           INTEGER NOT NULL USING COMPRESSION bitpacking,
    speaker         VARCHAR USING COMPRESSION dict_fsst,
    category        VARCHAR USING COMPRESSION dict_fsst,
    tier            VARCHAR USING COMPRESSION dict_fsst,
    created_at      TIMESTAMP NOT NULL USING COMPRESSION bitpacking,
    valid_from      TIMESTAMP USING COMPRESSION bitpacking,
    invalidated_at  TIMESTAMP USING COMPRESSION bitpacking,
    length          FLOAT NOT NULL USING COMPRESSION alp,
    characters      INTEGER NOT NULL USING COMPRESSION bitpacking,
    asks            BOOLEAN NOT NULL USING COMPRESSION rle,
    ends_asking     BOOLEAN NOT NULL USING COMPRESSION rle,
    tells           FLOAT NOT NULL USING COMPRESSION alp,
    noise           BOOLEAN NOT NULL USING COMPRESSION rle,
    live            BOOLEAN NOT NULL USING COMPRESSION rle,
    role            VARCHAR USING COMPRESSION dict_fsst,
    wishes          BOOLEAN,
    source_kind     VARCHAR USING COMPRESSION dict_fsst
);
INSERT INTO documents_3
SELECT d.* REPLACE (d.kind::VARCHAR::document_kind AS kind), CASE WHEN d.kind::VARCHAR = 'message' THEN coalesce(m.source_kind, 'talk') END
FROM documents AS d
LEFT JOIN messages AS m ON m.doc_no = d.doc_no
ORDER BY d.doc_no;
DROP TABLE documents;
ALTER TABLE documents_3 RENAME TO documents;

-- How strong a relation is, 0 to 1; NULL is 1.
ALTER TABLE memory_relations ADD COLUMN weight DOUBLE USING COMPRESSION alp;

-- A Markdown file of a host, as it was read last: folder is a whole path, path that within it, with slashes.
CREATE TABLE note_files (
    id          VARCHAR PRIMARY KEY USING COMPRESSION dict_fsst,
    folder      VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    path        VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    scope       VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    sha256      VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    bytes       BIGINT NOT NULL USING COMPRESSION bitpacking,
    lines       INTEGER NOT NULL USING COMPRESSION bitpacking,
    modified_at TIMESTAMP NOT NULL USING COMPRESSION bitpacking,
    indexed_at  TIMESTAMP NOT NULL USING COMPRESSION bitpacking
);

-- Some lines of it, from 1; place counts the notes of a file, from 0. The id says the text and the lines, and so may be that of several.
CREATE TABLE notes (
    id         VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    doc_no     INTEGER NOT NULL USING COMPRESSION bitpacking,
    file_id    VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    place      INTEGER NOT NULL USING COMPRESSION bitpacking,
    first_line INTEGER NOT NULL USING COMPRESSION bitpacking,
    last_line  INTEGER NOT NULL USING COMPRESSION bitpacking,
    text       VARCHAR NOT NULL USING COMPRESSION dict_fsst
);
