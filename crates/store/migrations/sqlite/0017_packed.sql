-- Observations, states and raw answers are packed (crates/store/src/stored): `json` is empty where `packed` is set. Where
-- `base` is set, `packed` is the difference to the text of that newer state. `chain` counts the states since one that
-- stays whole.
ALTER TABLE observations ADD COLUMN packed BLOB;
ALTER TABLE snapshots ADD COLUMN packed BLOB;
ALTER TABLE snapshots ADD COLUMN base INTEGER;
ALTER TABLE snapshots ADD COLUMN chain INTEGER NOT NULL DEFAULT 0;
ALTER TABLE raw_answers ADD COLUMN packed BLOB;
ALTER TABLE raw_answers ADD COLUMN base INTEGER;
