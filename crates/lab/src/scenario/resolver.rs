//! The tables of a scenario about recursive resolvers and about who announces which addresses.
//! In: `[[resolver]]`, `[[origin]]`, `networks` of a provider. Out: tables that the world and the resolvers are built from.

use std::{collections::BTreeMap, net::IpAddr};

use serde::{Deserialize, Serialize};

fn yes() -> bool {
    true
}

/// What a resolver withholds as a service, as it advertises itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Filtering {
    /// Nothing.
    #[default]
    None,
    /// Malware and phishing.
    Malware,
    /// Advertisements and trackers.
    Ads,
    /// What is not for children.
    Family,
}

/// What a filtering resolver says instead of the truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FilterMode {
    /// NXDOMAIN without an SOA.
    Nxdomain,
    /// `0.0.0.0` and `::`.
    Zero,
    /// NXDOMAIN with the extended error 15, Blocked (RFC 8914).
    Blocked,
    /// `0.0.0.0` and `::` with the extended error 17, Filtered.
    Filtered,
}

/// How a resolver fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Failing {
    /// SERVFAIL to everything.
    Servfail,
    /// It takes questions and never answers.
    Timeout,
    /// Nothing is there: datagrams vanish, connections are closed at once.
    Dead,
    /// HTTP status 500 over DNS over HTTPS; the rest works.
    #[serde(rename = "http-500")]
    Http500,
}

/// A way to ask a resolver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// UDP and TCP on the port of all DNS servers.
    Dns,
    /// DNS over HTTPS (RFC 8484), with and without TLS.
    Doh,
    /// The JSON form, at the same servers.
    Json,
    /// DNS over TLS (RFC 7858).
    Dot,
}

fn all_transports() -> Vec<Transport> {
    vec![Transport::Dns, Transport::Doh, Transport::Json, Transport::Dot]
}

/// A public recursive resolver.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resolver {
    /// Key used by commands.
    pub id: String,
    /// Name shown to people.
    pub name: String,
    /// Host name under `lab`; `ID.resolver.lab`, when absent.
    #[serde(default)]
    pub host: String,
    /// Who runs it.
    #[serde(default)]
    pub operator: String,
    /// Country of the operator, as it is shown.
    #[serde(default)]
    pub country: String,
    /// What it advertises to withhold.
    #[serde(default)]
    pub filtering: Filtering,
    /// It sends the client's subnet to authoritative servers; only stated.
    #[serde(default)]
    pub ecs: bool,
    /// It refuses names whose DNSSEC is bogus.
    #[serde(default = "yes")]
    pub validates: bool,
    /// How it can be asked.
    #[serde(default = "all_transports")]
    pub transports: Vec<Transport>,
    /// What it says instead of the truth, by name; the names below are meant too.
    #[serde(default)]
    pub filter: BTreeMap<String, FilterMode>,
    /// How it fails.
    #[serde(default)]
    pub failing: Option<Failing>,
    /// Other and legitimate answers for clients of this place: `NAME TTL TYPE DATA`.
    #[serde(default)]
    pub geo: Vec<String>,
    /// Positive answers are kept at least so many seconds.
    #[serde(default)]
    pub min_ttl: Option<u32>,
    /// Answers are kept at most so many seconds.
    #[serde(default)]
    pub max_ttl: Option<u32>,
    /// Negative answers are kept at most so many seconds.
    #[serde(default)]
    pub max_negative_ttl: Option<u32>,
    /// It answers after so many milliseconds.
    #[serde(default)]
    pub delay: u32,
    /// Learnt before something changed, with what is left of the TTL: `NAME TTL TYPE DATA`.
    #[serde(default)]
    pub cached: Vec<String>,
    /// Asked for before it existed: `NAME TYPE [nxdomain|nodata] [SECONDS]`.
    #[serde(default)]
    pub missing: Vec<String>,
}

/// A prefix and the autonomous system that announces it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// `127.61.0.0/24`, or IPv6; the length is a multiple of 8 (IPv6: of 4).
    pub prefix: String,
    /// Number of the autonomous system.
    pub asn: u32,
    /// ISO 3166 alpha-2.
    #[serde(default)]
    pub country: String,
    /// Regional registry, as the origin zone writes it, for example `ripencc`.
    #[serde(default)]
    pub registry: String,
    /// Date of the allocation.
    #[serde(default)]
    pub date: String,
    /// Name of the autonomous system.
    #[serde(default)]
    pub name: String,
}

impl Network {
    /// Address and length.
    ///
    /// # Errors
    /// A sentence, when it is no prefix or one that zones in reverse order can't hold.
    pub fn parts(&self) -> Result<(IpAddr, u8), String> {
        let wrong = |why: &str| format!("prefix `{}`: {why}", self.prefix);
        let (ip, length) = self.prefix.split_once('/').ok_or_else(|| wrong("write ADDRESS/LENGTH"))?;
        let ip: IpAddr = ip.parse().map_err(|_| wrong("not an address"))?;
        let length: u8 = length.parse().map_err(|_| wrong("not a length"))?;
        let (step, most) = if ip.is_ipv4() { (8, 32) } else { (4, 128) };
        if length == 0 || length > most || !length.is_multiple_of(step) {
            return Err(wrong("the length is a multiple of 8 (IPv6: of 4)"));
        }
        let bits = match ip {
            IpAddr::V4(ip) => u128::from(ip.to_bits()) << 96,
            IpAddr::V6(ip) => ip.to_bits(),
        };
        if length < 128 && bits << length != 0 {
            return Err(wrong("bits are set behind the prefix"));
        }
        Ok((ip, length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_read_or_refused() {
        let network = |prefix: &str| Network {
            prefix: prefix.into(),
            asn: 1,
            country: String::new(),
            registry: String::new(),
            date: String::new(),
            name: String::new(),
        };
        for bad in
            ["127.0.0.1", "127.0.0.0/25", "127.0.0.1/24", "x/8", "127.0.0.0/40", "2001:db8::/33", "0.0.0.0/0"]
        {
            assert!(network(bad).parts().is_err(), "{bad}");
        }
        assert_eq!(network("127.61.0.0/24").parts().unwrap().1, 24);
        assert_eq!(network("2001:db8::/36").parts().unwrap().1, 36);
    }
}
