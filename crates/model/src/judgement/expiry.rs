//! Reminders before a registration ends: which threshold was reached, and which was announced already. Time alone makes
//! them due, so they are judged with every scan from what is stored, also while the registry does not answer.
//!
//! In: a holding with what was announced, its observation, thresholds and now. Out: at most one change, the most urgent.

use super::checks::checked_days;
use super::event::{Change, EventKind, Severity};
use super::item::{Item, Ownership};
use super::judge::{Thresholds, expiration_of};
use crate::base::time::{DAY, StatedTime};
use crate::observation::Observation;
use crate::registration::{Registration, RegistrationState};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Days before the expiration at which a reminder is sent unless configured otherwise; 0 is the expiration itself.
pub const REMINDER_DAYS: [i64; 6] = [30, 15, 7, 3, 1, 0];

/// Days of a threshold at most.
pub const REMINDER_MAX: i64 = 365;
/// Thresholds at most.
pub const REMINDERS_MAX: usize = 12;

/// Expiration dates that are remembered: registries whose servers state different dates in turn must not make one
/// reminder come twice.
const REMEMBERED: usize = 8;

/// The most urgent reminder that was announced for an expiration date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reminded {
    /// The date.
    pub expires: StatedTime,
    /// The threshold in days.
    pub days: i64,
}

/// The reminder that is due, noted in the holding. Each threshold is announced once for a date; of several that passed
/// while nothing ran only the most urgent one is.
pub fn remind(
    item: &mut Item,
    observation: &Observation,
    thresholds: &[i64],
    limits: &Thresholds,
    now: Timestamp,
) -> Option<Change> {
    let state = observation.registration.value.as_ref();
    if matches!(state, Some(RegistrationState::Available | RegistrationState::Reserved)) {
        return None;
    }
    let expires = expiration_of(item, observation)?;
    let left = expires.days_from(now);
    let reached = |days: i64| if days <= 0 { now >= expires.nominal() } else { left <= days };
    let days = thresholds.iter().copied().filter(|d| reached(*d)).min()?;
    match item.reminded.iter_mut().find(|r| r.expires.agrees_with(&expires)) {
        Some(r) if r.days <= days => return None,
        Some(r) => r.days = days,
        None => {
            let excess = (item.reminded.len() + 1).saturating_sub(REMEMBERED);
            item.reminded.drain(..excess);
            item.reminded.push(Reminded { expires, days });
        }
    }
    let registration = state.and_then(RegistrationState::registration);
    let published = registration.and_then(Registration::effective_expires).is_some();
    let source = if published { observation.registration.source.clone() } else { None };
    Some(Change {
        kind: if days <= 0 { EventKind::Expired } else { EventKind::ExpiresSoon },
        severity: severity(item, left.min(days), limits),
        field: "expires".into(),
        old: None,
        new: Some(expires.to_string()),
        source: source.unwrap_or_else(|| "set manually".into()),
        note: note(item, observation, left, days, thresholds),
        first_seen_at: None,
        status_before: None,
    })
}

/// When the next threshold is reached, so that it is noticed without a scan too.
pub fn next_reminder(
    item: &Item,
    observation: &Observation,
    thresholds: &[i64],
    now: Timestamp,
) -> Option<Timestamp> {
    let expires = expiration_of(item, observation)?.nominal();
    let second = expires.as_second();
    // Days are counted between calendar days in UTC.
    let midnight = second - second.rem_euclid(DAY);
    let at = |days: i64| match days {
        ..=0 => Some(expires),
        _ => Timestamp::from_second(midnight.saturating_sub(days * DAY)).ok(),
    };
    thresholds.iter().filter_map(|d| at(*d)).filter(|t| *t > now).min()
}

fn severity(item: &Item, left: i64, limits: &Thresholds) -> Severity {
    let renews = item.auto_renew == Some(true);
    match item.ownership {
        Ownership::Watched => Severity::Notice,
        Ownership::Owned if left <= limits.critical_days && !renews => Severity::Critical,
        Ownership::Owned if left <= limits.critical_days || !renews => Severity::Warning,
        Ownership::Owned => Severity::Notice,
    }
}

/// How long is left, what to do, and when the next reminder comes.
fn note(item: &Item, observation: &Observation, left: i64, days: i64, thresholds: &[i64]) -> String {
    let mut sentences = vec![match left {
        ..0 => "The date has passed".to_string(),
        0 => "That is today".to_string(),
        1 => "That is tomorrow".to_string(),
        n => format!("{n} days are left"),
    }];
    if observation.registration.is_stale() {
        sentences.push("The registry did not answer lately; this is the last date it stated".into());
    }
    if item.ownership == Ownership::Owned {
        let registration = observation.registration.value.as_ref().and_then(RegistrationState::registration);
        let registrar = registration.and_then(|r| r.registrar.name.as_deref()).unwrap_or("the registrar");
        sentences.push(match item.auto_renew {
            Some(true) => format!("It is marked auto-renew: check the payment method at {registrar}"),
            Some(false) => format!("Auto-renew is marked off: renew at {registrar}"),
            None => {
                format!("Auto-renew is not known: renew at {registrar}, or mark auto-renew if it is on there")
            }
        });
    }
    match thresholds.iter().copied().filter(|d| *d < days).max() {
        Some(next) if next > 0 => {
            let unit = if next == 1 { "day" } else { "days" };
            sentences.push(format!("The next reminder comes {next} {unit} before the date"));
        }
        Some(_) => sentences.push("The last reminder comes at the expiration".into()),
        None => {}
    }
    sentences.join(". ")
}

/// Thresholds out of a setting (`30,15,7,3,1,0`): whole days from 0 to 365, most days first.
///
/// # Errors
/// A sentence that names the value and the rule.
pub fn parse_days(text: &str) -> Result<Vec<i64>, String> {
    let mut days = Vec::new();
    for part in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
        days.push(part.parse().map_err(|_| format!("“{part}” is not a number of days"))?);
    }
    checked_days(&days)
}
