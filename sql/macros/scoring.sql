-- Every formula of ranking, once. Scores are between 0 and 1, ages and half-lives in days.

-- Of files that an earlier version wrote; what is noise stands in documents now.
DROP MACRO IF EXISTS is_noise;

CREATE OR REPLACE MACRO clamp01(x) AS least(1.0, greatest(0.0, x));

CREATE OR REPLACE MACRO days_between(earlier, later) AS
    (epoch_us(later) - epoch_us(earlier)) / 86400000000.0;

-- Channels ------------------------------------------------------------------------------------------------------------

-- 1 / (1 + distance), the distance being 1 - cosine: from 1/3 to 1.
CREATE OR REPLACE MACRO vector_score(cosine) AS 1 / (2 - cosine);

-- A logistic of the raw score; a document that was not hit, or only by worthless words, has 0.5.
CREATE OR REPLACE MACRO lexical_score(raw) AS
    CASE WHEN raw > 0 THEN 1 / (1 + exp(-raw / 5)) ELSE 0.5 END;

-- Fusion by rank: what the place in one channel counts, the best being at 1.
CREATE OR REPLACE MACRO rank_score(place) AS 1 / (60.0 + place);

-- A document that has a vector: the weighted sum, but never less than a share of a near-exact lexical score. One without a
-- vector: its lexical score as it is.
CREATE OR REPLACE MACRO fuse(vector_score, lexical_score, vector_weight, lexical_weight, exact_from := 0.75, exact_share := 0.92) AS
    CASE
        WHEN vector_score IS NULL THEN clamp01(lexical_score)
        WHEN NOT isfinite(vector_score) OR NOT isfinite(coalesce(lexical_score, 0)) THEN 0.1
        ELSE clamp01(greatest(
            vector_score * vector_weight + coalesce(lexical_score, 0) * lexical_weight,
            CASE WHEN lexical_score >= exact_from THEN exact_share * lexical_score ELSE 0 END))
    END;

-- The light rerank: most of the score, and the plain cosine. A document without a vector keeps its score.
CREATE OR REPLACE MACRO light_blend(score, cosine) AS
    CASE WHEN cosine IS NULL THEN score ELSE clamp01(0.7 * score + 0.3 * cosine) END;

-- What a feature of a text weighs: nothing where it is not known.
CREATE OR REPLACE MACRO feature_weight(value, weight) AS CASE WHEN value IS NULL THEN 0 ELSE weight END;

-- The rerank by features: the mean of the score, which weighs 1, and of those features that are known, each from 0 to 1.
CREATE OR REPLACE MACRO features_blend(score, cosine := NULL, lexical := NULL, coverage := NULL, proximity := NULL, phrase := NULL, named := NULL, dated := NULL, neighbour := NULL, session_best := NULL,
        cosine_weight := 0.0, lexical_weight := 0.0, coverage_weight := 0.0, proximity_weight := 0.0, phrase_weight := 0.0, named_weight := 0.0, dated_weight := 0.0, neighbour_weight := 0.0,
        session_weight := 0.0) AS
    (score + cosine_weight * coalesce(cosine, 0) + lexical_weight * coalesce(lexical, 0) + coverage_weight * coalesce(coverage, 0) + proximity_weight * coalesce(proximity, 0)
        + phrase_weight * coalesce(phrase, 0) + named_weight * coalesce(named, 0) + dated_weight * coalesce(dated, 0) + neighbour_weight * coalesce(neighbour, 0)
        + session_weight * coalesce(session_best, 0))
    / (1 + feature_weight(cosine, cosine_weight) + feature_weight(lexical, lexical_weight) + feature_weight(coverage, coverage_weight) + feature_weight(proximity, proximity_weight)
        + feature_weight(phrase, phrase_weight) + feature_weight(named, named_weight) + feature_weight(dated, dated_weight) + feature_weight(neighbour, neighbour_weight)
        + feature_weight(session_best, session_weight));

