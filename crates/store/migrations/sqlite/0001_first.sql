-- Observations are public facts: one per name and vantage, whoever holds the name.
CREATE TABLE observations (
  name TEXT NOT NULL,
  vantage TEXT NOT NULL,
  version INTEGER NOT NULL,
  json TEXT NOT NULL,
  recorded_at INTEGER NOT NULL,
  PRIMARY KEY (name, vantage)
) STRICT;

-- Kept states. The newest two of a name stay for ever: together they are its newest change.
CREATE TABLE snapshots (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL,
  vantage TEXT NOT NULL,
  at INTEGER NOT NULL,
  summary TEXT NOT NULL,
  json TEXT NOT NULL
) STRICT;
CREATE INDEX snapshots_of_name ON snapshots (name, id);
CREATE INDEX snapshots_by_age ON snapshots (at);

CREATE TABLE raw_answers (
  snapshot INTEGER NOT NULL REFERENCES snapshots (id) ON DELETE CASCADE,
  ord INTEGER NOT NULL,
  json TEXT NOT NULL,
  PRIMARY KEY (snapshot, ord)
) STRICT;

-- Holdings. expires_at, registrar, provider and modified_at are drawn out of row_json for the list index.
CREATE TABLE items (
  org INTEGER NOT NULL,
  name TEXT NOT NULL,
  unicode TEXT NOT NULL,
  ownership TEXT NOT NULL,
  tags TEXT NOT NULL,
  note TEXT NOT NULL,
  manual_expires TEXT,
  auto_renew INTEGER,
  was_delegated INTEGER NOT NULL,
  added_at INTEGER NOT NULL,
  status TEXT NOT NULL,
  status_rank INTEGER NOT NULL,
  judge_again_at INTEGER,
  last_change_at INTEGER,
  next_scan_at INTEGER,
  expires_at INTEGER,
  registrar TEXT,
  provider TEXT,
  modified_at INTEGER,
  row_json TEXT NOT NULL,
  PRIMARY KEY (org, name)
) STRICT;
CREATE INDEX items_of_name ON items (name);
CREATE INDEX items_to_judge ON items (judge_again_at) WHERE judge_again_at IS NOT NULL;

-- The id of an event is its first place in the change log.
CREATE TABLE events (
  id INTEGER PRIMARY KEY,
  org INTEGER NOT NULL,
  name TEXT NOT NULL,
  at INTEGER NOT NULL,
  kind TEXT NOT NULL,
  severity INTEGER NOT NULL,
  json TEXT NOT NULL,
  ack_by TEXT,
  ack_at INTEGER
) STRICT;
CREATE INDEX events_of_org ON events (org, id);
CREATE INDEX events_of_item ON events (org, name, id);
CREATE INDEX events_open ON events (org, severity) WHERE ack_at IS NULL;
CREATE INDEX events_by_age ON events (at);

CREATE TABLE change_log (
  rv INTEGER PRIMARY KEY,
  org INTEGER NOT NULL,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  op TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;
CREATE INDEX change_log_of_org ON change_log (org, rv);

-- One row. Whoever writes log entries updates it first and so holds it until the commit: rv follows commit order.
-- Entries up to floor were pruned.
CREATE TABLE log_head (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  head INTEGER NOT NULL,
  floor INTEGER NOT NULL
) STRICT;
INSERT INTO log_head (id, head, floor) VALUES (1, 0, 0);

-- due_at is when the job may be taken: its time while it waits, the end of the lease while it is leased.
CREATE TABLE jobs (
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  due_at INTEGER NOT NULL,
  run_at INTEGER NOT NULL,
  priority INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  lease INTEGER NOT NULL,
  worker TEXT,
  asked_at INTEGER,
  asked_priority INTEGER,
  PRIMARY KEY (kind, key)
) STRICT;
CREATE INDEX jobs_by_priority ON jobs (kind, priority, due_at);
CREATE INDEX jobs_due ON jobs (kind, due_at);

CREATE TABLE settings (
  org INTEGER NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (org, key)
) STRICT;
