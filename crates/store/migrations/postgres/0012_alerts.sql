-- Note of the maintenance window that kept the messages about an event from being sent.
ALTER TABLE events ADD COLUMN maintenance TEXT COLLATE "C";

-- Recipients of a message that have it already (JSON); 1 for a message that was closed without being sent (answer says
-- why).
ALTER TABLE outbox ADD COLUMN accepted TEXT COLLATE "C";
ALTER TABLE outbox ADD COLUMN skipped BIGINT NOT NULL DEFAULT 0;

-- Addresses of feeds. The secret in the address is kept as its SHA-256 only.
CREATE TABLE feeds (
  id TEXT COLLATE "C" PRIMARY KEY,
  org BIGINT NOT NULL,
  hash TEXT COLLATE "C" NOT NULL UNIQUE,
  json TEXT COLLATE "C" NOT NULL,
  used_at BIGINT
);
CREATE INDEX feeds_of_org ON feeds (org);
