-- Organisations. The first one exists from the first start; its name can be changed.
CREATE TABLE orgs (
  id INTEGER PRIMARY KEY,
  org_key TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

-- People. The e-mail address is in lower case.
CREATE TABLE users (
  id TEXT PRIMARY KEY,
  email TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  password TEXT,
  totp_secret TEXT,
  totp_step INTEGER,
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE recovery_codes (
  user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  hash TEXT NOT NULL,
  PRIMARY KEY (user_id, hash)
) STRICT;

CREATE TABLE members (
  org INTEGER NOT NULL REFERENCES orgs (id) ON DELETE CASCADE,
  user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  role TEXT NOT NULL,
  since INTEGER NOT NULL,
  PRIMARY KEY (org, user_id)
) STRICT;
CREATE INDEX members_of_user ON members (user_id);

-- Secrets are stored as hashes only; id is what lists and revocations name.
CREATE TABLE sessions (
  hash TEXT PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  org INTEGER NOT NULL,
  client TEXT NOT NULL,
  address TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  seen_at INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_of_user ON sessions (user_id);
CREATE INDEX sessions_by_age ON sessions (seen_at);

CREATE TABLE api_tokens (
  hash TEXT PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  org INTEGER NOT NULL REFERENCES orgs (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  scope TEXT NOT NULL,
  created_by TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  last_used_at INTEGER
) STRICT;
CREATE INDEX api_tokens_of_org ON api_tokens (org);

-- Links that work once: set-up, password reset, invitation.
CREATE TABLE one_time_links (
  hash TEXT PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  org INTEGER,
  payload TEXT NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX one_time_links_of_org ON one_time_links (org, kind);

-- Failed attempts by account and by address.
CREATE TABLE throttles (
  key TEXT PRIMARY KEY,
  failures INTEGER NOT NULL,
  last_at INTEGER NOT NULL
) STRICT;

CREATE TABLE audit_log (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  org INTEGER NOT NULL,
  at INTEGER NOT NULL,
  who TEXT NOT NULL,
  address TEXT NOT NULL,
  action TEXT NOT NULL,
  object TEXT NOT NULL,
  old_value TEXT,
  new_value TEXT
) STRICT;
CREATE INDEX audit_log_of_org ON audit_log (org, id);
