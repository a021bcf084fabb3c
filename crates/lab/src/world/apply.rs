//! Changes while the lab runs: each one moves registration, parent zone and zone together, as the real thing would.
//! In: a command. Out: what happened, in words; nothing has changed when it is an error.

use jiff::{Span, tz::TimeZone};

use super::{Domain, World, zones::record_line};
use crate::{
    Error,
    command::Command,
    fault::Fault,
    names,
    scenario::{Signing, Standing, when},
    target::{Faults, Service, Target},
};

fn refuse(reason: impl Into<String>) -> Error {
    Error::Command(reason.into())
}

impl World {
    /// The normal name of a domain that is registered.
    fn registered(&self, text: &str) -> Result<String, Error> {
        let name = names::normal(text).map_err(refuse)?;
        match self.domains.get(&name) {
            Some(d) if d.standing == Standing::Registered => Ok(name),
            Some(_) => Err(refuse(format!("{name} is not registered"))),
            None => Err(refuse(format!("the lab has no domain {name}"))),
        }
    }

    fn edit(&mut self, name: &str, change: impl FnOnce(&mut Domain)) -> Result<(), Error> {
        let now = self.clock.second();
        let Some(domain) = self.domains.get_mut(name) else { return Ok(()) };
        let before = domain.in_dns();
        change(domain);
        domain.updated = Some(now);
        if domain.in_dns() == before { Ok(()) } else { self.rebuild_domain(name) }
    }

    /// Applies a command.
    pub(crate) fn apply(&mut self, command: Command) -> Result<String, Error> {
        match command {
            Command::Renew { domain, years } => self.renew(&domain, years),
            Command::SetNameservers { domain, nameservers } => self.set_nameservers(&domain, &nameservers),
            Command::SetStatus { domain, statuses } => {
                let name = self.registered(&domain)?;
                let shown = if statuses.is_empty() { "ok".to_owned() } else { statuses.join(", ") };
                self.edit(&name, |d| d.statuses = statuses)?;
                let delegated = self.domains.get(&name).is_some_and(Domain::is_delegated);
                let place = if delegated { "in" } else { "not in" };
                Ok(format!("{name}: status {shown}; it is {place} the zone of its TLD"))
            }
            Command::SetRegistrar { domain, registrar } => {
                let name = self.registered(&domain)?;
                let shown = self.registrar_name(&registrar)?;
                self.edit(&name, |d| d.registrar = Some(registrar))?;
                Ok(format!("{name}: the registrar is now {shown}"))
            }
            Command::SetExpires { domain, expires } => {
                let name = self.registered(&domain)?;
                let date = when::read(&expires, self.clock.now()).map_err(refuse)?;
                self.edit(&name, |d| d.expires = Some(date))?;
                Ok(format!("{name}: expires {date}"))
            }
            Command::SetRegistrarExpires { domain, expires } => {
                let name = self.registered(&domain)?;
                let date = when::read(&expires, self.clock.now()).map_err(refuse)?;
                self.edit(&name, |d| d.registrar_expires = Some(date))?;
                Ok(format!("{name}: expires {date}, says the registrar"))
            }
            Command::AddRecord { name, rtype, ttl, data } => self.add_record(&name, &rtype, ttl, &data),
            Command::RemoveRecord { name, rtype, data } => self.remove_record(&name, &rtype, data.as_deref()),
            Command::SetFault { target, fault } => {
                self.check_target(&target)?;
                if let Some(fault) = &fault {
                    self.check_fault(&target, fault)?;
                }
                let name = target.name.clone();
                let before: Vec<_> = self.faults.of_domain(&name).cloned().collect();
                let said = match fault {
                    Some(fault) => {
                        let said = format!("{target}: {fault}");
                        self.faults.add(target, fault);
                        said
                    }
                    None => format!("{target}: {} fault(s) mended", self.faults.clear(&target)),
                };
                if !self.faults.of_domain(&name).eq(&before) {
                    self.touch(&name, |_| {})?;
                    self.rebuild_domain(&name)?;
                }
                Ok(said)
            }
            Command::ClearFaults => {
                let count = self.faults.iter().count();
                self.faults = Faults::default();
                self.rebuild_all()?;
                Ok(format!("{count} fault(s) mended"))
            }
            Command::SignZone { domain, how } => self.sign(&domain, how),
            Command::UnsignZone { domain } => self.sign(&domain, Signing::None),
            Command::Register { domain, registrar, nameservers } => {
                self.register(&domain, &registrar, &nameservers)
            }
            Command::Delete { domain } => {
                let name = self.registered(&domain)?;
                self.edit(&name, |d| {
                    d.standing = Standing::Available;
                    d.statuses.clear();
                })?;
                Ok(format!("{name} is available"))
            }
            Command::ResetLog => Ok("the query log is empty".into()),
            Command::Resolver { .. } | Command::Advance { .. } => {
                Err(refuse("resolvers are no part of the world's state"))
            }
        }
    }

