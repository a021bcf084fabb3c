//! A simulated month: 1,000 domains (`DOMAINSCOPE_MONTH_DOMAINS` for more or fewer) looked at every hour by a scripted
//! source, with a scripted list of true changes and the accidents that every month has: outages of registries and of
//! resolvers, lost packets, rotating answers. Every true change is reported once, with its values, and no later than the
//! rule of confirmation allows; nothing else is.

mod due;

use super::*;
use due::due;
use model::confirm::{CONFIRM_S, baseline, confirm};
use model::event::Change;
use model::expiry::{REMINDER_DAYS, remind};
use model::observation::PartKind;

const HOURS: i64 = 30 * 24;

/// What truly happens to a domain, at one hour of the month or from it on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Truth {
    Quiet,
    /// Registry moves the date and sets autoRenewPeriod, paid or not.
    AutoRenew,
    /// The same, and the grace period ends with the name renewed.
    GraceEnds,
    /// The same, but the registrar deletes the name in the grace period: redemptionPeriod, then pendingDelete.
    Redemption,
    /// Renewed by its owner; the registrar states the new date at once.
    Renewal,
    /// The registry moves the date on, and sets no flag; the registrar's date follows later.
    RegistrarFollows,
    /// The same, and the registrar is silent from then on.
    RegistrarSilent,
    /// The registrar's date is a year behind when the name leaves that registrar.
    LeavesRegistrar,
    Transfer,
    /// A transfer that is pending first.
    PendingTransfer,
    Lock,
    Unlock,
    NameserverMove,
    KeyRollover,
    Bogus,
    ServerDies,
    /// No name server is left.
    AllServersDie,
    /// The host name of a name server has no address any more, and later another one.
    AddressLost,
    RecordMoves,
    /// It ends this many days after the start of the month.
    Expires(i64),
    /// The registry drops it, and its zone too.
    Released,
    /// The registry denies it, and its zone delegates it all the same.
    StillDelegated,
}

use Truth::*;

/// Hours after which a renewal is believed though the registrar states no date.
const OVERTAKEN: i64 = 72;

/// Hours between the steps of what happens in several: more than the longest outage, so that each step is seen.
const STEP: i64 = 45;

impl Truth {
    fn of(domain: u64) -> Truth {
        match domain % 20 {
            0 if domain.is_multiple_of(40) => RegistrarSilent,
            0 => AddressLost,
            1 => AutoRenew,
            2 => Renewal,
            3 => Transfer,
            4 => Lock,
            5 => Unlock,
            6 => NameserverMove,
            7 => KeyRollover,
            8 => Bogus,
            9 if domain % 40 == 9 => ServerDies,
            9 => AllServersDie,
            10 => RecordMoves,
            11 => Expires(40),
            12 => Expires(20),
            13 if domain % 40 == 13 => Released,
            13 => StillDelegated,
            15 => GraceEnds,
            16 => Redemption,
            17 => PendingTransfer,
            18 => RegistrarFollows,
            19 => LeavesRegistrar,
            _ => Quiet,
        }
    }
}

/// The hour at which it happens.
fn happens(domain: u64) -> i64 {
    5 * 24 + i64::try_from(domain % 480).unwrap()
}

fn at(hour: i64, minute: i64) -> Timestamp {
    start().checked_add((hour * 60 + minute).minutes()).unwrap()
}

/// Whether the registry answers: it is down for 30 hours, and fails now and then.
fn registry_answers(domain: u64, hour: i64) -> bool {
    !(200..230).contains(&hour) && !chance(domain, hour, 4).is_multiple_of(40)
}

/// Whether the DNS answers: the resolver is down for 5 hours.
fn dns_answers(hour: i64) -> bool {
    !(300..305).contains(&hour)
}

/// Whether the registrar answers: it fails one time in ten.
fn registrar_answers(domain: u64, hour: i64) -> bool {
    let is_silent = Truth::of(domain) == RegistrarSilent && hour >= happens(domain);
    !chance(domain, hour, 5).is_multiple_of(10) && !is_silent
}

