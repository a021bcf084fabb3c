-- The addresses that A and AAAA records of a domain hold, by address: which domains point into a prefix. `address` is
-- "4" or "6" and the hexadecimal digits, so that a prefix is one range.
CREATE TABLE observed_addresses (
  address TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  owner TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (address, name, owner)
);
CREATE INDEX observed_addresses_by_name ON observed_addresses (name);
