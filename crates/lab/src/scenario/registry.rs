//! The tables of a scenario about registrations: TLDs, registrars, domains, many domains at once, recorded answers.

use serde::{Deserialize, Serialize};

use super::hosting::Signing;
use crate::fault::Fault;

fn two() -> u8 {
    2
}

fn yes() -> bool {
    true
}

/// The WHOIS dialect of a registry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhoisStyle {
    /// No WHOIS server.
    None,
    /// ICANN's format with the registrant.
    #[default]
    Thick,
    /// Verisign's: no registrant, a referral to the registrar's server.
    Thin,
    /// A format of its own, with upper-case labels and day-month-year dates.
    Own,
    /// DENIC's: no dates but `Changed`, a query flag for more than `Status`.
    Denic,
}

/// A top-level domain.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tld {
    /// A-label or U-label, without dots.
    pub name: String,
    /// The registry's name.
    pub registry: String,
    /// Number of servers, `a.nic.TLD` and so on.
    #[serde(default = "two")]
    pub servers: u8,
    /// How its zone is signed.
    #[serde(default)]
    pub dnssec: Signing,
    /// It has RDAP and is in the bootstrap file.
    #[serde(default = "yes")]
    pub rdap: bool,
    /// Its WHOIS.
    #[serde(default)]
    pub whois: WhoisStyle,
    /// It publishes expirations.
    #[serde(default = "yes")]
    pub expirations: bool,
    /// Names that no one can register.
    #[serde(default)]
    pub reserved: Vec<String>,
    /// Faults of its RDAP service.
    #[serde(default)]
    pub rdap_faults: Vec<Fault>,
    /// Faults of its WHOIS service.
    #[serde(default)]
    pub whois_faults: Vec<Fault>,
}

/// A registrar.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Registrar {
    /// Key used by domains.
    pub id: String,
    /// Name as it states it.
    pub name: String,
    /// IANA id, where it has one.
    #[serde(default)]
    pub iana_id: Option<u32>,
    /// Its own domain: `rdap.`, `whois.` and `www.` below it.
    pub domain: String,
    /// It has RDAP.
    #[serde(default = "yes")]
    pub rdap: bool,
    /// It has WHOIS.
    #[serde(default = "yes")]
    pub whois: bool,
    /// Telephone for abuse.
    #[serde(default)]
    pub abuse_phone: Option<String>,
}

/// What the registry says of a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// Someone's.
    #[default]
    Registered,
    /// No one's.
    Available,
    /// Kept back by the registry.
    Reserved,
}

/// A domain, its registration and its zone.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Domain {
    /// The name; U-labels are fine.
    pub name: String,
    /// What this one shows, in a sentence.
    #[serde(default)]
    pub story: String,
    /// Part of the inventory that the demo starts with.
    #[serde(default = "yes")]
    pub listed: bool,
    /// Registered, available or reserved.
    #[serde(default)]
    pub standing: Standing,
    /// Key of the registrar.
    #[serde(default)]
    pub registrar: Option<String>,
    /// The registrant's organisation, where it is published.
    #[serde(default)]
    pub registrant: Option<String>,
    /// See [`when`].
    #[serde(default)]
    pub created: Option<String>,
    /// See [`when`].
    #[serde(default)]
    pub updated: Option<String>,
    /// See [`when`].
    #[serde(default)]
    pub expires: Option<String>,
    /// The registrar's own date, where it differs.
    #[serde(default)]
    pub registrar_expires: Option<String>,
    /// EPP status codes in camelCase.
    #[serde(default)]
    pub statuses: Vec<String>,
    /// Key of the provider that hosts the zone.
    #[serde(default)]
    pub provider: Option<String>,
    /// Nameservers at the registry; the provider's, when absent.
    #[serde(default)]
    pub nameservers: Option<Vec<String>>,
    /// The zone's own NS set; the registry's, when absent.
    #[serde(default)]
    pub child_nameservers: Option<Vec<String>>,
    /// How the zone is signed.
    #[serde(default)]
    pub dnssec: Signing,
    /// The SOA's minimum, seconds.
    #[serde(default)]
    pub soa_minimum: Option<u32>,
    /// The SOA's TTL, seconds.
    #[serde(default)]
    pub soa_ttl: Option<u32>,
    /// Zone-file lines: `NAME TTL TYPE DATA`.
    #[serde(default)]
    pub records: Vec<String>,
    /// How it is broken.
    #[serde(default)]
    pub faults: Vec<Fault>,
}

/// Many plain domains at once, `PREFIX00001.TLD` and so on, for load.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bulk {
    /// Beginning of every name.
    pub prefix: String,
    /// The TLD.
    pub tld: String,
    /// How many, at most 1,000,000.
    pub count: u32,
    /// Key of the registrar.
    #[serde(default)]
    pub registrar: Option<String>,
    /// Key of the provider.
    #[serde(default)]
    pub provider: Option<String>,
    /// How the zones are signed.
    #[serde(default)]
    pub dnssec: Signing,
    /// They are part of the inventory.
    #[serde(default)]
    pub listed: bool,
}

/// Recorded WHOIS answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replay {
    /// The folder that paths of the index are relative to.
    pub dir: std::path::PathBuf,
    /// One JSON object a line with `domain`, `tld` and `raw` (other keys are ignored).
    pub index: std::path::PathBuf,
}
