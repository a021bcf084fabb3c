-- Objects that name owners or wait for their dependents: the garbage collector reads them without the others.
CREATE INDEX object_metadata_linked ON object_metadata (org, kind, name)
  WHERE (strpos(json, '"ownerReferences"') > 0 OR strpos(json, '"foregroundDeletion"') > 0 OR strpos(json, '"orphan"') > 0);
CREATE INDEX network_claims_linked ON network_claims (org, name)
  WHERE (strpos(metadata, '"ownerReferences"') > 0 OR strpos(metadata, '"foregroundDeletion"') > 0 OR strpos(metadata, '"orphan"') > 0);
