//! A simulated month: 200 domains (`DOMAINSCOPE_MONTH_DOMAINS` for more) looked at every hour by a scripted source, with
//! a scripted list of true changes and the accidents that every month has: outages of registries and of resolvers,
//! lost packets, rotating answers. Every true change is reported once, nothing else.

use super::*;
use model::confirm::{CONFIRM_S, confirm};
use model::event::Change;
use model::expiry::{REMINDER_DAYS, remind};
use model::observation::PartKind;

const HOURS: i64 = 30 * 24;

/// What truly happens to a domain, at one hour of the month.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Truth {
    Quiet,
    /// Registry moves the date and sets autoRenewPeriod, paid or not.
    AutoRenew,
    /// Renewed by its owner.
    Renewal,
    Transfer,
    Lock,
    Unlock,
    NameserverMove,
    KeyRollover,
    Bogus,
    ServerDies,
    RecordMoves,
    /// It ends this many days after the start of the month.
    Expires(i64),
    Released,
}

use Truth::*;

impl Truth {
    fn of(domain: u64) -> Truth {
        match domain % 20 {
            1 => AutoRenew,
            2 => Renewal,
            3 => Transfer,
            4 => Lock,
            5 => Unlock,
            6 => NameserverMove,
            7 => KeyRollover,
            8 => Bogus,
            9 => ServerDies,
            10 => RecordMoves,
            11 => Expires(40),
            12 => Expires(20),
            13 => Released,
            _ => Quiet,
        }
    }

    /// The kinds that are to be reported within the month.
    fn expected(self) -> Vec<EventKind> {
        use EventKind as K;
        match self {
            Quiet => vec![],
            AutoRenew => vec![K::StatusAdded, K::ExpirationChanged],
            Renewal => vec![K::Renewed],
            Transfer => vec![K::RegistrarChanged],
            Lock => vec![K::StatusAdded],
            Unlock => vec![K::StatusRemoved],
            NameserverMove => vec![K::NameserversChanged],
            KeyRollover => vec![K::DnssecChanged],
            Bogus => vec![K::DnssecStatusChanged],
            ServerDies => vec![K::DelegationHealthChanged],
            RecordMoves => vec![K::RecordChanged],
            // 30 and 15 days are reached; and of the nearer one 15, 7, 3, 1 and the end itself.
            Expires(40) => vec![K::ExpiresSoon, K::ExpiresSoon],
            Expires(_) => vec![
                K::ExpiresSoon,
                K::ExpiresSoon,
                K::ExpiresSoon,
                K::ExpiresSoon,
                K::ExpiresSoon,
                K::Expired,
            ],
            Released => vec![K::Released],
        }
    }
}

/// A number of its own for everything that is by chance, the same in every run.
fn chance(domain: u64, hour: i64, what: u64) -> u64 {
    let mut h = 0xcbf2_9ce4_8422_2325_u64;
    for n in [domain, hour.unsigned_abs(), what] {
        h = (h ^ n).wrapping_mul(0x0100_0000_01b3);
        h ^= h >> 29;
        h = h.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    }
    h ^ (h >> 32)
}

fn start() -> Timestamp {
    "2026-11-01T00:00:00Z".parse().unwrap()
}

fn error() -> PartError {
    PartError { label: "timeout".into(), sentence: "no answer".into(), retry_at: None }
}

fn unread<T>(at: Timestamp) -> Part<T> {
    Part { attempted_at: Some(at), error: Some(error()), ..Part::default() }
}

