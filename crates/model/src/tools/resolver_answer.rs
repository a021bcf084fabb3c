//! What a recursive resolver answered, however it was asked.

use crate::dns::{Record, Soa};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// How a resolver was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Carried {
    /// DNS over HTTPS (RFC 8484).
    Doh,
    /// The JSON form over HTTPS, asked by a browser.
    Json,
    /// DNS over TLS (RFC 7858).
    Dot,
    /// UDP.
    Udp,
    /// TCP.
    Tcp,
}

impl Carried {
    /// The word people see.
    pub fn label(self) -> &'static str {
        match self {
            Carried::Doh => "DoH",
            Carried::Json => "DoH (JSON)",
            Carried::Dot => "DoT",
            Carried::Udp => "UDP",
            Carried::Tcp => "TCP",
        }
    }
}

/// An extended DNS error (RFC 8914).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtendedError {
    /// INFO-CODE.
    pub code: u16,
    /// EXTRA-TEXT, often empty.
    #[serde(default)]
    pub text: String,
}

/// What one resolver said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResolverAnswer {
    /// Id of the resolver's row.
    pub resolver: String,
    /// How it was asked; `None` when no way led to it.
    pub carried: Option<Carried>,
    /// RCODE mnemonic (`NOERROR`, `NXDOMAIN`, ...); `None` without an answer.
    pub rcode: Option<String>,
    /// Answer section: aliases and records.
    pub records: Vec<Record>,
    /// TTL left: the smallest of the answer section, seconds.
    pub ttl: Option<u32>,
    /// SOA of a negative answer; its TTL is what is left (RFC 2308 section 5).
    pub soa: Option<Soa>,
    /// Extended errors.
    pub errors: Vec<ExtendedError>,
    /// Milliseconds of the answer.
    pub latency_ms: Option<f64>,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// Why there is no answer, in words; with other ways tried before, also why those failed.
    pub error: Option<String>,
}
