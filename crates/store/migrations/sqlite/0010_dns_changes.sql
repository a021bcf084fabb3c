-- When the newest DNS change of a holding was detected; of those recorded before, from the event log.
ALTER TABLE items ADD COLUMN last_dns_change_at INTEGER;
UPDATE items SET last_dns_change_at = (
  SELECT MAX(e.at) FROM events e WHERE e.org = items.org AND e.name = items.name
    AND e.kind IN ('record_changed', 'provider_changed', 'dnssec_status_changed'));
