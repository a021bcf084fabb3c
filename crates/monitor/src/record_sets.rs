//! Record sets that are not the same on all servers of a zone. In: what one server answered, and what is stored. Out: the
//! union over the servers, with a finding that names who lacks what.
//!
//! A scan asks one server for each set. The others are asked for a set that differs from the stored one, for those that
//! were known to differ, and for all when a serial moved and the servers' serials differ: a quiet scan asks nothing more. A
//! set that one and the same server answers differently from question to question rotates: that is left to `model::confirm`.

use crate::Scanner;
use crate::observer::DnsParts;
use dns::checks::{RECORD_SETS_DIFFER, record_sets_differ};
use model::dns::{Delegation, RrSet, ServerHealth, ServerSet, ServerState, SetAnswer, ZoneSnapshot};
use model::finding::Finding;
use model::names::DomainName;
use model::observation::Observation;
use std::collections::{BTreeMap, BTreeSet};

/// Records that a finding spells out of one server, and characters of each.
const SPELT_OUT: usize = 3;
const CHARACTERS: usize = 80;

impl Scanner {
    /// Replaces sets on which the servers disagree by the union over the servers.
    pub(crate) async fn unite_servers(
        &self,
        name: &DomainName,
        stored: Option<&Observation>,
        dns: &mut DnsParts,
    ) {
        let known = known_to_differ(stored);
        let (Some(delegation), Some(zone)) = (&dns.delegation.value, &mut dns.zone.value) else {
            dns.findings.extend(known.into_values().cloned());
            return;
        };
        let fields = fields_to_compare(stored, delegation, zone, &known);
        // Not answered: what was known of it stays, as its records do.
        let unknown = known.iter().filter(|(field, _)| zone.unanswered.iter().any(|u| u == *field));
        dns.findings.extend(unknown.map(|(_, finding)| (*finding).clone()));
        if fields.is_empty() || (known.is_empty() && authoritative(delegation).count() < 2) {
            return;
        }
        let answers = by_field(self.observer.record_sets(name, delegation, &fields).await);
        let differing: Vec<String> =
            fields.iter().filter(|f| differs(answers.get(f.as_str()))).cloned().collect();
        let again = match differing.len() {
            0 => BTreeMap::new(),
            _ => by_field(self.observer.record_sets(name, delegation, &differing).await),
        };
        for field in &fields {
            let sets = answers.get(field).map(Vec::as_slice).unwrap_or_default();
            let before = known.get(field.as_str()).copied();
            let union = differing.contains(field).then(|| union(zone, field, sets, again.get(field)));
            let seen = union.as_ref().and_then(Option::as_ref).or_else(|| set_of(zone, field)).cloned();
            // Who does not answer now may still have what is missing: it is known to differ.
            if let Some(before) = before
                && is_partial(before, delegation, sets)
                && let Some(set) = stored.and_then(|o| set_of(o.zone.value.as_ref()?, field))
                && seen.is_none_or(|seen| seen.data.iter().all(|d| set.data.contains(d)))
            {
                put(zone, field, set.clone());
                dns.findings.push(before.clone());
            } else if let Some(Some(set)) = union {
                let answered = sets.iter().filter(|s| s.answer.data().is_some());
                let servers = answered.map(|s| s.server.as_str()).collect();
                dns.findings.push(record_sets_differ(name.as_str(), field, servers, &lacks(&set, sets)));
                put(zone, field, set);
            }
        }
    }
}

fn is_authoritative(health: ServerHealth) -> bool {
    matches!(health, ServerHealth::Authoritative | ServerHealth::Slow)
}

fn authoritative(d: &Delegation) -> impl Iterator<Item = &ServerState> {
    d.servers.iter().filter(|s| is_authoritative(s.health))
}

/// The stored findings about sets that differ, by set.
fn known_to_differ(stored: Option<&Observation>) -> BTreeMap<&str, &Finding> {
    let findings = stored.into_iter().flat_map(|o| &o.findings).filter(|f| f.tag == RECORD_SETS_DIFFER);
    findings.filter_map(|f| Some((f.args.get("set")?.as_str()?, f))).collect()
}

/// True when a server whose records are in the union does not answer now.
fn is_partial(before: &Finding, delegation: &Delegation, sets: &[ServerSet]) -> bool {
    let united: Option<Vec<&str>> =
        before.args.get("servers").and_then(|s| s.as_array()?.iter().map(|name| name.as_str()).collect());
    sets.is_empty()
        || delegation.servers.iter().filter_map(|s| Some((s.health, server_of(s)?))).any(
            |(health, server)| {
                let asked = sets.iter().find(|s| s.server == server);
                let silent = matches!(health, ServerHealth::Dead | ServerHealth::Lame);
                united.as_ref().is_none_or(|all| all.contains(&server.as_str()))
                    && asked.map_or(silent, |s| s.answer == SetAnswer::Unanswered)
            },
        )
}

