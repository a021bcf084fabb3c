-- Until when no message about a holding is sent, and which reminders of its expiration were announced (JSON).
ALTER TABLE items ADD COLUMN muted_until INTEGER;
ALTER TABLE items ADD COLUMN reminded TEXT;

-- Channels and rules of an organisation, each as JSON.
CREATE TABLE notification_settings (
  org INTEGER NOT NULL,
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  json TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (org, kind, id)
) STRICT;

-- The outbox holds two sorts of rows: the events of a scan, to be routed (channel 'log'), and what routing makes of
-- them, a message for each channel. A delivered message is kept for a while with the answer, so that it can be shown.
-- events: which of the scan's events (JSON); rules: which rules wanted it (JSON); batch: messages of one channel with
-- the same batch are sent as one.
ALTER TABLE outbox ADD COLUMN events TEXT;
ALTER TABLE outbox ADD COLUMN rules TEXT;
ALTER TABLE outbox ADD COLUMN batch INTEGER;
ALTER TABLE outbox ADD COLUMN delivered_at INTEGER;
ALTER TABLE outbox ADD COLUMN answer TEXT;
DROP INDEX outbox_due;
CREATE INDEX outbox_due ON outbox (due_at, id) WHERE failed_at IS NULL AND delivered_at IS NULL;
CREATE INDEX outbox_of_org ON outbox (org, id);
CREATE INDEX outbox_delivered ON outbox (delivered_at) WHERE delivered_at IS NOT NULL;
