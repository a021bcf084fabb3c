-- Old rows are deleted in steps that begin where the last one ended. Here an index ends with the row's id by itself.

-- The events that each message is about: how those of a page were delivered is read by their ids.
CREATE TABLE message_events (
  id INTEGER NOT NULL,
  channel TEXT NOT NULL,
  event INTEGER NOT NULL,
  org INTEGER NOT NULL,
  PRIMARY KEY (id, channel, event),
  FOREIGN KEY (id, channel) REFERENCES outbox (id, channel) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX message_events_of_org ON message_events (org, event);
INSERT INTO message_events (id, channel, event, org)
  SELECT DISTINCT o.id, o.channel, j.value, o.org FROM outbox o, json_each(o.events) j WHERE o.events IS NOT NULL;
-- Events of muted domains and of maintenance windows wait in a row of the channel 'log' that names them.
CREATE INDEX outbox_held ON outbox (org, name)
  WHERE channel = 'log' AND events IS NOT NULL AND delivered_at IS NULL AND failed_at IS NULL;
-- The first message of a batch is leased, and the others with it.
CREATE INDEX outbox_batches ON outbox (org, channel, batch, id)
  WHERE batch IS NOT NULL AND failed_at IS NULL AND delivered_at IS NULL;

-- Seconds between two scheduled scans and days of reminders (JSON), as said of a domain or by its organisation.
ALTER TABLE items ADD COLUMN scan_interval_s INTEGER;
ALTER TABLE items ADD COLUMN expiry_days TEXT;
ALTER TABLE orgs ADD COLUMN scan_interval_s INTEGER;
ALTER TABLE orgs ADD COLUMN expiry_days TEXT;
CREATE INDEX items_scan_interval ON items (scan_interval_s) WHERE scan_interval_s IS NOT NULL;
