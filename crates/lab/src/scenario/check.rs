//! Second reading of a scenario: names in normal form, and every reference points to something.
//! In: what serde understood. Out: the same, or a sentence with the table and the name.

use std::collections::BTreeSet;

use super::Scenario;
use crate::{fault::Fault, names, target::Service};

fn normalise(text: &mut String, place: &str) -> Result<(), String> {
    *text = names::normal(text).map_err(|e| format!("{place}: {e}"))?;
    Ok(())
}

fn known(key: &str, id: Option<&str>, all: &BTreeSet<&str>, place: &str) -> Result<(), String> {
    match id.filter(|id| !all.contains(id)) {
        Some(id) => Err(format!("{place}: {key} `{id}` is not in the scenario")),
        None => Ok(()),
    }
}

impl Scenario {
    pub(super) fn normalise(&mut self) -> Result<(), String> {
        for provider in &mut self.provider {
            for server in &mut provider.servers {
                normalise(&mut server.name, &format!("[[provider]] {}: servers", provider.id))?;
            }
        }
        for server in &mut self.server {
            normalise(&mut server.name, "[[server]] name")?;
        }
        for tld in &mut self.tld {
            normalise(&mut tld.name, "[[tld]] name")?;
            for name in &mut tld.reserved {
                normalise(name, "[[tld]] reserved")?;
            }
        }
        for registrar in &mut self.registrar {
            normalise(&mut registrar.domain, &format!("[[registrar]] {}: domain", registrar.id))?;
        }
        for web in &mut self.web {
            normalise(&mut web.host, "[[web]] host")?;
        }
        for domain in &mut self.domain {
            let place = format!("[[domain]] {}", domain.name);
            normalise(&mut domain.name, &place)?;
            for list in [&mut domain.nameservers, &mut domain.child_nameservers].into_iter().flatten() {
                for name in list {
                    normalise(name, &place)?;
                }
            }
        }
        for zone in &mut self.zone {
            let place = format!("[[zone]] {}", zone.name);
            normalise(&mut zone.name, &place)?;
            for name in zone.nameservers.iter_mut().flatten() {
                normalise(name, &place)?;
            }
        }
        self.normalise_resolvers()?;
        for bulk in &mut self.bulk {
            normalise(&mut bulk.prefix, "[[bulk]] prefix")?;
            normalise(&mut bulk.tld, "[[bulk]] tld")?;
        }
        Ok(())
    }

    pub(super) fn check(&self) -> Result<(), String> {
        if self.root_servers == 0 {
            return Err("root_servers: at least 1".into());
        }
        let mut seen = BTreeSet::new();
        let servers = self.provider.iter().flat_map(|p| &p.servers).chain(&self.server).map(|s| &s.name);
        let others = self.web.iter().map(|w| &w.host).chain(self.resolver.iter().map(|r| &r.host));
        for name in servers.chain(others) {
            if !seen.insert(name.as_str()) {
                return Err(format!("host {name} is there twice"));
            }
        }
        let providers: BTreeSet<_> = self.provider.iter().map(|p| p.id.as_str()).collect();
        let registrars: BTreeSet<_> = self.registrar.iter().map(|r| r.id.as_str()).collect();
        let tlds: BTreeSet<_> = self.tld.iter().map(|t| t.name.as_str()).collect();
        if providers.len() != self.provider.len() {
            return Err("[[provider]] id: two are the same".into());
        }
        if registrars.len() != self.registrar.len() {
            return Err("[[registrar]] id: two are the same".into());
        }
        if tlds.len() != self.tld.len() {
            return Err("[[tld]] name: two are the same".into());
        }
        if let Some(p) = self.provider.iter().find(|p| p.servers.is_empty()) {
            return Err(format!("[[provider]] {}: servers: none", p.id));
        }
        if let Some(t) = self.tld.iter().find(|t| t.servers == 0 || t.name.contains('.')) {
            return Err(format!("[[tld]] {}: one label, and at least one server", t.name));
        }
        let mut seen = BTreeSet::new();
        for domain in &self.domain {
            let place = format!("[[domain]] {}", domain.name);
            if !seen.insert(domain.name.as_str()) {
                return Err(format!("{place}: it is there twice"));
            }
            if !tlds.contains(names::tld_of(&domain.name)) || !domain.name.contains('.') {
                return Err(format!("{place}: its TLD is not in the scenario"));
            }
            known("provider", domain.provider.as_deref(), &providers, &place)?;
            known("registrar", domain.registrar.as_deref(), &registrars, &place)?;
        }
        for zone in &self.zone {
            let place = format!("[[zone]] {}", zone.name);
            known("provider", zone.provider.as_deref(), &providers, &place)?;
            if !seen.insert(zone.name.as_str()) {
                return Err(format!("{place}: it is there twice"));
            }
            if !self.domain.iter().any(|d| d.name != zone.name && names::within(&zone.name, &d.name)) {
                return Err(format!("{place}: it is below no domain of the scenario"));
            }
        }
        self.check_faults()?;
        self.check_resolvers()?;
        for bulk in &self.bulk {
            let place = format!("[[bulk]] {}", bulk.prefix);
            known("tld", Some(&bulk.tld), &tlds, &place)?;
            known("provider", bulk.provider.as_deref(), &providers, &place)?;
            known("registrar", bulk.registrar.as_deref(), &registrars, &place)?;
            if bulk.count > 1_000_000 || bulk.prefix.contains('.') {
                return Err(format!("{place}: one label, and a count of at most 1,000,000"));
            }
        }
        Ok(())
    }

