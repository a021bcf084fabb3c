//! The name servers of a zone as a person looks at them: one entry a name, its addresses below, each with how it
//! answers in two words. In: a delegation as observed. Out: what pictures and lists show; the worst stands out, and a
//! server with an older copy of the zone is told apart (serials as in RFC 1982).

use crate::base::serial::later;
use crate::dns::{AnswerKind, Delegation, ServerHealth, ServerState};
use std::net::IpAddr;

/// How one address is, worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Condition {
    /// Answers with authority, as fast as the others and with the newest data seen.
    Well,
    /// Was not asked: nothing can be said.
    NotAsked,
    /// Answers, but much slower than the others.
    Slow,
    /// Serves an older copy of the zone than another server.
    Behind,
    /// Answers without serving the zone.
    Lame,
    /// Gives no answer, or has no address.
    Dead,
}

impl Condition {
    /// The word for a count of such servers: `2 slow`.
    pub fn word(self) -> &'static str {
        match self {
            Condition::Well => "well",
            Condition::NotAsked => "not asked",
            Condition::Slow => "slow",
            Condition::Behind => "with older data",
            Condition::Lame => "lame",
            Condition::Dead => "without an answer",
        }
    }
}

/// One address of a name server.
#[derive(Debug, Clone, PartialEq)]
pub struct ObservedAddress {
    /// The address; none when the name has none.
    pub address: Option<IpAddr>,
    /// How it is.
    pub condition: Condition,
    /// The same in a few words, with what it said: `Lame, refused`.
    pub words: String,
    /// Milliseconds of its answer.
    pub latency_ms: Option<f64>,
}

/// A name server with its addresses.
#[derive(Debug, Clone, PartialEq)]
pub struct Nameserver {
    /// Host name.
    pub name: String,
    /// Who alone lists it, in words; empty when parent and zone both do.
    pub listed: &'static str,
    /// Its addresses, at least one entry.
    pub seen: Vec<ObservedAddress>,
}

impl Nameserver {
    /// The worst of its addresses.
    pub fn worst(&self) -> Condition {
        self.seen.iter().map(|s| s.condition).max().unwrap_or(Condition::NotAsked)
    }

    /// True when some address of it can be relied on although another can't.
    pub fn partly(&self) -> bool {
        let best = self.seen.iter().map(|s| s.condition).min().unwrap_or(Condition::NotAsked);
        best < Condition::Lame && self.worst() >= Condition::Lame
    }

    /// All of it as one reads it aloud: `ns1.example: 192.0.2.1 authoritative, 8 ms; 2001:db8::1 no answer`.
    pub fn spoken(&self) -> String {
        let each: Vec<_> = self
            .seen
            .iter()
            .map(|s| {
                let address = s.address.map(|a| format!("{a} ")).unwrap_or_default();
                let ms = s
                    .latency_ms
                    .map(|ms| if ms < 0.95 { ", under 1 ms".into() } else { format!(", {ms:.0} ms") });
                let ms = ms.unwrap_or_default();
                format!("{address}{}{ms}", s.words.to_lowercase())
            })
            .collect();
        let listed = if self.listed.is_empty() { String::new() } else { format!("; {}", self.listed) };
        format!("{}: {}{listed}", self.name, each.join("; "))
    }
}

/// The name servers of a delegation, in the order they were observed.
pub fn nameservers(d: &Delegation) -> Vec<Nameserver> {
    let newest = newest_serial(&d.servers);
    let mut out: Vec<Nameserver> = Vec::new();
    for s in &d.servers {
        let seen = seen(s, newest);
        if let Some(known) = out.iter_mut().find(|k| k.name == s.name) {
            known.seen.push(seen);
            continue;
        }
        out.push(Nameserver { name: s.name.clone(), listed: listed(d, s), seen: vec![seen] });
    }
    out
}

/// Which side alone lists a server, in words. Where no server tells the zone's own set, nothing can be said of it.
pub fn listed(d: &Delegation, s: &ServerState) -> &'static str {
    match (s.in_parent, s.in_child) {
        (true, false) if !d.child_ns.is_empty() => "only the parent lists it",
        (false, true) => "only the zone lists it",
        _ => "",
    }
}

/// How many servers are how, in one line: `4 nameservers: 2 well, 1 slow, 1 lame`. A server counts by its worst address.
pub fn tally(servers: &[Nameserver]) -> String {
    let kinds = [
        Condition::Well,
        Condition::Slow,
        Condition::Behind,
        Condition::Lame,
        Condition::Dead,
        Condition::NotAsked,
    ];
    let counted: Vec<_> = kinds
        .into_iter()
        .filter_map(|kind| {
            let n = servers.iter().filter(|s| s.worst() == kind).count();
            (n > 0).then(|| format!("{n} {}", kind.word()))
        })
        .collect();
    let n = servers.len();
    let total = if n == 1 { "1 nameserver".to_string() } else { format!("{n} nameservers") };
    match counted.as_slice() {
        [] => total,
        [one] if n > 1 && one.ends_with(Condition::Well.word()) => format!("{total}, all well"),
        _ => format!("{total}: {}", counted.join(", ")),
    }
}

