//! Zone contents from the state of the world: root, TLDs, domains, and the faults that are wrong data.
//! In: the world. Out: [`Zone`]s; the delegation in the parent and the zone itself always come from one state.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use hickory_proto::{
    dnssec::rdata::DNSSECRData,
    rr::{
        Name, RData, RecordType,
        rdata::{A, CNAME, NS, SOA},
    },
    serialize::txt::Parser,
};

use super::{Domain, RecordLine, World};
use crate::{
    Error,
    dns::{keys::ZoneKeys, zone::Zone},
    fault::Fault,
    names,
    scenario::{Signing, Standing},
};

const DAY: u32 = 86_400;

/// Reads `NAME TTL TYPE DATA`; `@` and relative names are of `origin`.
pub(crate) fn record_line(line: &str, origin: &str) -> Result<RecordLine, String> {
    let wrong = |why: &str| format!("`{line}`: {why}; write NAME TTL TYPE DATA");
    if line.contains(['\n', '\r']) || line.trim_start().starts_with('$') {
        return Err(wrong("one record a line"));
    }
    let mut words = line.trim().splitn(4, char::is_whitespace);
    let (Some(name), Some(ttl), Some(rtype), Some(data)) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(wrong("four parts are needed"));
    };
    let ttl: u32 = ttl.parse().map_err(|_| wrong("the TTL is not a number"))?;
    let data = if data.trim() == "@" { format!("{origin}.") } else { data.trim().to_owned() };
    let text = format!("{name} {ttl} IN {rtype} {data}\n");
    let (_, sets) = Parser::new(text, None, Some(names::wire(origin)))
        .parse()
        .map_err(|e| wrong(&format!("not zone-file syntax ({e})")))?;
    let record = sets
        .values()
        .flat_map(|set| set.records_without_rrsigs())
        .next()
        .ok_or_else(|| wrong("no record in it"))?;
    let name = record.name.to_lowercase();
    if !names::wire(origin).zone_of(&name) {
        return Err(wrong("the name is outside the zone"));
    }
    Ok(RecordLine { name, ttl, rtype: record.record_type(), data: record.data.clone() })
}

fn ns(host: &str) -> RData {
    RData::NS(NS(names::wire(host)))
}

impl World {
    fn keys_for(&mut self, zone: &str, signing: Signing) -> Result<Option<Arc<ZoneKeys>>, Error> {
        if signing == Signing::None {
            self.keys.remove(zone);
            return Ok(None);
        }
        if let Some(keys) = self.keys.get(zone) {
            return Ok(Some(keys.clone()));
        }
        let keys = Arc::new(ZoneKeys::generate(signing)?);
        self.keys.insert(zone.to_owned(), keys.clone());
        Ok(Some(keys))
    }

    fn empty_zone(
        &mut self,
        origin: &str,
        servers: BTreeSet<String>,
        signing: Signing,
    ) -> Result<Zone, Error> {
        let mut zone = Zone::new(names::wire(origin), servers);
        if let Some(keys) = self.keys_for(origin, signing)? {
            for key in keys.dnskeys() {
                zone.add(zone.origin.clone(), 3600, key);
            }
            if signing == Signing::Nsec3 {
                let data = hickory_proto::dnssec::rdata::NSEC3PARAM::new(
                    hickory_proto::dnssec::Nsec3HashAlgorithm::SHA1,
                    false,
                    0,
                    Vec::new(),
                );
                zone.add(zone.origin.clone(), 0, RData::DNSSEC(DNSSECRData::NSEC3PARAM(data)));
            }
            zone.keys = Some(keys);
            zone.signing = signing;
        }
        Ok(zone)
    }

    fn ds_into(&self, parent: &mut Zone, child: &str) -> Result<(), Error> {
        if let Some(keys) = self.keys.get(child) {
            let name = names::wire(child);
            let ds = keys.ds(&name)?;
            parent.add(name, DAY, RData::DNSSEC(DNSSECRData::DS(ds)));
        }
        Ok(())
    }

    /// Builds all zones again.
    pub(crate) fn rebuild_all(&mut self) -> Result<(), Error> {
        let mut of_zone: HashMap<String, Vec<String>> = HashMap::new();
        for host in self.hosts.keys() {
            of_zone.entry(self.zone_of_host(host)).or_default().push(host.clone());
        }
        self.hosts_of_zone = of_zone;
        self.children.clear();
        for domain in self.domains.values() {
            if let Some(parent) = &domain.parent {
                self.children.entry(parent.clone()).or_default().push(domain.name.clone());
            }
        }
        self.zones.clear();
        // The deepest first: a parent needs the keys of its children.
        let mut domains: Vec<String> = self.domains.keys().cloned().collect();
        domains.sort_by_key(|name| std::cmp::Reverse(name.matches('.').count()));
        for name in &domains {
            self.build_domain(name)?;
        }
        let tlds: Vec<String> = self.tlds.keys().cloned().collect();
        for name in &tlds {
            self.build_tld(name)?;
        }
        self.build_root()
    }