/// Packets are lost: one look in a hundred sees a server silent or its name without an address, and a record missing; in
/// the first look, too.
fn loses_packets(domain: u64, hour: i64) -> bool {
    chance(domain, hour, 3).is_multiple_of(100)
}

/// The first hour from this one on at which the registry, or the DNS, answers.
fn seen(domain: u64, from: i64, by_registry: bool) -> i64 {
    (from..).find(|h| if by_registry { registry_answers(domain, *h) } else { dns_answers(*h) }).unwrap()
}

const EXPIRES: &str = "2029-07-06T13:58:57Z";
const MOVED_ON: &str = "2030-07-06T13:58:57Z";

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
    let at = at(hour, minute);
    let happens = happens(domain);
    let after = hour >= happens;
    let mut r = registration();
    let mut flags = vec!["clientTransferProhibited"];
    let mut servers = vec!["ns1.digitalocean.com", "ns2.digitalocean.com"];
    let (mut registered, mut secure, mut dead, mut www) = (true, true, false, "192.0.2.1".to_string());
    let mut second = Some("192.0.2.1");
    let mut key = 1_u16;
    if let Expires(days) = truth {
        let end = start().checked_add((24 * days).hours()).unwrap();
        r.expires = Some(model::time::StatedTime::utc(end));
    }
    let moved_on = MOVED_ON.parse().unwrap();
    if after
        && matches!(truth, AutoRenew | GraceEnds | Redemption | Renewal | RegistrarFollows | RegistrarSilent)
        || truth == LeavesRegistrar
    {
        r.expires = Some(moved_on);
    }
    let own = match truth {
        Renewal if after => moved_on,
        RegistrarFollows if hour >= happens + STEP => moved_on,
        // The registrar that it moves to states none.
        _ => EXPIRES.parse().unwrap(),
    };
    let states_own =
        matches!(truth, Renewal | RegistrarFollows | RegistrarSilent) || truth == LeavesRegistrar && !after;
    r.registrar_expires = (states_own && registrar_answers(domain, hour)).then_some(own);
    let transferred = match truth {
        Transfer | LeavesRegistrar => after,
        PendingTransfer => hour >= happens + STEP,
        _ => false,
    };
    if transferred {
        r.registrar.name = Some("Lantern Registrar".into());
        r.registrar.iana_id = Some("9994".into());
    }
    let step = (hour - happens).div_euclid(STEP);
    match truth {
        AutoRenew if after => flags.push("autoRenewPeriod"),
        GraceEnds if step == 0 => flags.push("autoRenewPeriod"),
        Redemption if after => {
            flags.push(
                ["autoRenewPeriod", "redemptionPeriod", "pendingDelete"]
                    [usize::try_from(step.min(2)).unwrap()],
            );
        }
        PendingTransfer if step == 0 => flags.push("pendingTransfer"),
        Lock if after => flags.push("clientDeleteProhibited"),
        Unlock if after => flags.clear(),
        // The registry's own data follow the zone after two hours.
        NameserverMove if after => {
            servers = vec!["ns1.meridian-dns.example", "ns2.meridian-dns.example"];
            if hour >= happens + 2 {
                r.nameservers = Some(servers.iter().map(|s| (*s).into()).collect());
            }
        }
        KeyRollover if after => key = 2,
        Bogus => secure = !after,
        ServerDies | AllServersDie => dead = after,
        AddressLost if after => second = (hour >= happens + STEP).then_some("198.51.100.7"),
        RecordMoves if after => www = "192.0.2.2".into(),
        Released | StillDelegated => registered = !after,
        _ => {}
    }
    r.statuses = Some(flags.into_iter().map(EppStatus::from).collect());
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
        let left = usize::from(truth == ServerDies);
        d.servers[left..].iter_mut().for_each(|s| s.health = ServerHealth::Dead);
    }
    d.servers[1].address = second.map(|a| a.parse().unwrap());
    if second.is_none() {
        d.servers[1].health = ServerHealth::Unresolvable;
    }
    let odd = loses_packets(domain, hour) && minute == 0;
    if odd && chance(domain, hour, 6).is_multiple_of(2) {
        d.servers[0].health = ServerHealth::Dead;
    } else if odd {
        (d.servers[0].health, d.servers[0].address) = (ServerHealth::Unresolvable, None);
    }
    let dropped = truth == Released && after;
    if dropped {
        d = Delegation { delegated: false, ..delegation(&[]) };
    }
    o.delegation = Part::good(d, at, "dns");
    let rrsets = vec![RrSet { name: "www.q7.io".into(), rtype: "A".into(), ttl: 300, data: vec![www] }];
    // A record that the first look does not see is new in the next one.
    let rrsets = if odd && hour > 0 { vec![] } else { rrsets };
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
    if dropped {
        // There is no server to ask.
        (o.zone, o.dnssec) = (Part::default(), Part::default());
    }
    if !registry_answers(domain, hour) {
        o.registration = unread(at);
    }
    if !dns_answers(hour) {
        (o.delegation, o.zone, o.dnssec) = (unread(at), unread(at), unread(at));
    }
    o
}

