-- Observations, states and raw answers are packed (crates/store/src/stored): `json` is empty where `packed` is set. Where
-- `base` is set, `packed` is the difference to the text of that newer state. `chain` counts the states since one that
-- stays whole.
ALTER TABLE observations ADD COLUMN packed BYTEA;
ALTER TABLE snapshots ADD COLUMN packed BYTEA;
ALTER TABLE snapshots ADD COLUMN base BIGINT;
ALTER TABLE snapshots ADD COLUMN chain BIGINT NOT NULL DEFAULT 0;
ALTER TABLE raw_answers ADD COLUMN packed BYTEA;
ALTER TABLE raw_answers ADD COLUMN base BIGINT;
