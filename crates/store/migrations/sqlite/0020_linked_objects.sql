-- Objects that name owners or wait for their dependents: the garbage collector reads them without the others.
CREATE INDEX object_metadata_linked ON object_metadata (org, kind, name)
  WHERE (instr(json, '"ownerReferences"') > 0 OR instr(json, '"foregroundDeletion"') > 0 OR instr(json, '"orphan"') > 0);
CREATE INDEX network_claims_linked ON network_claims (org, name)
  WHERE (instr(metadata, '"ownerReferences"') > 0 OR instr(metadata, '"foregroundDeletion"') > 0 OR instr(metadata, '"orphan"') > 0);