fn ds(key_tag: u16) -> model::registration::Ds {
    model::registration::Ds { key_tag, algorithm: 13, digest_type: 2, digest: "AB".repeat(32) }
}

/// The month of one domain: what was reported, and when.
fn month(domain: u64) -> Vec<(Timestamp, Change)> {
    let truth = Truth::of(domain);
    let mut item = item();
    let mut stored: Option<Observation> = None;
    let mut reported = Vec::new();
    for hour in 0..HOURS {
        let mut minute = 0;
        loop {
            let at = at(hour, minute);
            let seen = look(domain, truth, hour, minute);
            let current = carry_forward(stored.as_ref(), seen);
            let mut again = false;
            let current = match &stored {
                Some(before) => {
                    let c = confirm(before, current, |_: PartKind| Some(at), CONFIRM_S, at);
                    reported.extend(c.changes.into_iter().map(|c| (at, c)));
                    again = c.look_again_at.is_some();
                    c.observation
                }
                None => baseline(current, at),
            };
            let reminder = remind(&mut item, &current, &REMINDER_DAYS, &Thresholds::default(), at);
            reported.extend(reminder.map(|c| (at, c)));
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

/// What a domain's month has that it should not, or lacks.
fn wrong_of(domain: u64) -> Option<String> {
    let (mut reported, mut missing) = (month(domain), Vec::new());
    let is_critical = |(_, c): &(Timestamp, Change)| c.severity == Severity::Critical;
    if Truth::of(domain) == AllServersDie && !reported.iter().any(is_critical) {
        return Some(format!("{domain}: a total outage is not Critical: {reported:?}"));
    }
    for due in due(domain) {
        match reported.iter().position(|(at, change)| due.is(*at, change)) {
            Some(i) => drop(reported.remove(i)),
            None => missing.push(due),
        }
    }
    let fine = reported.is_empty() && missing.is_empty();
    (!fine).then(|| format!("{domain} {:?}: missing {missing:?}, too much {reported:?}", Truth::of(domain)))
}

#[test]
fn every_true_change_of_a_month_is_reported_once_and_nothing_else() {
    let domains: u64 =
        std::env::var("DOMAINSCOPE_MONTH_DOMAINS").ok().and_then(|n| n.parse().ok()).unwrap_or(1_000);
    let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get) as u64;
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let parts: Vec<_> = (0..cores)
            .map(|part| {
                scope.spawn(move || {
                    let mut wrong = Vec::new();
                    for domain in (0..domains).filter(|d| d % cores == part) {
                        wrong.extend(wrong_of(domain));
                    }
                    wrong
                })
            })
            .collect();
        parts.into_iter().flat_map(|p| p.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{} of {domains} domains: {:#?}", wrong.len(), &wrong[..wrong.len().min(3)]);
}
