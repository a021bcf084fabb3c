//! What the authoritative servers say when asked from several places. In: the answer seen from each place. Out: who sees
//! what, how long it took, and a sentence.

use super::compare::{Authority, AuthorityOutcome, Judged, VerdictKind};
use super::rdata::same_rrset;
use crate::dns::latency::{ChainServer, LatencyHistory};
use crate::dns::place_latency::PlaceLatency;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// An answer that takes so long from one place is slow there, in milliseconds.
pub const SLOW_MS: f64 = 200.0;
/// A server is near a place that it answers this fast, in milliseconds.
const NEAR_MS: f64 = 40.0;

/// What one place sees.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlaceAnswer {
    /// Identity of the place (`local`, an agent's).
    pub id: String,
    /// Name people see.
    pub label: String,
    /// Where it is.
    pub region: String,
    /// What it sees; `None` where it could not look.
    pub authority: Option<Authority>,
    /// Why it could not look.
    pub error: Option<String>,
    /// What recursive resolvers say there, beside what the authoritative servers do; `None` where they were not asked: from
    /// this server (the comparison itself does that), by an agent that is too old, about a name that is denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caches: Option<Vec<Judged>>,
}

/// What the places that were asked see.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Looked<T> {
    /// Each place, this server first.
    pub places: Vec<T>,
    /// Points of presence that were not asked, as one look asks only so many.
    pub left_out: usize,
}

impl<T> Looked<T> {
    /// A sentence with what it leaves out.
    pub(crate) fn and_left_out(&self, mut sentence: String) -> String {
        if self.left_out > 0 {
            // The first place is this server.
            let asked = self.places.len().saturating_sub(1);
            let all = asked + self.left_out;
            sentence.push_str(&format!(
                " {asked} of {all} points of presence were asked, spread over their regions."
            ));
        }
        sentence
    }
}

impl PlaceLatency {
    /// One look of a place: what it saw of the servers of the zone.
    pub fn of(id: String, region: String, seen: &Authority, at: Timestamp) -> Self {
        let own = seen.servers.iter().filter(|s| s.zone == seen.zone);
        let servers = own.filter_map(|s| {
            Some(ChainServer {
                zone: s.zone.clone(),
                server: s.server.clone(),
                address: s.address?,
                ms: vec![s.latency_ms.map(|ms| ms as f32)],
                network: None,
                ids: s.nsid.iter().cloned().collect(),
            })
        });
        let seen =
            LatencyHistory { looks: vec![at], servers: servers.collect(), ..LatencyHistory::default() };
        PlaceLatency { id, region, seen }
    }
}

impl Looked<PlaceAnswer> {
    /// What they come to.
    pub fn sentence(&self) -> String {
        self.and_left_out(places_sentence(&self.places))
    }
}

/// The places as a page shows them: a browser need not judge, nor read what it does not show.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlacesView {
    /// What they come to.
    pub sentence: String,
    /// Each place, this server first.
    pub places: Vec<PlaceView>,
}

/// A place as a page shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlaceView {
    /// Name people see.
    pub label: String,
    /// Where it is.
    pub region: String,
    /// Beside the first place.
    pub verdict: PlaceVerdict,
    /// The data of the records that it sees.
    pub data: Vec<String>,
    /// Why it could not look.
    pub error: Option<String>,
    /// Each server of the zone: name, identifier, milliseconds.
    pub times: Vec<(String, Option<String>, f64)>,
    /// What resolvers have cached there.
    pub caches: Option<CachesView>,
}

/// What resolvers have cached at a place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CachesView {
    /// How many answered, and how many did not.
    pub answered: (usize, usize),
    /// Those that have something else: their names, what they have, and what goes with it.
    pub differ: Vec<(String, String, String)>,
}

impl PlacesView {
    /// Of these places.
    pub fn of(looked: &Looked<PlaceAnswer>) -> Self {
        let places = &looked.places;
        let caches = |p: &PlaceAnswer| {
            let (answered, differ) = caches_at(p)?;
            let shown = |j: &&Judged| (j.resolver.name.clone(), j.shows.clone(), j.short.clone());
            let failed = p.caches.as_ref().map_or(0, Vec::len) - answered;
            Some(CachesView { answered: (answered, failed), differ: differ.iter().map(shown).collect() })
        };
        let view = |p: &PlaceAnswer| PlaceView {
            label: p.label.clone(),
            region: p.region.clone(),
            verdict: places.first().map_or(PlaceVerdict::None, |first| place_verdict(first, p)),
            data: p.authority.iter().flat_map(|a| a.records.iter().map(|r| r.data.clone())).collect(),
            error: p.error.clone(),
            times: p.authority.as_ref().map(server_times).unwrap_or_default(),
            caches: caches(p),
        };
        PlacesView { sentence: looked.sentence(), places: places.iter().map(view).collect() }
    }
}