    fn normalise_resolvers(&mut self) -> Result<(), String> {
        for resolver in &mut self.resolver {
            let place = format!("[[resolver]] {}", resolver.id);
            if resolver.host.is_empty() {
                resolver.host = format!("{}.resolver.lab", resolver.id);
            }
            normalise(&mut resolver.host, &place)?;
            let filter = std::mem::take(&mut resolver.filter);
            for (name, mode) in filter {
                resolver.filter.insert(names::normal(&name).map_err(|e| format!("{place}: {e}"))?, mode);
            }
        }
        Ok(())
    }

    /// What can be known of resolvers and networks without a world; their records are read when it stands.
    fn check_resolvers(&self) -> Result<(), String> {
        let mut seen = BTreeSet::new();
        for resolver in &self.resolver {
            let place = format!("[[resolver]] {}", resolver.id);
            let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            if resolver.id.is_empty() || resolver.id == "all" || !resolver.id.chars().all(word) {
                return Err(format!("{place}: id: lower-case letters, digits and hyphens, and not `all`"));
            }
            if !seen.insert(resolver.id.as_str()) {
                return Err(format!("{place}: it is there twice"));
            }
            if !names::within(&resolver.host, "lab") {
                return Err(format!("{place}: host: a name under `lab`"));
            }
            if resolver.transports.is_empty() {
                return Err(format!("{place}: transports: none"));
            }
        }
        for network in self.provider.iter().flat_map(|p| &p.networks).chain(&self.origin) {
            network.parts()?;
        }
        for network in self.provider.iter().flat_map(|p| &p.networks) {
            if !network.parts().is_ok_and(|(ip, length)| ip.is_loopback() && ip.is_ipv4() && length <= 24) {
                return Err(format!(
                    "networks: `{}`: servers need a /24 or more of 127.0.0.0/8",
                    network.prefix
                ));
            }
        }
        Ok(())
    }

    /// Every fault is one that its place can have.
    fn check_faults(&self) -> Result<(), String> {
        let servers = self.provider.iter().flat_map(|p| &p.servers).chain(&self.server);
        let of_servers = servers.flat_map(|s| s.faults.iter().map(|f| (s.name.clone(), Service::Dns, f)));
        let of_tlds = self.tld.iter().flat_map(|t| {
            let rdap = t.rdap_faults.iter().map(|f| (format!("{}: rdap_faults", t.name), Service::Rdap, f));
            rdap.chain(
                t.whois_faults.iter().map(|f| (format!("{}: whois_faults", t.name), Service::Whois, f)),
            )
        });
        let of_lines = self.fault.iter().map(|l| (l.on.to_string(), l.on.service, &l.fault));
        for (place, service, fault) in of_servers.chain(of_tlds).chain(of_lines) {
            if !fault.fits(service) {
                return Err(format!("{place}: the fault `{fault}` is none of this kind of server"));
            }
        }
        let domains = self.domain.iter().flat_map(|d| d.faults.iter().map(|f| (&d.name, f)));
        let zones = self.zone.iter().flat_map(|z| z.faults.iter().map(|f| (&z.name, f)));
        for (name, fault) in domains.chain(zones) {
            if !fault.fits(Service::Dns) && !matches!(fault, Fault::RateLimit(_)) {
                return Err(format!("{name}: the fault `{fault}` is none of a domain"));
            }
        }
        Ok(())
    }
}
