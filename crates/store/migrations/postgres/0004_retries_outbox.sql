-- A job whose attempts are used up is parked: due_at lies beyond every instant, last_error says why. The outcome of
-- the last run that a person waited for is kept as JSON, so that every replica can show it.
ALTER TABLE jobs ADD COLUMN last_error TEXT COLLATE "C";
ALTER TABLE jobs ADD COLUMN parked_at BIGINT;
ALTER TABLE jobs ADD COLUMN outcome TEXT COLLATE "C";
ALTER TABLE jobs ADD COLUMN finished_at BIGINT;
-- What runs or a person waits for: replicas read it every second.
CREATE INDEX jobs_active ON jobs (kind, key) WHERE worker IS NOT NULL OR priority > 0;
CREATE INDEX jobs_parked ON jobs (kind, parked_at) WHERE parked_at IS NOT NULL;

-- One row for each scan with events, organisation and channel, written in the transaction that wrote the events
-- (id to last_event). The row goes away when it is delivered; failed_at is set when its attempts are used up.
CREATE TABLE outbox (
  id BIGINT NOT NULL,
  channel TEXT COLLATE "C" NOT NULL,
  org BIGINT NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  last_event BIGINT NOT NULL,
  at BIGINT NOT NULL,
  due_at BIGINT NOT NULL,
  attempts BIGINT NOT NULL,
  lease BIGINT NOT NULL,
  failed_at BIGINT,
  last_error TEXT COLLATE "C",
  PRIMARY KEY (id, channel)
);
CREATE INDEX outbox_due ON outbox (due_at, id) WHERE failed_at IS NULL;
CREATE INDEX outbox_failed ON outbox (failed_at) WHERE failed_at IS NOT NULL;
