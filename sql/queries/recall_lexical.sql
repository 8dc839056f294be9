-- Words by the index of the text extension, and both lexical backends compared.

-- name: recall_ask_fts
-- Puts what postings has of the terms asked into fts_hits, from the index of the extension, which the file must have.
INSERT INTO temp.main.fts_hits
WITH memory_hits AS (
    SELECT a.word, a.share, h.docid, count(*) AS n
    FROM temp.main.asked_terms AS a
    JOIN fts_main_memory_texts.dict AS t USING (term)
    JOIN fts_main_memory_texts.terms AS h USING (termid)
    WHERE a.share > 0 AND list_contains($kinds::VARCHAR[], 'memory')
    GROUP BY a.word, a.share, h.termid, h.docid
),
message_hits AS (
    SELECT a.word, a.share, h.docid, count(*) AS n
    FROM temp.main.asked_terms AS a
    JOIN fts_main_message_texts.dict AS t USING (term)
    JOIN fts_main_message_texts.terms AS h USING (termid)
    WHERE a.share > 0 AND list_contains($kinds::VARCHAR[], 'message')
    GROUP BY a.word, a.share, h.termid, h.docid
),
summary_hits AS (
    SELECT a.word, a.share, h.docid, count(*) AS n
    FROM temp.main.asked_terms AS a
    JOIN fts_main_summary_texts.dict AS t USING (term)
    JOIN fts_main_summary_texts.terms AS h USING (termid)
    WHERE a.share > 0 AND list_contains($kinds::VARCHAR[], 'summary')
    GROUP BY a.word, a.share, h.termid, h.docid
),
note_hits AS (
    SELECT a.word, a.share, h.docid, count(*) AS n
    FROM temp.main.asked_terms AS a
    JOIN fts_main_note_texts.dict AS t USING (term)
    JOIN fts_main_note_texts.terms AS h USING (termid)
    WHERE a.share > 0 AND list_contains($kinds::VARCHAR[], 'note')
    GROUP BY a.word, a.share, h.termid, h.docid
)
SELECT h.word, 'memory', d.name, h.share * h.n / s.scale
FROM memory_hits AS h
JOIN fts_main_memory_texts.docs AS d USING (docid)
CROSS JOIN fts_main_memory_texts.scale AS s
UNION ALL
SELECT h.word, 'message', d.name, h.share * h.n / s.scale
FROM message_hits AS h
JOIN fts_main_message_texts.docs AS d USING (docid)
CROSS JOIN fts_main_message_texts.scale AS s
UNION ALL
SELECT h.word, 'summary', d.name, h.share * h.n / s.scale
FROM summary_hits AS h
JOIN fts_main_summary_texts.docs AS d USING (docid)
CROSS JOIN fts_main_summary_texts.scale AS s
UNION ALL
SELECT h.word, 'note', d.name, h.share * h.n / s.scale
FROM note_hits AS h
JOIN fts_main_note_texts.docs AS d USING (docid)
CROSS JOIN fts_main_note_texts.scale AS s;

-- name: lexical_sample
-- Questions made of the data: of some documents of a kind their three rarest terms, and the most frequent one.
WITH sampled AS (
    SELECT p.doc_no, p.term_no
    FROM postings AS p
    WHERE p.doc_no IN (SELECT doc_no FROM documents WHERE live AND length > 0 AND kind = $kind::document_kind ORDER BY hash(doc_no) LIMIT $sample::BIGINT)
),
frequencies AS (
    SELECT term_no, count(*) AS n
    FROM postings
    WHERE kind = $kind::document_kind AND term_no IN (SELECT term_no FROM sampled)
    GROUP BY term_no
),
placed AS (
    SELECT s.doc_no, t.term, f.n, row_number() OVER (PARTITION BY s.doc_no ORDER BY f.n, t.term) AS place, count(*) OVER (PARTITION BY s.doc_no) AS places
    FROM sampled AS s
    JOIN frequencies AS f USING (term_no)
    JOIN terms AS t USING (term_no)
)
SELECT list(term ORDER BY place)
FROM placed
WHERE place <= 3 OR place = places
GROUP BY doc_no
ORDER BY hash(doc_no);

-- name: lexical_postings
-- The raw scores of a kind's documents, as recall has them.
WITH hits AS (
    SELECT p.term_no, p.doc_no, p.tf
    FROM terms AS t
    JOIN postings AS p USING (term_no)
    WHERE t.hash IN (SELECT word_hash(unnest($terms::VARCHAR[]))) AND p.kind = $kind::document_kind
),
rarity AS (
    SELECT h.term_no, idf(s.documents, count(*)) AS idf, s.length / s.documents AS average_length
    FROM hits AS h
    CROSS JOIN kind_stats AS s
    WHERE s.kind = $kind::document_kind
    GROUP BY h.term_no, s.documents, s.length
)
SELECT h.doc_no, sum(bm25(r.idf, h.tf, d.length, r.average_length, $k1::DOUBLE, $b::DOUBLE)) AS raw
FROM hits AS h
JOIN rarity AS r USING (term_no)
JOIN documents AS d USING (doc_no)
GROUP BY h.doc_no;

-- name: lexical_fts
-- The same from the extension, whose logarithm is that of ten. Twice the frequency, length and k1 leave a score as it is, but for the factor
-- k1 + 1 in it.
SELECT doc_no, raw * ln(10) * ($k1::DOUBLE + 1) / ($k1::DOUBLE * scale + 1) AS raw
FROM (
    SELECT d.name AS doc_no, s.scale,
        fts_main_{kind}_texts.match_bm25(d.name, $question::VARCHAR, k := $k1::DOUBLE * (SELECT scale FROM fts_main_{kind}_texts.scale), b := $b::DOUBLE) AS raw
    FROM fts_main_{kind}_texts.docs AS d
    CROSS JOIN fts_main_{kind}_texts.scale AS s
)
WHERE raw IS NOT NULL;

-- name: lexical_owners
SELECT doc_no, owner_id FROM documents WHERE doc_no = ANY ($doc_nos::INTEGER[]) ORDER BY doc_no;
