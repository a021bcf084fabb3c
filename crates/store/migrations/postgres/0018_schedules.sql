-- Old rows are deleted in steps that begin where the last one ended. An index of a long table takes its time.
SET LOCAL statement_timeout = 0;
DROP INDEX snapshots_by_age;
CREATE INDEX snapshots_by_age ON snapshots (at, id);
DROP INDEX events_by_age;
CREATE INDEX events_by_age ON events (at, id);

-- The events that each message is about: how those of a page were delivered is read by their ids.
CREATE TABLE message_events (
  id BIGINT NOT NULL,
  channel TEXT COLLATE "C" NOT NULL,
  event BIGINT NOT NULL,
  org BIGINT NOT NULL,
  PRIMARY KEY (id, channel, event),
  FOREIGN KEY (id, channel) REFERENCES outbox (id, channel) ON DELETE CASCADE
);
CREATE INDEX message_events_of_org ON message_events (org, event);
INSERT INTO message_events (id, channel, event, org)
  SELECT DISTINCT o.id, o.channel, CAST(j.value AS BIGINT), o.org
  FROM outbox o, json_array_elements_text(CAST(o.events AS JSON)) AS j (value) WHERE o.events IS NOT NULL;
-- Events of muted domains and of maintenance windows wait in a row of the channel 'log' that names them.
CREATE INDEX outbox_held ON outbox (org, name)
  WHERE channel = 'log' AND events IS NOT NULL AND delivered_at IS NULL AND failed_at IS NULL;
-- The first message of a batch is leased, and the others with it.
CREATE INDEX outbox_batches ON outbox (org, channel, batch, id)
  WHERE batch IS NOT NULL AND failed_at IS NULL AND delivered_at IS NULL;

-- Seconds between two scheduled scans and days of reminders (JSON), as said of a domain or by its organisation.
ALTER TABLE items ADD COLUMN scan_interval_s BIGINT;
ALTER TABLE items ADD COLUMN expiry_days TEXT COLLATE "C";
ALTER TABLE orgs ADD COLUMN scan_interval_s BIGINT;
ALTER TABLE orgs ADD COLUMN expiry_days TEXT COLLATE "C";
CREATE INDEX items_scan_interval ON items (scan_interval_s) WHERE scan_interval_s IS NOT NULL;
