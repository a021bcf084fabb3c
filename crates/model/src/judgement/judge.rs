//! Judges the status of a domain by the table of SPEC section 4. In: holding, observation, thresholds, now. Out: the
//! status with its reasons, and the instant at which it must be judged again because time alone can change it.

use super::cause::no_server_address;
use super::item::{Item, Ownership};
use super::status::{Reason, Rule, Status, StatusKind};
use crate::base::time::{DAY, StatedTime, clock_utc, human_date, human_day, plus};
use crate::certificate::Trust;
use crate::certificate::hosts::WARNING_DAYS;
use crate::dns::{Delegation, DnssecStatus, ServerProblem, ServerState};
use crate::finding::{Finding, by_server};
use crate::observation::Observation;
use crate::registration::{Registration, RegistrationState};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The settings of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Thresholds {
    /// Critical when this many days or fewer are left.
    pub critical_days: i64,
    /// Warning when this many days or fewer are left.
    pub warning_days: i64,
    /// Unknown when the newest good registration data is older, in days.
    pub stale_days: i64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Thresholds { critical_days: 7, warning_days: 30, stale_days: 3 }
    }
}

const CRITICAL_FLAGS: [&str; 6] =
    ["redemptionPeriod", "pendingDelete", "pendingRestore", "serverHold", "clientHold", "pendingTransfer"];
const WARNING_FLAGS: [&str; 5] =
    ["autoRenewPeriod", "pendingRenew", "pendingUpdate", "clientRenewProhibited", "serverRenewProhibited"];
const SERVER_LOCKS: [&str; 3] =
    ["serverTransferProhibited", "serverUpdateProhibited", "serverDeleteProhibited"];
const LOCKS: [&str; 6] = [
    "clientTransferProhibited",
    "clientUpdateProhibited",
    "clientDeleteProhibited",
    "serverTransferProhibited",
    "serverUpdateProhibited",
    "serverDeleteProhibited",
];

/// Collects reasons and the instants at which time alone would change one.
struct ReasonCollector {
    reasons: Vec<Reason>,
    again: Vec<Timestamp>,
}

impl ReasonCollector {
    fn say(&mut self, kind: StatusKind, rule: Rule, sentence: impl Into<String>) {
        self.reasons.push(Reason { kind, rule, sentence: sentence.into() });
    }
}

/// The expiration a domain is judged by: what the sources state, else what its owner set manually.
pub fn expiration_of(item: &Item, observation: &Observation) -> Option<StatedTime> {
    observation
        .registration
        .value
        .as_ref()
        .and_then(RegistrationState::registration)
        .and_then(Registration::effective_expires)
        .or_else(|| item.manual_expires.map(StatedTime::Date))
}

/// Judges a domain. Pure: the same arguments give the same answer, and it holds until `judge_again_at`.
pub fn judge(item: &Item, observation: &Observation, limits: &Thresholds, now: Timestamp) -> Status {
    let mut b = ReasonCollector { reasons: Vec::new(), again: Vec::new() };
    let part = &observation.registration;
    let fresh_until = part.observed_at.map(|at| plus(at, limits.stale_days * DAY));
    let fresh = fresh_until.is_some_and(|until| now < until);

    match (part.observed_at, fresh) {
        (None, _) => match &part.error {
            None => b.say(StatusKind::Unknown, Rule::NeverScanned, "Not scanned yet"),
            Some(e) => b.say(StatusKind::Unknown, Rule::NeverRead, e.sentence.clone()),
        },
        (Some(at), false) => {
            let why = part.error.as_ref().map_or_else(
                || "no look-up was made since".to_string(),
                |e| format!("the last look-up failed: {}", e.sentence),
            );
            b.say(
                StatusKind::Unknown,
                Rule::Stale,
                format!("Registration data is {} days old, from {}; {why}", age_days(at, now), human_day(at)),
            );
        }
        (Some(_), true) => b.again.extend(fresh_until),
    }

    // Data too old to judge by makes a domain neither healthy nor expired; what its owner set manually still counts.
    let manual_only = part
        .value
        .as_ref()
        .and_then(RegistrationState::registration)
        .is_none_or(|r| r.effective_expires().is_none());
    if fresh || (manual_only && part.observed_at.is_some()) {
        match &part.value {
            Some(RegistrationState::Registered(r)) => {
                judge_expiration(&mut b, item, observation, r, limits, now);
                if fresh {
                    judge_flags(&mut b, item, r);
                }
            }
            Some(state) => judge_unregistered(&mut b, item, state),
            None => {}
        }
    }
    judge_dns(&mut b, item, observation, now);
    judge_certificates(&mut b, observation, now);

    if b.reasons.is_empty() {
        let words = "No problem was found; the source publishes no status flags";
        b.say(StatusKind::Normal, Rule::NothingPublished, words);
    }
    // Reasons are ranked by the table; within a row what takes the name off the net comes first.
    b.reasons.sort_by_key(|r| (r.kind.rank(), r.rule.order(r.kind)));
    let kind = b.reasons.first().map_or(StatusKind::Normal, |r| r.kind);
    let judge_again_at = b.again.into_iter().filter(|t| *t > now).min();
    Status { kind, reasons: b.reasons, judge_again_at }
}

