//! Built-in services: descriptions that become template records, to be applied like any template.
//!
//! A description plus what the DNS provider can do ([`Capabilities`]) gives records; [`expected`] renders them for a
//! domain, [`crate::apply`] says what to change in a zone.

mod gateway;
mod mail;
#[cfg(test)]
mod tests;

pub use gateway::{Gateways, gateways};
pub use mail::{Dkim, DkimKey, Dmarc, Mail, MtaSts};

use crate::apply::{Request, apply};
use crate::error::{Error, Result};
use crate::record::Record;
use crate::template_record::TemplateRecord;
use serde_json::{Value, json};
use std::net::IpAddr;

/// What the DNS provider of a domain can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Capabilities {
    /// ALIAS, ANAME or a flattened CNAME at the apex.
    pub alias: bool,
    /// HTTPS records (RFC 9460).
    pub https: bool,
}

/// A web gateway: a load balancer, a CDN, or one server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WebGateway {
    /// Host name of the gateway, to be the target of CNAME or ALIAS records.
    pub target: Option<String>,
    /// Addresses of the gateway, for names that cannot be aliases.
    pub addresses: Vec<IpAddr>,
    /// Names relative to the place of the service: `@`, `www`.
    pub names: Vec<String>,
    /// The service is at the zone apex, so that `@` cannot be a CNAME.
    pub at_apex: bool,
    /// Publish HTTPS records with these protocols (`h2`, `h3`); none if empty.
    pub alpn: Vec<String>,
    /// TTL in seconds.
    pub ttl: u32,
}

/// How ownership of a domain is proved to a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    /// A TXT record that replaces others of the same prefix.
    Txt {
        /// Name relative to the place of the service.
        name: String,
        /// The text.
        text: String,
        /// What the text of earlier proofs for this service begins with.
        prefix: String,
    },
    /// A CNAME with a name made for this purpose.
    Cname {
        /// Name relative to the place of the service.
        name: String,
        /// Target.
        target: String,
    },
}

/// Which certification authorities may issue for a domain (RFC 8659).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Caa {
    /// Authorities that may issue, as they name themselves: `letsencrypt.org`.
    pub issuers: Vec<String>,
    /// Authorities that may issue wildcard certificates; none: as `issuers`.
    pub wildcard_issuers: Vec<String>,
    /// The only account that may ask (RFC 8657).
    pub account: Option<String>,
    /// Where to report violations: `mailto:` or `https:`.
    pub report_to: Option<String>,
}

impl WebGateway {
    /// The records. A name that cannot be an alias gets ALIAS where the provider has it, otherwise addresses. HTTPS
    /// records are beside addresses and aliases, never instead of them.
    ///
    /// # Errors
    /// `InvalidData` when the apex needs addresses and there are none, or there is no target at all.
    pub fn records(&self, provider: Capabilities) -> Result<Vec<TemplateRecord>> {
        let ttl = self.ttl;
        let mut records = Vec::new();
        for name in &self.names {
            let is_apex = self.at_apex && matches!(name.as_str(), "" | "@");
            let mut is_cname = false;
            match &self.target {
                Some(target) if !is_apex => {
                    records.push(json!({"type": "CNAME", "host": name, "pointsTo": target, "ttl": ttl}));
                    is_cname = true;
                }
                Some(target) if provider.alias => {
                    records.push(json!({"type": "APEXCNAME", "pointsTo": target, "ttl": ttl}));
                }
                _ if self.addresses.is_empty() => {
                    return Err(Error::data(
                        "the apex cannot be a CNAME and this provider has no ALIAS: the addresses of the gateway are needed",
                    ));
                }
                _ => records.extend(self.addresses.iter().map(|address| {
                    let kind = if address.is_ipv4() { "A" } else { "AAAA" };
                    json!({"type": kind, "host": name, "pointsTo": address.to_string(), "ttl": ttl})
                })),
            }
            if provider.https && !is_cname && !self.alpn.is_empty() {
                let data = format!("1 . alpn=\"{}\"", self.alpn.join(","));
                records.push(json!({"type": "HTTPS", "host": name, "data": data, "ttl": ttl}));
            }
        }
        list(records)
    }
}

