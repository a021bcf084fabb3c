//! `/tools/fqdn`: one host name asked uncached from every place we have, the chain of aliases behind it, and when its
//! records may be changed. Works without script; the browser adds its own answers after hydration.
