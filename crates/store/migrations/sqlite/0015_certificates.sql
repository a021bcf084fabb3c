-- When the certificate that ends first does, drawn out of row_json for the list index.
ALTER TABLE items ADD COLUMN certificate_ends INTEGER;
UPDATE items SET certificate_ends = CAST(strftime('%s', json_extract(row_json, '$.certificate_ends')) AS INTEGER) * 1000000
  WHERE row_json LIKE '%"certificate_ends":"%';
