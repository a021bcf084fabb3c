//! Scenario files: an Internet written down. In: TOML (built in, a path, or text). Out: [`Scenario`], checked.
//! Strict: a key that the lab does not know is an error that names the file and the key.

mod check;
pub mod when;

use std::{collections::BTreeMap, path::Path};

use serde::{Deserialize, Serialize};

use crate::{Error, fault::Fault, target::Target};

/// The demo: about sixty domains with a story each.
const DEMO: &str = include_str!("../../scenarios/demo.toml");
/// Three domains; for tests that start many labs.
const SMALL: &str = include_str!("../../scenarios/small.toml");

/// A whole little Internet.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Short name, shown in listings.
    pub name: String,
    /// What it is for.
    #[serde(default)]
    pub about: String,
    /// Number of root servers, at least 1.
    #[serde(default = "two")]
    pub root_servers: u8,
    /// DNS hosting companies.
    #[serde(default)]
    pub provider: Vec<Provider>,
    /// DNS servers that belong to no provider.
    #[serde(default)]
    pub server: Vec<Server>,
    /// Top-level domains and their registries.
    #[serde(default)]
    pub tld: Vec<Tld>,
    /// Registrars.
    #[serde(default)]
    pub registrar: Vec<Registrar>,
    /// Domains, registered or not.
    #[serde(default)]
    pub domain: Vec<Domain>,
    /// Faults that are not written beside what they break.
    #[serde(default)]
    pub fault: Vec<FaultLine>,
    /// Web servers with certificates of the lab's authority.
    #[serde(default)]
    pub web: Vec<Web>,
    /// Recorded WHOIS answers to serve as they are.
    #[serde(default)]
    pub replay: Option<Replay>,
    /// Where this came from, for messages.
    #[serde(skip)]
    pub file: String,
}

fn two() -> u8 {
    2
}

fn yes() -> bool {
    true
}

/// A DNS hosting company and its servers.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provider {
    /// Key used by domains.
    pub id: String,
    /// Name shown to people.
    pub name: String,
    /// Mailbox in the SOA, in zone-file form.
    #[serde(default)]
    pub hostmaster: Option<String>,
    /// Its servers; a domain hosted here is served by all of them.
    pub servers: Vec<Server>,
}

/// One DNS server.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Host name.
    pub name: String,
    /// Loopback address; chosen when absent.
    #[serde(default)]
    pub address: Option<std::net::Ipv4Addr>,
    /// What it answers to NSID and to `hostname.bind`.
    #[serde(default)]
    pub nsid: Option<String>,
    /// How it is broken.
    #[serde(default)]
    pub faults: Vec<Fault>,
}

/// How a zone is signed, or not, or wrongly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Signing {
    /// Not signed.
    #[default]
    None,
    /// Signed, NSEC.
    Nsec,
    /// Signed, NSEC3.
    Nsec3,
    /// Signed with Ed25519, NSEC.
    Ed25519,
    /// Signed, and every signature is wrong.
    Bogus,
    /// Signed, and every signature ended a month ago.
    Expired,
    /// Signed, and the signatures end in two days.
    Expiring,
    /// Signed, and the DS at the parent belongs to another key.
    DsMismatch,
    /// Signed, and the parent holds no DS.
    NoDs,
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
    /// Names that nobody can register.
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
    /// Somebody's.
    #[default]
    Registered,
    /// Nobody's.
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

/// A fault and what it is attached to.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultLine {
    /// `HOST`, `HOST/ZONE`, `DOMAIN`, `rdap:ID`, `whois:ID`, `web:HOST`.
    pub on: Target,
    /// The fault.
    pub fault: Fault,
}

/// The certificate of a web server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Certificate {
    /// For its name, by the lab's authority, for eleven months more.
    #[default]
    Good,
    /// Ends in five days.
    Expiring,
    /// Ended ten days ago.
    Expired,
    /// For another name.
    WrongName,
    /// Signed by itself.
    SelfSigned,
}

/// A web server.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Web {
    /// Host name; its A record is made by the lab.
    pub host: String,
    /// Its certificate.
    #[serde(default)]
    pub certificate: Certificate,
    /// Text of the page.
    #[serde(default)]
    pub body: Option<String>,
    /// Where it redirects to, if it does.
    #[serde(default)]
    pub redirect: Option<String>,
    /// Status when it does not redirect.
    #[serde(default)]
    pub status: Option<u16>,
    /// Files by path, for example `/.well-known/x`.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
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

impl Scenario {
    /// A built-in scenario: `demo` or `small`.
    ///
    /// # Errors
    /// [`Error::Scenario`] when there is none of that name.
    pub fn named(name: &str) -> Result<Self, Error> {
        let text = match name {
            "demo" => DEMO,
            "small" => SMALL,
            _ => {
                return Err(Error::Scenario {
                    file: name.into(),
                    reason: "no built-in scenario has this name; there are `demo` and `small`".into(),
                });
            }
        };
        Self::parse(text, &format!("built-in {name}"))
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`Error::File`] when it can't be read, else as [`Scenario::parse`].
    pub fn load(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path).map_err(|e| Error::file(path, e))?;
        Self::parse(&text, &path.display().to_string())
    }

    /// Reads a text; `file` is what messages call it.
    ///
    /// # Errors
    /// [`Error::Scenario`] for anything that is not TOML, for unknown keys and for references to what is not there.
    pub fn parse(text: &str, file: &str) -> Result<Self, Error> {
        let wrong = |reason: String| Error::Scenario { file: file.to_owned(), reason };
        let mut scenario: Self = toml::from_str(text).map_err(|e| wrong(e.to_string().trim().to_owned()))?;
        scenario.file = file.to_owned();
        scenario.normalise().map_err(wrong)?;
        scenario.check().map_err(wrong)?;
        Ok(scenario)
    }

    /// Adds recorded WHOIS answers: `index` has a JSON object a line with `domain`, `tld` and `raw`, the latter a path
    /// relative to `dir`.
    #[must_use]
    pub fn with_replay(
        mut self,
        dir: impl Into<std::path::PathBuf>,
        index: impl Into<std::path::PathBuf>,
    ) -> Self {
        self.replay = Some(Replay { dir: dir.into(), index: index.into() });
        self
    }
}
