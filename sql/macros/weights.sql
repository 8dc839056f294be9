-- Every tunable number of ranking, as one value. Sets of them are stored by name in settings ('weights:<name>').
DROP TYPE IF EXISTS weights;
CREATE TYPE weights AS STRUCT(
    pool            INTEGER,  -- fewest candidates per channel; twice the limit when that is more
    k1              DOUBLE,   -- BM25: how soon repetition of a word stops counting
    b               DOUBLE,   -- BM25: how much long documents are held back, 0 to 1
    normalise       VARCHAR,  -- 'absolute': each score by its own formula; 'maximum': by the best of the query
    vector          DOUBLE,   -- share of the vector channel in the fused score
    lexical         DOUBLE,   -- share of the lexical channel in the fused score
    min_score       DOUBLE,   -- floor of the fused score, 0 is off
    rerank          VARCHAR,  -- 'light': blend in the plain cosine; 'none'
    decay           VARCHAR,  -- 'engine': composite of use, age and importance; 'simple': age; 'none'
    freshness_floor BOOLEAN,  -- engine: a memory never fades below its recency
    recency         DOUBLE,   -- simple: bonus of what is new, 0 is off
    recency_days    DOUBLE,   -- simple: e-folding time of that bonus
    importance      BOOLEAN,  -- simple: scale by importance
    length_anchor   DOUBLE,   -- characters above which a text scores less, 0 is off
    life_days       DOUBLE,   -- simple: life of a memory, a third of it for dynamic ones, 0 is off
    reinforcement   DOUBLE,   -- simple: how much use lengthens the life, 0 is off
    max_life        DOUBLE,   -- simple: at most this many lives
    hard_min_score  DOUBLE,   -- floor of the score after decay, 0 is off
    noise           BOOLEAN,  -- drop greetings and failed look-ups
    diversity       DOUBLE,   -- cosine above which a hit is deferred behind the others, 1 is off
    rarity          BOOLEAN   -- weigh the words of the query's vector by their rarity among the documents asked
);
