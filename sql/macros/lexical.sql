-- Words, and the score of a word in a document.

-- Words of a text as the index folds them: lower case, no accents, cut at everything that is no letter or digit. For plain
-- SQL, where the engine's tokenizer is not at hand: surfaces turns them into terms.
CREATE OR REPLACE MACRO words(query) AS
    list_distinct(list_filter(regexp_split_to_array(strip_accents(lower(query)), '[^\p{L}\p{N}]+'), lambda w: w <> ''));

-- Whether metadata, a JSON object or nothing, has all these values, read as text, at these JSON pointers. A null is no value.
CREATE OR REPLACE MACRO has_metadata(metadata, pointers, wanted) AS
    list_filter(list_zip(pointers, wanted), lambda asked: json_extract_string(metadata, asked[1]) IS DISTINCT FROM asked[2]) = [];

-- What terms and surfaces are found by.
CREATE OR REPLACE MACRO word_hash(word) AS md5_number_lower(word);

-- Rarity of a term: natural logarithm, never negative (Robertson and Sparck Jones, smoothed).
CREATE OR REPLACE MACRO idf(documents, document_frequency) AS
    ln((documents - document_frequency + 0.5) / (document_frequency + 0.5) + 1);

-- BM25 of one term in one document; a document's raw score is the sum over the query's terms.
CREATE OR REPLACE MACRO bm25(idf, tf, length, average_length, k1, b) AS
    idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / average_length));
