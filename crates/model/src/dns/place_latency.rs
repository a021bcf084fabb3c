//! Latency of a zone's servers as points of presence see it. In: one look of each place, about once a day. Out: the looks
//! kept once per place and server, the figure of each place, and whether one machine answers everywhere (RFC 5001).

use super::latency::{ChainServer, LatencyHistory, anycast, merge};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// Places that are kept.
pub const MAX_PLACES: usize = 16;
/// Looks that are kept of each place, the newest: eight days of daily ones.
pub const MAX_PLACE_LOOKS: usize = 8;
/// Looks from one place below which nothing is said about a server's speed there.
pub const MIN_PLACE_LOOKS: usize = 3;
/// Server addresses that are kept of each place.
const MAX_SERVERS: usize = 32;
/// Identifiers that are kept of a server at one place: two show that it is several machines.
const MAX_IDS: usize = 2;
/// Longest identifier that is kept, in octets.
const ID_MAX: usize = 255;
/// Longest time that is believed, in milliseconds.
const MS_MAX: f32 = 60_000.0;
/// Days after its newest look at which a place is dropped: it was revoked, or is silent.
const PLACE_DAYS: i64 = 7;

/// The servers of a zone as one point of presence sees them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlaceLatency {
    /// Identity of the place.
    pub id: String,
    /// Where it is, in the operator's words.
    pub region: String,
    /// Its looks at the servers of the zone itself; it has no places of its own.
    pub seen: LatencyHistory,
}

/// What the points of presence of an installation say at one time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlaceLooks {
    /// One look of each place that answered.
    pub looks: Vec<PlaceLatency>,
    /// Identities of all places that are members, also of those that were not asked.
    pub members: Vec<String>,
}

/// The figure of one place for one server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlaceFigure<'a> {
    /// The place.
    pub place: &'a PlaceLatency,
    /// The server as the place sees it.
    pub server: &'a ChainServer,
    /// Milliseconds of the median answer.
    pub median: f64,
    /// Answers it is of.
    pub looks: usize,
}

impl LatencyHistory {
    /// Lays looks of places after those before. Places that are no members any more are dropped, and so are servers that
    /// are not among this zone's own: what a place adds by itself does not count. An answer without any of the zone's own
    /// servers is no look (the place could not follow the delegation): nothing is added and nothing is lost. A server that
    /// is missing from an answer keeps its history, with a sample without an answer.
    pub fn add_places(&mut self, zone: &str, new: &PlaceLooks) {
        let is_own = |s: &ChainServer| {
            let same = |own: &ChainServer| own.address == s.address && own.server == s.server;
            self.servers.iter().filter(|own| own.zone == zone).any(same)
        };
        let mut places: Vec<PlaceLatency> = Vec::new();
        for look in new.looks.iter().take(MAX_PLACES) {
            let mut seen = look.seen.clone();
            seen.servers.retain(is_own);
            if seen.servers.is_empty() {
                continue;
            }
            let before = self.places.iter().find(|p| p.id == look.id).map(|p| &p.seen);
            for server in before.iter().flat_map(|b| &b.servers).filter(|s| is_own(s)) {
                if !seen.servers.iter().any(|s| s.address == server.address && s.server == server.server) {
                    let ms = vec![None; seen.looks.len()];
                    seen.servers.push(ChainServer { ms, ids: Vec::new(), ..server.clone() });
                }
            }
            seen.servers.truncate(MAX_SERVERS);
            for server in &mut seen.servers {
                server.zone = zone.to_string();
                server.network = None;
                server.ids.retain(|id| id.len() <= ID_MAX);
                let believed = |ms: &f32| (0.0..=MS_MAX).contains(ms);
                for ms in &mut server.ms {
                    *ms = ms.filter(believed).map(|ms| (ms * 10.0).round() / 10.0);
                }
            }
            let seen = merge(before, seen, (MAX_PLACE_LOOKS, MAX_IDS));
            places.push(PlaceLatency { seen, ..look.clone() });
        }
        let is_kept =
            |p: &&PlaceLatency| new.members.contains(&p.id) && places.iter().all(|new| new.id != p.id);
        let mut kept: Vec<_> = self.places.iter().filter(is_kept).cloned().collect();
        // Of too many, those that were seen last are kept.
        kept.sort_by_key(|p| std::cmp::Reverse(p.seen.looks.last().copied()));
        places.extend(kept);
        places.truncate(MAX_PLACES);
        places.sort_by(|a, b| a.id.cmp(&b.id));
        self.places = places;
    }

    /// When a place was asked last.
    pub fn places_asked_at(&self) -> Option<Timestamp> {
        self.places.iter().filter_map(|p| p.seen.looks.last().copied()).max()
    }

