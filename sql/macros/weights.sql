-- Every tunable number of ranking, as one value. Sets of them are stored by name in settings ('weights:<name>').
DROP TYPE IF EXISTS weights;
CREATE TYPE weights AS STRUCT(
    pool            INTEGER,  -- fewest candidates per channel; twice the limit when that is more
    whole           INTEGER,  -- every document is a candidate where there are no more than this
    k1              DOUBLE,   -- BM25: how soon repetition of a word stops counting
    b               DOUBLE,   -- BM25: how much long documents are held back, 0 to 1
    counted         VARCHAR,  -- where rarity and the average length are counted: 'kind': in all documents of a kind; 'asked': in those asked
    normalise       VARCHAR,  -- 'absolute': each score by its own formula; 'maximum': by the best of the query; 'plain': the cosine and raw / (1 + raw); 'rank': by the place in each channel
    vector          DOUBLE,   -- share of the vector channel in the fused score
    passage         DOUBLE,   -- share of the best passage in the cosine of a long document, 0 is off
    lexical         DOUBLE,   -- share of the lexical channel in the fused score
    exact_from      DOUBLE,   -- from this lexical score on a hit is near-exact
    exact_share     DOUBLE,   -- share of a near-exact lexical score that the fused score has at least, 0 is off
    near            DOUBLE,   -- share of the direct neighbours in what is scored, 0 is off
    far             DOUBLE,   -- share of the neighbours two places away, 0 is off
    long_turn       DOUBLE,   -- characters at which a text is half long: it stands more for itself then; 0: none is
    date            DOUBLE,   -- share of the fit to a date in the question, 0 is off
    date_days       DOUBLE,   -- e-folding distance from that date
    speaker         DOUBLE,   -- share of being said by the one person the question names, 0 is off
    reply           DOUBLE,   -- share of the score of a question just before, 0 is off
    answered        DOUBLE,   -- share of the score of the assistant's long answer just after what a user says, 0 is off
    tells           DOUBLE,   -- share of how much it tells of the one who says it, 0 is off
    wish            DOUBLE,   -- share of what states a lasting wish, where the question asks for help; 0 is off
    question        DOUBLE,   -- taken off what ends with a question, 0 is off
    verbatim        DOUBLE,   -- share of saying the question word for word, in any case of letters; 0 is off
    relation        DOUBLE,   -- share of the relevance of a memory that it is related to; 0 is off
    fresh           DOUBLE,   -- share of being a new and important memory; 0 is off
    related         DOUBLE,   -- what a word related to one of the question adds to its frequency, times the square of their cosine; 0 is off
    chance          DOUBLE,   -- floor of the cosine of what has no word of the question, in what random text reaches with the model, 0 is off
    min_score       DOUBLE,   -- floor of the fused score, 0 is off
    rerank          VARCHAR,  -- 'light': blend in the plain cosine; 'features': those below; 'none'; 'model' while a reranker's scores are blended in
    model_share     DOUBLE,   -- model: share of what a reranker says of a text; the rest is the fused score's
    feature_cosine  DOUBLE,   -- features: what the plain cosine weighs where the fused score weighs 1, 0 is off
    feature_lexical DOUBLE,   -- features: the lexical score
    feature_coverage DOUBLE,  -- features: how much of the question's words the text itself has, by their rarity
    feature_proximity DOUBLE, -- features: how near words stand to each other that do so in the question
    feature_phrase  DOUBLE,   -- features: how much of the question stands there word for word
    feature_name    DOUBLE,   -- features: how many of the names in the question stand there, or are who said it
    feature_date    DOUBLE,   -- features: the fit to a date in the question
    feature_neighbour DOUBLE, -- features: the fused score of the better one of what stands beside it
    feature_session DOUBLE,   -- features: the best fused score of the others of its session
    decay           VARCHAR,  -- 'engine': composite of use, age and importance; 'simple': age; 'none'
    freshness_floor BOOLEAN,  -- engine: a memory never fades below its recency
    half_life       DOUBLE,   -- engine: days in which half of the recency of a memory without importance is gone, in the tier working
    dynamic_half_life DOUBLE,   -- engine: the same of dynamic memories
    modulation      DOUBLE,   -- engine: how much importance lengthens it: by e to the power of both
    core_beta       DOUBLE,   -- engine: the exponent of the days, in the tier core
    working_beta    DOUBLE,   -- engine: in the tier working
    peripheral_beta DOUBLE,   -- engine: in the tier peripheral
    recency_part    DOUBLE,   -- engine: share of recency in the composite
    frequency_part  DOUBLE,   -- engine: share of use
    intrinsic_part  DOUBLE,   -- engine: share of importance times confidence
    decay_floor     DOUBLE,   -- engine: what is left of a score at least, before the tier adds to it
    core_floor      DOUBLE,   -- engine: the least composite of the tier core
    working_floor   DOUBLE,   -- engine: of the tier working
    peripheral_floor DOUBLE,   -- engine: of the tier peripheral
    recency         DOUBLE,   -- simple: bonus of what is new, 0 is off
    recency_days    DOUBLE,   -- simple: e-folding time of that bonus
    importance      BOOLEAN,  -- simple: scale by importance
    trust           DOUBLE,   -- how much less a memory scores that is not trusted, 0 is off
    length_anchor   DOUBLE,   -- characters above which a text scores less, 0 is off
    life_days       DOUBLE,   -- simple: life of a memory, a third of it for dynamic ones, 0 is off
    reinforcement   DOUBLE,   -- simple: how much use lengthens the life, 0 is off
    max_life        DOUBLE,   -- simple: at most this many lives
    hard_min_score  DOUBLE,   -- floor of the score after decay, 0 is off
    noise           BOOLEAN,  -- drop greetings and failed look-ups
    diversity       DOUBLE,   -- cosine above which a hit is deferred behind the others, 1 is off
    rarity          BOOLEAN   -- weigh the words of the query's vector by their rarity among the documents asked
);
