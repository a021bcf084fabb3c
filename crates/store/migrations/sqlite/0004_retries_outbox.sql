-- A job whose attempts are used up is parked: due_at lies beyond every instant, last_error says why. The outcome of
-- the last run that a person waited for is kept as JSON, so that every replica can show it.
ALTER TABLE jobs ADD COLUMN last_error TEXT;
ALTER TABLE jobs ADD COLUMN parked_at INTEGER;
ALTER TABLE jobs ADD COLUMN outcome TEXT;
ALTER TABLE jobs ADD COLUMN finished_at INTEGER;
-- What runs or a person waits for: replicas read it every second.
CREATE INDEX jobs_active ON jobs (kind, key) WHERE worker IS NOT NULL OR priority > 0;
CREATE INDEX jobs_parked ON jobs (kind, parked_at) WHERE parked_at IS NOT NULL;

-- One row for each scan with events, organisation and channel, written in the transaction that wrote the events
-- (id to last_event). The row goes away when it is delivered; failed_at is set when its attempts are used up.
CREATE TABLE outbox (
  id INTEGER NOT NULL,
  channel TEXT NOT NULL,
  org INTEGER NOT NULL,
  name TEXT NOT NULL,
  last_event INTEGER NOT NULL,
  at INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  lease INTEGER NOT NULL,
  failed_at INTEGER,
  last_error TEXT,
  PRIMARY KEY (id, channel)
) STRICT;
CREATE INDEX outbox_due ON outbox (due_at, id) WHERE failed_at IS NULL;
CREATE INDEX outbox_failed ON outbox (failed_at) WHERE failed_at IS NOT NULL;
