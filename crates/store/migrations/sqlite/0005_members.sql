-- Account or token that acted: names are not unique.
ALTER TABLE audit_log ADD COLUMN actor_id TEXT;
-- First characters of a token, to recognise it by.
ALTER TABLE api_tokens ADD COLUMN hint TEXT NOT NULL DEFAULT '';
-- How the owner of a session signed in.
ALTER TABLE sessions ADD COLUMN method TEXT NOT NULL DEFAULT 'password';

-- Answers to requests that must not be carried out twice (header Idempotency-Key), kept for a day.
CREATE TABLE idempotency_keys (
  org INTEGER NOT NULL,
  key TEXT NOT NULL,
  request TEXT NOT NULL,
  answer TEXT,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (org, key)
) STRICT;
