//! Certificates and backends as a probe observed them, and whether a certificate covers a host name (RFC 9525). In: what
//! `crates/probe` read from TLS, HTTP and the DNS. Out: the types that are shown, and the judgement in [`judge`].

pub mod caa;
mod carried;
pub mod hosts;
pub mod judge;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// An X.509 certificate (RFC 5280), as far as it is shown and judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certificate {
    /// Distinguished name of the subject.
    pub subject: String,
    /// Distinguished name of the issuer.
    pub issuer: String,
    /// The issuer's organisation (O), when it names one.
    pub issuer_organisation: Option<String>,
    /// DNS names of the subject alternative name, lower case.
    pub names: Vec<String>,
    /// IP addresses of the subject alternative name.
    pub addresses: Vec<IpAddr>,
    /// Valid from.
    pub not_before: Timestamp,
    /// Valid until.
    pub not_after: Timestamp,
    /// Key type: `RSA`, `ECDSA`, `Ed25519`, or the algorithm's object identifier.
    pub key_type: String,
    /// Key size in bits; 0 where it is not known.
    pub key_bits: u32,
    /// Serial number in hexadecimal.
    pub serial: String,
    /// SHA-256 of the DER encoding in hexadecimal.
    pub sha256: String,
}

impl Certificate {
    /// Whether the certificate is for `host`, an A-label name or an IP address (RFC 9525 section 6). The common name
    /// does not count.
    pub fn covers(&self, host: &str) -> bool {
        match host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
            Ok(ip) => self.addresses.contains(&ip),
            Err(_) => self.names.iter().any(|pattern| name_matches(pattern, host)),
        }
    }

    /// Whether subject and issuer are the same.
    pub fn is_self_issued(&self) -> bool {
        self.subject == self.issuer
    }
}

/// Whether a DNS name of a certificate matches a host name (RFC 9525 section 6.3): a wildcard is a whole left-most label
/// and stands for exactly one label.
pub fn name_matches(pattern: &str, host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host);
    let pattern = pattern.strip_suffix('.').unwrap_or(pattern);
    if host.is_empty() {
        return false;
    }
    match pattern.strip_prefix("*.") {
        Some(parent) => {
            let rest = host.split_once('.').filter(|(first, _)| !first.is_empty()).map(|(_, rest)| rest);
            !parent.is_empty()
                && !parent.contains('*')
                && rest.is_some_and(|r| r.eq_ignore_ascii_case(parent))
        }
        None => !pattern.contains('*') && pattern.eq_ignore_ascii_case(host),
    }
}

/// Whether the chain leads to a trusted authority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// It does.
    Trusted,
    /// A certificate of the chain is past its end.
    Expired,
    /// A certificate of the chain is not valid yet.
    NotYetValid,
    /// The server's certificate is signed by its own key.
    SelfSigned,
    /// The server sent its own certificate alone, and no trusted authority signed that: an intermediate is missing, or
    /// the authority is a private one.
    Incomplete,
    /// The chain ends at an authority that is not trusted.
    UnknownIssuer,
    /// Anything else, in the detail.
    Invalid,
}

/// TLS with one address of the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsObservation {
    /// The address.
    pub address: IpAddr,
    /// Why there was no handshake; nothing below is known then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// `TLSv1.3` or `TLSv1.2`.
    pub version: Option<String>,
    /// The protocol the server chose of `h2` and `http/1.1` (ALPN, RFC 7301).
    pub alpn: Option<String>,
    /// Certificates as the server sent them, its own first.
    pub chain: Vec<Certificate>,
    /// Whether the first certificate is for the host.
    pub covers_host: bool,
    /// Whether the chain is trusted; nothing without a certificate.
    pub trust: Option<Trust>,
    /// Why it is not, in the verifier's words.
    pub trust_detail: String,
    /// Whether an OCSP answer was stapled (RFC 6066 section 8).
    pub ocsp_stapled: bool,
}

