-- Where a document stands in the talk: recall looks at what was said just before and after it, in the same session, and by whom.
--
-- A session is a stretch of one conversation without a change of the host's session id and without a gap of more than six hours;
-- memories noted from one source session stand together likewise, in the order they were noted. A session's number is the doc_no
-- of its first document, and place counts from 0 within it. What belongs to no session stands alone, at place 0 of its own.

ALTER TABLE messages ADD COLUMN session_no INTEGER USING COMPRESSION bitpacking;
ALTER TABLE messages ADD COLUMN place INTEGER USING COMPRESSION bitpacking;

-- The last message, for the next one to follow.
ALTER TABLE conversations ADD COLUMN last_session_no INTEGER;
ALTER TABLE conversations ADD COLUMN last_place INTEGER;
ALTER TABLE conversations ADD COLUMN last_session VARCHAR;
ALTER TABLE conversations ADD COLUMN last_said_at TIMESTAMP;

UPDATE messages SET session_no = s.session_no, place = s.place
FROM (
    WITH steps AS (
        SELECT id, doc_no, conversation_id, seq,
            lag(seq) OVER w IS NULL
            OR session IS DISTINCT FROM lag(session) OVER w
            OR abs(epoch(said_at) - epoch(lag(said_at) OVER w)) > 6 * 3600 AS starts
        FROM messages
        WINDOW w AS (PARTITION BY conversation_id ORDER BY seq)
    ),
    stretches AS (
        SELECT *, count(*) FILTER (starts) OVER (PARTITION BY conversation_id ORDER BY seq) AS stretch
        FROM steps
    )
    SELECT id, first(doc_no) OVER w AS session_no, (row_number() OVER w - 1)::INTEGER AS place
    FROM stretches
    WINDOW w AS (PARTITION BY conversation_id, stretch ORDER BY seq)
) AS s
WHERE messages.id = s.id;

UPDATE conversations SET last_session_no = m.session_no, last_place = m.place, last_session = m.session, last_said_at = m.said_at
FROM messages AS m
WHERE m.conversation_id = conversations.id AND m.seq = conversations.next_seq - 1;

-- The new columns: session_no and place as above; who said it; its length in characters; whether it asks something, and whether it ends
-- with that; how much it tells of the one who says it, 0 to 1 (0 until the index is made anew); whether it is a greeting or the record of a
-- look-up that found nothing.
CREATE TABLE documents_2 (
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
    live            BOOLEAN NOT NULL USING COMPRESSION rle
);

INSERT INTO documents_2
SELECT d.doc_no, d.kind, d.owner_id, d.scope, d.conversation_id, coalesce(g.session_no, m.session_no, d.doc_no), coalesce(g.place, m.place, 0),
    g.speaker, d.category, d.tier, d.created_at, d.valid_from, d.invalidated_at, d.length, length(coalesce(g.text, m.text)),
    regexp_matches(coalesce(g.text, m.text), '[?？]'), regexp_matches(coalesce(g.text, m.text), '[?？]\s*$'), 0,
    regexp_matches(coalesce(g.text, m.text), '(?is)^\s*(?:(?:hi|hello|hey|good (?:morning|evening)|greetings)(?: there)?[\s.!,]*|(?:.*\W)?query\s*(?:->|→)\s*(?:none|no explicit solution|unknown|not found)(?:\W.*)?|user asked for\W.*\W(?:none|no explicit solution|unknown|not found)[\s.!]*|(?:[^.!?]{0,80}:\s*)?no explicit solution(?: found)?[\s.!]*)$'),
    d.live
FROM documents AS d
LEFT JOIN messages AS g ON g.id = d.owner_id
LEFT JOIN (
    SELECT id, text,
        CASE WHEN source_session IS NOT NULL THEN first(doc_no) OVER w END AS session_no,
        CASE WHEN source_session IS NOT NULL THEN (row_number() OVER w - 1)::INTEGER END AS place
    FROM memories
    WINDOW w AS (PARTITION BY scope, source_session ORDER BY doc_no)
) AS m ON m.id = d.owner_id
ORDER BY d.doc_no;

DROP TABLE documents;
ALTER TABLE documents_2 RENAME TO documents;
