-- Conversations that lose nothing: every message stays for ever; what a model is shown of them, the context, is a list of messages
-- and of summaries that stand for messages or for other summaries.

-- session_key names a dialogue across the host's sessions, and session_id is the one it is in. At most one conversation of a name
-- is active; the others are archived. estimator is how its tokens are counted.
ALTER TABLE conversations ADD COLUMN session_key VARCHAR;
ALTER TABLE conversations ADD COLUMN session_id VARCHAR;
ALTER TABLE conversations ADD COLUMN parent_id VARCHAR;
ALTER TABLE conversations ADD COLUMN active BOOLEAN;
ALTER TABLE conversations ADD COLUMN archived_at TIMESTAMP;
ALTER TABLE conversations ADD COLUMN archive_cause VARCHAR;
ALTER TABLE conversations ADD COLUMN estimator VARCHAR;
UPDATE conversations SET session_key = name, active = true, estimator = 'chars4';

-- A message that left the context without a summary is set aside: why, and when. raw is what the host wrote, byte for byte; where that
-- is long it is in payloads instead. set_aside is the one text that gets a value later, so it is not compressed: DuckDB 1.5.5 loses such an
-- UPDATE of a compressed text when it replays its log after a crash.
ALTER TABLE messages ADD COLUMN tokens INTEGER USING COMPRESSION bitpacking;
ALTER TABLE messages ADD COLUMN set_aside VARCHAR USING COMPRESSION uncompressed;
ALTER TABLE messages ADD COLUMN set_aside_at TIMESTAMP USING COMPRESSION bitpacking;
ALTER TABLE messages ADD COLUMN raw BLOB USING COMPRESSION dict_fsst;
ALTER TABLE messages ADD COLUMN raw_sha256 VARCHAR USING COMPRESSION dict_fsst;
-- A token is about four UTF-16 code units, of which those above U+FFFF are two.
CREATE TEMP MACRO chars4(text) AS
    ceil((length(text) + length(regexp_replace(text, '[^\x{10000}-\x{10FFFF}]', '', 'g'))) / 4)::INTEGER;
UPDATE messages SET tokens = chars4(text) + coalesce(chars4(caption), 0);
DROP MACRO temp.main.chars4;

CREATE TYPE part_kind AS ENUM ('text', 'reasoning', 'tool', 'patch', 'file', 'subtask', 'compaction', 'step_start', 'step_finish',
    'snapshot', 'agent', 'retry');

-- What a message is made of, when that is more than its text. type is the host's word for the block. A tool's result has the
-- call_id of its call. text, input and output are valid UTF-8; raw is what the host wrote, where that says more.
CREATE TABLE parts (
    message_id      VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    conversation_id VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    seq             INTEGER NOT NULL USING COMPRESSION bitpacking,
    ordinal         INTEGER NOT NULL USING COMPRESSION bitpacking,
    kind            part_kind NOT NULL USING COMPRESSION bitpacking,
    type            VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    text            VARCHAR USING COMPRESSION dict_fsst,
    call_id         VARCHAR USING COMPRESSION dict_fsst,
    tool            VARCHAR USING COMPRESSION dict_fsst,
    input           VARCHAR USING COMPRESSION dict_fsst,
    output          VARCHAR USING COMPRESSION dict_fsst,
    is_error        BOOLEAN NOT NULL USING COMPRESSION rle,
    file_name       VARCHAR USING COMPRESSION dict_fsst,
    mime            VARCHAR USING COMPRESSION dict_fsst,
    file_id         VARCHAR USING COMPRESSION dict_fsst,
    caller_key      VARCHAR USING COMPRESSION dict_fsst,
    raw             BLOB USING COMPRESSION dict_fsst,
    raw_sha256      VARCHAR USING COMPRESSION dict_fsst
);

