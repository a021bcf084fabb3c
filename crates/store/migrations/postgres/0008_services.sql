-- Services set up on domains, checked again on schedule, and links to a page for people without an account.
CREATE TABLE services (
    id TEXT PRIMARY KEY,
    org BIGINT NOT NULL,
    name TEXT NOT NULL,
    version BIGINT NOT NULL,
    json TEXT NOT NULL
);
CREATE INDEX services_of_name ON services (org, name);

CREATE TABLE connect_links (
    token_hash TEXT PRIMARY KEY,
    org BIGINT NOT NULL,
    name TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    json TEXT NOT NULL
);
CREATE INDEX connect_links_of_name ON connect_links (org, name);