    /// Drops the places that gave no look for a week.
    pub(super) fn drop_old_places(&mut self, now: Timestamp) {
        let week = SignedDuration::from_hours(PLACE_DAYS * 24);
        let is_recent = |at: &Timestamp| now.duration_since(*at) <= week;
        self.places.retain(|p| p.seen.looks.last().is_some_and(is_recent));
    }

    /// The figures of the places for a server, fastest first.
    pub fn figures(&self, server: &ChainServer) -> Vec<PlaceFigure<'_>> {
        let same = |s: &&ChainServer| s.address == server.address && s.server == server.server;
        let mut all: Vec<_> = Vec::new();
        for place in &self.places {
            let Some(server) = place.seen.servers.iter().find(same) else { continue };
            let Some(stats) = server.stats() else { continue };
            all.push(PlaceFigure { place, server, median: stats.median, looks: stats.looks });
        }
        all.sort_by(|a, b| a.median.total_cmp(&b.median));
        all
    }

    fn views(&self) -> Vec<&LatencyHistory> {
        std::iter::once(self).chain(self.places.iter().map(|p| &p.seen)).collect()
    }

    /// Several machines answer at the address of a server: it gave several identifiers, over time or to different places.
    pub fn is_anycast(&self, server: &ChainServer) -> bool {
        server.is_anycast() || anycast(&self.views(), server.address)
    }

    /// Number of places at which a server gave an identifier, this one included.
    pub(crate) fn identified_at(&self, server: &ChainServer) -> usize {
        let gave = |s: &ChainServer| s.address == server.address && !s.ids.is_empty();
        self.views().iter().filter(|view| view.servers.iter().any(gave)).count()
    }

    /// The identifier that a server gave wherever it was asked, if it gave one here and to a place, or to two places: one
    /// machine answers.
    pub fn one_machine(&self, server: &ChainServer) -> Option<&str> {
        if self.identified_at(server) < 2 || self.is_anycast(server) {
            return None;
        }
        let servers =
            self.places.iter().flat_map(|p| &p.seen.servers).filter(|s| s.address == server.address);
        servers.flat_map(|s| &s.ids).next().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(day: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + day * 86_400).unwrap()
    }

    fn server(name: &str, ip: &str, ms: &[f32]) -> ChainServer {
        ChainServer {
            zone: "a.example".into(),
            server: name.into(),
            address: ip.parse().unwrap(),
            ms: ms.iter().map(|ms| Some(*ms)).collect(),
            network: None,
            ids: vec![],
        }
    }

    fn here() -> LatencyHistory {
        let servers = vec![server("ns1.a.example", "192.0.2.1", &[9.0])];
        LatencyHistory { looks: vec![at(0)], servers, places: vec![] }
    }

    fn look(id: &str, day: i64, ms: f32, nsid: &str) -> PlaceLatency {
        let mut one = server("ns1.a.example", "192.0.2.1", &[ms]);
        one.ids.extend((!nsid.is_empty()).then(|| nsid.to_string()));
        let seen = LatencyHistory { looks: vec![at(day)], servers: vec![one], places: vec![] };
        PlaceLatency { id: id.into(), region: "eu".into(), seen }
    }

    fn add(chain: &mut LatencyHistory, looks: Vec<PlaceLatency>, members: &[&str]) {
        let members = members.iter().map(|m| (*m).to_string()).collect();
        chain.add_places("a.example", &PlaceLooks { looks, members });
    }

    #[test]
    fn looks_are_kept_once_per_place_and_server_and_are_bounded() {
        let mut c = here();
        for day in 0..12 {
            add(&mut c, vec![look("fra-1", day, day as f32, "a")], &["fra-1"]);
        }
        assert_eq!((c.places.len(), c.places[0].seen.looks.len()), (1, MAX_PLACE_LOOKS));
        assert_eq!(c.places[0].seen.servers[0].ms, (4..12).map(|ms| Some(ms as f32)).collect::<Vec<_>>());
        assert_eq!(c.places_asked_at(), Some(at(11)));
        // The same look again counts once.
        let before = c.clone();
        add(&mut c, vec![look("fra-1", 11, 11.0, "a")], &["fra-1"]);
        assert_eq!(c, before);
        let many: Vec<_> = (0..40).map(|n| look(&format!("p-{n:02}"), 12, 1.0, "")).collect();
        let ids: Vec<_> = many.iter().map(|p| p.id.clone()).collect();
        add(&mut c, many, &ids.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(c.places.len(), MAX_PLACES);
    }

    #[test]
    fn what_a_place_says_of_other_servers_and_what_can_not_be_are_left_out() {
        let mut wrong = look("fra-1", 0, f32::NAN, &"x".repeat(300));
        wrong.seen.servers.push(server("ns1.a.example", "203.0.113.9", &[1.0]));
        wrong.seen.servers.push(server("evil.example", "192.0.2.1", &[1.0]));
        let mut c = here();
        add(&mut c, vec![wrong], &["fra-1"]);
        let seen = &c.places[0].seen.servers;
        assert_eq!((seen.len(), &seen[0].ms, seen[0].ids.len()), (1, &vec![None], 0));
        assert_eq!(c.figures(&c.servers[0]), []);
    }

    #[test]
    fn an_answer_without_own_servers_is_no_look_and_a_missing_server_keeps_its_history() {
        let mut c = here();
        c.servers.push(server("ns2.a.example", "192.0.2.2", &[9.0]));
        let both = |day, ms| {
            let mut look = look("fra-1", day, ms, "a");
            look.seen.servers.push(server("ns2.a.example", "192.0.2.2", &[ms]));
            look
        };
        add(&mut c, vec![both(0, 1.0)], &["fra-1"]);
        add(&mut c, vec![both(1, 2.0)], &["fra-1"]);
        let before = c.clone();
        // The place could not resolve the delegation and names the servers of the parent zone.
        let mut parent = look("fra-1", 2, 5.0, "");
        parent.seen.servers = vec![server("a.nic.example", "203.0.113.1", &[5.0])];
        add(&mut c, vec![parent], &["fra-1"]);
        assert_eq!((&c, c.places_asked_at()), (&before, Some(at(1))));
        add(&mut c, vec![look("fra-1", 3, 3.0, "a")], &["fra-1"]);
        let samples = |c: &LatencyHistory, name: &str| {
            let seen = &c.places[0].seen;
            seen.servers.iter().find(|s| s.server == name).map(|s| s.ms.clone())
        };
        assert_eq!(samples(&c, "ns1.a.example"), Some(vec![Some(1.0), Some(2.0), Some(3.0)]));
        assert_eq!(samples(&c, "ns2.a.example"), Some(vec![Some(1.0), Some(2.0), None]));
        // A server that left the zone goes with the next look.
        c.servers.pop();
        add(&mut c, vec![look("fra-1", 4, 4.0, "a")], &["fra-1"]);
        assert_eq!(samples(&c, "ns2.a.example"), None);
    }

    #[test]
    fn a_revoked_place_goes_with_the_next_look_and_a_silent_one_after_a_week() {
        let mut c = here();
        add(&mut c, vec![look("fra-1", 0, 9.0, ""), look("sin-1", 0, 400.0, "")], &["fra-1", "sin-1"]);
        let ids = |c: &LatencyHistory| c.places.iter().map(|p| p.id.clone()).collect::<Vec<_>>();
        // Silent for a day: its looks are kept.
        add(&mut c, vec![look("fra-1", 1, 9.0, "")], &["fra-1", "sin-1"]);
        assert_eq!(ids(&c), ["fra-1", "sin-1"]);
        let mut silent = c.clone();
        silent.drop_old_places(at(7));
        assert_eq!(ids(&silent), ["fra-1", "sin-1"]);
        silent.drop_old_places(at(8));
        assert_eq!(ids(&silent), ["fra-1"]);
        add(&mut c, vec![look("fra-1", 2, 9.0, "")], &["fra-1"]);
        assert_eq!(ids(&c), ["fra-1"], "revoked");
    }

    #[test]
    fn differing_identifiers_are_anycast_and_the_same_one_is_one_machine() {
        let mut c = here();
        add(&mut c, vec![look("fra-1", 0, 9.0, "a"), look("sin-1", 0, 400.0, "a")], &["fra-1", "sin-1"]);
        let own = c.servers[0].clone();
        assert_eq!((c.is_anycast(&own), c.one_machine(&own)), (false, Some("a")));
        assert_eq!(c.identified_at(&own), 2, "here it gave none");
        let figures: Vec<_> = c.figures(&own).iter().map(|f| (f.place.id.as_str(), f.median)).collect();
        assert_eq!(figures, [("fra-1", 9.0), ("sin-1", 400.0)]);
        add(&mut c, vec![look("sin-1", 1, 400.0, "b")], &["fra-1", "sin-1"]);
        assert_eq!((c.is_anycast(&own), c.one_machine(&own)), (true, None));
        let mut c = here();
        c.servers[0].ids = vec!["a".into()];
        add(&mut c, vec![look("fra-1", 0, 9.0, "b")], &["fra-1"]);
        assert!(c.is_anycast(&c.servers[0]), "here and there differ");
        let mut c = here();
        add(&mut c, vec![look("fra-1", 0, 9.0, "a"), look("sin-1", 0, 9.0, "")], &["fra-1", "sin-1"]);
        assert_eq!(c.one_machine(&own), None, "one place alone says nothing");
    }
}
