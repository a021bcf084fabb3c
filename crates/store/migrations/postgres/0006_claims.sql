-- Claims of organisations to domains. json is the claim, round the last answers of the authoritative servers.
-- The id is random and names the file of an HTTP proof; domain is the registered domain the name belongs to.
CREATE TABLE claims (
  org BIGINT NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  domain TEXT COLLATE "C" NOT NULL,
  id TEXT COLLATE "C" NOT NULL UNIQUE,
  version BIGINT NOT NULL,
  standing TEXT COLLATE "C" NOT NULL,
  json TEXT COLLATE "C" NOT NULL,
  round TEXT COLLATE "C",
  created_at BIGINT NOT NULL,
  reviewed_at BIGINT NOT NULL,
  PRIMARY KEY (org, name)
);
CREATE INDEX claims_of_name ON claims (name);
CREATE INDEX claims_of_domain ON claims (domain);
