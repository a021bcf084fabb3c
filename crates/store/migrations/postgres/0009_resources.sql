-- resourceVersion of a holding: the position of the newest log entry about it.
ALTER TABLE items ADD COLUMN rv BIGINT NOT NULL DEFAULT 1;

-- Labels, annotations and the like of holdings that are written through the resource API.
CREATE TABLE object_metadata (
  org BIGINT NOT NULL,
  kind TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  json TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (org, kind, name)
);

-- What a watch reports of a deleted object; pruned with its entry of the change log.
CREATE TABLE tombstones (
  rv BIGINT PRIMARY KEY,
  json TEXT COLLATE "C" NOT NULL
);

CREATE TABLE network_claims (
  org BIGINT NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  rv BIGINT NOT NULL,
  metadata TEXT COLLATE "C" NOT NULL,
  spec TEXT COLLATE "C" NOT NULL,
  status TEXT COLLATE "C" NOT NULL,
  refused BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (org, name)
);
CREATE INDEX network_claims_refused ON network_claims (created_at) WHERE refused = 1;

-- Prefixes of all organisations. A released one stays as long as history is kept: what still points into it is found.
CREATE TABLE prefixes (
  id BIGINT PRIMARY KEY,
  org BIGINT NOT NULL,
  claim TEXT COLLATE "C" NOT NULL,
  prefix TEXT COLLATE "C" NOT NULL,
  reference_group TEXT COLLATE "C" NOT NULL,
  reference_resource TEXT COLLATE "C" NOT NULL,
  description TEXT COLLATE "C" NOT NULL,
  since BIGINT NOT NULL,
  released_at BIGINT,
  version BIGINT NOT NULL
);
CREATE INDEX prefixes_by_version ON prefixes (version);
CREATE INDEX prefixes_of_claim ON prefixes (org, claim);
CREATE INDEX prefixes_released ON prefixes (org, prefix) WHERE released_at IS NOT NULL;

-- One row. An allocation updates it first and so holds it until the commit: one allocation at a time, and every
-- process sees what changed since the version it knows.
CREATE TABLE space_head (
  id BIGINT PRIMARY KEY CHECK (id = 1),
  version BIGINT NOT NULL,
  last_id BIGINT NOT NULL
);
INSERT INTO space_head (id, version, last_id) VALUES (1, 0, 0);
