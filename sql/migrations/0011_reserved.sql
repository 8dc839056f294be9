-- Kept free: another change has this number.
SELECT 1;