fn age_days(at: Timestamp, now: Timestamp) -> i64 {
    (now.as_second() - at.as_second()) / 86_400
}

fn judge_unregistered(b: &mut ReasonCollector, item: &Item, state: &RegistrationState) {
    let reserved = matches!(state, RegistrationState::Reserved);
    let (rule, words) = if reserved {
        (Rule::Reserved, "The registry withholds this name from registration")
    } else {
        (Rule::Available, "The name is not registered")
    };
    let kind = if item.ownership == Ownership::Owned && !reserved {
        StatusKind::Critical
    } else {
        StatusKind::Unknown
    };
    b.say(kind, rule, words);
}

fn judge_expiration(
    b: &mut ReasonCollector,
    item: &Item,
    observation: &Observation,
    r: &Registration,
    limits: &Thresholds,
    now: Timestamp,
) {
    let Some(expires) = expiration_of(item, observation) else {
        if !publishes_locks(r) {
            b.say(
                StatusKind::Unknown,
                Rule::NothingPublished,
                "The registry publishes neither an expiration nor status flags; set the expiration yourself",
            );
        }
        return;
    };
    let day = human_date(expires.date());
    let softened = item.auto_renew == Some(true);
    let days = expires.days_from(now);
    let midnight_before = |days: i64| plus(StatedTime::Date(expires.date()).nominal(), -days * DAY);
    b.again.push(midnight_before(limits.warning_days));
    b.again.push(midnight_before(limits.critical_days));
    b.again.push(expires.passed_at());
    if expires.passed_at() <= now {
        let seen_after = observation.registration.observed_at.is_some_and(|at| at >= expires.passed_at());
        let sentence = if seen_after || item.manual_expires.is_some() {
            format!("Expired on {day}")
        } else {
            format!("Was to expire on {day}; no look-up since has shown a renewal")
        };
        b.say(StatusKind::Critical, Rule::Expired, sentence);
    } else if days <= limits.warning_days {
        let left = match days {
            0 => "today".to_string(),
            1 => "tomorrow".to_string(),
            n => format!("in {n} days"),
        };
        let auto = if softened { ", marked auto-renew" } else { "" };
        let kind = if days <= limits.critical_days && !softened {
            StatusKind::Critical
        } else {
            StatusKind::Warning
        };
        b.say(kind, Rule::ExpiresSoon, format!("Expires {left}, on {day}{auto}"));
    }
}

/// True when the source publishes EPP status codes, so that a missing lock means something.
fn publishes_locks(r: &Registration) -> bool {
    r.statuses.as_ref().is_some_and(|s| s.iter().any(|x| x.explained().is_some()))
}

fn judge_flags(b: &mut ReasonCollector, item: &Item, r: &Registration) {
    let flag_sentence = |flag: &str| {
        let means =
            crate::registration::epp::EppStatus::new(flag).explained().map_or("", |m| m.means.as_str());
        format!("{flag} is set: {}", means.trim_end_matches('.'))
    };
    for flag in CRITICAL_FLAGS.iter().filter(|f| r.has(f)) {
        b.say(StatusKind::Critical, Rule::Flag, flag_sentence(flag));
    }
    if r.has("inactive") && item.was_delegated {
        b.say(StatusKind::Critical, Rule::Inactive, flag_sentence("inactive"));
    }
    for flag in WARNING_FLAGS.iter().filter(|f| r.has(f)) {
        b.say(StatusKind::Warning, Rule::Flag, flag_sentence(flag));
    }
    if publishes_locks(r) {
        if SERVER_LOCKS.iter().all(|l| r.has(l)) {
            b.say(StatusKind::Secure, Rule::RegistryLock, "All three server prohibitions are set");
        } else {
            let set: Vec<_> = LOCKS.iter().filter(|l| r.has(l)).copied().collect();
            if set.is_empty() {
                let words = "No transfer, delete or update prohibition is set";
                b.say(StatusKind::Unlocked, Rule::NoLock, words);
            } else {
                b.say(StatusKind::Normal, Rule::Locked, format!("{} set", are(&set)));
            }
        }
    }
}

fn are(words: &[&str]) -> String {
    match words {
        [one] => format!("{one} is"),
        [init @ .., last] => format!("{} and {last} are", init.join(", ")),
        [] => String::new(),
    }
}

/// Signatures that end within this many hours are a warning: most signers renew a week before.
const SIGNATURES_SOON_HOURS: i64 = 7 * 24;

