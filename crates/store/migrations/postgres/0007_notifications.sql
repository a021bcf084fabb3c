-- Until when no message about a holding is sent, and which reminders of its expiration were announced (JSON).
ALTER TABLE items ADD COLUMN muted_until BIGINT;
ALTER TABLE items ADD COLUMN reminded TEXT COLLATE "C";

-- Channels and rules of an organisation, each as JSON.
CREATE TABLE notification_settings (
  org BIGINT NOT NULL,
  kind TEXT COLLATE "C" NOT NULL,
  id TEXT COLLATE "C" NOT NULL,
  json TEXT COLLATE "C" NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (org, kind, id)
);

-- The outbox holds two sorts of rows: the events of a scan, to be routed (channel 'log'), and what routing makes of
-- them, a message for each channel. A delivered message is kept for a while with the answer, so that it can be shown.
-- events: which of the scan's events (JSON); rules: which rules wanted it (JSON); batch: messages of one channel with
-- the same batch are sent as one.
ALTER TABLE outbox ADD COLUMN events TEXT COLLATE "C";
ALTER TABLE outbox ADD COLUMN rules TEXT COLLATE "C";
ALTER TABLE outbox ADD COLUMN batch BIGINT;
ALTER TABLE outbox ADD COLUMN delivered_at BIGINT;
ALTER TABLE outbox ADD COLUMN answer TEXT COLLATE "C";
DROP INDEX outbox_due;
CREATE INDEX outbox_due ON outbox (due_at, id) WHERE failed_at IS NULL AND delivered_at IS NULL;
CREATE INDEX outbox_of_org ON outbox (org, id);
CREATE INDEX outbox_delivered ON outbox (delivered_at) WHERE delivered_at IS NOT NULL;
