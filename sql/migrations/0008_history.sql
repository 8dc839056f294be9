-- Exact history: what memories were before they changed, and what those texts are found by.

-- A memory as it was known from one moment until another: the columns of memories, its relations as JSON, and the moments. A row is written when
-- anything changes but how often the memory was used. doc_no is that of the document of its text: the memory's own, or of a former text one of
-- past_documents. Columns that memories gets later, this table gets as well.
CREATE TABLE memory_versions (
    id                    VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    doc_no                INTEGER NOT NULL USING COMPRESSION bitpacking,
    caller_key            VARCHAR USING COMPRESSION dict_fsst,
    text                  VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    l0_abstract           VARCHAR USING COMPRESSION dict_fsst,
    l1_overview           VARCHAR USING COMPRESSION dict_fsst,
    l2_content            VARCHAR USING COMPRESSION dict_fsst,
    category              VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    source_category       VARCHAR USING COMPRESSION dict_fsst,
    scope                 VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    tier                  VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    state                 VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    layer                 VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    temporal_type         VARCHAR USING COMPRESSION dict_fsst,
    importance            DOUBLE NOT NULL USING COMPRESSION alp,
    confidence            DOUBLE NOT NULL USING COMPRESSION alp,
    created_at            TIMESTAMP NOT NULL USING COMPRESSION bitpacking,
    valid_from            TIMESTAMP NOT NULL USING COMPRESSION bitpacking,
    valid_until           TIMESTAMP USING COMPRESSION bitpacking,
    invalidated_at        TIMESTAMP USING COMPRESSION bitpacking,
    recorded_at           TIMESTAMP NOT NULL USING COMPRESSION bitpacking,
    updated_at            TIMESTAMP NOT NULL USING COMPRESSION bitpacking,
    retired_at            TIMESTAMP USING COMPRESSION bitpacking,
    retired_reason        VARCHAR USING COMPRESSION dict_fsst,
    fact_key              VARCHAR USING COMPRESSION dict_fsst,
    supersedes            VARCHAR USING COMPRESSION dict_fsst,
    superseded_by         VARCHAR USING COMPRESSION dict_fsst,
    canonical_id          VARCHAR USING COMPRESSION dict_fsst,
    source                VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    source_session        VARCHAR USING COMPRESSION dict_fsst,
    access_count          INTEGER NOT NULL USING COMPRESSION bitpacking,
    last_accessed_at      TIMESTAMP USING COMPRESSION bitpacking,
    injected_count        INTEGER NOT NULL USING COMPRESSION bitpacking,
    last_injected_at      TIMESTAMP USING COMPRESSION bitpacking,
    bad_recall_count      INTEGER NOT NULL USING COMPRESSION bitpacking,
    last_confirmed_use_at TIMESTAMP USING COMPRESSION bitpacking,
    suppressed_until_turn INTEGER NOT NULL USING COMPRESSION bitpacking,
    suppressed_until      TIMESTAMP USING COMPRESSION bitpacking,
    support_info          JSON USING COMPRESSION dict_fsst,
    contexts              JSON USING COMPRESSION dict_fsst,
    sources               JSON USING COMPRESSION dict_fsst,
    history               JSON USING COMPRESSION dict_fsst,
    extra                 JSON USING COMPRESSION dict_fsst,
    relations             JSON USING COMPRESSION dict_fsst,
    known_from            TIMESTAMP NOT NULL USING COMPRESSION bitpacking,
    known_until           TIMESTAMP NOT NULL USING COMPRESSION bitpacking
);

-- Versions whose rows and index were given up for their space: how many of a memory, until when they were known, and since when the text stood
-- that the first one left has; NULL: from the beginning.
CREATE TABLE dropped_versions (
    id          VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    versions    INTEGER NOT NULL USING COMPRESSION bitpacking,
    known_until TIMESTAMP NOT NULL USING COMPRESSION bitpacking,
    text_from   TIMESTAMP USING COMPRESSION bitpacking
);

-- The documents of texts that a memory had, and of memories that are forgotten: where they stood, what was told of the text, and until when it was
-- in the index. Their words, passages and vectors are in tables of their own, so that no recall of the present meets them.
CREATE TABLE past_documents (
    doc_no      INTEGER NOT NULL USING COMPRESSION bitpacking,
    owner_id    VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    session_no  INTEGER NOT NULL USING COMPRESSION bitpacking,
    place       INTEGER NOT NULL USING COMPRESSION bitpacking,
    length      FLOAT NOT NULL USING COMPRESSION alp,
    characters  INTEGER NOT NULL USING COMPRESSION bitpacking,
    asks        BOOLEAN NOT NULL USING COMPRESSION rle,
    ends_asking BOOLEAN NOT NULL USING COMPRESSION rle,
    tells       FLOAT NOT NULL USING COMPRESSION alp,
    wishes      BOOLEAN,
    noise       BOOLEAN NOT NULL USING COMPRESSION rle,
    until       TIMESTAMP NOT NULL USING COMPRESSION bitpacking
);

CREATE TABLE past_postings (
    term_no INTEGER NOT NULL USING COMPRESSION bitpacking,
    kind    document_kind NOT NULL USING COMPRESSION bitpacking,
    doc_no  INTEGER NOT NULL USING COMPRESSION bitpacking,
    tf      FLOAT NOT NULL USING COMPRESSION alp
);

CREATE TABLE past_passages (
    number INTEGER NOT NULL USING COMPRESSION bitpacking,
    doc_no INTEGER NOT NULL USING COMPRESSION bitpacking,
    start  INTEGER NOT NULL USING COMPRESSION bitpacking,
    length INTEGER NOT NULL USING COMPRESSION bitpacking
);

-- Their vectors, and those of their passages, of every model that the file has.
CREATE TABLE past_vectors (
    doc_no INTEGER NOT NULL USING COMPRESSION bitpacking,
    model  INTEGER NOT NULL USING COMPRESSION bitpacking,
    v      FLOAT[] NOT NULL
);
