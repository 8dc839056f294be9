-- Recall brings in what states a wish that is to last, where a question asks for help. What was written before has none until the index is made anew.

ALTER TABLE documents ADD COLUMN wishes BOOLEAN;