    /// Builds a domain's zone again, and its delegation in the parent, whose serial moves on.
    pub(crate) fn rebuild_domain(&mut self, name: &str) -> Result<(), Error> {
        self.build_domain(name)?;
        let Some(domain) = self.domains.get(name).cloned() else { return Ok(()) };
        let parent = domain.parent.clone().unwrap_or_else(|| domain.tld().to_owned());
        let serial = match self.domains.get_mut(&parent) {
            Some(above) => &mut above.serial,
            None => {
                let first = self.first_serial();
                self.serials.entry(parent.clone()).or_insert(first)
            }
        };
        *serial += 1;
        let serial = *serial;
        // Only this delegation changes: a TLD may hold a hundred thousand others.
        let Some(mut zone) = self.zones.remove(&names::wire(&parent)) else { return Ok(()) };
        zone.forget(&names::wire(name), serial);
        if domain.is_delegated() {
            self.delegate(&mut zone, &domain, &parent)?;
        }
        self.zones.insert(zone.origin.clone(), zone);
        Ok(())
    }

    /// Builds only the domain's own zone again: nothing changed at the registry.
    pub(super) fn build_zone_only(&mut self, name: &str) -> Result<(), Error> {
        self.build_domain(name)
    }

    fn build_root(&mut self) -> Result<(), Error> {
        let servers: BTreeSet<String> = self.root_servers.iter().cloned().collect();
        let mut zone = self.empty_zone("", servers, Signing::Nsec)?;
        let root = Name::root();
        let first = self.root_servers.first().cloned().unwrap_or_default();
        let serial = self.first_serial();
        let soa =
            SOA::new(names::wire(&first), names::wire("hostmaster.nic.lab"), serial, 1800, 900, 604_800, DAY);
        zone.add(root.clone(), DAY, RData::SOA(soa));
        for host in &self.root_servers {
            zone.add(root.clone(), 518_400, ns(host));
        }
        for (tld, hosts) in &self.tld_servers {
            for host in hosts {
                zone.add(names::wire(tld), 172_800, ns(host));
            }
            self.ds_into(&mut zone, tld)?;
        }
        for host in self.root_servers.iter().chain(self.tld_servers.values().flatten()) {
            if let Some(ip) = self.ip(host) {
                zone.glue.insert(names::wire(host), vec![RData::A(A(ip))]);
            }
        }
        self.zones.insert(root, zone);
        Ok(())
    }

    fn build_tld(&mut self, tld: &str) -> Result<(), Error> {
        let Some(settings) = self.tlds.get(tld) else { return Ok(()) };
        let signing = settings.dnssec;
        let hosts = self.tld_servers.get(tld).cloned().unwrap_or_default();
        let mut zone = self.empty_zone(tld, hosts.iter().cloned().collect(), signing)?;
        let origin = zone.origin.clone();
        let serial = self.serials.get(tld).copied().unwrap_or_else(|| self.first_serial());
        let first = hosts.first().cloned().unwrap_or_default();
        let soa = SOA::new(
            names::wire(&first),
            names::wire(&format!("hostmaster.nic.{tld}")),
            serial,
            1800,
            900,
            604_800,
            900,
        );
        zone.add(origin.clone(), 900, RData::SOA(soa));
        for host in &hosts {
            zone.add(origin.clone(), 172_800, ns(host));
        }
        for host in self.hosts_of_zone.get(tld).into_iter().flatten() {
            if let Some(ip) = self.ip(host) {
                zone.add(names::wire(host), DAY, RData::A(A(ip)));
            }
        }
        let suffix = format!(".{tld}");
        let below = |d: &&Domain| d.parent.is_none() && d.name.ends_with(&suffix) && d.is_delegated();
        for domain in self.domains.values().filter(below) {
            self.delegate(&mut zone, domain, tld)?;
        }
        self.zones.insert(origin, zone);
        Ok(())
    }

