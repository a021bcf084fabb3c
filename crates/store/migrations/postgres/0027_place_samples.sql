-- Whether an observation holds samples of points of presence. It is packed, so the database can't see that by itself. Rows
-- that were written before may hold some.
ALTER TABLE observations ADD COLUMN sampled BIGINT NOT NULL DEFAULT 1;
CREATE INDEX observations_sampled ON observations (name, vantage) WHERE sampled <> 0;
