//! Challenges: a nonce bound to one organisation and one domain, and the record that proves control of it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Label below the domain at which a challenge is published.
pub const LABEL: &str = "_domainscope-challenge";
/// Prefix of the value of a TXT record at the apex, where the challenge is one value among others.
pub const APEX_PREFIX: &str = "domainscope-verification=";
/// Path of the HTTP challenge, followed by the claim's identifier.
pub const WELL_KNOWN: &str = "/.well-known/domainscope-challenge/";
/// Random octets a nonce is made of: 160 bits.
pub const NONCE_OCTETS: usize = 20;

const BASE32: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// An unguessable value: 160 bits in lower-case base32 (RFC 4648 section 6) without padding, 32 characters. It is a
/// valid DNS label, so that it can be the first label of a CNAME target.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nonce(String);

impl Nonce {
    /// The nonce of 20 octets from a cryptographic random source.
    pub fn new(random: [u8; NONCE_OCTETS]) -> Self {
        let mut text = String::with_capacity(32);
        for five in random.chunks(5) {
            let bits = five.iter().fold(0_u64, |all, octet| (all << 8) | u64::from(*octet));
            for place in (0..8).rev() {
                // Five bits are always below 32, the length of the table.
                let index = usize::try_from((bits >> (place * 5)) & 31).unwrap_or(0);
                text.push(char::from(BASE32[index]));
            }
        }
        Nonce(text)
    }

    /// Takes a nonce from the store; no check is made.
    pub fn trusted(text: &str) -> Self {
        Nonce(text.to_string())
    }

    /// The 32 characters.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How control is proven.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// TXT at `_domainscope-challenge.<domain>`: the preferred way.
    Txt,
    /// TXT at the domain itself, `domainscope-verification=<nonce>`.
    TxtApex,
    /// CNAME at `_domainscope-challenge.<domain>` to `<nonce>.<suffix>`; compared as data, never followed.
    Cname,
    /// A file on the web server: proves that host only.
    Http,
}

impl Method {
    /// Every method, preferred first.
    pub const ALL: [Method; 4] = [Method::Txt, Method::TxtApex, Method::Cname, Method::Http];

    /// The stable word.
    pub fn as_str(self) -> &'static str {
        match self {
            Method::Txt => "txt",
            Method::TxtApex => "txt_apex",
            Method::Cname => "cname",
            Method::Http => "http",
        }
    }

    /// Reads the stable word.
    pub fn from_word(word: &str) -> Option<Method> {
        Method::ALL.into_iter().find(|method| method.as_str() == word)
    }

    /// What people call it.
    pub fn label(self) -> &'static str {
        match self {
            Method::Txt => "TXT record (recommended)",
            Method::TxtApex => "TXT record at the domain itself",
            Method::Cname => "CNAME record",
            Method::Http => "File on the web server",
        }
    }

    /// True when the proof is read from the authoritative name servers. Others prove a host only and never win
    /// against a DNS proof.
    pub fn is_dns(self) -> bool {
        self != Method::Http
    }
}

/// What one organisation must publish to prove control of one domain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Challenge {
    /// The domain, A-labels, lower case, without the final dot.
    pub domain: String,
    /// The value only this organisation was given for this domain.
    pub nonce: Nonce,
    /// When it was issued.
    pub issued_at: Timestamp,
    /// From then on it proves nothing unless it was proven before.
    pub expires_at: Timestamp,
}

/// A record (or file) to publish.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExpectedRecord {
    /// Owner name, absolute without the final dot; for HTTP the URL.
    pub name: String,
    /// Record type in capitals; `HTTP` for a file.
    pub rtype: String,
    /// The value: the text of a TXT record, the target of a CNAME, the body of the file.
    pub value: String,
}

impl Challenge {
    /// What to publish by a method. `suffix` is the operator's domain for CNAME challenges; without one that method
    /// is not offered. `id` names the claim in the path of the HTTP challenge.
    pub fn expected(&self, method: Method, suffix: Option<&str>, id: &str) -> Option<ExpectedRecord> {
        let (domain, nonce) = (&self.domain, &self.nonce);
        let (name, rtype, value) = match method {
            Method::Txt => (format!("{LABEL}.{domain}"), "TXT", nonce.to_string()),
            Method::TxtApex => (domain.clone(), "TXT", format!("{APEX_PREFIX}{nonce}")),
            Method::Cname => {
                let suffix = suffix?.trim_end_matches('.').to_ascii_lowercase();
                (format!("{LABEL}.{domain}"), "CNAME", format!("{nonce}.{suffix}"))
            }
            Method::Http => (format!("http://{domain}{WELL_KNOWN}{id}"), "HTTP", nonce.to_string()),
        };
        Some(ExpectedRecord { name, rtype: rtype.into(), value })
    }

    /// True when the challenge can no longer be answered for the first time.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        now >= self.expires_at
    }
}
