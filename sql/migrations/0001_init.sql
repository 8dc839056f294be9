-- The first schema: memories, conversations, messages, and one index over all of them.
--
-- Every column names its compression. The engine opens each file with uncompressed as the default, because the vectors,
-- whose compression cannot be named, must stay so to be scanned fast; naming it here keeps everything else small.
-- Text ids, UTC times with microseconds, and no foreign keys: `memctl check` proves the integrity instead.

CREATE SEQUENCE doc_nos;

CREATE TYPE document_kind AS ENUM ('memory', 'message', 'summary');

-- Anything that can be recalled, with what recall filters by. A row stays, not live, when its memory is forgotten, and
-- doc_no is never used again. The length is the weighted number of indexed words.
CREATE TABLE documents (
    doc_no          INTEGER PRIMARY KEY USING COMPRESSION bitpacking,
    kind            document_kind NOT NULL USING COMPRESSION bitpacking,
    owner_id        VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    scope           VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    conversation_id VARCHAR USING COMPRESSION dict_fsst,
    category        VARCHAR USING COMPRESSION dict_fsst,
    tier            VARCHAR USING COMPRESSION dict_fsst,
    created_at      TIMESTAMP NOT NULL USING COMPRESSION bitpacking,
    valid_from      TIMESTAMP USING COMPRESSION bitpacking,
    invalidated_at  TIMESTAMP USING COMPRESSION bitpacking,
    length          FLOAT NOT NULL USING COMPRESSION alp,
    live            BOOLEAN NOT NULL USING COMPRESSION rle
);

CREATE TABLE terms (
    term_no INTEGER NOT NULL USING COMPRESSION bitpacking,
    term    VARCHAR PRIMARY KEY USING COMPRESSION dict_fsst
);

-- A word as it is written (folded) and the term it is indexed under, so that plain SQL can look words up.
CREATE TABLE surfaces (
    surface VARCHAR PRIMARY KEY USING COMPRESSION dict_fsst,
    term_no INTEGER NOT NULL USING COMPRESSION bitpacking
);

-- Only live documents have postings. tf is a sum over fields, each with its weight.
CREATE TABLE postings (
    term_no INTEGER NOT NULL USING COMPRESSION bitpacking,
    kind    document_kind NOT NULL USING COMPRESSION bitpacking,
    doc_no  INTEGER NOT NULL USING COMPRESSION bitpacking,
    tf      FLOAT NOT NULL USING COMPRESSION alp
);

-- Live documents of a kind and the sum of their lengths.
CREATE TABLE kind_stats (
    kind      document_kind NOT NULL,
    documents BIGINT NOT NULL,
    length    DOUBLE NOT NULL
);
INSERT INTO kind_stats VALUES ('memory', 0, 0), ('message', 0, 0), ('summary', 0, 0);

-- Embedding models that this file has vectors of; the vectors of model n are in vectors_<n>.
CREATE TABLE models (
    n           INTEGER NOT NULL,
    name        VARCHAR NOT NULL,
    dims        INTEGER NOT NULL,
    fingerprint VARCHAR NOT NULL,
    chosen      BOOLEAN NOT NULL,
    created_at  TIMESTAMP NOT NULL
);

-- One remembered statement. It was true from valid_from until invalidated_at (superseded) or valid_until (expired);
-- we knew it from recorded_at until retired_at (forgotten).
CREATE TABLE memories (
    id                    VARCHAR PRIMARY KEY USING COMPRESSION dict_fsst,
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
    extra                 JSON USING COMPRESSION dict_fsst
);

CREATE TABLE memory_relations (
    memory_id VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    position  INTEGER NOT NULL USING COMPRESSION bitpacking,
    type      VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    target_id VARCHAR NOT NULL USING COMPRESSION dict_fsst
);

CREATE TABLE conversations (
    id         VARCHAR PRIMARY KEY,
    name       VARCHAR NOT NULL,
    scope      VARCHAR NOT NULL,
    title      VARCHAR,
    created_at TIMESTAMP NOT NULL,
    next_seq   INTEGER NOT NULL
);

-- seq counts from 1 within a conversation and is its only order. session is the host's own session id.
CREATE TABLE messages (
    id              VARCHAR PRIMARY KEY USING COMPRESSION dict_fsst,
    doc_no          INTEGER NOT NULL USING COMPRESSION bitpacking,
    conversation_id VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    seq             INTEGER NOT NULL USING COMPRESSION bitpacking,
    caller_key      VARCHAR USING COMPRESSION dict_fsst,
    session         VARCHAR USING COMPRESSION dict_fsst,
    role            VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    speaker         VARCHAR USING COMPRESSION dict_fsst,
    text            VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    caption         VARCHAR USING COMPRESSION dict_fsst,
    said_at         TIMESTAMP NOT NULL USING COMPRESSION bitpacking,
    recorded_at     TIMESTAMP NOT NULL USING COMPRESSION bitpacking
);

CREATE TABLE settings (
    name  VARCHAR PRIMARY KEY,
    value JSON NOT NULL
);
