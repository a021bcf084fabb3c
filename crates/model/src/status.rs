//! The status of a domain: one word with its reasons, and the instant at which it must be judged again because
//! time alone can change it. The table of SPEC section 4; thresholds are settings.

use crate::dns::DnssecStatus;
use crate::finding::Level;
use crate::item::{Item, Ownership};
use crate::observation::Observation;
use crate::registration::{Registration, RegistrationState};
use crate::time::{StatedTime, human_date, human_day};
use jiff::{Timestamp, ToSpan};
use serde::{Deserialize, Serialize};

/// The word, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StatusKind {
    /// Broken or about to be lost.
    Critical,
    /// Nothing recent to judge by.
    Unknown,
    /// Needs attention soon.
    Warning,
    /// No lock is set.
    Unlocked,
    /// Registry lock.
    Secure,
    /// As it should be.
    Normal,
}

impl StatusKind {
    /// All, worst first.
    pub const ALL: [StatusKind; 6] = [
        StatusKind::Critical,
        StatusKind::Unknown,
        StatusKind::Warning,
        StatusKind::Unlocked,
        StatusKind::Secure,
        StatusKind::Normal,
    ];

    /// The stable word of URLs and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            StatusKind::Critical => "critical",
            StatusKind::Unknown => "unknown",
            StatusKind::Warning => "warning",
            StatusKind::Unlocked => "unlocked",
            StatusKind::Secure => "secure",
            StatusKind::Normal => "normal",
        }
    }

    /// Reads the stable word.
    pub fn from_word(word: &str) -> Option<StatusKind> {
        StatusKind::ALL.into_iter().find(|k| k.as_str() == word)
    }

    /// The word people see.
    pub fn label(self) -> &'static str {
        match self {
            StatusKind::Critical => "Critical",
            StatusKind::Unknown => "Unknown",
            StatusKind::Warning => "Warning",
            StatusKind::Unlocked => "Unlocked",
            StatusKind::Secure => "Secure · registry lock",
            StatusKind::Normal => "Normal",
        }
    }

    /// Position for sorting, 0 is worst.
    pub fn rank(self) -> i64 {
        self as i64
    }
}

/// One reason, in a sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// The row of the table this reason belongs to.
    pub kind: StatusKind,
    /// Stable word of the rule (`expired`, `expires_soon`, `hold`, `stale`, ...).
    pub rule: String,
    /// The sentence.
    pub sentence: String,
}

/// A judged status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The word.
    pub kind: StatusKind,
    /// Why: reasons of the deciding row first, then what else was noticed.
    pub reasons: Vec<Reason>,
    /// When time alone may change the word; `None` when it can't.
    pub judge_again_at: Option<Timestamp>,
}

impl Status {
    /// The status of a domain that was never scanned.
    pub fn never_scanned() -> Self {
        Status {
            kind: StatusKind::Unknown,
            reasons: vec![Reason {
                kind: StatusKind::Unknown,
                rule: "never_scanned".into(),
                sentence: "Not scanned yet".into(),
            }],
            judge_again_at: None,
        }
    }

    /// The deciding reasons as one line.
    pub fn why(&self) -> String {
        let decisive: Vec<_> = self
            .reasons
            .iter()
            .filter(|r| r.kind == self.kind)
            .map(|r| r.sentence.trim_end_matches('.'))
            .collect();
        decisive.join(". ")
    }
}

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
    ["clientHold", "serverHold", "pendingDelete", "pendingRestore", "redemptionPeriod", "pendingTransfer"];
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
struct Bench {
    reasons: Vec<Reason>,
    again: Vec<Timestamp>,
}

impl Bench {
    fn say(&mut self, kind: StatusKind, rule: &str, sentence: impl Into<String>) {
        self.reasons.push(Reason { kind, rule: rule.into(), sentence: sentence.into() });
    }
}

/// The expiration a domain is judged by: what the sources state, else what its owner set by hand.
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
    let mut b = Bench { reasons: Vec::new(), again: Vec::new() };
    let part = &observation.registration;
    let fresh_until =
        part.observed_at.map(|at| at.checked_add((24 * limits.stale_days).hours()).unwrap_or(Timestamp::MAX));
    let fresh = fresh_until.is_some_and(|until| now < until);

    match (part.observed_at, fresh) {
        (None, _) => match &part.error {
            None => b.say(StatusKind::Unknown, "never_scanned", "Not scanned yet"),
            Some(e) => b.say(StatusKind::Unknown, "never_read", e.sentence.clone()),
        },
        (Some(at), false) => {
            let why = part.error.as_ref().map_or_else(
                || "no look-up was made since".to_string(),
                |e| format!("the last look-up failed: {}", e.sentence),
            );
            b.say(
                StatusKind::Unknown,
                "stale",
                format!("Registration data is {} days old, from {}; {why}", age_days(at, now), human_day(at)),
            );
        }
        (Some(_), true) => b.again.extend(fresh_until),
    }

    // Data too old to judge by makes a domain neither healthy nor expired; what its owner set by hand still counts.
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
    judge_dns(&mut b, observation);

    // Reasons are ranked by the table, keeping the order in which they were found within a row.
    b.reasons.sort_by_key(|r| r.kind.rank());
    let kind = b.reasons.first().map_or(StatusKind::Normal, |r| r.kind);
    let judge_again_at = b.again.into_iter().filter(|t| *t > now).min();
    Status { kind, reasons: b.reasons, judge_again_at }
}