    /// The parent's NS set, faults included.
    pub(crate) fn parent_ns(&self, domain: &Domain) -> Vec<String> {
        let mut servers = domain.nameservers.clone();
        for fault in self.faults.of_domain(&domain.name) {
            match fault {
                Fault::Cyclic(partner) => {
                    servers = vec![format!("ns1.{partner}"), format!("ns2.{partner}")];
                }
                Fault::NsIsCname => servers.push(format!("alias-ns.{}", domain.name)),
                Fault::NsUnresolvable => servers.push(format!("ns1.vanished.{}", domain.tld())),
                _ => {}
            }
        }
        servers
    }

    fn delegate(&self, zone: &mut Zone, domain: &Domain, tld: &str) -> Result<(), Error> {
        let owner = names::wire(&domain.name);
        let has = |wanted: &Fault| self.faults.of_domain(&domain.name).any(|f| f == wanted);
        let servers = self.parent_ns(domain);
        let own: Vec<&String> = servers.iter().filter(|s| names::within(s, &domain.name)).collect();
        for host in &servers {
            zone.add(owner.clone(), 172_800, ns(host));
            if !names::within(host, tld)
                || zone.nodes.get(&names::wire(host)).is_some_and(|n| n.contains_key(&RecordType::A))
            {
                continue;
            }
            let is_own = own.contains(&host);
            let alias = host.starts_with("alias-ns.").then(|| domain.nameservers.first()).flatten();
            let ip = alias.and_then(|first| self.ip(first)).or_else(|| self.ip(host));
            let ip = if is_own && has(&Fault::StaleGlue) && own.last() == Some(&host) {
                Some(self.retired)
            } else {
                ip
            };
            if let Some(ip) = ip.filter(|_| !(is_own && has(&Fault::MissingGlue))) {
                zone.glue.insert(names::wire(host), vec![RData::A(A(ip))]);
            }
        }
        if domain.has_ds() {
            self.ds_into(zone, &domain.name)?;
        }
        Ok(())
    }

    pub(super) fn build_domain(&mut self, name: &str) -> Result<(), Error> {
        let Some(domain) = self.domains.get(name).cloned() else { return Ok(()) };
        let origin = names::wire(name);
        if domain.standing != Standing::Registered || domain.served_by.is_empty() {
            self.zones.remove(&origin);
            return Ok(());
        }
        let mut zone = self.empty_zone(name, domain.served_by.clone(), domain.dnssec)?;
        let has = |wanted: &Fault| self.faults.of_domain(name).any(|f| f == wanted);
        let mut servers = domain.child_nameservers.clone().unwrap_or_else(|| domain.nameservers.clone());
        if has(&Fault::NsDisagreement) && servers.len() > 1 {
            servers.pop();
        }
        if has(&Fault::NsUnresolvable) {
            servers.push(format!("ns1.vanished.{}", domain.tld()));
        }
        if has(&Fault::NsIsCname) {
            let alias = format!("alias-ns.{name}");
            let target = domain.nameservers.first().cloned().unwrap_or_default();
            zone.add(names::wire(&alias), 3600, RData::CNAME(CNAME(names::wire(&target))));
            servers.push(alias);
        }
        let first = servers.first().cloned().unwrap_or_default();
        let soa = SOA::new(
            names::wire(&first),
            names::wire(&domain.hostmaster),
            domain.serial,
            7200,
            900,
            1_209_600,
            domain.soa_minimum,
        );
        zone.add(origin.clone(), domain.soa_ttl, RData::SOA(soa));
        for host in &servers {
            zone.add(origin.clone(), 3600, ns(host));
        }
        for record in &domain.records {
            zone.add(record.name.clone(), record.ttl, record.data.clone());
        }
        for fault in self.faults.of_domain(name) {
            if let Fault::CnameLoop(length) = fault {
                let step = |i: u32| if i == 0 { format!("loop.{name}") } else { format!("loop-{i}.{name}") };
                for i in 0..*length {
                    let target = names::wire(&step((i + 1) % length));
                    zone.add(names::wire(&step(i)), 300, RData::CNAME(CNAME(target)));
                }
            }
        }
        for host in self.hosts_of_zone.get(name).into_iter().flatten() {
            if let Some(ip) = self.ip(host) {
                zone.add(names::wire(host), 3600, RData::A(A(ip)));
            }
        }
        let below = self.children.get(name).into_iter().flatten();
        for below in below.filter_map(|child| self.domains.get(child)).filter(|d| d.is_delegated()) {
            self.delegate(&mut zone, below, name)?;
        }
        self.zones.insert(origin, zone);
        Ok(())
    }
}
