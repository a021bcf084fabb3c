//! What faults are attached to, and the set of those in force.
//! In: words such as `ns1.a.example/b.example` or `rdap:io`. Out: [`Target`]s, and the faults that apply to a question.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{fault::Fault, names};

/// What a fault is attached to. Text forms: `HOST` (a DNS server), `HOST/ZONE` (a server, for one zone),
/// `DOMAIN` (zone data, or all servers of the zone), `rdap:ID`, `whois:ID` (a TLD or a registrar),
/// `rdap:ID/DOMAIN`, `whois:ID/DOMAIN`, `web:HOST`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Target {
    /// `dns`, `rdap`, `whois` or `web`.
    pub service: Service,
    /// The server, the domain, the TLD or the registrar.
    pub name: String,
    /// Only for this zone or domain.
    pub only: Option<String>,
}

/// The kinds of servers that can misbehave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Service {
    /// Authoritative DNS.
    Dns,
    /// RDAP over HTTPS.
    Rdap,
    /// WHOIS, port 43.
    Whois,
    /// Web servers.
    Web,
}

impl Service {
    fn prefix(self) -> &'static str {
        match self {
            Self::Dns => "",
            Self::Rdap => "rdap:",
            Self::Whois => "whois:",
            Self::Web => "web:",
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.service.prefix(), self.name)?;
        self.only.as_ref().map_or(Ok(()), |only| write!(f, "/{only}"))
    }
}

impl From<Target> for String {
    fn from(target: Target) -> Self {
        target.to_string()
    }
}

impl TryFrom<String> for Target {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (service, rest) = [Service::Rdap, Service::Whois, Service::Web]
            .into_iter()
            .find_map(|service| text.strip_prefix(service.prefix()).map(|rest| (service, rest)))
            .unwrap_or((Service::Dns, text));
        let (name, only) = match rest.split_once('/') {
            Some((name, only)) => (name, Some(names::normal(only)?)),
            None => (rest, None),
        };
        Ok(Self { service, name: names::normal(name)?, only })
    }
}

/// The faults in force, in the order in which they were set.
#[derive(Clone, Debug, Default)]
pub struct Faults(Vec<(Target, Fault)>);

impl Faults {
    /// Adds one; an equal one is kept once.
    pub fn add(&mut self, target: Target, fault: Fault) {
        if !self.0.iter().any(|(t, f)| *t == target && *f == fault) {
            self.0.push((target, fault));
        }
    }

    /// Removes all faults of exactly this target and says how many there were.
    pub fn clear(&mut self, target: &Target) -> usize {
        let before = self.0.len();
        self.0.retain(|(t, _)| t != target);
        before - self.0.len()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &(Target, Fault)> {
        self.0.iter()
    }

    /// Faults of a DNS server (and, if it is asked about a zone, of that pair and of the zone).
    pub fn of_server<'a>(
        &'a self,
        server: &'a str,
        zone: Option<&'a str>,
    ) -> impl Iterator<Item = &'a Fault> {
        self.0.iter().filter(|(t, _)| t.service == Service::Dns).filter_map(move |(t, fault)| {
            let hit = match &t.only {
                None => t.name == server || (zone == Some(t.name.as_str()) && !fault.is_zone_data()),
                Some(only) => t.name == server && zone == Some(only.as_str()),
            };
            hit.then_some(fault)
        })
    }

    /// Zone data faults of a domain.
    pub fn of_domain<'a>(&'a self, domain: &'a str) -> impl Iterator<Item = &'a Fault> {
        self.0
            .iter()
            .filter(move |(t, f)| t.service == Service::Dns && t.name == domain && f.is_zone_data())
            .map(|(_, f)| f)
    }

    /// Faults of a registry service, for a domain it is asked about.
    pub fn of_service<'a>(
        &'a self,
        service: Service,
        id: &'a str,
        domain: Option<&'a str>,
    ) -> impl Iterator<Item = (&'a Target, &'a Fault)> {
        self.0.iter().filter_map(move |(t, fault)| {
            let hit = t.service == service
                && t.name == id
                && t.only.as_deref().is_none_or(|only| domain == Some(only));
            hit.then_some((t, fault))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_have_four_forms() {
        for text in ["ns1.a.example", "ns1.a.example/b.example", "rdap:io", "whois:lantern/b.example"] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), text);
        }
    }
}