-- What a rerank leaves of a score at the least: the more, the better the words alone had hit, and more still of what the model gave no score.
CREATE OR REPLACE MACRO rerank_floor(score, lexical_score, scored, exact_from := 0.75, good_from := 0.6) AS
    score * CASE WHEN lexical_score >= exact_from THEN CASE WHEN scored THEN 0.95 ELSE 1.0 END
                 WHEN lexical_score >= good_from THEN CASE WHEN scored THEN 0.90 ELSE 0.95 END
                 ELSE CASE WHEN scored THEN 0.5 ELSE 0.8 END END;

-- The rerank by a model: most of what it says of the text, from 0 to 1, and the rest of the score before. A text of which it says nothing, NULL or not a
-- number, keeps a share of its score. lexical_score is NULL where no word hit.
CREATE OR REPLACE MACRO rerank_blend(score, model_score, lexical_score, model_share := 0.6, unscored_share := 0.8) AS
    CASE WHEN isfinite(model_score)
         THEN greatest(rerank_floor(score, lexical_score, true), clamp01(model_share * model_score + (1 - model_share) * score))
         ELSE greatest(rerank_floor(score, lexical_score, false), clamp01(unscored_share * score)) END;

-- The cosine of a document of which that of the best passage is known, or NULL: the passage speaks for it where its share is more than the whole's.
CREATE OR REPLACE MACRO passage_cosine(whole, best, share) AS
    greatest(whole, nullif(share, 0) * best);

-- Whether it does.
CREATE OR REPLACE MACRO by_passage(whole, best, share) AS
    coalesce(share > 0 AND share * best > whole, false);

-- The characters of a text as they count: what its passage speaks for counts as no longer than what has none.
CREATE OR REPLACE MACRO shown_characters(characters, by_passage) AS
    CASE WHEN by_passage THEN least(characters, 600) ELSE characters END;

-- What has no word of the question, around it neither, is by chance below the cosine that random text reaches. Without a model chance is more than any
-- cosine. chance 0 is off.
CREATE OR REPLACE MACRO by_chance(raw, cosine, near_cosine, chance) AS
    chance > 0 AND raw IS NULL AND greatest(coalesce(cosine, -1), coalesce(near_cosine, -1)) < chance;

-- Talk ----------------------------------------------------------------------------------------------------------------

-- 1 within the period, and less the farther away: 1/e at the given number of days.
CREATE OR REPLACE MACRO date_fit(said_at, period_from, period_until, days) AS
    CASE WHEN said_at >= period_from AND said_at < period_until THEN 1
         ELSE exp(-greatest(days_between(said_at, period_from), days_between(period_until, said_at)) / days) END;

-- 1 of a short text, 1/2 where it has as many characters as long_turn says, and near 0 of a very long one. A long_turn of 0 is off: all are short.
CREATE OR REPLACE MACRO shortness(characters, long_turn) AS
    CASE WHEN long_turn > 0 THEN long_turn / (long_turn + characters) ELSE 1 END;

-- What a term adds to the frequency of its word: a related one the less the longer the text is, for a long text has related words anyway.
CREATE OR REPLACE MACRO term_share(share, characters, long_turn) AS
    CASE WHEN share < 1 THEN share * shortness(characters, long_turn) ELSE share END;

-- How far an answer is for the turn before it rather than for itself: a long one goes over what was asked, a short one tells something.
CREATE OR REPLACE MACRO elaboration(characters, long_turn) AS
    CASE WHEN long_turn > 0 THEN 1 - shortness(characters, long_turn) ELSE 1 END;

-- The greatest sum that the signals of a turn can have; the parts of a reply and of what is answered come from the relevance of the turn beside.
CREATE OR REPLACE MACRO most_of(vector, lexical, date, speaker, reply, answered, tells, wish, relation := 0, verbatim := 0, fresh := 0) AS
    greatest((vector + lexical) * (1 + reply + answered + relation) + date + speaker + tells + wish + verbatim + fresh, 1e-9);

-- Boosts --------------------------------------------------------------------------------------------------------------

-- Adds up to weight to what is new. e_fold is the age at which 1/e of it is left; 0 is off. A date in the future counts as now.
CREATE OR REPLACE MACRO recency_boost(score, age, e_fold, weight) AS
    CASE WHEN e_fold <= 0 OR weight = 0 THEN score
         ELSE clamp01(score + exp(-greatest(age, 0) / e_fold) * weight) END;