/// Why no nameserver answers for a delegated zone.
fn no_nameserver(d: &Delegation) -> String {
    let names = d.server_names();
    if d.servers.iter().any(|s| s.address.is_some()) || names.is_empty() {
        return match names.len() {
            1 => "The only nameserver does not answer for the zone".to_string(),
            n => format!("None of the {n} nameservers answers for the zone"),
        };
    }
    if d.servers.iter().all(ServerState::is_unanswered) {
        return format!(
            "No nameserver could be resolved: no server answers for the addresses of {}",
            names.join(", ")
        );
    }
    let below = |name: &String| *name == d.zone || name.ends_with(&format!(".{}", d.zone));
    let is_cyclic = |p: &ServerProblem| matches!(p, ServerProblem::NoAddress { cyclic: true, .. });
    let cyclic = d.servers.iter().flat_map(|s| &s.problems).any(is_cyclic);
    if cyclic && !names.iter().any(below) {
        return format!(
            "No nameserver has an address: finding one needs this zone itself (circular dependency through {})",
            names.join(", ")
        );
    }
    no_server_address(&d.zone, &names)
}

fn judge_dns(b: &mut ReasonCollector, item: &Item, observation: &Observation, now: Timestamp) {
    let registered = !matches!(
        observation.registration.value,
        Some(RegistrationState::Available | RegistrationState::Reserved)
    );
    if let Some(d) = &observation.delegation.value {
        let critical = StatusKind::Critical;
        // A flag that takes the name off the net is the cause, said once.
        let is_explained = b
            .reasons
            .iter()
            .any(|r| r.kind == StatusKind::Critical && matches!(r.rule, Rule::Flag | Rule::Inactive));
        if d.delegated && d.all_silent() {
            b.say(critical, Rule::NoNameserver, no_nameserver(d));
        } else if !d.delegated && item.was_delegated && registered && !is_explained {
            b.say(
                critical,
                Rule::NoNameserver,
                format!("The zone {} no longer delegates the domain", d.parent),
            );
        }
    }
    if let Some(s) = &observation.dnssec.value
        && s.status == DnssecStatus::Bogus
    {
        b.say(StatusKind::Critical, Rule::Bogus, format!("DNSSEC does not validate: {}", s.reason));
    }
    judge_signatures(b, observation, now);
    // A name that is not registered has no delegation either: one cause, said once.
    let counts = |f: &&Finding| f.is_urgent() && (registered || f.tag != "B02_NO_DELEGATION");
    // What is bogus or silent as a whole is said above.
    let said = |f: &&Finding| {
        let decided = |rule: Rule| b.reasons.iter().any(|r| r.rule == rule);
        match f.tag.as_str() {
            "DNSSEC_BOGUS" | "SIGNATURES_EXPIRED" => decided(Rule::Bogus),
            "B02_NO_WORKING_NS" | "B02_NO_DELEGATION" => decided(Rule::NoNameserver),
            _ => false,
        }
    };
    let urgent: Vec<&Finding> = observation.findings.iter().filter(counts).filter(|f| !said(f)).collect();
    for (f, _) in by_server(urgent.into_iter()) {
        b.say(StatusKind::Warning, Rule::Finding, f.words());
    }
}

/// A certificate that is for its host and was trusted ends by itself. One of another name or of an unknown authority is
/// shown and is no warning: parked names and private services present such.
fn judge_certificates(b: &mut ReasonCollector, observation: &Observation, now: Timestamp) {
    let hosts = observation.certificates.value.iter().flat_map(|c| &c.hosts);
    for host in hosts.filter(|h| h.covers_host && matches!(h.trust, Some(Trust::Trusted | Trust::Expired))) {
        let Some(c) = &host.certificate else { continue };
        let soon = plus(c.not_after, -WARNING_DAYS * DAY);
        b.again.extend([soon, c.not_after]);
        if let Some(sentence) = host.problem(now) {
            b.say(StatusKind::Warning, Rule::Certificate, sentence);
        }
    }
}

/// Time alone makes valid signatures end: says so a week before, also without a new scan.
fn judge_signatures(b: &mut ReasonCollector, observation: &Observation, now: Timestamp) {
    let Some(dnssec) = observation.dnssec.value.as_ref().filter(|d| d.status == DnssecStatus::Secure) else {
        return;
    };
    let Some(ends) = dnssec.signatures_expire else { return };
    let soon = plus(ends, -SIGNATURES_SOON_HOURS * 3600);
    b.again.extend([soon, ends]);
    let found = observation.findings.iter().any(|f| f.tag.starts_with("SIGNATURES_EXPIRE"));
    if ends <= now {
        let words = format!(
            "DNSSEC signatures were to end on {}; no scan since has shown new ones",
            clock_utc(ends, now)
        );
        b.say(StatusKind::Warning, Rule::Signatures, words);
    } else if soon <= now && !found {
        let words = format!("DNSSEC signatures end at {}", clock_utc(ends, now));
        b.say(StatusKind::Warning, Rule::Signatures, words);
    }
}
