-- Nothing: the number is of another change.
SELECT 1;
