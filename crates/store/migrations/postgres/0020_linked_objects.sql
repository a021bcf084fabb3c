-- Objects that name owners or wait for their dependents: the garbage collector reads them without the others.
CREATE INDEX object_metadata_linked ON object_metadata (org, kind, name)
  WHERE (strpos(json, '"ownerReferences"') > 0 OR strpos(json, '"foregroundDeletion"') > 0 OR strpos(json, '"orphan"') > 0);
CREATE INDEX network_claims_linked ON network_claims (org, name)
  WHERE (strpos(metadata, '"ownerReferences"') > 0 OR strpos(metadata, '"foregroundDeletion"') > 0 OR strpos(metadata, '"orphan"') > 0);

-- resourceVersion of an event: the position of the newest log entry about it; NULL while that is its own, which is its id.
ALTER TABLE events ADD COLUMN rv BIGINT;
UPDATE events SET rv = c.rv
  FROM (SELECT org, name, MAX(rv) AS rv FROM change_log WHERE kind = 'event' AND op = 'update' GROUP BY org, name) AS c
  WHERE events.org = c.org AND events.id = CAST(c.name AS BIGINT);
