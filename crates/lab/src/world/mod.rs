//! The state of the lab: who has registered what, where it is delegated, who serves it, and what is broken.
//! In: a scenario, then commands. Out: zones for the DNS servers and facts for the registries, always of one state.

mod apply;
mod build;
mod more;
mod origin;
mod reverse;
mod zones;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    net::Ipv4Addr,
    sync::Arc,
};

use hickory_proto::rr::{Name, RecordType};
use jiff::{SignedDuration, Timestamp};
pub(crate) use origin::ASN_ZONE;
pub(crate) use zones::record_line;

use crate::{
    dns::{keys::ZoneKeys, zone::Zone},
    replay::Replayed,
    scenario::{Registrar, Signing, Standing, Tld, Web},
    target::Faults,
};

/// The lab's time: the start given, plus what has passed since.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Timestamp,
    /// What the clock of this machine showed then: the lab's time passes as that does, also while the machine sleeps.
    since: Timestamp,
}

impl Clock {
    pub(crate) fn new(start: Timestamp) -> Self {
        Self { start, since: Timestamp::now() }
    }

    pub(crate) fn pass(&mut self, by: SignedDuration) {
        self.start = self.start.checked_add(by).unwrap_or(self.start);
    }

    pub(crate) fn now(&self) -> Timestamp {
        let passed = Timestamp::now().duration_since(self.since).max(SignedDuration::ZERO);
        self.start.checked_add(passed).unwrap_or(self.start)
    }

    /// Cut to whole seconds, as registries state it.
    pub(crate) fn second(&self) -> Timestamp {
        Timestamp::from_second(self.now().as_second()).unwrap_or(self.start)
    }
}

/// What a host name is in the lab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// An authoritative DNS server.
    Dns {
        nsid: String,
        /// Places that clients are led to in turn; none is an ordinary server.
        sites: Vec<String>,
    },
    /// A recursive resolver.
    Resolver,
    /// RDAP of a TLD or registrar (its key), or `bootstrap`.
    Rdap(String),
    /// WHOIS of a TLD or registrar (its key), or `root`.
    Whois(String),
    /// A web server.
    Web,
}

/// A host name with its address.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    pub ip: Ipv4Addr,
    pub role: Role,
}

/// One zone-file line, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordLine {
    pub name: Name,
    pub ttl: u32,
    pub rtype: RecordType,
    pub data: hickory_proto::rr::RData,
}

/// A domain: registration, delegation and zone in one.
#[derive(Clone, Debug)]
pub(crate) struct Domain {
    pub name: String,
    pub story: String,
    pub listed: bool,
    pub standing: Standing,
    /// The domain whose zone delegates this one, when that is not the TLD's.
    pub parent: Option<String>,
    pub registrar: Option<String>,
    pub registrant: Option<String>,
    pub created: Option<Timestamp>,
    pub updated: Option<Timestamp>,
    pub expires: Option<Timestamp>,
    pub registrar_expires: Option<Timestamp>,
    pub statuses: Vec<String>,
    /// At the registry, and so in the parent zone.
    pub nameservers: Vec<String>,
    /// In the zone itself, where it differs.
    pub child_nameservers: Option<Vec<String>>,
    /// Servers that hold the zone.
    pub served_by: BTreeSet<String>,
    pub dnssec: Signing,
    pub records: Vec<RecordLine>,
    pub serial: u32,
    pub soa_minimum: u32,
    pub soa_ttl: u32,
    pub hostmaster: String,
}

impl Domain {
    /// Real registries take held and redeemed names out of their zone (RFC 5731, RFC 3915).
    pub(crate) fn is_delegated(&self) -> bool {
        const OUT: [&str; 5] = ["clientHold", "serverHold", "redemptionPeriod", "pendingDelete", "inactive"];
        self.standing == Standing::Registered
            && !self.nameservers.is_empty()
            && !self.statuses.iter().any(|s| OUT.contains(&s.as_str()))
    }

    /// Whatever the parent zone or the zone itself shows of a domain: a change of it needs new zones.
    pub(crate) fn in_dns(&self) -> impl PartialEq + use<> {
        (
            self.is_delegated(),
            self.nameservers.clone(),
            self.child_nameservers.clone(),
            self.served_by.clone(),
            self.dnssec,
            self.serial,
        )
    }

