-- Passkeys of people. credential: the identifier the authenticator gave it (base64url); site: the origin it was made at;
-- data: public key and counter, as JSON.
CREATE TABLE passkeys (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  credential TEXT NOT NULL UNIQUE,
  site TEXT NOT NULL,
  name TEXT NOT NULL,
  data TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  last_used_at BIGINT
);
CREATE INDEX passkeys_of_user ON passkeys (user_id);

-- Challenges that were sent to a browser and not answered yet. hash: of the session (adding a passkey) or of a cookie
-- (sign-in) that the answer has to come with.
CREATE TABLE passkey_challenges (
  hash TEXT PRIMARY KEY,
  state TEXT NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE INDEX passkey_challenges_by_end ON passkey_challenges (expires_at);