/// One address as it was met, beside the newest serial of all.
pub fn seen(s: &ServerState, newest: Option<u32>) -> ObservedAddress {
    let older = s.serial.filter(|mine| newest.is_some_and(|n| n != *mine));
    let (condition, words) = match (s.health, older) {
        (ServerHealth::Authoritative | ServerHealth::Slow, Some(serial)) => {
            (Condition::Behind, format!("Older, {serial}"))
        }
        (ServerHealth::Authoritative, None) => (Condition::Well, ServerHealth::Authoritative.label().into()),
        (ServerHealth::Slow, None) => (Condition::Slow, ServerHealth::Slow.label().into()),
        (ServerHealth::Lame, _) => (Condition::Lame, format!("Lame, {}", said(s.kind))),
        (ServerHealth::Dead, _) => (Condition::Dead, ServerHealth::Dead.label().into()),
        (ServerHealth::Unresolvable, _) => (Condition::Dead, s.label().into()),
        (ServerHealth::NotAsked, _) => (Condition::NotAsked, ServerHealth::NotAsked.label().into()),
    };
    ObservedAddress { address: s.address, condition, words, latency_ms: s.latency_ms }
}

/// What a lame server said, short enough for a picture.
fn said(kind: AnswerKind) -> &'static str {
    match kind {
        AnswerKind::NonAuthoritative => "no authority",
        other => other.words(),
    }
}

/// The newest serial that a server with authority gives.
pub fn newest_serial(servers: &[ServerState]) -> Option<u32> {
    servers
        .iter()
        .filter(|s| matches!(s.health, ServerHealth::Authoritative | ServerHealth::Slow))
        .filter_map(|s| s.serial)
        .reduce(|a, b| if later(b, a) { b } else { a })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(name: &str, address: Option<&str>, health: ServerHealth, serial: Option<u32>) -> ServerState {
        ServerState {
            name: name.into(),
            address: address.map(|a| a.parse().unwrap()),
            in_parent: true,
            in_child: true,
            health,
            kind: if health == ServerHealth::Lame { AnswerKind::Refused } else { AnswerKind::Answer },
            serial,
            latency_ms: serial.map(|_| 8.4),
            tcp: None,
            recursion: None,
            nsid: None,
            problems: Vec::new(),
            notes: Vec::new(),
        }
    }

    fn delegation(servers: Vec<ServerState>) -> Delegation {
        Delegation {
            zone: "alder.example".into(),
            parent: "example".into(),
            delegated: true,
            parent_ns: Vec::new(),
            child_ns: Vec::new(),
            ds: Vec::new(),
            servers,
            soa: None,
            negative_soa: None,
            parents_differ: None,
            provider: None,
            latency: crate::dns::latency::LatencyHistory::default(),
            notes: Vec::new(),
        }
    }

    #[test]
    fn one_entry_a_name_and_every_address_with_its_own_state() {
        use ServerHealth::{Authoritative, Dead, Lame, NotAsked, Slow};
        let d = delegation(vec![
            state("a.example", Some("192.0.2.1"), Authoritative, Some(7)),
            state("a.example", Some("2001:db8::1"), Dead, None),
            state("b.example", Some("192.0.2.2"), Slow, Some(7)),
            state("c.example", Some("192.0.2.3"), Lame, None),
            state("d.example", Some("2001:db8::4"), NotAsked, None),
        ]);
        let all = nameservers(&d);
        let seen: Vec<(&str, usize, Condition)> =
            all.iter().map(|s| (s.name.as_str(), s.seen.len(), s.worst())).collect();
        assert_eq!(
            seen,
            [
                ("a.example", 2, Condition::Dead),
                ("b.example", 1, Condition::Slow),
                ("c.example", 1, Condition::Lame),
                ("d.example", 1, Condition::NotAsked),
            ]
        );
        assert!(all[0].partly() && !all[2].partly() && !all[1].partly());
        assert_eq!(all[0].spoken(), "a.example: 192.0.2.1 authoritative, 8 ms; 2001:db8::1 no answer");
        assert_eq!(all[2].seen[0].words, "Lame, refused");
        assert_eq!(tally(&all), "4 nameservers: 1 slow, 1 lame, 1 without an answer, 1 not asked");
        assert_eq!(tally(&all[1..2]), "1 nameserver: 1 slow");
    }

    #[test]
    fn an_older_copy_is_told_also_across_the_wrap_of_serials() {
        let with = |serials: [u32; 3]| {
            let servers = serials
                .iter()
                .enumerate()
                .map(|(i, n)| {
                    state(&format!("{i}.example"), Some("192.0.2.1"), ServerHealth::Authoritative, Some(*n))
                })
                .collect();
            nameservers(&delegation(servers)).iter().map(Nameserver::worst).collect::<Vec<_>>()
        };
        use Condition::{Behind, Well};
        assert_eq!(with([5, 5, 5]), [Well, Well, Well]);
        assert_eq!(with([5, 4, 5]), [Well, Behind, Well]);
        assert_eq!(with([u32::MAX, 2, u32::MAX]), [Behind, Well, Behind]);
        assert_eq!(tally(&nameservers(&delegation(vec![]))), "0 nameservers");
    }

    #[test]
    fn who_alone_lists_a_server_is_told_only_where_both_sets_are_known() {
        let mut d = delegation(vec![state("a.example", Some("192.0.2.1"), ServerHealth::Dead, None)]);
        d.servers[0].in_child = false;
        assert_eq!(nameservers(&d)[0].listed, "");
        d.child_ns = vec!["b.example".into()];
        assert_eq!(nameservers(&d)[0].listed, "only the parent lists it");
        assert!(nameservers(&d)[0].spoken().ends_with("; only the parent lists it"));
    }

    #[test]
    fn a_lame_servers_serial_makes_nobody_older() {
        let d = delegation(vec![
            state("a.example", Some("192.0.2.1"), ServerHealth::Authoritative, Some(7)),
            state("b.example", Some("192.0.2.2"), ServerHealth::Lame, Some(9)),
        ]);
        let worst: Vec<_> = nameservers(&d).iter().map(Nameserver::worst).collect();
        assert_eq!(worst, [Condition::Well, Condition::Lame]);
    }
}