/// Resolvers that answered at a place, and those of them that have something else than the authoritative servers.
fn caches_at(place: &PlaceAnswer) -> Option<(usize, Vec<&Judged>)> {
    let said = place.caches.as_ref()?.iter().filter(|j| j.verdict.kind() != VerdictKind::Failing);
    let said: Vec<&Judged> = said.collect();
    let differ = |j: &&&Judged| !matches!(j.verdict.kind(), VerdictKind::Same | VerdictKind::Filtered);
    Some((said.len(), said.iter().filter(differ).copied().collect()))
}

/// Which caches still have another answer, in a sentence.
fn caches_sentence(places: &[PlaceAnswer]) -> Option<String> {
    let all: Vec<_> = places.iter().filter_map(|p| Some((p, caches_at(p)?))).collect();
    if all.iter().all(|(_, (said, _))| *said == 0) {
        return None;
    }
    let behind = all.iter().filter(|(_, (_, differ))| !differ.is_empty());
    let behind: Vec<_> =
        behind.map(|(p, (said, differ))| format!("{} ({} of {said})", p.label, differ.len())).collect();
    Some(match behind.as_slice() {
        [] => "The caches there have the same.".into(),
        some => format!("Caches have another answer at {}.", some.join(", ")),
    })
}

/// How a place's answer compares with that of the first place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlaceVerdict {
    /// The first place, or the same answer.
    Same,
    /// Another answer.
    Different,
    /// No answer.
    None,
}

/// How the answer of a place compares with that of the first.
fn place_verdict(first: &PlaceAnswer, other: &PlaceAnswer) -> PlaceVerdict {
    match (&first.authority, &other.authority) {
        (_, None) => PlaceVerdict::None,
        (_, Some(o)) if o.outcome == AuthorityOutcome::NoAnswer => PlaceVerdict::None,
        (Some(f), Some(o)) if f.outcome == o.outcome && same_rrset(&f.records, &o.records, &f.rtype) => {
            PlaceVerdict::Same
        }
        (None, Some(_)) => PlaceVerdict::Same,
        (Some(_), Some(_)) => PlaceVerdict::Different,
    }
}

/// Server, name server identifier and fastest answer of each server of the zone, as a place sees them.
fn server_times(authority: &Authority) -> Vec<(String, Option<String>, f64)> {
    let mut out: Vec<(String, Option<String>, f64)> = Vec::new();
    for s in authority.servers.iter().filter(|s| s.zone == authority.zone) {
        let Some(ms) = s.latency_ms else { continue };
        match out.iter_mut().find(|(name, ..)| *name == s.server) {
            Some(found) if found.2 <= ms => {}
            Some(found) => (found.1, found.2) = (s.nsid.clone(), ms),
            None => out.push((s.server.clone(), s.nsid.clone(), ms)),
        }
    }
    out
}

fn ms(ms: f64) -> String {
    format!("{ms:.0} ms")
}

/// What the places come to, in a sentence or two.
fn places_sentence(places: &[PlaceAnswer]) -> String {
    let Some(first) = places.first() else { return String::new() };
    let of = |wanted| -> Vec<&str> {
        let found = places.iter().skip(1).filter(|p| place_verdict(first, p) == wanted);
        found.map(|p| p.label.as_str()).collect()
    };
    let (different, none) = (of(PlaceVerdict::Different), of(PlaceVerdict::None));
    let mut out = match (different.as_slice(), none.as_slice()) {
        ([], []) if places.len() == 2 => "Both places get the same answer.".into(),
        ([], []) => format!("All {} places get the same answer.", places.len()),
        ([], none) => format!("No answer from {}; the other places agree.", none.join(", ")),
        (different, _) => format!(
            "{} gets another answer than {}: legitimate where answers depend on location.",
            different.join(", "),
            first.label
        ),
    };
    if let Some(words) = unicast(places) {
        out.push_str(&format!(" {words}"));
    }
    if let Some(words) = caches_sentence(places) {
        out.push_str(&format!(" {words}"));
    }
    let anycast = anycast(places);
    if !anycast.is_empty() {
        let verb = if anycast.len() == 1 { "identifies itself" } else { "identify themselves" };
        out.push_str(&format!(
            " {} {verb} differently from place to place: a sign of anycast.",
            anycast.join(", ")
        ));
    }
    out
}

/// One server as one place sees it.
struct Sighting<'a> {
    place: &'a str,
    nsid: Option<String>,
    ms: f64,
}

/// Each server with what the places see of it.
fn sightings(places: &[PlaceAnswer]) -> BTreeMap<String, Vec<Sighting<'_>>> {
    let mut all: BTreeMap<String, Vec<Sighting<'_>>> = BTreeMap::new();
    for p in places {
        for (server, nsid, ms) in p.authority.iter().flat_map(server_times) {
            all.entry(server).or_default().push(Sighting { place: &p.label, nsid, ms });
        }
    }
    all
}

