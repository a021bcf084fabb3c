//! From a scenario to a world: addresses for every host, instants for every date, servers for every zone.
//! In: a checked scenario and the start. Out: a world with all zones built.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    net::{IpAddr, Ipv4Addr},
};

use jiff::tz::TimeZone;

use super::{
    BOOTSTRAP, Clock, Domain, Host, LAB_TLD, Provider, RETIRED, Role, WHOIS_REPLAY, WHOIS_ROOT, World,
    reverse,
};
use crate::{
    Error,
    fault::Fault,
    names,
    replay::{self, Replayed},
    scenario::{self, Network, Scenario, Server, Signing, Tld, WhoisStyle, when},
    target::{Faults, Service, Target},
};

/// Provider of recorded domains.
pub(super) const REPLAY_SERVER: &str = "ns1.replay.nic.lab";

/// Hands out loopback addresses, one block a kind of server.
struct Addresses {
    next: BTreeMap<u16, u16>,
    taken: BTreeSet<Ipv4Addr>,
}

impl Addresses {
    /// The next free address of a network with at least 8 bits for hosts, none when it is full.
    fn give_in(&mut self, network: &Network) -> Option<Ipv4Addr> {
        let Ok((IpAddr::V4(ip), length)) = network.parts() else { return None };
        let size = 1u32.checked_shl(32 - u32::from(length)).unwrap_or(u32::MAX);
        let free = (1..size.min(1 << 16)).map(|n| Ipv4Addr::from_bits(ip.to_bits() + n));
        let ip = free.into_iter().find(|ip| ip.octets()[3] != 0 && !self.taken.contains(ip))?;
        self.taken.insert(ip);
        Some(ip)
    }

    fn give(&mut self, block: u16) -> Ipv4Addr {
        let next = self.next.entry(block).or_insert(0);
        loop {
            let [b, c] = block.to_be_bytes();
            let [hi, lo] = [*next / 200, *next % 200 + 1].map(|n| u8::try_from(n).unwrap_or(u8::MAX));
            *next += 1;
            let ip = Ipv4Addr::new(127, b, c.wrapping_add(hi), lo);
            if self.taken.insert(ip) {
                return ip;
            }
        }
    }
}

const fn block(b: u8, c: u8) -> u16 {
    u16::from_be_bytes([b, c])
}

const ROOTS: u16 = block(53, 0);
const TLDS: u16 = block(53, 1);
const HOSTING: u16 = block(53, 16);
const WHOIS: u16 = block(43, 0);
const RDAP: u16 = block(44, 0);
const WEB: u16 = block(80, 0);
const RESOLVERS: u16 = block(8, 0);

fn letter(i: u8) -> char {
    char::from(b'a' + i % 26)
}

fn server(nsid: &str) -> Role {
    Role::Dns { nsid: nsid.to_owned(), sites: Vec::new() }
}

fn bare_tld(name: &str, registry: &str, whois: WhoisStyle, dnssec: Signing) -> Tld {
    Tld {
        name: name.into(),
        registry: registry.into(),
        servers: 2,
        dnssec,
        rdap: false,
        whois,
        expirations: true,
        reserved: Vec::new(),
        rdap_faults: Vec::new(),
        whois_faults: Vec::new(),
    }
}

impl World {
    /// Puts the record of Domain Connect into the zones of providers that support it, once the port is known.
    pub(crate) fn announce_domain_connect(&mut self, scenario: &Scenario) -> Result<(), Error> {
        for provider in &scenario.provider {
            let Some(host) = &provider.domain_connect else { continue };
            let hosted = scenario.domain.iter().filter(|d| d.provider.as_ref() == Some(&provider.id));
            for name in hosted.map(|d| d.name.clone()).collect::<Vec<_>>() {
                let Some(domain) = self.domains.get_mut(&name) else { continue };
                let line =
                    format!("{} 3600 TXT \"{host}:{}\"", crate::domain_connect::LABEL, self.https_port);
                let wrong = |reason: String| Error::Scenario { file: scenario.file.clone(), reason };
                domain.records.push(super::zones::record_line(&line, &name).map_err(wrong)?);
                self.build_domain(&name)?;
            }
        }
        Ok(())
    }