fn age_days(at: Timestamp, now: Timestamp) -> i64 {
    (now.as_second() - at.as_second()) / 86_400
}

fn judge_unregistered(b: &mut Bench, item: &Item, state: &RegistrationState) {
    let reserved = matches!(state, RegistrationState::Reserved);
    let (rule, words) = if reserved {
        ("reserved", "The registry withholds this name from registration")
    } else {
        ("available", "The name is not registered")
    };
    let kind = if item.ownership == Ownership::Owned && !reserved {
        StatusKind::Critical
    } else {
        StatusKind::Unknown
    };
    b.say(kind, rule, words);
}

fn judge_expiration(
    b: &mut Bench,
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
                "nothing_published",
                "The registry publishes neither an expiration nor status flags; set the expiration by hand",
            );
        }
        return;
    };
    let day = human_date(expires.date());
    let softened = item.auto_renew == Some(true);
    let days = expires.days_from(now);
    let midnight_before =
        |days: i64| expires.date().checked_sub(days.days()).ok().map(|d| StatedTime::Date(d).nominal());
    b.again.extend(midnight_before(limits.warning_days));
    b.again.extend(midnight_before(limits.critical_days));
    b.again.push(expires.passed_at());
    if expires.passed_at() <= now {
        let seen_after = observation.registration.observed_at.is_some_and(|at| at >= expires.passed_at());
        let sentence = if seen_after || item.manual_expires.is_some() {
            format!("Expired on {day}")
        } else {
            format!("Was to expire on {day}; no look-up since has shown a renewal")
        };
        b.say(StatusKind::Critical, "expired", sentence);
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
        b.say(kind, "expires_soon", format!("Expires {left}, on {day}{auto}"));
    }
}

/// True when the source publishes EPP status codes, so that a missing lock means something.
fn publishes_locks(r: &Registration) -> bool {
    r.statuses.as_ref().is_some_and(|s| s.iter().any(|x| x.explained().is_some()))
}

fn judge_flags(b: &mut Bench, item: &Item, r: &Registration) {
    let flag_sentence = |flag: &str| {
        let means = crate::epp::EppStatus::new(flag).explained().map_or("", |m| m.means.as_str());
        format!("{flag} is set: {}", means.trim_end_matches('.'))
    };
    for flag in CRITICAL_FLAGS.iter().filter(|f| r.has(f)) {
        b.say(StatusKind::Critical, "flag", flag_sentence(flag));
    }
    if r.has("inactive") && item.was_delegated {
        b.say(StatusKind::Critical, "inactive", flag_sentence("inactive"));
    }
    for flag in WARNING_FLAGS.iter().filter(|f| r.has(f)) {
        b.say(StatusKind::Warning, "flag", flag_sentence(flag));
    }
    if publishes_locks(r) {
        if SERVER_LOCKS.iter().all(|l| r.has(l)) {
            b.say(StatusKind::Secure, "registry_lock", "All three server prohibitions are set");
        } else {
            let set: Vec<_> = LOCKS.iter().filter(|l| r.has(l)).copied().collect();
            if set.is_empty() {
                let words = "No transfer, delete or update prohibition is set";
                b.say(StatusKind::Unlocked, "no_lock", words);
            } else {
                b.say(StatusKind::Normal, "locked", format!("{} set", are(&set)));
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

fn judge_dns(b: &mut Bench, observation: &Observation) {
    if let Some(d) = &observation.delegation.value
        && d.delegated
        && d.all_silent()
    {
        let n = d.server_names().len();
        let words = match n {
            1 => "The only nameserver does not answer for the zone".to_string(),
            n => format!("None of the {n} nameservers answers for the zone"),
        };
        b.say(StatusKind::Critical, "no_nameserver", words);
    }
    if let Some(s) = &observation.dnssec.value
        && s.status == DnssecStatus::Bogus
    {
        b.say(StatusKind::Critical, "bogus", format!("DNSSEC does not validate: {}", s.reason));
    }
    for f in observation.findings.iter().filter(|f| f.level >= Level::Error) {
        let words = if f.message.is_empty() { f.tag.clone() } else { f.message.clone() };
        b.say(StatusKind::Warning, "finding", words);
    }
}
