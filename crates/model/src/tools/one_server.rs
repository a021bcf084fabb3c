//! One name server of a zone as each place sees it. In: what the authoritative servers said at each place when asked for the
//! SOA. Out: answer time, identifier (RFC 5001) and serial of one of them at each place, and a sentence.

use super::chain::AuthorityServer;
use super::compare::Authority;
use super::places::{Looked, PlaceAnswer};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// One server from each place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServerFromPlaces {
    /// The zone that it serves; empty where no place found it.
    pub zone: String,
    /// Its host name; empty where the zone has none.
    pub server: String,
    /// All servers of the zone, by name.
    pub servers: Vec<String>,
    /// What the places come to.
    pub sentence: String,
    /// Each place, this server first.
    pub rows: Vec<ServerAtPlace>,
}

/// The server as one place sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServerAtPlace {
    /// The place, with its region.
    pub place: String,
    /// Milliseconds of its fastest answer.
    pub ms: Option<f64>,
    /// What it calls itself.
    pub nsid: Option<String>,
    /// Serial of the zone.
    pub serial: Option<u32>,
    /// Why there is no answer; empty where there is one.
    pub error: String,
}

fn plain(name: &str) -> String {
    name.trim().trim_end_matches('.').to_ascii_lowercase()
}

/// The servers of the zone itself that a place saw.
fn own(seen: &Authority) -> impl Iterator<Item = &AuthorityServer> {
    seen.servers.iter().filter(|s| s.zone == seen.zone)
}

impl ServerFromPlaces {
    /// The server of this name at each place; where none is named, the one that the name itself is, else the slowest.
    pub fn of(name: &str, server: &str, looked: &Looked<PlaceAnswer>) -> Self {
        let seen = || looked.places.iter().filter_map(|p| p.authority.as_ref());
        let servers: BTreeSet<String> = seen().flat_map(own).map(|s| s.server.clone()).collect();
        let is = |wanted: &str| servers.iter().find(|s| plain(s) == plain(wanted)).cloned();
        let slowest = || {
            let timed = seen().flat_map(own).filter_map(|s| Some((s.latency_ms?, &s.server)));
            timed.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, server)| server.clone())
        };
        let asked = plain(server);
        let chosen = if asked.is_empty() { is(name).or_else(slowest) } else { is(&asked) };
        let chosen = chosen.or_else(|| servers.first().cloned()).unwrap_or_default();
        let rows: Vec<_> = looked.places.iter().map(|p| row(p, &chosen)).collect();
        let mut words = Vec::new();
        if !asked.is_empty() && asked != plain(&chosen) && !chosen.is_empty() {
            words.push(format!("{asked} is no name server of this zone; this is {chosen}."));
        }
        words.extend(sentences(&rows));
        ServerFromPlaces {
            zone: seen().map(|a| a.zone.clone()).next().unwrap_or_default(),
            server: chosen,
            servers: servers.into_iter().collect(),
            sentence: looked.and_left_out(words.join(" ")),
            rows,
        }
    }
}

fn row(p: &PlaceAnswer, server: &str) -> ServerAtPlace {
    let of_server = p.authority.iter().flat_map(own).filter(|s| s.server == server);
    let timed = of_server.filter_map(|s| Some((s.latency_ms?, s)));
    let fastest = timed.min_by(|a, b| a.0.total_cmp(&b.0));
    let error = match (&fastest, &p.error) {
        (Some(_), _) => String::new(),
        (None, Some(error)) => error.clone(),
        (None, None) => "no answer".into(),
    };
    ServerAtPlace {
        place: if p.region.is_empty() { p.label.clone() } else { format!("{} · {}", p.label, p.region) },
        ms: fastest.map(|(ms, _)| ms),
        nsid: fastest.and_then(|(_, s)| s.nsid.clone()),
        serial: fastest.and_then(|(_, s)| s.serial),
        error,
    }
}

