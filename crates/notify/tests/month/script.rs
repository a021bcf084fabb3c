//! What truly happens to the domains of the month, what only seems to happen, and what has to arrive of it.

use async_trait::async_trait;
use jiff::{Span, Timestamp};
use model::detail::RawAnswer;
use model::dns::{AnswerKind, Delegation, ServerHealth, ServerState};
use model::epp::EppStatus;
use model::latency::LatencyHistory;
use model::names::DomainName;
use model::observation::{Part, PartError};
use model::registration::{Registrar, Registration, RegistrationState};
use monitor::observer::Progress;
use monitor::{Clock, DnsParts, Observer};
use std::sync::Mutex;

pub const DOMAINS: i64 = 50;
pub const STEP_HOURS: i64 = 3;
/// A month of looks.
pub const STEPS: i64 = 30 * 24 / STEP_HOURS;
const START: &str = "2026-11-02T09:00:00Z";

pub fn name(n: i64) -> DomainName {
    DomainName::trusted(&format!("d{n:02}.example"))
}

/// Kinds of the events that have to arrive, in order.
pub fn expected(n: i64, is_digest: bool) -> Vec<String> {
    let kinds: &[&str] = match n % 10 {
        // Over before the digest.
        0 if is_digest => &[],
        0 => &["delegation_health_changed", "delegation_health_changed"],
        1 => &["status_removed", "status_added"],
        2 => &["expires_soon", "expires_soon", "renewed"],
        3 => &["registrar_changed"],
        4 => &["released"],
        5 => &["nameservers_changed"],
        _ => &[],
    };
    kinds.iter().map(|k| (*k).to_string()).collect()
}

pub struct Script {
    start: Timestamp,
    now: Mutex<Timestamp>,
}

impl Script {
    pub fn new() -> Script {
        let start = START.parse().unwrap();
        Script { start, now: Mutex::new(start) }
    }

    pub fn advance(&self, by: Span) {
        *self.now.lock().unwrap() += by;
    }

    /// Number of a domain, hours since the start, and the hour of what happens to it: at 9 o'clock of some day.
    fn place(&self, name: &DomainName, now: Timestamp) -> (i64, i64, i64) {
        let n: i64 = name.as_str()[1..3].parse().unwrap();
        let hours = (now.as_second() - self.start.as_second()) / 3600;
        (n, hours, 24 * (3 + n / 2 % 20))
    }
}

fn failed<T>(now: Timestamp) -> Part<T> {
    let error = PartError { label: "timeout".into(), sentence: "no answer".into(), retry_at: None };
    Part { attempted_at: Some(now), error: Some(error), ..Part::default() }
}

#[async_trait]
impl Observer for Script {
    async fn registration(
        &self,
        name: &DomainName,
        now: Timestamp,
        _: &dyn Progress,
    ) -> (Part<RegistrationState>, Vec<RawAnswer>) {
        let (n, hours, at) = self.place(name, now);
        let has_happened = hours >= at;
        // The registry of some is out of order for a day.
        if n % 10 == 6 && (at..at + 24).contains(&hours) {
            return (failed(now), vec![]);
        }
        if n % 10 == 4 && has_happened {
            return (Part::good(RegistrationState::Available, now, "RDAP"), vec![]);
        }
        let is_unlocked = n % 10 == 1 && (at..at + 60).contains(&hours);
        let expires = match n % 10 {
            // Twenty days after the start, and renewed on the ninth day.
            2 if hours < 9 * 24 => "2026-11-22",
            2 => "2027-11-22",
            _ => "2029-01-01",
        };
        let registrar = if n % 10 == 3 && has_happened { "Second Registrar" } else { "First Registrar" };
        let set = if n % 10 == 5 && has_happened { "new" } else { "old" };
        let r = Registration {
            name: Some(name.to_string()),
            expires: Some(expires.parse().unwrap()),
            statuses: Some(if is_unlocked {
                [].into()
            } else {
                [EppStatus::new("clientTransferProhibited")].into()
            }),
            registrar: Registrar { name: Some(registrar.into()), ..Registrar::default() },
            nameservers: Some(vec![format!("a.{set}-ns.test"), format!("b.{set}-ns.test")]),
            ..Registration::default()
        };
        (Part::good(RegistrationState::Registered(Box::new(r)), now, "RDAP"), vec![])
    }

    async fn dns(&self, name: &DomainName, now: Timestamp, _: &dyn Progress) -> DnsParts {
        let (n, hours, at) = self.place(name, now);
        // Our resolver is out of order for some looks.
        if n % 10 == 7 && (at..at + 12).contains(&hours) {
            return DnsParts { delegation: failed(now), ..DnsParts::default() };
        }
        let is_dead = match n % 10 {
            // Two looks.
            0 => (at..at + 2 * STEP_HOURS).contains(&hours),
            // One look: nothing that a second one confirms.
            8 => hours == at,
            _ => false,
        };
        let server = |i: i64, is_dead: bool| ServerState {
            name: format!("ns{i}.{name}"),
            address: Some(format!("198.51.{n}.{i}").parse().unwrap()),
            in_parent: true,
            in_child: true,
            health: if is_dead { ServerHealth::Dead } else { ServerHealth::Authoritative },
            kind: AnswerKind::Answer,
            serial: (!is_dead).then_some(1),
            latency_ms: Some(3.0),
            tcp: Some(true),
            recursion: Some(false),
            nsid: None,
            problems: vec![],
            notes: vec![],
        };
        let delegation = Delegation {
            zone: name.to_string(),
            parent: "example".into(),
            delegated: true,
            parent_ns: vec![],
            parents_differ: None,
            child_ns: vec![],
            ds: vec![],
            servers: vec![server(1, false), server(2, is_dead)],
            soa: None,
            negative_soa: None,
            provider: None,
            latency: LatencyHistory::default(),
            notes: vec![],
        };
        DnsParts { delegation: Part::good(delegation, now, "authoritative servers"), ..DnsParts::default() }
    }
}

impl Clock for Script {
    fn now(&self) -> Timestamp {
        *self.now.lock().unwrap()
    }
}
