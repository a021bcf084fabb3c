-- Features with their lifecycle (JSON), and processes that announce themselves.
CREATE TABLE features (
  org INTEGER NOT NULL,
  name TEXT NOT NULL,
  rv INTEGER NOT NULL,
  metadata TEXT NOT NULL,
  json TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (org, name)
) STRICT;
CREATE TABLE processes (
  id TEXT PRIMARY KEY,
  seen_at INTEGER NOT NULL,
  json TEXT NOT NULL
) STRICT;

-- Claims about this installation: its identity, its set, and what operators add.
CREATE TABLE cluster_claims (
  name TEXT PRIMARY KEY,
  rv INTEGER NOT NULL,
  metadata TEXT NOT NULL,
  value TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

-- Points of presence; the tokens they join with, each used once; and what they are asked, kept for a minute.
CREATE TABLE agents (
  id TEXT PRIMARY KEY,
  version INTEGER NOT NULL,
  seen_at INTEGER NOT NULL,
  json TEXT NOT NULL
) STRICT;
CREATE TABLE agent_tokens (
  token_hash TEXT PRIMARY KEY,
  expires_at INTEGER NOT NULL,
  used_at INTEGER,
  json TEXT NOT NULL
) STRICT;
CREATE TABLE agent_work (
  id TEXT PRIMARY KEY,
  agent TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  taken_at INTEGER,
  question TEXT NOT NULL,
  answer TEXT
) STRICT;
CREATE INDEX agent_work_waiting ON agent_work (agent, expires_at) WHERE taken_at IS NULL;

-- The identity (id.k8s.io) of the installation that detected an event.
ALTER TABLE events ADD COLUMN cluster TEXT;