/// A server as [`ServerSet`] names it.
fn server_of(s: &ServerState) -> Option<String> {
    Some(format!("{}/{}", s.name, s.address?))
}

fn key(set: &RrSet) -> String {
    format!("{} {}", set.name, set.rtype)
}

fn set_of<'a>(zone: &'a ZoneSnapshot, field: &str) -> Option<&'a RrSet> {
    zone.rrsets.iter().find(|set| key(set) == field)
}

/// The sets that all servers are asked for.
fn fields_to_compare(
    stored: Option<&Observation>,
    delegation: &Delegation,
    zone: &ZoneSnapshot,
    known: &BTreeMap<&str, &Finding>,
) -> Vec<String> {
    let mut fields: BTreeSet<String> = known.keys().map(ToString::to_string).collect();
    let serials: BTreeSet<_> = authoritative(delegation).filter_map(|s| s.serial).collect();
    if serials.len() > 1 && a_serial_moved(stored, delegation) {
        fields.extend(zone.rrsets.iter().map(key));
    }
    if let Some(before) = stored.and_then(|o| o.zone.value.as_ref()) {
        let data = |zone: &ZoneSnapshot| -> BTreeMap<String, Vec<String>> {
            zone.rrsets.iter().map(|set| (key(set), set.data.clone())).collect()
        };
        let (old, new) = (data(before), data(zone));
        let all = old.keys().chain(new.keys());
        fields.extend(all.filter(|field| old.get(*field) != new.get(*field)).cloned());
    }
    fields.retain(|field| !zone.unanswered.contains(field));
    fields.into_iter().collect()
}

/// True when a server has another serial than when it was looked at last: those that each count their own always differ.
fn a_serial_moved(stored: Option<&Observation>, delegation: &Delegation) -> bool {
    let before = stored.and_then(|o| o.delegation.value.as_ref());
    let known = |now: &ServerState| {
        let then = before?.servers.iter().find(|s| s.name == now.name && s.address == now.address);
        then?.serial
    };
    authoritative(delegation).any(|s| s.serial.is_some() && s.serial != known(s))
}

fn by_field(sets: Vec<ServerSet>) -> BTreeMap<String, Vec<ServerSet>> {
    let mut out = BTreeMap::<String, Vec<ServerSet>>::new();
    for set in sets {
        out.entry(set.field.clone()).or_default().push(set);
    }
    out
}

fn differs(answers: Option<&Vec<ServerSet>>) -> bool {
    let distinct: BTreeSet<_> = answers.into_iter().flatten().filter_map(|s| s.answer.data()).collect();
    distinct.len() > 1
}

/// The union over the servers; `None` when the set rotates: a server answers another one when it is asked again, or what
/// the scan read first is no server's.
fn union(
    zone: &ZoneSnapshot,
    field: &str,
    answers: &[ServerSet],
    again: Option<&Vec<ServerSet>>,
) -> Option<RrSet> {
    let first = set_of(zone, field).map_or(&[][..], |set| &set.data);
    let steady = |now: &ServerSet| {
        let then = answers.iter().find(|s| s.server == now.server).and_then(|s| s.answer.data());
        now.answer.data().zip(then).is_none_or(|(now, then)| now == then)
    };
    if !answers.iter().any(|s| s.answer.data() == Some(first)) || !again?.iter().all(steady) {
        return None;
    }
    let sets = answers.iter().filter_map(|s| match &s.answer {
        SetAnswer::Set(set) => Some(set.clone()),
        SetAnswer::Absent | SetAnswer::Unanswered => None,
    });
    sets.reduce(|mut union, set| {
        union.ttl = union.ttl.min(set.ttl);
        union.data.extend(set.data);
        union.data.sort();
        union.data.dedup();
        union
    })
}

/// Which server lacks which records of the union, in words.
fn lacks(union: &RrSet, answers: &[ServerSet]) -> String {
    let of = |s: &ServerSet| {
        let has = s.answer.data()?;
        let missing: Vec<&String> = union.data.iter().filter(|d| !has.contains(d)).collect();
        let short = |d: &&&String| match d.char_indices().nth(CHARACTERS) {
            Some((end, _)) => format!("{}…", &d[..end]),
            None => d.to_string(),
        };
        let spelt: Vec<String> = missing.iter().take(SPELT_OUT).map(|d| short(&d)).collect();
        let more = match missing.len().saturating_sub(SPELT_OUT) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        (!missing.is_empty()).then(|| format!("{} lacks {}{more}", s.server, spelt.join(" · ")))
    };
    answers.iter().filter_map(of).collect::<Vec<_>>().join(", ")
}

fn put(zone: &mut ZoneSnapshot, field: &str, set: RrSet) {
    zone.rrsets.retain(|r| key(r) != field);
    zone.rrsets.push(set);
    zone.rrsets.sort_by(|a, b| (&a.name, &a.rtype).cmp(&(&b.name, &b.rtype)));
}