    /// Builds everything.
    pub(crate) fn build(scenario: &Scenario, clock: Clock, https_port: u16) -> Result<Self, Error> {
        let replay = scenario.replay.as_ref().map_or_else(|| Ok(BTreeMap::new()), replay::read)?;
        let mut addresses = Addresses { next: BTreeMap::new(), taken: BTreeSet::new() };
        let fixed = scenario.provider.iter().flat_map(|p| &p.servers).chain(&scenario.server);
        addresses.taken.extend(fixed.filter_map(|s| s.address));
        let retired = Ipv4Addr::new(127, 53, 255, 1);
        addresses.taken.insert(retired);
        let mut world = Self {
            name: scenario.name.clone(),
            clock,
            hosts: BTreeMap::new(),
            root_servers: Vec::new(),
            providers: BTreeMap::new(),
            tlds: BTreeMap::new(),
            tld_servers: BTreeMap::new(),
            registrars: scenario.registrar.iter().map(|r| (r.id.clone(), r.clone())).collect(),
            domains: BTreeMap::new(),
            web: scenario.web.iter().map(|w| (w.host.clone(), w.clone())).collect(),
            faults: Faults::default(),
            keys: HashMap::new(),
            serials: HashMap::new(),
            zones: HashMap::new(),
            hosts_of_zone: HashMap::new(),
            children: HashMap::new(),
            https_port,
            retired,
            replay,
        };
        world.add_infrastructure(scenario, &mut addresses);
        world.add_hosting(scenario, &mut addresses);
        for domain in &scenario.domain {
            let built = world.domain_from(scenario, domain)?;
            world.domains.insert(built.name.clone(), built);
        }
        world.add_zones(scenario)?;
        world.add_bulk(scenario);
        world.add_replayed();
        world.add_origins(scenario)?;
        world.add_reverse();
        for line in &scenario.fault {
            world.faults.add(line.on.clone(), line.fault.clone());
        }
        world.rebuild_all()?;
        Ok(world)
    }

    fn host(&mut self, name: &str, ip: Ipv4Addr, role: Role) {
        self.hosts.insert(name.to_owned(), Host { ip, role });
    }

    fn add_infrastructure(&mut self, scenario: &Scenario, addresses: &mut Addresses) {
        self.host(WHOIS_ROOT, addresses.give(WHOIS), Role::Whois("root".into()));
        self.host(BOOTSTRAP, addresses.give(RDAP), Role::Rdap("bootstrap".into()));
        for i in 0..scenario.root_servers {
            let name = format!("{}.root.{LAB_TLD}", letter(i));
            self.host(&name, addresses.give(ROOTS), server(&format!("root-{}", letter(i))));
            self.root_servers.push(name);
        }
        let mut tlds = scenario.tld.clone();
        for own in [LAB_TLD, reverse::ARPA] {
            if !tlds.iter().any(|t| t.name == own) {
                tlds.push(bare_tld(own, "The lab itself", WhoisStyle::None, Signing::Nsec));
            }
        }
        for Replayed { tld, .. } in self.replay.values() {
            if !tlds.iter().any(|t| t.name == *tld) {
                tlds.push(bare_tld(tld, "A recorded registry", WhoisStyle::None, Signing::None));
            }
        }
        for tld in tlds {
            let servers: Vec<String> =
                (0..tld.servers).map(|i| format!("{}.nic.{}", letter(i), tld.name)).collect();
            for name in &servers {
                self.host(name, addresses.give(TLDS), server(name));
            }
            if tld.rdap {
                let name = format!("rdap.nic.{}", tld.name);
                self.host(&name, addresses.give(RDAP), Role::Rdap(tld.name.clone()));
            }
            if tld.whois != WhoisStyle::None {
                let name = format!("whois.nic.{}", tld.name);
                self.host(&name, addresses.give(WHOIS), Role::Whois(tld.name.clone()));
            }
            for (service, faults) in [(Service::Rdap, &tld.rdap_faults), (Service::Whois, &tld.whois_faults)]
            {
                for fault in faults {
                    self.faults.add(Target { service, name: tld.name.clone(), only: None }, fault.clone());
                }
            }
            self.tld_servers.insert(tld.name.clone(), servers);
            self.tlds.insert(tld.name.clone(), tld);
        }
        self.host(RETIRED, self.retired, server("retired"));
        if !self.replay.is_empty() {
            self.host(WHOIS_REPLAY, addresses.give(WHOIS), Role::Whois("replay".into()));
            self.host(REPLAY_SERVER, addresses.give(HOSTING), server("replay"));
        }
        for registrar in &scenario.registrar {
            if registrar.rdap {
                let name = format!("rdap.{}", registrar.domain);
                self.host(&name, addresses.give(RDAP), Role::Rdap(registrar.id.clone()));
            }
            if registrar.whois {
                let name = format!("whois.{}", registrar.domain);
                self.host(&name, addresses.give(WHOIS), Role::Whois(registrar.id.clone()));
            }
        }
    }

