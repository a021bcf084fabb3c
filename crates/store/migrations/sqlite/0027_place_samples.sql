-- Whether an observation holds samples of points of presence. It is packed, so the database can't see that by itself. Rows
-- that were written before may hold some where one has joined.
ALTER TABLE observations ADD COLUMN sampled INTEGER NOT NULL DEFAULT 0;
UPDATE observations SET sampled = 1
WHERE EXISTS (SELECT 1 FROM agents) OR EXISTS (SELECT 1 FROM audit_log WHERE action = 'agent.join');
CREATE INDEX observations_sampled ON observations (name, vantage) WHERE sampled <> 0;
