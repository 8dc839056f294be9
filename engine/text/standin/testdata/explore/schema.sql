CREATE TABLE ships (id INTEGER);
create or replace view v AS SELECT 1;