    fn add_server(
        &mut self,
        server: &Server,
        network: Option<&Network>,
        sites: &[String],
        addresses: &mut Addresses,
    ) {
        let ip = server
            .address
            .or_else(|| network.and_then(|n| addresses.give_in(n)))
            .unwrap_or_else(|| addresses.give(HOSTING));
        let nsid = server.nsid.clone().unwrap_or_else(|| server.name.clone());
        self.host(&server.name, ip, Role::Dns { nsid, sites: sites.to_vec() });
        for fault in &server.faults {
            let target = Target { service: Service::Dns, name: server.name.clone(), only: None };
            self.faults.add(target, fault.clone());
        }
    }

    fn add_hosting(&mut self, scenario: &Scenario, addresses: &mut Addresses) {
        for provider in &scenario.provider {
            let mut networks = provider.networks.iter().cycle();
            for server in &provider.servers {
                self.add_server(server, networks.next(), &provider.anycast, addresses);
            }
            let servers = provider.servers.iter().map(|s| s.name.clone()).collect();
            self.providers.insert(provider.id.clone(), Provider { name: provider.name.clone(), servers });
        }
        for server in &scenario.server {
            self.add_server(server, None, &[], addresses);
        }
        for web in &scenario.web {
            let ip = addresses.give(WEB);
            self.host(&web.host, ip, Role::Web);
        }
        for resolver in &scenario.resolver {
            self.host(&resolver.host, addresses.give(RESOLVERS), Role::Resolver);
        }
    }

    /// `yyyymmdd01` of the start.
    pub(crate) fn first_serial(&self) -> u32 {
        let day = self.clock.now().to_zoned(TimeZone::UTC).date();
        let n =
            i64::from(day.year()) * 1_000_000 + i64::from(day.month()) * 10_000 + i64::from(day.day()) * 100;
        u32::try_from(n + 1).unwrap_or(1)
    }

    fn domain_from(&mut self, scenario: &Scenario, from: &scenario::Domain) -> Result<Domain, Error> {
        let wrong = |key: &str, reason: String| Error::Scenario {
            file: scenario.file.clone(),
            reason: format!("[[domain]] {}: {key}: {reason}", from.name),
        };
        let date = |key: &str, text: &Option<String>| {
            text.as_ref()
                .map(|t| when::read(t, self.clock.now()))
                .transpose()
                .map_err(|reason| wrong(key, reason))
        };
        let provider = from.provider.as_ref().and_then(|id| self.providers.get(id));
        let provided = provider.map(|p| p.servers.clone()).unwrap_or_default();
        let nameservers = from.nameservers.clone().unwrap_or_else(|| provided.clone());
        let child = from.child_nameservers.clone();
        let mut served_by: BTreeSet<String> = provided.into_iter().collect();
        served_by
            .extend(nameservers.iter().chain(child.iter().flatten()).filter(|n| self.is_dns(n)).cloned());
        let records = from
            .records
            .iter()
            .map(|line| {
                super::zones::record_line(line, &from.name).map_err(|reason| wrong("records", reason))
            })
            .collect::<Result<_, _>>()?;
        let hostmaster = from
            .provider
            .as_ref()
            .and_then(|id| scenario.provider.iter().find(|p| p.id == *id)?.hostmaster.clone())
            .unwrap_or_else(|| format!("hostmaster.{}", from.name));
        let domain = Domain {
            name: from.name.clone(),
            story: from.story.clone(),
            listed: from.listed,
            standing: from.standing,
            parent: None,
            registrar: from.registrar.clone(),
            registrant: from.registrant.clone(),
            created: date("created", &from.created)?,
            updated: date("updated", &from.updated)?,
            expires: date("expires", &from.expires)?,
            registrar_expires: date("registrar_expires", &from.registrar_expires)?,
            statuses: from.statuses.clone(),
            nameservers,
            child_nameservers: child,
            served_by,
            dnssec: from.dnssec,
            records,
            serial: self.first_serial(),
            soa_minimum: from.soa_minimum.unwrap_or(3600),
            soa_ttl: from.soa_ttl.unwrap_or(1800),
            hostmaster: names::normal(&hostmaster).map_err(|reason| wrong("hostmaster", reason))?,
        };
        for fault in &from.faults {
            let service = match fault {
                Fault::RateLimit(_) => Service::Rdap,
                _ => Service::Dns,
            };
            let (name, only) = match service {
                Service::Rdap => (domain.tld().to_owned(), Some(domain.name.clone())),
                _ => (domain.name.clone(), None),
            };
            if service == Service::Rdap {
                let target = Target { service: Service::Whois, name: name.clone(), only: only.clone() };
                self.faults.add(target, fault.clone());
            }
            self.faults.add(Target { service, name, only }, fault.clone());
        }
        Ok(domain)
    }
}
