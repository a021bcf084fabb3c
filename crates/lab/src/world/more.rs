//! The rest of building a world: zones below domains, many domains at once, recorded domains.
//! In: the scenario. Out: more [`Domain`]s.

use std::collections::BTreeSet;

use jiff::{Span, Timestamp, tz::TimeZone};

use super::{Domain, World, build::REPLAY_SERVER, zones::record_line};
use crate::{
    Error,
    scenario::Scenario,
    target::{Service, Target},
};

impl World {
    fn servers_of(&self, provider: Option<&String>) -> Vec<String> {
        provider.and_then(|id| self.providers.get(id)).map(|p| p.servers.clone()).unwrap_or_default()
    }

    pub(super) fn add_zones(&mut self, scenario: &Scenario) -> Result<(), Error> {
        let serial = self.first_serial();
        for zone in &scenario.zone {
            let provided = self.servers_of(zone.provider.as_ref());
            let nameservers = zone.nameservers.clone().unwrap_or_else(|| provided.clone());
            let mut served_by: BTreeSet<String> = provided.into_iter().collect();
            served_by.extend(nameservers.iter().filter(|n| self.is_dns(n)).cloned());
            let records =
                zone.records.iter().map(|line| record_line(line, &zone.name)).collect::<Result<_, _>>();
            let records = records.map_err(|reason| Error::Scenario {
                file: scenario.file.clone(),
                reason: format!("[[zone]] {}: records: {reason}", zone.name),
            })?;
            let parent = zone.name.split_once('.').map(|(_, above)| self.zone_of_host(above));
            for fault in &zone.faults {
                let target = Target { service: Service::Dns, name: zone.name.clone(), only: None };
                self.faults.add(target, fault.clone());
            }
            let domain = Domain {
                parent,
                nameservers,
                served_by,
                dnssec: zone.dnssec,
                records,
                ..Domain::bare(&zone.name, serial)
            };
            self.domains.insert(zone.name.clone(), domain);
        }
        Ok(())
    }

    /// A date that many years from now.
    fn years(&self, years: i16) -> Option<Timestamp> {
        let now = self.clock.second().to_zoned(TimeZone::UTC);
        now.checked_add(Span::new().years(years)).ok().map(|z| z.timestamp())
    }

    pub(super) fn add_bulk(&mut self, scenario: &Scenario) {
        let serial = self.first_serial();
        for bulk in &scenario.bulk {
            let servers = self.servers_of(bulk.provider.as_ref());
            for number in 1..=bulk.count {
                let name = format!("{}{number:05}.{}", bulk.prefix, bulk.tld);
                let line = record_line(&format!("@ 300 A 192.0.2.{}", number % 254 + 1), &name);
                let domain = Domain {
                    listed: bulk.listed,
                    registrar: bulk.registrar.clone(),
                    created: self.years(-3),
                    updated: self.years(-1),
                    expires: self.years(1),
                    statuses: vec!["clientTransferProhibited".into()],
                    nameservers: servers.clone(),
                    served_by: servers.iter().cloned().collect(),
                    dnssec: bulk.dnssec,
                    records: line.into_iter().collect(),
                    ..Domain::bare(&name, serial)
                };
                self.domains.entry(name).or_insert(domain);
            }
        }
    }

    pub(super) fn add_replayed(&mut self) {
        let serial = self.first_serial();
        for name in self.replay.keys() {
            self.domains.entry(name.clone()).or_insert_with(|| Domain {
                story: "a recorded WHOIS answer".into(),
                nameservers: vec![REPLAY_SERVER.into()],
                served_by: BTreeSet::from([REPLAY_SERVER.to_owned()]),
                ..Domain::bare(name, serial)
            });
        }
    }
}
