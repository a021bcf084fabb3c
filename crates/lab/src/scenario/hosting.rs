//! The tables of a scenario about servers: DNS providers, single servers, signing, web servers, faults.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::resolver::Network;
use crate::{fault::Fault, target::Target};

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
    /// Where its servers stand: each next server in the next of these; in the lab's own network, when empty.
    #[serde(default)]
    pub networks: Vec<Network>,
    /// Its servers are anycast: NSID and `hostname.bind` name one of these sites, depending on the client.
    #[serde(default)]
    pub anycast: Vec<String>,
    /// Its Domain Connect host, a web server of the scenario; the zones hosted here name it at `_domainconnect`.
    #[serde(default)]
    pub domain_connect: Option<String>,
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

/// A zone below a domain, delegated by the domain's own zone and unknown to the registry.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Zone {
    /// The name, below a domain of the scenario.
    pub name: String,
    /// Key of the provider that hosts it.
    #[serde(default)]
    pub provider: Option<String>,
    /// Its nameservers; the provider's, when absent.
    #[serde(default)]
    pub nameservers: Option<Vec<String>>,
    /// How it is signed.
    #[serde(default)]
    pub dnssec: Signing,
    /// Zone-file lines: `NAME TTL TYPE DATA`.
    #[serde(default)]
    pub records: Vec<String>,
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
    /// For its name, by an intermediate authority, which is sent with it.
    Intermediate,
    /// The same, but the intermediate authority's certificate is not sent.
    Incomplete,
}

/// A DNS provider's side of Domain Connect.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DomainConnect {
    /// Identifier of the provider.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Templates it knows, each a JSON text.
    #[serde(default)]
    pub templates: Vec<String>,
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
    /// Further names in its certificate: aliases that lead to it.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Text of the page.
    #[serde(default)]
    pub body: Option<String>,
    /// Where it redirects to, if it does.
    #[serde(default)]
    pub redirect: Option<String>,
    /// Status when it does not redirect.
    #[serde(default)]
    pub status: Option<u16>,
    /// Makes it the host of a Domain Connect provider.
    #[serde(default)]
    pub domain_connect: Option<DomainConnect>,
    /// Makes it the API of measurement networks.
    #[serde(default)]
    pub measurements: Option<Measurements>,
    /// Files by path, for example `/.well-known/x`.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
}

/// The API of measurement networks (Globalping at `/v1`, RIPE Atlas at `/api/v2`): what it asks of callers and says.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Measurements {
    /// The key that requests must carry.
    #[serde(default)]
    pub key: Option<String>,
    /// Credits that are left.
    #[serde(default)]
    pub credits: Option<i64>,
    /// The addresses that its places get, in turn; without any, they get no answer.
    #[serde(default)]
    pub addresses: Vec<String>,
    /// Places of RIPE Atlas, from the last, that never send a result.
    #[serde(default)]
    pub absent: usize,
}
