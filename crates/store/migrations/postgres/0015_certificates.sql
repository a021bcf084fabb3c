-- When the certificate that ends first does, drawn out of row_json for the list index.
ALTER TABLE items ADD COLUMN certificate_ends BIGINT;
UPDATE items SET certificate_ends = (EXTRACT(EPOCH FROM (row_json::json ->> 'certificate_ends')::timestamptz) * 1000000)::bigint
  WHERE row_json LIKE '%"certificate_ends":"%';