    /// A registered domain with nothing set but its name.
    pub(crate) fn bare(name: &str, serial: u32) -> Self {
        Self {
            name: name.to_owned(),
            story: String::new(),
            listed: false,
            standing: Standing::Registered,
            parent: None,
            registrar: None,
            registrant: None,
            created: None,
            updated: None,
            expires: None,
            registrar_expires: None,
            statuses: Vec::new(),
            nameservers: Vec::new(),
            child_nameservers: None,
            served_by: BTreeSet::new(),
            dnssec: Signing::None,
            records: Vec::new(),
            serial,
            soa_minimum: 3600,
            soa_ttl: 1800,
            hostmaster: format!("hostmaster.{name}"),
        }
    }

    pub(crate) fn tld(&self) -> &str {
        crate::names::tld_of(&self.name)
    }

    /// The parent holds a DS for it.
    pub(crate) fn has_ds(&self) -> bool {
        !matches!(self.dnssec, Signing::None | Signing::NoDs)
    }
}

/// A provider, with the names of its servers.
#[derive(Clone, Debug)]
pub(crate) struct Provider {
    pub name: String,
    pub servers: Vec<String>,
}

/// Everything.
pub(crate) struct World {
    pub name: String,
    pub clock: Clock,
    pub hosts: BTreeMap<String, Host>,
    pub root_servers: Vec<String>,
    pub providers: BTreeMap<String, Provider>,
    pub tlds: BTreeMap<String, Tld>,
    pub tld_servers: BTreeMap<String, Vec<String>>,
    pub registrars: BTreeMap<String, Registrar>,
    pub domains: BTreeMap<String, Domain>,
    pub web: BTreeMap<String, Web>,
    pub faults: Faults,
    pub replay: BTreeMap<String, Replayed>,
    pub keys: HashMap<String, Arc<ZoneKeys>>,
    pub serials: HashMap<String, u32>,
    pub zones: HashMap<Name, Zone>,
    /// Hosts by the zone that holds their address record.
    pub hosts_of_zone: HashMap<String, Vec<String>>,
    /// Zones below domains, by the zone that delegates them.
    pub children: HashMap<String, Vec<String>>,
    /// The port in URLs of RDAP and web servers.
    pub https_port: u16,
    /// An address at which an old server refuses everything (stale glue points there).
    pub retired: Ipv4Addr,
}

/// Name of the server at the retired address.
pub(crate) const RETIRED: &str = "retired.nic.lab";
/// Names of the lab's own infrastructure hosts.
pub(crate) const WHOIS_ROOT: &str = "whois.nic.lab";
pub(crate) const WHOIS_REPLAY: &str = "whois-replay.nic.lab";
pub(crate) const BOOTSTRAP: &str = "data.nic.lab";
/// The TLD that the lab adds for its own hosts.
pub(crate) const LAB_TLD: &str = "lab";

impl World {
    pub(crate) fn ip(&self, host: &str) -> Option<Ipv4Addr> {
        self.hosts.get(host).map(|h| h.ip)
    }

    pub(crate) fn is_dns(&self, host: &str) -> bool {
        matches!(self.hosts.get(host), Some(Host { role: Role::Dns { .. }, .. }))
    }

    /// The zone that a host's address record belongs to: the deepest domain above it, else its TLD.
    pub(crate) fn zone_of_host(&self, host: &str) -> String {
        let mut rest = host;
        loop {
            if let Some(domain) = self.domains.get(rest)
                && domain.standing == Standing::Registered
            {
                return rest.to_owned();
            }
            match rest.split_once('.') {
                Some((_, parent)) => rest = parent,
                None => return rest.to_owned(),
            }
        }
    }

    /// The deepest zone that a server holds for a name; for DS at a zone's apex, the zone above it (RFC 4035 3.1.4.1).
    pub(crate) fn zone_at(&self, server: &str, qname: &Name, qtype: RecordType) -> Option<&Zone> {
        let mut name = qname.to_lowercase();
        let mut below = false;
        loop {
            if let Some(zone) = self.zones.get(&name).filter(|z| z.servers.contains(server)) {
                let skip = qtype == RecordType::DS && !below && !name.is_root();
                if !skip || !self.has_parent_here(server, &name) {
                    return Some(zone);
                }
            }
            if name.is_root() {
                return None;
            }
            below = true;
            name = name.base_name();
        }
    }

    fn has_parent_here(&self, server: &str, name: &Name) -> bool {
        let mut name = name.clone();
        while !name.is_root() {
            name = name.base_name();
            if let Some(zone) = self.zones.get(&name) {
                return zone.servers.contains(server);
            }
        }
        false
    }

    /// The domain that a name belongs to.
    pub(crate) fn domain_above(&self, name: &str) -> Option<&Domain> {
        let zone = self.zone_of_host(name);
        self.domains.get(&zone)
    }
}
