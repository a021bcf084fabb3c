-- Note of the maintenance window that kept the messages about an event from being sent.
ALTER TABLE events ADD COLUMN maintenance TEXT;

-- Recipients of a message that have it already (JSON); 1 for a message that was closed without being sent (answer says
-- why).
ALTER TABLE outbox ADD COLUMN accepted TEXT;
ALTER TABLE outbox ADD COLUMN skipped INTEGER NOT NULL DEFAULT 0;

-- Addresses of feeds. The secret in the address is kept as its SHA-256 only.
CREATE TABLE feeds (
  id TEXT PRIMARY KEY,
  org INTEGER NOT NULL,
  hash TEXT NOT NULL UNIQUE,
  json TEXT NOT NULL,
  used_at INTEGER
) STRICT;
CREATE INDEX feeds_of_org ON feeds (org);
