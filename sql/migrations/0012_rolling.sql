-- Conversations that have one summary in front of their newest messages: checkpoints, prompts before a compaction, models that fail.

-- compactions is how often a conversation's context was compacted, compacted_seq the newest message when it last was.
ALTER TABLE conversations ADD COLUMN compactions INTEGER;
ALTER TABLE conversations ADD COLUMN compacted_seq INTEGER;
UPDATE conversations SET compactions = (SELECT count(*) FROM compactions AS c WHERE c.conversation_id = conversations.id),
    compacted_seq = CASE WHEN id IN (SELECT conversation_id FROM compactions) THEN next_seq - 1 ELSE 0 END;

-- policy is dag, rolling or host. Of the last two: source says where the summary's text came from (llm, fallback, checkpoint, old_checkpoint, stub, placeholder,
-- extractive, host), and it was made for the messages from from_seq up to, and without, first_kept_seq. While no summary tells of the messages from
-- retry_from on, that says so, and carried what the summary is to go on from. Texts that may get a value later are not compressed (as messages.set_aside).
ALTER TABLE compactions ADD COLUMN policy VARCHAR USING COMPRESSION uncompressed;
ALTER TABLE compactions ADD COLUMN source VARCHAR USING COMPRESSION uncompressed;
ALTER TABLE compactions ADD COLUMN from_seq INTEGER;
ALTER TABLE compactions ADD COLUMN first_kept_seq INTEGER;
ALTER TABLE compactions ADD COLUMN checkpoint_id VARCHAR USING COMPRESSION uncompressed;
ALTER TABLE compactions ADD COLUMN retry_from INTEGER;
ALTER TABLE compactions ADD COLUMN carried VARCHAR USING COMPRESSION uncompressed;
ALTER TABLE compactions ADD COLUMN attempts INTEGER;
ALTER TABLE compactions ADD COLUMN last_error VARCHAR USING COMPRESSION uncompressed;
UPDATE compactions SET policy = 'dag', attempts = 1;

-- What a conversation was about at a moment. It has read every message up to upto_seq, itself or through a summary; tokens_at are those of the context then,
-- user_count_at and message_count_at count messages, and cycle the compactions before it.
CREATE TABLE checkpoints (
    id               VARCHAR PRIMARY KEY,
    conversation_id  VARCHAR NOT NULL,
    caller_key       VARCHAR,
    upto_seq         INTEGER NOT NULL,
    tokens_at        INTEGER NOT NULL,
    user_count_at    INTEGER NOT NULL,
    message_count_at INTEGER NOT NULL,
    cycle            INTEGER NOT NULL,
    summary          VARCHAR NOT NULL,
    topics           VARCHAR[] NOT NULL,
    decisions        VARCHAR[] NOT NULL,
    questions        VARCHAR[] NOT NULL,
    generated_by     VARCHAR NOT NULL,
    created_at       TIMESTAMP NOT NULL
);

-- Which thresholds had a model asked to write down what it must not forget; cycle is how many compactions there had been.
CREATE TABLE flush_state (
    conversation_id VARCHAR NOT NULL,
    cycle           INTEGER NOT NULL,
    percent         INTEGER NOT NULL,
    fired_at        TIMESTAMP NOT NULL
);

-- Models that failed when they were last asked for a summary or checkpoint: how often in a row, with what class of error, and until when they rest.
CREATE TABLE summarizer_state (
    name            VARCHAR NOT NULL,
    failures        INTEGER NOT NULL,
    last_attempt_at TIMESTAMP NOT NULL,
    last_class      VARCHAR NOT NULL,
    rests_until     TIMESTAMP
);
