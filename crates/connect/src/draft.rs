//! A zone in the course of being changed: which records go, which come, and what to warn of.

use crate::apply::{Plan, Request, Tracking};
use crate::conflict;
use crate::error::{Error, Result};
use crate::record::{Owner, Record};
use crate::render::Rendered;
use crate::spf::{self, Spf};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// TTL of an SPF record that no template or zone gives one, in seconds.
const SPF_TTL: u32 = 6000;

/// A zone in the course of being changed.
pub(crate) struct Draft<'a> {
    pub zone: &'a [Record],
    /// Which records of the zone go.
    pub gone: Vec<bool>,
    pub new: Vec<Record>,
    warnings: Vec<String>,
}

impl<'a> Draft<'a> {
    /// The zone before any change.
    pub fn new(zone: &'a [Record]) -> Self {
        Self { zone, gone: vec![false; zone.len()], new: Vec::new(), warnings: Vec::new() }
    }

    /// Applying a template again to the same host replaces what it wrote. With groups, other groups stay: only
    /// records of the type and name of a new grouped record go (draft section 10.3.1).
    pub fn drop_earlier_instance(
        &mut self,
        new: &[Rendered],
        tracking: &Tracking,
        owner: &Owner,
        with_groups: bool,
    ) {
        if tracking.multi_instance {
            return;
        }
        let grouped: BTreeSet<(&str, &str)> = new
            .iter()
            .filter(|n| n.is_grouped)
            .map(|n| (n.record.kind.as_str(), n.record.name.as_str()))
            .collect();
        for (index, record) in self.zone.iter().enumerate() {
            let is_replaced = !with_groups || grouped.contains(&(record.kind.as_str(), record.name.as_str()));
            if is_replaced && is_plain(record) && Owner::of(record).is_some_and(|o| o.is_same_template(owner))
            {
                self.gone[index] = true;
            }
        }
    }

    /// Marks what the new records replace. Where the zone remembers templates, an essential record takes the rest of
    /// its template with it (draft section 10.5), except that a template applied by groups does not remove itself.
    pub fn drop_conflicts(&mut self, new: &[Rendered], owner: Option<&Owner>, with_groups: bool) {
        let mut broken: Vec<Owner> = Vec::new();
        for (index, record) in self.zone.iter().enumerate() {
            if !new.iter().any(|new| conflict::replaces(new, record)) {
                continue;
            }
            self.gone[index] = true;
            let Some(own) = owner else { continue };
            let previous = Owner::of(record).filter(|previous| previous.is_essential && is_plain(record));
            let Some(previous) = previous.filter(|p| !(with_groups && p.is_same_template(own))) else {
                continue;
            };
            if !broken.iter().any(|known| known.is_same_instance(&previous)) {
                broken.push(previous);
            }
        }
        for (index, record) in self.zone.iter().enumerate() {
            let owner = Owner::of(record).filter(|_| is_plain(record));
            if owner.is_some_and(|owner| broken.iter().any(|gone| gone.is_same_instance(&owner))) {
                self.gone[index] = true;
            }
        }
    }

    /// Adds a record unless the zone has it, or will have it, already.
    pub fn add(&mut self, record: Record) {
        let kept = self.zone.iter().zip(&self.gone).filter(|(_, gone)| !**gone).map(|(record, _)| record);
        if kept.chain(&self.new).any(|known| known.is_same_as(&record)) {
            return;
        }
        self.warn_of_targets(&record);
        self.new.push(record);
    }

    /// Merges SPF rules into the SPF record of their host, or creates one.
    pub fn merge_spf(&mut self, new: &Rendered, owner: Option<&Owner>, request: &Request) -> Result<()> {
        let (name, rules) = (&new.record.name, &new.record.data);
        if !spf::are_rules(rules) {
            return Err(Error::data(format!("SPFM record at {name}: {rules:?} are no SPF rules")));
        }
        // A record that this application has already created comes first: it stands for those of the zone.
        if let Some(earlier) = self.new.iter_mut().find(|r| r.name == *name && spf_of(r).is_some()) {
            let mut spf = spf_of(earlier).unwrap_or_else(|| Spf::of_rules(rules));
            spf.merge(rules);
            earlier.data = like(&earlier.data, spf.to_string());
            self.warn_of_spf(name, &spf);
            return Ok(());
        }
        let found: Vec<usize> = (0..self.zone.len())
            .filter(|i| self.zone[*i].name == *name && spf_of(&self.zone[*i]).is_some())
            .collect();
        let mut merged: Option<Spf> = None;
        let mut is_own = false;
        for index in &found {
            let Some(spf) = spf_of(&self.zone[*index]) else { continue };
            is_own |= owner
                .is_some_and(|own| Owner::of(&self.zone[*index]).is_some_and(|o| o.is_same_template(own)));
            match &mut merged {
                Some(merged) => merged.absorb(&spf),
                None => merged = Some(spf),
            }
        }
        let first = found.first().map(|index| &self.zone[*index]);
        let before = merged.clone();
        let mut spf = merged.unwrap_or_else(|| Spf::of_rules(rules));
        spf.merge(rules);
        self.warn_of_spf(name, &spf);
        let is_unchanged = before.as_ref() == Some(&spf) && found.len() == 1 && !self.gone[found[0]];
        let is_renewed = is_own && request.tracking.as_ref().is_some_and(|t| !t.multi_instance);
        if is_unchanged && !is_renewed {
            return Ok(());
        }
        let text = spf.to_string();
        let mut record = tracked(new, request);
        record.kind = "TXT".into();
        record.data = first.map_or_else(|| text.clone(), |first| like(&first.data, text.clone()));
        record.ttl = first.and_then(|first| first.ttl).or(new.record.ttl).or(Some(SPF_TTL));
        for index in found {
            self.gone[index] = true;
        }
        self.new.push(record);
        Ok(())
    }