-- Text that stands for messages (a leaf, depth 0) or for summaries (condensed). It covers the messages from first_seq to last_seq:
-- messages is their number and source_tokens their tokens; descendants and descendant_tokens count the summaries below. level is how
-- far the summariser had to go (normal, aggressive, extractive, truncated, or the host's: imported); a fallback was made without the model
-- that was asked, and is made anew later.
CREATE TABLE summaries (
    id                VARCHAR PRIMARY KEY USING COMPRESSION dict_fsst,
    doc_no            INTEGER NOT NULL USING COMPRESSION bitpacking,
    conversation_id   VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    caller_key        VARCHAR USING COMPRESSION dict_fsst,
    kind              VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    depth             INTEGER NOT NULL USING COMPRESSION bitpacking,
    text              VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    tokens            INTEGER NOT NULL USING COMPRESSION bitpacking,
    first_seq         INTEGER NOT NULL USING COMPRESSION bitpacking,
    last_seq          INTEGER NOT NULL USING COMPRESSION bitpacking,
    earliest_at       TIMESTAMP NOT NULL USING COMPRESSION bitpacking,
    latest_at         TIMESTAMP NOT NULL USING COMPRESSION bitpacking,
    messages          INTEGER NOT NULL USING COMPRESSION bitpacking,
    source_tokens     INTEGER NOT NULL USING COMPRESSION bitpacking,
    descendants       INTEGER NOT NULL USING COMPRESSION bitpacking,
    descendant_tokens INTEGER NOT NULL USING COMPRESSION bitpacking,
    model             VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    level             VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    fallback          BOOLEAN NOT NULL USING COMPRESSION rle,
    attempts          INTEGER NOT NULL USING COMPRESSION bitpacking,
    file_ids          VARCHAR[] NOT NULL,
    created_at        TIMESTAMP NOT NULL USING COMPRESSION bitpacking,
    updated_at        TIMESTAMP NOT NULL USING COMPRESSION bitpacking
);

-- What a summary was made from, in its order: source is the id of a message or a summary, as kind says.
CREATE TABLE summary_sources (
    summary_id VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    ordinal    INTEGER NOT NULL USING COMPRESSION bitpacking,
    kind       VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    source     VARCHAR NOT NULL USING COMPRESSION dict_fsst
);

-- The current context. position is the seq of the first message that the item stands for, ref the id of a message or a summary,
-- as kind says, tokens what that costs. Nothing is ever renumbered.
CREATE TABLE context_items (
    conversation_id VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    position        INTEGER NOT NULL USING COMPRESSION bitpacking,
    kind            VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    ref             VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    tokens          INTEGER NOT NULL USING COMPRESSION bitpacking
);
INSERT INTO context_items
SELECT conversation_id, seq, 'message', id, tokens FROM messages ORDER BY doc_no;

-- Every pass of compaction: which summary it made of how many items, and the tokens of the context before and after.
CREATE TABLE compactions (
    id              VARCHAR PRIMARY KEY,
    conversation_id VARCHAR NOT NULL,
    summary_id      VARCHAR NOT NULL,
    kind            VARCHAR NOT NULL,
    depth           INTEGER NOT NULL,
    level           VARCHAR NOT NULL,
    model           VARCHAR NOT NULL,
    items           INTEGER NOT NULL,
    tokens_before   INTEGER NOT NULL,
    tokens_after    INTEGER NOT NULL,
    calls           INTEGER NOT NULL,
    started_at      TIMESTAMP NOT NULL,
    finished_at     TIMESTAMP NOT NULL
);

-- Conversations whose compaction was put off: one row each, until it is done.
CREATE TABLE compaction_debts (
    conversation_id VARCHAR NOT NULL,
    reason          VARCHAR NOT NULL,
    budget          INTEGER NOT NULL,
    requested_at    TIMESTAMP NOT NULL,
    attempts        INTEGER NOT NULL,
    next_attempt_at TIMESTAMP,
    last_error      VARCHAR
);

-- Contents too large for a context; the largest lie in a folder beside the file, and content is NULL.
CREATE TABLE payloads (
    sha256  VARCHAR PRIMARY KEY,
    bytes   BIGINT NOT NULL,
    content BLOB
);

-- A payload as a conversation has it: what it was called, and what it holds, in short.
CREATE TABLE large_files (
    id              VARCHAR PRIMARY KEY,
    conversation_id VARCHAR NOT NULL,
    message_id      VARCHAR NOT NULL,
    name            VARCHAR,
    mime            VARCHAR,
    bytes           BIGINT NOT NULL,
    lines           BIGINT NOT NULL,
    sha256          VARCHAR NOT NULL,
    summary         VARCHAR NOT NULL,
    created_at      TIMESTAMP NOT NULL
);

-- How far a host's transcript was read. file_id is device and inode, first_line the SHA-256 of the first line: another one means another
-- file under the old name.
CREATE TABLE cursors (
    path            VARCHAR PRIMARY KEY,
    host            VARCHAR NOT NULL,
    conversation_id VARCHAR,
    file_id         VARCHAR NOT NULL,
    first_line      VARCHAR NOT NULL,
    bytes           BIGINT NOT NULL,
    lines           BIGINT NOT NULL,
    skipped         BIGINT NOT NULL,
    read_at         TIMESTAMP NOT NULL,
    ingested_at     TIMESTAMP
);
