-- Features with their lifecycle (JSON), and processes that announce themselves.
CREATE TABLE features (
  org BIGINT NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  rv BIGINT NOT NULL,
  metadata TEXT COLLATE "C" NOT NULL,
  json TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (org, name)
);
CREATE TABLE processes (
  id TEXT COLLATE "C" PRIMARY KEY,
  seen_at BIGINT NOT NULL,
  json TEXT COLLATE "C" NOT NULL
);

-- Claims about this installation: its identity, its set, and what operators add.
CREATE TABLE cluster_claims (
  name TEXT COLLATE "C" PRIMARY KEY,
  rv BIGINT NOT NULL,
  metadata TEXT COLLATE "C" NOT NULL,
  value TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL
);

-- Points of presence; the tokens they join with, each used once; and what they are asked, kept for a minute.
CREATE TABLE agents (
  id TEXT COLLATE "C" PRIMARY KEY,
  version BIGINT NOT NULL,
  seen_at BIGINT NOT NULL,
  json TEXT COLLATE "C" NOT NULL
);
CREATE TABLE agent_tokens (
  token_hash TEXT COLLATE "C" PRIMARY KEY,
  expires_at BIGINT NOT NULL,
  used_at BIGINT,
  json TEXT COLLATE "C" NOT NULL
);
CREATE TABLE agent_work (
  id TEXT COLLATE "C" PRIMARY KEY,
  agent TEXT COLLATE "C" NOT NULL,
  expires_at BIGINT NOT NULL,
  taken_at BIGINT,
  question TEXT COLLATE "C" NOT NULL,
  answer TEXT COLLATE "C"
);
CREATE INDEX agent_work_waiting ON agent_work (agent, expires_at) WHERE taken_at IS NULL;

-- The identity (id.k8s.io) of the installation that detected an event.
ALTER TABLE events ADD COLUMN cluster TEXT COLLATE "C";
