//! Registration data of any domain: WHOIS and RDAP answers read into [`model::registration::Registration`], and the
//! client that asks for them politely. In: a name; out: what registry and registrar state, with provenance.
//! RFC 3912 (WHOIS), RFC 9082/9083 (RDAP), RFC 9224 (bootstrap), RFC 8056 (status words), RFC 9537 (redaction).

#[cfg(test)]
extern crate self as registration;

pub mod client;
mod data;
pub mod rdap;
pub mod whois;

pub use client::{
    BootstrapCache, Client, Failure, FailureKind, Limits, LimitsError, LookupError, LookupResult, Pace,
    ServerDate, Settings, SettingsError,
};
pub use data::registrars::{registrar_name, registrar_rdap};
pub use rdap::{RdapReading, parse_rdap, read_rdap};
pub use whois::{WhoisReading, parse_whois, publishes_no_expiration, reading_to_json};
