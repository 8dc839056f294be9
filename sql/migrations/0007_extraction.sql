-- Memories that are drawn from talk: every draft with what became of it, how far each conversation was read, what a gate thought of a draft, and
-- what models were asked.

-- A proposed memory. verdict is what was decided (create, merge, support, supersede, contextualize, contradict, skip, reject), action what was done.
-- conversation_id is NULL for a text that is of no conversation. span_start and span_end are bytes of the message's text that a rule found it in;
-- model is NULL where rules did. nearest are the memories it was compared with: [{"id", "similarity"}]. What was purged leaves the row
-- without its text, so that it is not made again.
CREATE TABLE drafts (
    id              VARCHAR PRIMARY KEY USING COMPRESSION dict_fsst,
    conversation_id VARCHAR USING COMPRESSION dict_fsst,
    first_seq       INTEGER USING COMPRESSION bitpacking,
    last_seq        INTEGER USING COMPRESSION bitpacking,
    message_ids     VARCHAR[] NOT NULL,
    span_start      INTEGER USING COMPRESSION bitpacking,
    span_end        INTEGER USING COMPRESSION bitpacking,
    scope           VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    category        VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    rule            VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    language        VARCHAR USING COMPRESSION dict_fsst,
    model           VARCHAR USING COMPRESSION dict_fsst,
    text            VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    content         VARCHAR USING COMPRESSION dict_fsst,
    fact_key        VARCHAR USING COMPRESSION dict_fsst,
    context         VARCHAR USING COMPRESSION dict_fsst,
    importance      DOUBLE NOT NULL USING COMPRESSION alp,
    confidence      DOUBLE NOT NULL USING COMPRESSION alp,
    verdict         VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    action          VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    reason          VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    match_id        VARCHAR USING COMPRESSION dict_fsst,
    similarity      DOUBLE USING COMPRESSION alp,
    nearest         JSON USING COMPRESSION dict_fsst,
    memory_id       VARCHAR USING COMPRESSION dict_fsst,
    said_at         TIMESTAMP NOT NULL USING COMPRESSION bitpacking,
    made_at         TIMESTAMP NOT NULL USING COMPRESSION bitpacking
);

-- Up to which message a conversation was read.
CREATE TABLE extraction_cursors (
    conversation_id VARCHAR PRIMARY KEY,
    seq             INTEGER NOT NULL,
    read_at         TIMESTAMP NOT NULL
);

-- What admission thought of a draft: its features with their weights, the score, and between which thresholds it lies.
CREATE TABLE admissions (
    draft_id         VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    preset           VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    decision         VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    hint             VARCHAR USING COMPRESSION dict_fsst,
    score            DOUBLE NOT NULL USING COMPRESSION alp,
    reject_below     DOUBLE NOT NULL USING COMPRESSION alp,
    admit_from       DOUBLE NOT NULL USING COMPRESSION alp,
    utility          DOUBLE NOT NULL USING COMPRESSION alp,
    confidence       DOUBLE NOT NULL USING COMPRESSION alp,
    novelty          DOUBLE NOT NULL USING COMPRESSION alp,
    recency          DOUBLE NOT NULL USING COMPRESSION alp,
    type_prior       DOUBLE NOT NULL USING COMPRESSION alp,
    weights          JSON NOT NULL USING COMPRESSION dict_fsst,
    greatest_similarity DOUBLE NOT NULL USING COMPRESSION alp,
    matched          VARCHAR[] NOT NULL,
    compared         VARCHAR[] NOT NULL,
    reason           VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    utility_reason   VARCHAR USING COMPRESSION dict_fsst,
    evaluated_at     TIMESTAMP NOT NULL USING COMPRESSION bitpacking
);

-- Every question that a language model was asked while memories were extracted. told says that the model itself counted the tokens; else they are
-- estimated. cost is in US dollars, NULL where nobody knows. outcome is answered, unusable, failed, late or refused.
CREATE TABLE model_calls (
    id              VARCHAR PRIMARY KEY,
    label           VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    model           VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    conversation_id VARCHAR USING COMPRESSION dict_fsst,
    attempt         INTEGER NOT NULL USING COMPRESSION bitpacking,
    prompt_tokens   INTEGER NOT NULL USING COMPRESSION bitpacking,
    answer_tokens   INTEGER NOT NULL USING COMPRESSION bitpacking,
    told            BOOLEAN NOT NULL USING COMPRESSION rle,
    cost            DOUBLE USING COMPRESSION alp,
    outcome         VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    started_at      TIMESTAMP NOT NULL USING COMPRESSION bitpacking,
    seconds         DOUBLE NOT NULL USING COMPRESSION alp
);