-- How new a memory is, and how important: e^(-0.1 · days), half of it whatever the importance. A date in the future counts as now.
CREATE OR REPLACE MACRO newness(age, importance) AS
    exp(-0.1 * greatest(age, 0)) * (0.5 + 0.5 * importance);

CREATE OR REPLACE MACRO importance_weight(score, importance) AS
    clamp01(score * (0.7 + 0.3 * coalesce(importance, 0.7)));

-- How far a memory is trusted, 0 to 1; what is none is trusted.
CREATE OR REPLACE MACRO trust_share(trust) AS
    CASE trust WHEN 'extracted' THEN 0.75 WHEN 'imported' THEN 0.5 WHEN 'untrusted' THEN 0 ELSE 1 END;

-- Takes up to weight of the score of what is not trusted; 0 is off.
CREATE OR REPLACE MACRO trust_weight(score, trust, weight) AS
    score * (1 - weight * (1 - trust_share(trust)));

-- Long texts score less: one of four times the anchor scores half. Characters are code points; anchor 0 is off.
CREATE OR REPLACE MACRO length_norm(score, characters, anchor) AS
    CASE WHEN anchor <= 0 THEN score
         ELSE clamp01(score / (1 + 0.5 * log2(greatest(characters / anchor, 1)))) END;

-- Decay: simple -------------------------------------------------------------------------------------------------------

-- How long a memory lasts: use lengthens it, and use long ago does less (half-life 30 days).
CREATE OR REPLACE MACRO effective_half_life(base, accesses, days_since_access, factor, max_multiple) AS
    CASE WHEN factor = 0 OR coalesce(accesses, 0) <= 0 OR days_since_access IS NULL THEN base
         ELSE least(base + base * factor * ln(1 + accesses * exp(-greatest(days_since_access, 0) * ln(2) / 30)),
                    base * max_multiple) END;

-- From 1 down to 0.5; half of the way in about 0.7 of the given life, which is an e-folding time.
CREATE OR REPLACE MACRO time_decay(score, age, life) AS
    CASE WHEN life <= 0 THEN score
         ELSE clamp01(score * (0.5 + 0.5 * exp(-greatest(age, 0) / life))) END;

-- Decay: engine -------------------------------------------------------------------------------------------------------

-- What has a default here is a weight; the defaults are those of the set memory.
CREATE OR REPLACE MACRO tier_floor(tier, core_floor := 0.9, working_floor := 0.7, peripheral_floor := 0.5) AS
    CASE tier WHEN 'core' THEN core_floor WHEN 'working' THEN working_floor ELSE peripheral_floor END;

CREATE OR REPLACE MACRO tier_beta(tier, core_beta := 0.8, working_beta := 1.0, peripheral_beta := 1.3) AS
    CASE tier WHEN 'core' THEN core_beta WHEN 'working' THEN working_beta ELSE peripheral_beta END;

-- idle is the age of the last use, or of the memory where it was never used.
CREATE OR REPLACE MACRO decay_recency(idle, importance, tier, is_dynamic,
        half_life := 30.0, dynamic_half_life := 10.0, modulation := 1.5, core_beta := 0.8, working_beta := 1.0, peripheral_beta := 1.3) AS
    exp(-ln(2) / ((CASE WHEN is_dynamic THEN dynamic_half_life ELSE half_life END) * exp(modulation * importance))
        * pow(greatest(idle, 0), tier_beta(tier, core_beta := core_beta, working_beta := working_beta, peripheral_beta := peripheral_beta)));

-- span is the number of days from creation to the last use.
CREATE OR REPLACE MACRO decay_frequency(accesses, span) AS
    (1 - exp(-accesses / 5.0))
    * CASE WHEN accesses <= 1 THEN 1 ELSE 0.5 + 0.5 * exp(-greatest(span, 1) / (accesses - 1) / 30) END;

CREATE OR REPLACE MACRO decay_composite(recency, frequency, intrinsic, recency_part := 0.4, frequency_part := 0.3, intrinsic_part := 0.3) AS
    recency_part * recency + frequency_part * frequency + intrinsic_part * intrinsic;