/// One HTTP request and its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hop {
    /// The URL asked for.
    pub url: String,
    /// Status code.
    pub status: Option<u16>,
    /// Where it redirects to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// Why there was no answer, or why the redirect was not followed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What a URL answers, redirects followed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpObservation {
    /// Requests in order.
    pub hops: Vec<Hop>,
    /// Strict-Transport-Security of the first answer (RFC 6797).
    pub hsts: Option<String>,
    /// Alt-Svc of the first answer (RFC 7838).
    pub alt_svc: Option<String>,
}

impl HttpObservation {
    /// Whether HTTP/3 is offered (RFC 9114 section 3.1.1).
    pub fn offers_h3(&self) -> bool {
        let value = self.alt_svc.as_deref().unwrap_or_default();
        value.split(',').any(|service| service.trim_start().starts_with("h3="))
    }
}

/// Which authorities may issue for the host (RFC 8659), and whether the certificate's may.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaaObservation {
    /// The name whose CAA records count; nothing where no name up to the top has any.
    pub found_at: Option<String>,
    /// The records, as text.
    pub records: Vec<String>,
    /// Names by which the issuer of the certificate is known in CAA records; empty where no source tells.
    pub issuer_names: Vec<String>,
    /// Whether the records let the issuer issue this certificate now; nothing where that is not known.
    pub permits: Option<bool>,
    /// Why the records are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A CNAME or NS record whose target is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dangling {
    /// `CNAME` or `NS`.
    pub rtype: String,
    /// The name that has the record.
    pub owner: String,
    /// The target.
    pub target: String,
    /// The platform at which anyone may claim the target; nothing where the target merely does not exist.
    pub service: Option<String>,
    /// Who says so of the platform.
    pub source: Option<String>,
}

/// Everything a probe observed, and what it means.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// Host, A-labels.
    pub host: String,
    /// TLS port.
    pub port: u16,
    /// When.
    pub at: Timestamp,
    /// Why the host has no addresses that may be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// TLS by address.
    pub tls: Vec<TlsObservation>,
    /// `https://HOST/`; nothing where the host has no address.
    pub https: Option<HttpObservation>,
    /// `http://HOST/`; nothing where the host has no address.
    pub http: Option<HttpObservation>,
    /// The readiness path, when one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readiness: Option<Hop>,
    /// CAA; nothing where no certificate was seen.
    pub caa: Option<CaaObservation>,
    /// Records that lead nowhere.
    pub dangling: Vec<Dangling>,
    /// Judgement, worst first.
    pub findings: Vec<judge::ProbeFinding>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_are_one_whole_left_most_label() {
        for (pattern, host) in [
            ("www.example.com", "WWW.Example.com."),
            ("*.example.com", "a.example.com"),
            ("*.example.com", "xn--bcher-kva.example.com"),
            ("*.EXAMPLE.com", "a.example.COM"),
        ] {
            assert!(name_matches(pattern, host), "{pattern} {host}");
        }
        for (pattern, host) in [
            ("*.example.com", "example.com"),
            ("*.example.com", "a.b.example.com"),
            ("*.example.com", ".example.com"),
            ("w*.example.com", "www.example.com"),
            ("*w.example.com", "www.example.com"),
            ("www.*.com", "www.example.com"),
            ("*.*.com", "a.b.com"),
            ("*", "com"),
            ("*.", "com"),
            ("*.com.evil", "a.com"),
            ("", ""),
            ("*example.com", "aexample.com"),
        ] {
            assert!(!name_matches(pattern, host), "{pattern} {host}");
        }
    }

    #[test]
    fn http3_is_read_from_alt_svc() {
        let with = |value: &str| HttpObservation { hops: vec![], hsts: None, alt_svc: Some(value.into()) };
        assert!(with("h2=\":443\", h3=\":443\"; ma=86400").offers_h3());
        assert!(!with("clear").offers_h3() && !with("h2=\"h3=\"").offers_h3());
    }
}