    fn registrar_name(&self, id: &str) -> Result<String, Error> {
        self.registrars.get(id).map(|r| r.name.clone()).ok_or_else(|| {
            let known: Vec<_> = self.registrars.keys().map(String::as_str).collect();
            refuse(format!("no registrar has the id `{id}`; known: {}", known.join(", ")))
        })
    }

    fn check_target(&self, target: &Target) -> Result<(), Error> {
        let known = match target.service {
            Service::Dns => {
                self.is_dns(&target.name)
                    || self.domains.contains_key(&target.name)
                    || self.tlds.contains_key(&target.name)
            }
            Service::Rdap | Service::Whois => {
                self.tlds.contains_key(&target.name)
                    || self.registrars.contains_key(&target.name)
                    || matches!(target.name.as_str(), "root" | "bootstrap" | "replay")
            }
            Service::Web => self.web.contains_key(&target.name),
        };
        if known { Ok(()) } else { Err(refuse(format!("the lab has nothing called {target}"))) }
    }

    fn check_fault(&self, target: &Target, fault: &Fault) -> Result<(), Error> {
        if !fault.fits(target.service) {
            return Err(refuse(format!("{target} can't have the fault `{fault}`")));
        }
        if fault.is_zone_data() && (target.only.is_some() || !self.domains.contains_key(&target.name)) {
            return Err(refuse(format!("`{fault}` is a fault of a domain's data; name the domain alone")));
        }
        Ok(())
    }

    fn renew(&mut self, domain: &str, years: i16) -> Result<String, Error> {
        let name = self.registered(domain)?;
        if !(1..=10).contains(&years) {
            return Err(refuse("a renewal is for 1 to 10 years"));
        }
        let expires = self.domains.get(&name).and_then(|d| d.expires);
        let expires = expires.ok_or_else(|| refuse(format!("{name} has no expiration to move")))?;
        let later = expires
            .to_zoned(TimeZone::UTC)
            .checked_add(Span::new().years(years))
            .map_err(|e| refuse(e.to_string()))?
            .timestamp();
        self.edit(&name, |d| {
            d.expires = Some(later);
            d.registrar_expires = d.registrar_expires.map(|_| later);
            d.statuses.retain(|s| s != "autoRenewPeriod");
        })?;
        Ok(format!("{name}: renewed by {years} year(s), expires {later}"))
    }

    fn set_nameservers(&mut self, domain: &str, hosts: &[String]) -> Result<String, Error> {
        let name = self.registered(domain)?;
        let hosts: Vec<String> =
            hosts.iter().map(|h| names::normal(h)).collect::<Result<_, _>>().map_err(refuse)?;
        let known: Vec<String> = hosts.iter().filter(|h| self.is_dns(h)).cloned().collect();
        let strangers: Vec<&str> = hosts.iter().filter(|h| !self.is_dns(h)).map(String::as_str).collect();
        let mut said = if hosts.is_empty() {
            format!("{name}: no nameservers, not delegated")
        } else {
            format!("{name}: nameservers are now {}", hosts.join(", "))
        };
        if !strangers.is_empty() {
            said.push_str(&format!("; unknown to the lab: {}", strangers.join(", ")));
        }
        self.edit(&name, |d| {
            if !known.is_empty() {
                d.served_by = known.into_iter().collect();
            }
            d.nameservers = hosts;
            d.child_nameservers = None;
            d.serial += 1;
        })?;
        Ok(said)
    }

