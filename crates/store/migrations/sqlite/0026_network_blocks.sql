-- Blocks of address space that an organisation lists by itself, before any claim names them.
CREATE TABLE network_blocks (
  org INTEGER NOT NULL,
  prefix TEXT NOT NULL,
  description TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (org, prefix)
) STRICT;

-- Who released a prefix.
ALTER TABLE prefixes ADD COLUMN released_by TEXT;