/// A server that is near one place and far from another, and the same machine for both: a sentence about the worst.
fn unicast(places: &[PlaceAnswer]) -> Option<String> {
    let mut worst: Option<(f64, String)> = None;
    for (server, seen) in sightings(places) {
        let near = seen.iter().min_by(|a, b| a.ms.total_cmp(&b.ms))?;
        let far = seen.iter().max_by(|a, b| a.ms.total_cmp(&b.ms))?;
        let is_slow = near.nsid == far.nsid && near.ms <= NEAR_MS && far.ms >= SLOW_MS;
        if is_slow && worst.as_ref().is_none_or(|(ms, _)| *ms < far.ms) {
            let words = format!(
                "{server} answers in {} from {} and in {} from {}: slow, unicast authoritative DNS.",
                ms(near.ms),
                near.place,
                ms(far.ms),
                far.place
            );
            worst = Some((far.ms, words));
        }
    }
    worst.map(|(_, words)| words)
}

/// Servers whose identifier differs between places.
fn anycast(places: &[PlaceAnswer]) -> Vec<String> {
    let differs = |seen: &[Sighting<'_>]| {
        let ids: BTreeSet<&String> = seen.iter().filter_map(|s| s.nsid.as_ref()).collect();
        ids.len() > 1
    };
    sightings(places).into_iter().filter(|(_, seen)| differs(seen)).map(|(server, _)| server).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::compare::Verdict;
    use crate::dns::{AnswerKind, Record};
    use crate::tools::chain::AuthorityServer;

    pub(in super::super) fn place(label: &str, data: &str, ms: f64, nsid: &str) -> PlaceAnswer {
        let record = Record { name: "www.q7.io".into(), ttl: 60, rtype: "A".into(), data: data.into() };
        let server = AuthorityServer {
            zone: "q7.io".into(),
            owner: "www.q7.io".into(),
            server: "ns1.q7.io".into(),
            address: None,
            kind: AnswerKind::Answer,
            records: vec![record.clone()],
            ttl: Some(60),
            serial: None,
            latency_ms: Some(ms),
            nsid: (!nsid.is_empty()).then(|| nsid.to_string()),
            notes: vec![],
        };
        let authority = Authority {
            name: "www.q7.io".into(),
            rtype: "A".into(),
            zone: "q7.io".into(),
            outcome: AuthorityOutcome::Serves,
            aliases: vec![],
            records: vec![record],
            ttl: Some(60),
            negative_ttl: None,
            soa: None,
            servers: vec![server],
            agree: true,
            asked_at: jiff::Timestamp::UNIX_EPOCH,
            cause: None,
            notes: vec![],
            sentence: String::new(),
        };
        PlaceAnswer {
            id: label.into(),
            label: label.into(),
            region: String::new(),
            authority: Some(authority),
            error: None,
            caches: None,
        }
    }

    #[test]
    fn differences_are_said_in_a_sentence() {
        let fra = place("fra-1", "192.0.2.1", 12.0, "a");
        let same = places_sentence(&[fra.clone(), place("iad-1", "192.0.2.1", 96.0, "a")]);
        assert_eq!(same, "Both places get the same answer.");
        let slow = places_sentence(&[fra.clone(), place("sin-1", "192.0.2.1", 412.0, "a")]);
        assert!(slow.contains("12 ms from fra-1 and in 412 ms from sin-1: slow, unicast"), "{slow}");
        let anycast = places_sentence(&[fra.clone(), place("sin-1", "192.0.2.1", 9.0, "b")]);
        assert!(anycast.contains("anycast") && !anycast.contains("slow"), "{anycast}");
        let other = places_sentence(&[fra.clone(), place("sin-1", "192.0.2.9", 9.0, "a")]);
        assert!(other.starts_with("sin-1 gets another answer than fra-1"), "{other}");
        let gone = PlaceAnswer { authority: None, error: Some("no answer in time".into()), ..fra.clone() };
        assert_eq!(place_verdict(&fra, &gone), PlaceVerdict::None);
        let judged = |verdict| Judged {
            resolver: crate::resolvers::PublicResolver::of_machine("192.0.2.53".parse().unwrap()),
            answer: None,
            verdict,
            shows: String::new(),
            short: String::new(),
            sentence: String::new(),
        };
        let with = |caches: Vec<Judged>| PlaceAnswer {
            caches: Some(caches),
            ..place("sin-1", "192.0.2.1", 12.0, "a")
        };
        let behind = with(vec![
            judged(Verdict::Same),
            judged(Verdict::Filtered),
            judged(Verdict::Failing),
            judged(Verdict::Different { cause: crate::compare::Cause::OldOrLocation, until: None }),
        ]);
        let words = places_sentence(&[fra.clone(), behind]);
        assert_eq!(words, "Both places get the same answer. Caches have another answer at sin-1 (1 of 3).");
        let words = places_sentence(&[fra.clone(), with(vec![judged(Verdict::Same)])]);
        assert_eq!(words, "Both places get the same answer. The caches there have the same.");
        let silent = places_sentence(&[fra.clone(), with(vec![judged(Verdict::Failing)])]);
        assert_eq!(silent, "Both places get the same answer.");
        assert!(places_sentence(&[fra, gone]).starts_with("No answer from fra-1"));
    }
}