fn sentences(rows: &[ServerAtPlace]) -> Vec<String> {
    let timed = || rows.iter().filter_map(|r| Some((r.ms?, &r.place)));
    let near = timed().min_by(|a, b| a.0.total_cmp(&b.0));
    let far = timed().max_by(|a, b| a.0.total_cmp(&b.0));
    let mut out = Vec::new();
    match (near, far) {
        (Some((near, at)), Some((far, to))) if at != to => {
            out.push(format!("It answers in {near:.0} ms from {at} and in {far:.0} ms from {to}."));
        }
        (Some((ms, at)), _) => out.push(format!("It answers in {ms:.0} ms from {at}.")),
        _ => return vec!["It answers at no place.".into()],
    }
    let silent = rows.iter().filter(|r| r.ms.is_none()).count();
    if silent > 0 {
        let places = if silent == 1 { "1 place".to_string() } else { format!("{silent} places") };
        out.push(format!("No answer from {places}."));
    }
    let serials: BTreeSet<u32> = rows.iter().filter_map(|r| r.serial).collect();
    if serials.len() > 1 {
        out.push("Serials differ: some places get an older copy of the zone.".into());
    }
    let given = rows.iter().filter_map(|r| r.nsid.as_ref());
    let ids: BTreeSet<&String> = given.clone().collect();
    if ids.len() > 1 {
        out.push("Its identifier differs from place to place: a sign of anycast.".into());
    } else if given.count() > 1 {
        out.push("It has the same identifier at each place: one machine, unicast.".into());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::places::tests::place;
    use super::*;

    fn looked(places: Vec<PlaceAnswer>) -> Looked<PlaceAnswer> {
        Looked { places, left_out: 0 }
    }

    #[test]
    fn one_server_is_shown_from_each_place() {
        let mut iad = place("iad-1", "192.0.2.1", 0.0, "");
        (iad.authority, iad.error) = (None, Some("no answer within 20 s".into()));
        let seen = looked(vec![
            place("fra-1", "192.0.2.1", 12.0, "m1"),
            place("sin-1", "192.0.2.1", 412.0, "m1"),
            iad,
        ]);
        let view = ServerFromPlaces::of("www.q7.io", "", &seen);
        assert_eq!((view.zone.as_str(), view.server.as_str()), ("q7.io", "ns1.q7.io"));
        let rows: Vec<_> = view.rows.iter().map(|r| (r.place.as_str(), r.ms, r.error.as_str())).collect();
        let silent = ("iad-1", None, "no answer within 20 s");
        assert_eq!(rows, [("fra-1", Some(12.0), ""), ("sin-1", Some(412.0), ""), silent]);
        for part in
            ["12 ms from fra-1 and in 412 ms from sin-1", "No answer from 1 place", "one machine, unicast"]
        {
            assert!(view.sentence.contains(part), "{part}: {}", view.sentence);
        }
        let mut other = place("sin-1", "192.0.2.1", 9.0, "m2");
        other.authority.as_mut().unwrap().servers[0].serial = Some(7);
        let mut first = place("fra-1", "192.0.2.1", 9.0, "m1");
        first.authority.as_mut().unwrap().servers[0].serial = Some(8);
        let view = ServerFromPlaces::of("www.q7.io", "NS1.q7.io.", &looked(vec![first, other]));
        assert!(
            view.sentence.contains("anycast") && view.sentence.contains("Serials differ"),
            "{}",
            view.sentence
        );
    }

    #[test]
    fn the_server_that_is_named_is_shown_else_the_name_itself_else_the_slowest() {
        let mut fra = place("fra-1", "192.0.2.1", 12.0, "");
        let servers = &mut fra.authority.as_mut().unwrap().servers;
        let slow =
            AuthorityServer { server: "ns2.q7.io".into(), latency_ms: Some(90.0), ..servers[0].clone() };
        servers.push(slow);
        let seen = looked(vec![fra]);
        let shown = |name, server| ServerFromPlaces::of(name, server, &seen);
        assert_eq!(shown("q7.io", "").server, "ns2.q7.io");
        assert_eq!(shown("ns1.q7.io", "").server, "ns1.q7.io");
        assert_eq!(shown("q7.io", "ns1.q7.io").server, "ns1.q7.io");
        assert_eq!(shown("q7.io", "").servers, ["ns1.q7.io", "ns2.q7.io"]);
        let other = shown("q7.io", "ns9.other.example");
        assert!(
            other.sentence.starts_with("ns9.other.example is no name server of this zone"),
            "{}",
            other.sentence
        );
    }

    #[test]
    fn without_an_answer_it_says_so() {
        let view = ServerFromPlaces::of("q7.io", "", &looked(vec![]));
        assert_eq!((view.server.as_str(), view.sentence.as_str()), ("", "It answers at no place."));
    }
}
