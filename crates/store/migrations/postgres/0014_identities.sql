-- Accounts at OpenID Connect providers, and whom they sign in here. An account here has one at each provider.
-- (passkey_challenges also keeps sign-ins that wait for a provider's answer.)
CREATE TABLE identities (
  issuer TEXT COLLATE "C" NOT NULL,
  subject TEXT COLLATE "C" NOT NULL,
  user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (issuer, subject),
  UNIQUE (issuer, user_id)
);
CREATE INDEX identities_of_user ON identities (user_id);
