-- What a model was shown: each context that was built and is kept, by ids and hashes alone, so that it can be built again and compared.

-- until_seq is that of the newest message that took part. hash and items are NULL of a build that failed: error_class, stage, next_action and error say why.
-- config is the preset that held, without what has no say in the context. items are what is shown, in its order: {"s": section, "id": name, "h": SHA-256 of
-- the text, "k": kind, "c": cost, "ref": id}. selection is what a selector chose, and recalled the memories that were shown. counts and trim_note say how much
-- there was, and what had to give way.
CREATE TABLE context_snapshots (
    id              VARCHAR PRIMARY KEY,
    conversation_id VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    turn            VARCHAR USING COMPRESSION dict_fsst,
    until_seq       INTEGER NOT NULL USING COMPRESSION bitpacking,
    preset          VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    status          VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    hash            VARCHAR USING COMPRESSION dict_fsst,
    config_hash     VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    config          JSON NOT NULL USING COMPRESSION dict_fsst,
    items           JSON USING COMPRESSION dict_fsst,
    selection       JSON USING COMPRESSION dict_fsst,
    counts          JSON USING COMPRESSION dict_fsst,
    trim_note       JSON USING COMPRESSION dict_fsst,
    trimmed         BOOLEAN NOT NULL USING COMPRESSION rle,
    over_budget     BOOLEAN NOT NULL USING COMPRESSION rle,
    error_class     VARCHAR USING COMPRESSION dict_fsst,
    stage           VARCHAR USING COMPRESSION dict_fsst,
    next_action     VARCHAR USING COMPRESSION dict_fsst,
    error           VARCHAR USING COMPRESSION dict_fsst,
    built_at        TIMESTAMP NOT NULL USING COMPRESSION bitpacking
);