    fn zone_of_record(&self, owner: &str) -> Result<(String, String), Error> {
        let owner = owner.trim().trim_end_matches('.').to_ascii_lowercase();
        let zone = self.zone_of_host(&owner);
        let zone =
            self.registered(&zone).map_err(|_| refuse(format!("no domain of the lab holds {owner}")))?;
        Ok((owner, zone))
    }

    fn add_record(&mut self, owner: &str, rtype: &str, ttl: u32, data: &str) -> Result<String, Error> {
        let (owner, zone) = self.zone_of_record(owner)?;
        let line = record_line(&format!("{owner}. {ttl} {rtype} {data}"), &zone).map_err(refuse)?;
        self.touch(&zone, |d| {
            if !d.records.contains(&line) {
                d.records.push(line);
            }
        })?;
        Ok(format!("{owner} {ttl} {} {data} is in the zone {zone}", rtype.to_uppercase()))
    }

    fn remove_record(&mut self, owner: &str, rtype: &str, data: Option<&str>) -> Result<String, Error> {
        let (owner, zone) = self.zone_of_record(owner)?;
        let rtype: hickory_proto::rr::RecordType =
            rtype.to_ascii_uppercase().parse().map_err(|_| refuse(format!("`{rtype}` is no record type")))?;
        let only = data
            .map(|data| record_line(&format!("{owner}. 0 {rtype} {data}"), &zone).map_err(refuse))
            .transpose()?;
        let name = names::wire(&owner);
        let mut removed = 0;
        self.touch(&zone, |d| {
            let before = d.records.len();
            d.records.retain(|r| {
                r.name != name || r.rtype != rtype || only.as_ref().is_some_and(|only| only.data != r.data)
            });
            removed = before - d.records.len();
        })?;
        Ok(format!("{removed} record(s) removed from {owner}"))
    }

    /// A change of the zone alone: its serial moves on, the registration does not.
    fn touch(&mut self, name: &str, change: impl FnOnce(&mut Domain)) -> Result<(), Error> {
        if let Some(domain) = self.domains.get_mut(name) {
            change(domain);
            domain.serial += 1;
        }
        self.build_zone_only(name)
    }

    fn sign(&mut self, domain: &str, how: Signing) -> Result<String, Error> {
        let name = self.registered(domain)?;
        self.keys.remove(&name);
        self.edit(&name, |d| {
            d.dnssec = how;
            d.serial += 1;
        })?;
        Ok(if how == Signing::None {
            format!("{name} is no longer signed and has no DS")
        } else {
            format!("{name} is signed ({how:?}), with new keys")
        })
    }

    fn register(&mut self, domain: &str, registrar: &str, hosts: &[String]) -> Result<String, Error> {
        let name = names::normal(domain).map_err(refuse)?;
        if !self.tlds.contains_key(names::tld_of(&name)) || !name.contains('.') {
            return Err(refuse(format!("the lab has no registry for {name}")));
        }
        let reserved = self.tlds.get(names::tld_of(&name)).is_some_and(|t| t.reserved.contains(&name));
        if reserved || self.domains.get(&name).is_some_and(|d| d.standing != Standing::Available) {
            return Err(refuse(format!("{name} is taken or reserved")));
        }
        let shown = self.registrar_name(registrar)?;
        let now = self.clock.second();
        let expires =
            now.to_zoned(TimeZone::UTC).checked_add(Span::new().years(1)).map(|z| z.timestamp()).ok();
        let serial = self.first_serial();
        let blank = Domain {
            story: "registered while the lab ran".into(),
            registrar: Some(registrar.to_owned()),
            created: Some(now),
            expires,
            statuses: vec!["addPeriod".into()],
            ..Domain::bare(&name, serial)
        };
        self.domains.insert(name.clone(), blank);
        self.set_nameservers(&name, hosts)?;
        Ok(format!("{name} is registered with {shown}"))
    }
}
