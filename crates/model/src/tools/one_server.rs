//! One name server of a zone as each place sees it. In: what the authoritative servers said at each place when asked for the
//! SOA. Out: answer time, identifier (RFC 5001) and serial of one address of one of them at each place, and a sentence. Two
//! addresses of a server may be two machines, so only what one address gave is compared.

use super::chain::AuthorityServer;
use super::compare::Authority;
use super::places::{Looked, PlaceAnswer};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

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
    /// The address that answered, the same at each place; `None` without an answer.
    pub address: Option<IpAddr>,
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
        let answering = answering_addresses(looked, &chosen);
        let mut by_places: Vec<_> = answering.iter().collect();
        // A stable sort: of those that equally many places answer for, the first, which is IPv4.
        by_places.sort_by_key(|(_, places)| std::cmp::Reverse(**places));
        let address = by_places.first().and_then(|(address, _)| **address);
        let rows: Vec<_> = looked.places.iter().map(|p| row(p, &chosen, address)).collect();
        let mut words = Vec::new();
        if !asked.is_empty() && asked != plain(&chosen) && !chosen.is_empty() {
            words.push(format!("{asked} is no name server of this zone; showing {chosen} instead."));
        }
        words.extend(sentences(&rows));
        if let Some(address) = address
            && answering.len() > 1
        {
            words.push(format!(
                "Only {address} is compared, of the {} addresses that answer.",
                answering.len()
            ));
        }
        ServerFromPlaces {
            zone: seen().map(|a| a.zone.clone()).next().unwrap_or_default(),
            server: chosen,
            servers: servers.into_iter().collect(),
            sentence: looked.and_left_out(words.join(" ")),
            rows,
        }
    }
}

/// The answers of a server at one place, with their milliseconds.
fn timed<'a>(p: &'a PlaceAnswer, server: &'a str) -> impl Iterator<Item = (f64, &'a AuthorityServer)> {
    let of_server = p.authority.iter().flat_map(own).filter(move |s| s.server == server);
    of_server.filter_map(|s| Some((s.latency_ms?, s)))
}

/// The addresses of a server that answered, with the number of places where each did.
fn answering_addresses(looked: &Looked<PlaceAnswer>, server: &str) -> BTreeMap<Option<IpAddr>, usize> {
    let mut places = BTreeMap::new();
    for place in &looked.places {
        let here: BTreeSet<_> = timed(place, server).map(|(_, s)| s.address).collect();
        for address in here {
            *places.entry(address).or_default() += 1;
        }
    }
    places
}

fn row(p: &PlaceAnswer, server: &str, address: Option<IpAddr>) -> ServerAtPlace {
    let of_address = timed(p, server).filter(|(_, s)| s.address == address);
    let fastest = of_address.min_by(|a, b| a.0.total_cmp(&b.0));
    let error = match (&fastest, &p.error, address) {
        (Some(_), _, _) => String::new(),
        (None, Some(error), _) => error.clone(),
        (None, None, Some(address)) => format!("no answer from {address}"),
        (None, None, None) => "no answer".into(),
    };
    ServerAtPlace {
        place: if p.region.is_empty() { p.label.clone() } else { format!("{} · {}", p.label, p.region) },
        address: fastest.and_then(|(_, s)| s.address),
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
        _ => return vec!["No point of presence got an answer.".into()],
    }
    let silent = rows.iter().filter(|r| r.ms.is_none()).count();
    if silent > 0 {
        let places = match silent {
            1 => "1 point of presence".to_string(),
            n => format!("{n} points of presence"),
        };
        out.push(format!("No answer from {places}."));
    }
    let serials: BTreeSet<u32> = rows.iter().filter_map(|r| r.serial).collect();
    if serials.len() > 1 {
        out.push("Serials differ: some points of presence get an older copy of the zone.".into());
    }
    let given: Vec<&String> = rows.iter().filter_map(|r| r.nsid.as_ref()).collect();
    let ids: BTreeSet<&String> = given.iter().copied().collect();
    if ids.len() > 1 {
        out.push("Its identifier differs between points of presence: a sign of anycast.".into());
    } else if let [id, _, ..] = given[..] {
        let places = given.len();
        out.push(format!(
            "It is {id} at all {places} points of presence that gave an identifier: one machine, unicast."
        ));
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
        for part in [
            "12 ms from fra-1 and in 412 ms from sin-1",
            "No answer from 1 point of presence",
            "It is m1 at all 2 points of presence that gave an identifier: one machine, unicast.",
        ] {
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
    fn only_the_address_that_most_places_answer_for_is_compared() {
        let (v4, v6) = ("192.0.2.53", "2001:db8::53");
        // A place where the name has these addresses: milliseconds, identifier and serial of each.
        let at = |label: &str, answers: &[(&str, Option<f64>, &str, u32)]| {
            let mut p = place(label, "192.0.2.1", 0.0, "");
            let servers = &mut p.authority.as_mut().unwrap().servers;
            let one = servers.remove(0);
            for (ip, ms, nsid, serial) in answers {
                let (address, nsid) = (ip.parse().ok(), Some((*nsid).to_string()));
                let serial = Some(*serial);
                servers.push(AuthorityServer { address, latency_ms: *ms, nsid, serial, ..one.clone() });
            }
            p
        };
        // IPv6 is faster at one place, and is another machine with an older copy of the zone.
        let fra = at("fra-1", &[(v4, Some(12.0), "m1", 8), (v6, Some(9.0), "m2", 7)]);
        let sin = at("sin-1", &[(v4, Some(412.0), "m1", 8), (v6, None, "m2", 7)]);
        let iad = at("iad-1", &[(v4, None, "m1", 8), (v6, Some(80.0), "m2", 7)]);
        let view = ServerFromPlaces::of("q7.io", "ns1.q7.io", &looked(vec![fra.clone(), sin.clone()]));
        let rows: Vec<_> = view.rows.iter().map(|r| (r.address, r.ms, r.serial)).collect();
        assert_eq!(rows, [(v4.parse().ok(), Some(12.0), Some(8)), (v4.parse().ok(), Some(412.0), Some(8))]);
        assert!(view.sentence.contains("It is m1 at all 2 points of presence"), "{}", view.sentence);
        assert!(
            view.sentence.contains("Only 192.0.2.53 is compared, of the 2 addresses"),
            "{}",
            view.sentence
        );
        assert!(!view.sentence.contains("differ"), "{}", view.sentence);
        // Of two that equally many places answer for, IPv4; a place with the other alone has no answer.
        let view = ServerFromPlaces::of("q7.io", "ns1.q7.io", &looked(vec![fra, sin, iad.clone()]));
        let last = &view.rows[2];
        assert_eq!((last.address, last.ms, last.error.as_str()), (None, None, "no answer from 192.0.2.53"));
        assert!(!view.sentence.contains("differ"), "{}", view.sentence);
        // Where IPv6 alone answers, it is shown.
        let view = ServerFromPlaces::of("q7.io", "ns1.q7.io", &looked(vec![iad]));
        assert_eq!(view.rows[0].address, v6.parse().ok());
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
        assert_eq!(
            (view.server.as_str(), view.sentence.as_str()),
            ("", "No point of presence got an answer.")
        );
    }
}
