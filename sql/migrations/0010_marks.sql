-- What a message says beside its words: which it answers, what brought it about, whether models are shown it, what its making cost.

-- reply_to is the id of a message, or the caller's key of one in the same conversation; it need not be known. source_kind is NULL for plain talk. withheld
-- and fallback may be set later; NULL is false. usage is {"input", "output", "cache_read", "cache_write", "total"} in tokens, as the provider counted.
-- actions are what was done on the way to an answer, a line each.
ALTER TABLE messages ADD COLUMN reply_to VARCHAR USING COMPRESSION dict_fsst;
ALTER TABLE messages ADD COLUMN source_kind VARCHAR USING COMPRESSION dict_fsst;
ALTER TABLE messages ADD COLUMN withheld BOOLEAN USING COMPRESSION rle;
ALTER TABLE messages ADD COLUMN fallback BOOLEAN USING COMPRESSION rle;
ALTER TABLE messages ADD COLUMN usage JSON USING COMPRESSION dict_fsst;
ALTER TABLE messages ADD COLUMN actions VARCHAR[];