impl Proof {
    /// The record.
    ///
    /// # Errors
    /// None today; the signature is that of the other services.
    pub fn records(&self, ttl: u32) -> Result<Vec<TemplateRecord>> {
        list(vec![match self {
            Self::Txt { name, text, prefix } if prefix.is_empty() => {
                json!({"type": "TXT", "host": name, "data": text, "ttl": ttl})
            }
            Self::Txt { name, text, prefix } => json!({"type": "TXT", "host": name, "data": text, "ttl": ttl,
                "txtConflictMatchingMode": "Prefix", "txtConflictMatchingPrefix": prefix}),
            Self::Cname { name, target } => {
                json!({"type": "CNAME", "host": name, "pointsTo": target, "ttl": ttl})
            }
        }])
    }
}

/// Delegates ACME DNS-01 challenges (RFC 8555 section 8.4) for names, relative to the place of the service, to a zone
/// that the certificate client may write. `target` is the zone; each name has its own host in it.
///
/// # Errors
/// None today; the signature is that of the other services.
pub fn acme_delegation(names: &[String], target: &str, ttl: u32) -> Result<Vec<TemplateRecord>> {
    let target = target.trim_end_matches('.');
    let mut records: Vec<Value> = Vec::new();
    for name in names {
        // A wildcard is validated at the name below the asterisk, so both names share one record.
        let name = name.strip_prefix("*.").unwrap_or(name);
        let (host, label) = match name {
            "" | "@" | "*" => ("_acme-challenge".to_string(), "%fqdn%".to_string()),
            name => (format!("_acme-challenge.{name}"), format!("{name}.%fqdn%")),
        };
        let record =
            json!({"type": "CNAME", "host": host, "pointsTo": format!("{label}.{target}"), "ttl": ttl});
        if !records.contains(&record) {
            records.push(record);
        }
    }
    list(records)
}

impl Caa {
    /// The records at the place of the service.
    ///
    /// # Errors
    /// `InvalidData` when no authority is named, or a value cannot be in a CAA record.
    pub fn records(&self, ttl: u32) -> Result<Vec<TemplateRecord>> {
        if self.issuers.is_empty() {
            return Err(Error::data("name at least one certification authority"));
        }
        let account = self.account.as_ref().map(|uri| format!("; accounturi={uri}")).unwrap_or_default();
        // ";" alone forbids every authority, which have no account then.
        let with_account = |ca: &String| if ca == ";" { ca.clone() } else { format!("{ca}{account}") };
        let issue = self.issuers.iter().map(|ca| ("issue", with_account(ca)));
        let wild = self.wildcard_issuers.iter().map(|ca| ("issuewild", with_account(ca)));
        let report = self.report_to.iter().map(|url| ("iodef", url.clone()));
        let mut records = Vec::new();
        for (tag, value) in issue.chain(wild).chain(report) {
            if value.contains(['"', '\\', '%']) || value.chars().any(char::is_control) {
                return Err(Error::data(format!("{value:?} cannot be in a CAA record")));
            }
            records.push(
                json!({"type": "CAA", "host": "@", "data": format!("0 {tag} \"{value}\""), "ttl": ttl}),
            );
        }
        list(records)
    }
}

/// The records a service needs in an otherwise empty zone.
///
/// # Errors
/// As [`apply`].
pub fn expected(records: &[TemplateRecord], request: &Request) -> Result<Vec<Record>> {
    Ok(apply(records, &[], request)?.new)
}

fn list(records: Vec<Value>) -> Result<Vec<TemplateRecord>> {
    TemplateRecord::list(&Value::Array(records))
}
