//! Registries and registrars: the registration of a domain in RDAP (RFC 9082, 9083) and in five WHOIS dialects (RFC 3912).

pub(crate) mod facts;
pub(crate) mod rdap;
pub(crate) mod rdap_service;
pub(crate) mod whois;
pub(crate) mod whois_service;