/// What a look at this hour sees.
fn look(domain: u64, truth: Truth, hour: i64, minute: i64) -> Observation {
    let at = start().checked_add((hour * 60 + minute).minutes()).unwrap();
    let happens = 5 * 24 + i64::try_from(domain % 480).unwrap();
    let after = hour >= happens;
    let mut r = registration();
    r.statuses = Some(["clientTransferProhibited".into()].into());
    let mut servers = vec!["ns1.digitalocean.com", "ns2.digitalocean.com"];
    let (mut registered, mut secure, mut dead, mut www) = (true, true, false, "192.0.2.1".to_string());
    let mut key = 1_u16;
    if let Expires(days) = truth {
        let end = start().checked_add((24 * days).hours()).unwrap();
        r.expires = Some(model::time::StatedTime::utc(end));
    }
    match truth {
        AutoRenew if after => {
            r.expires = Some("2030-07-06T13:58:57Z".parse().unwrap());
            r.statuses = Some(["clientTransferProhibited".into(), "autoRenewPeriod".into()].into());
        }
        Renewal if after => r.expires = Some("2030-07-06T13:58:57Z".parse().unwrap()),
        Transfer if after => {
            r.registrar.name = Some("Lantern Registrar".into());
            r.registrar.iana_id = Some("9994".into());
        }
        Lock if after => {
            r.statuses = Some(["clientTransferProhibited".into(), "clientDeleteProhibited".into()].into());
        }
        Unlock if after => r.statuses = Some([].into()),
        // The registry's own data follow the zone after two hours.
        NameserverMove if after => {
            servers = vec!["ns1.meridian-dns.example", "ns2.meridian-dns.example"];
            if hour >= happens + 2 {
                r.nameservers = Some(servers.iter().map(|s| (*s).into()).collect());
            }
        }
        KeyRollover if after => key = 2,
        Bogus => secure = !after,
        ServerDies => dead = after,
        RecordMoves if after => www = "192.0.2.2".into(),
        Released => registered = !after,
        _ => {}
    }
    // Every twentieth domain rotates among eight addresses, the next with each look.
    if domain % 20 == 14 {
        www = format!("198.51.100.{}", (hour * 11 + minute / 6) % 8);
    }
    let mut o = observe(Registration::default());
    let state =
        if registered { RegistrationState::Registered(Box::new(r)) } else { RegistrationState::Available };
    o.registration = Part::good(state, at, "RDAP registry");
    let mut d = delegation(&servers);
    d.ds = vec![ds(key)];
    if dead {
        d.servers[1].health = ServerHealth::Dead;
    }
    // Packets are lost: one look in a hundred sees a server silent, or a record missing. Not the first look: it is the
    // baseline, and what recovers from it is a change.
    let odd = chance(domain, hour, 3).is_multiple_of(100) && minute == 0 && hour > 0;
    if odd {
        d.servers[0].health = ServerHealth::Dead;
    }
    o.delegation = Part::good(d, at, "dns");
    let rrsets = vec![RrSet { name: "www.q7.io".into(), rtype: "A".into(), ttl: 300, data: vec![www] }];
    let rrsets = if odd { vec![] } else { rrsets };
    o.zone = Part::good(ZoneSnapshot { rrsets, ..ZoneSnapshot::default() }, at, "dns");
    let status = if secure { DnssecStatus::Secure } else { DnssecStatus::Bogus };
    o.dnssec = Part::good(
        Dnssec {
            status,
            reason: String::new(),
            ds: vec![],
            key_tags: vec![],
            signatures_expire: None,
            denial: None,
        },
        at,
        "dns",
    );
    // The registry is down for 30 hours, and fails now and then; the resolver is down for 5.
    if (200..230).contains(&hour) || chance(domain, hour, 4).is_multiple_of(40) {
        o.registration = unread(at);
    }
    if (300..305).contains(&hour) {
        (o.delegation, o.zone, o.dnssec) = (unread(at), unread(at), unread(at));
    }
    o
}

fn ds(key_tag: u16) -> model::registration::Ds {
    model::registration::Ds { key_tag, algorithm: 13, digest_type: 2, digest: "AB".repeat(32) }
}

/// The month of one domain: what was reported.
fn month(domain: u64) -> Vec<Change> {
    let truth = Truth::of(domain);
    let mut item = item();
    let mut stored: Option<Observation> = None;
    let mut reported = Vec::new();
    for hour in 0..HOURS {
        let mut minute = 0;
        loop {
            let at = start().checked_add((hour * 60 + minute).minutes()).unwrap();
            let seen = look(domain, truth, hour, minute);
            let current = carry_forward(stored.as_ref(), seen);
            let mut again = false;
            let current = match &stored {
                Some(before) => {
                    let c = confirm(before, current, |_: PartKind| Some(at), CONFIRM_S, at);
                    reported.extend(c.changes);
                    again = c.look_again_at.is_some();
                    c.observation
                }
                None => current,
            };
            reported.extend(remind(&mut item, &current, &REMINDER_DAYS, &Thresholds::default(), at));
            stored = Some(current);
            // The second look of what waits, as the queue does it.
            if !again || minute >= 30 {
                break;
            }
            minute += 6;
        }
    }
    reported
}

#[test]
fn every_true_change_of_a_month_is_reported_once_and_nothing_else() {
    let domains: u64 =
        std::env::var("DOMAINSCOPE_MONTH_DOMAINS").ok().and_then(|n| n.parse().ok()).unwrap_or(200);
    let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get) as u64;
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let parts: Vec<_> = (0..cores)
            .map(|part| {
                scope.spawn(move || {
                    let mut wrong = Vec::new();
                    for domain in (0..domains).filter(|d| d % cores == part) {
                        let truth = Truth::of(domain);
                        let reported = month(domain);
                        let kinds: Vec<_> = reported.iter().map(|c| c.kind).collect();
                        let (mut a, mut b) = (kinds.clone(), truth.expected());
                        a.sort();
                        b.sort();
                        if a != b {
                            wrong.push(format!("{domain} {truth:?}: {reported:?}"));
                        }
                    }
                    wrong
                })
            })
            .collect();
        parts.into_iter().flat_map(|p| p.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{} of {domains} domains: {:#?}", wrong.len(), &wrong[..wrong.len().min(5)]);
}
