-- Claims of organisations to domains. json is the claim, round the last answers of the authoritative servers.
-- The id is random and names the file of an HTTP proof; domain is the registered domain the name belongs to.
CREATE TABLE claims (
  org INTEGER NOT NULL,
  name TEXT NOT NULL,
  domain TEXT NOT NULL,
  id TEXT NOT NULL UNIQUE,
  version INTEGER NOT NULL,
  standing TEXT NOT NULL,
  json TEXT NOT NULL,
  round TEXT,
  created_at INTEGER NOT NULL,
  reviewed_at INTEGER NOT NULL,
  PRIMARY KEY (org, name)
) STRICT;
CREATE INDEX claims_of_name ON claims (name);
CREATE INDEX claims_of_domain ON claims (domain);
