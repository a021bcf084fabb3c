-- resourceVersion of a holding: the position of the newest log entry about it.
ALTER TABLE items ADD COLUMN rv INTEGER NOT NULL DEFAULT 1;

-- Labels, annotations and the like of holdings that are written through the resource API.
CREATE TABLE object_metadata (
  org INTEGER NOT NULL,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  json TEXT NOT NULL,
  PRIMARY KEY (org, kind, name)
) STRICT;

-- What a watch reports of a deleted object; pruned with its entry of the change log.
CREATE TABLE tombstones (
  rv INTEGER PRIMARY KEY,
  json TEXT NOT NULL
) STRICT;

CREATE TABLE network_claims (
  org INTEGER NOT NULL,
  name TEXT NOT NULL,
  rv INTEGER NOT NULL,
  metadata TEXT NOT NULL,
  spec TEXT NOT NULL,
  status TEXT NOT NULL,
  refused INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (org, name)
) STRICT;
CREATE INDEX network_claims_refused ON network_claims (created_at) WHERE refused = 1;

-- Prefixes of all organisations. A released one stays as long as history is kept: what still points into it is found.
CREATE TABLE prefixes (
  id INTEGER PRIMARY KEY,
  org INTEGER NOT NULL,
  claim TEXT NOT NULL,
  prefix TEXT NOT NULL,
  reference_group TEXT NOT NULL,
  reference_resource TEXT NOT NULL,
  description TEXT NOT NULL,
  since INTEGER NOT NULL,
  released_at INTEGER,
  version INTEGER NOT NULL
) STRICT;
CREATE INDEX prefixes_by_version ON prefixes (version);
CREATE INDEX prefixes_of_claim ON prefixes (org, claim);
CREATE INDEX prefixes_released ON prefixes (org, prefix) WHERE released_at IS NOT NULL;

-- One row. An allocation updates it first and so holds it until the commit: one allocation at a time, and every
-- process sees what changed since the version it knows.
CREATE TABLE space_head (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  version INTEGER NOT NULL,
  last_id INTEGER NOT NULL
) STRICT;
INSERT INTO space_head (id, version, last_id) VALUES (1, 0, 0);