    fn warn_of_spf(&mut self, name: &str, spf: &Spf) {
        let (lookups, length) = (spf.lookups(), spf.to_string().len());
        if lookups > spf::MAX_LOOKUPS {
            self.warn(format!(
                "The SPF record at {name} needs {lookups} DNS queries; receivers stop at {} (RFC 7208)",
                spf::MAX_LOOKUPS
            ));
        }
        if length > 255 {
            self.warn(format!(
                "The SPF record at {name} has {length} characters; more than 255 need several strings"
            ));
        }
        for term in spf.unknown_terms() {
            self.warn(format!("The SPF record at {name} holds {term:?}, which RFC 7208 does not define"));
        }
    }

    fn warn_of_targets(&mut self, record: &Record) {
        let names_host = matches!(record.kind.as_str(), "CNAME" | "NS" | "MX" | "SRV" | "APEXCNAME");
        if names_host && record.data.parse::<std::net::IpAddr>().is_ok() {
            self.warn(format!(
                "{} at {} points to the address {}; a host name belongs there",
                record.kind, record.name, record.data
            ));
        }
        if record.kind == "A" && record.data.parse::<std::net::Ipv4Addr>().is_err() {
            self.warn(format!(
                "A at {} has the short address {}; write four numbers",
                record.name, record.data
            ));
        }
    }

    fn warn(&mut self, sentence: String) {
        if !self.warnings.contains(&sentence) {
            self.warnings.push(sentence);
        }
    }

    pub fn finish(mut self) -> Plan {
        let marked = || self.zone.iter().zip(&self.gone);
        let delete = marked().filter(|(_, gone)| **gone).map(|(record, _)| record.clone()).collect();
        let mut records: Vec<Record> = marked().filter(|(_, gone)| !**gone).map(|(r, _)| r.clone()).collect();
        let kept: BTreeMap<(&str, &str), u32> =
            records.iter().filter_map(|r| Some(((r.kind.as_str(), r.name.as_str()), r.ttl?))).collect();
        let mut differing = Vec::new();
        for new in &self.new {
            let Some(ttl) = kept.get(&(new.kind.as_str(), new.name.as_str())) else { continue };
            if new.ttl.is_some_and(|own| own != *ttl) {
                differing.push(format!(
                    "{} records at {} would have different TTLs; servers use one for all (RFC 2181)",
                    new.kind, new.name
                ));
            }
        }
        records.extend(self.new.iter().cloned());
        differing.into_iter().for_each(|sentence| self.warn(sentence));
        Plan { new: self.new, delete, records, warnings: self.warnings }
    }
}

/// Whether a record goes with its template. SPF records hold the rules of several, and outlive each.
pub(crate) fn is_plain(record: &Record) -> bool {
    spf_of(record).is_none()
}

pub(crate) fn spf_of(record: &Record) -> Option<Spf> {
    if record.kind == "TXT" { Spf::parse(&record.text()) } else { None }
}

/// The text in quotes if the record it replaces was quoted.
pub(crate) fn like(previous: &str, text: String) -> String {
    if previous.trim().starts_with('"') { format!("\"{text}\"") } else { text }
}

/// The record with its `_dc`, if the zone remembers templates.
pub(crate) fn tracked(new: &Rendered, request: &Request) -> Record {
    let mut record = new.record.clone();
    if let Some(tracking) = &request.tracking {
        record.owner = Some(json!({
            "id": tracking.instance_id,
            "providerId": tracking.provider_id,
            "serviceId": tracking.service_id,
            "host": request.host.to_lowercase(),
            "essential": new.essential,
        }));
    }
    record
}