-- What the composite does to a score: never below the floor of all, and never below what the tier guarantees.
CREATE OR REPLACE MACRO decay_multiplier(composite, tier, decay_floor := 0.3, core_floor := 0.9, working_floor := 0.7, peripheral_floor := 0.5) AS
    least(1.0, greatest(decay_floor, decay_floor + (1 - decay_floor) * greatest(
        tier_floor(tier, core_floor := core_floor, working_floor := working_floor, peripheral_floor := peripheral_floor), composite)));

-- The same from the columns of a memory.
CREATE OR REPLACE MACRO memory_recency(created_at, last_accessed_at, accesses, importance, tier, temporal_type, asked_at,
        half_life := 30.0, dynamic_half_life := 10.0, modulation := 1.5, core_beta := 0.8, working_beta := 1.0, peripheral_beta := 1.3) AS
    decay_recency(
        days_between(CASE WHEN accesses > 0 THEN coalesce(last_accessed_at, created_at) ELSE created_at END, asked_at),
        importance, tier, coalesce(temporal_type = 'dynamic', false),
        half_life := half_life, dynamic_half_life := dynamic_half_life, modulation := modulation,
        core_beta := core_beta, working_beta := working_beta, peripheral_beta := peripheral_beta);

CREATE OR REPLACE MACRO memory_composite(created_at, last_accessed_at, accesses, importance, confidence, tier, temporal_type, asked_at,
        half_life := 30.0, dynamic_half_life := 10.0, modulation := 1.5, core_beta := 0.8, working_beta := 1.0, peripheral_beta := 1.3,
        recency_part := 0.4, frequency_part := 0.3, intrinsic_part := 0.3) AS
    decay_composite(
        memory_recency(created_at, last_accessed_at, accesses, importance, tier, temporal_type, asked_at,
            half_life := half_life, dynamic_half_life := dynamic_half_life, modulation := modulation,
            core_beta := core_beta, working_beta := working_beta, peripheral_beta := peripheral_beta),
        decay_frequency(accesses, days_between(created_at, coalesce(last_accessed_at, created_at))),
        importance * confidence,
        recency_part := recency_part, frequency_part := frequency_part, intrinsic_part := intrinsic_part);

-- Tiers -----------------------------------------------------------------------------------------------------------------

-- The tier that a memory is due for, a step up before a step down, with the reason; NULL where it stays. age is in days since it was made.
CREATE OR REPLACE MACRO next_tier(tier, accesses, composite, importance, age) AS
    CASE
        WHEN tier = 'peripheral' AND accesses >= 3 AND composite >= 0.4 THEN {tier: 'working', reason: 'used three times or more, and alive'}
        WHEN tier = 'working' AND accesses >= 10 AND composite >= 0.7 AND importance >= 0.8 THEN {tier: 'core', reason: 'used ten times or more, alive and important'}
        WHEN tier = 'working' AND composite < 0.15 THEN {tier: 'peripheral', reason: 'faded'}
        WHEN tier = 'working' AND age > 60 AND accesses < 3 THEN {tier: 'peripheral', reason: 'older than sixty days and hardly used'}
        WHEN tier = 'core' AND composite < 0.15 AND accesses < 3 THEN {tier: 'working', reason: 'faded and hardly used'}
    END;

-- What recall passes over unless it is asked for: what nobody has confirmed, what was archived, and what lies in the archive.
CREATE OR REPLACE MACRO set_apart(state, layer) AS state <> 'confirmed' OR layer = 'archive';

-- Diversity -----------------------------------------------------------------------------------------------------------

-- Walks ranked documents in order. near holds, for each, the ranks (from 1) of earlier ones that are too similar to it; one
-- that is near to a kept one is deferred and blocks nobody. Gives the ranks that are kept.
CREATE OR REPLACE MACRO kept_ranks(near) AS
    list_reduce(near,
        lambda kept, close, i: CASE WHEN list_has_any(kept, close) THEN kept ELSE list_append(kept, i::INTEGER) END,
        []::INTEGER[]);
