//! What is known after a new attempt: the new observation laid over the stored one.
//!
//! A part that failed keeps its last good value; a field that a source stopped stating is kept and marked.

use crate::base::time::{DAY, plus};
use crate::dns::latency::merge_latency;
use crate::dns::{DnssecStatus, RrSet, ZoneSnapshot};
use crate::observation::{Observation, Part, PartError};
use crate::registration::{Registration, RegistrationState};
use jiff::Timestamp;

/// What is known after a new attempt: each part as it was read now, or its last good value with the error of now.
/// Fields that the newest good answer no longer states are carried on from the one before.
pub fn carry_forward(previous: Option<&Observation>, mut current: Observation) -> Observation {
    fn keep<T: Clone>(previous: Option<&Part<T>>, current: &mut Part<T>) {
        if let (Some(error), Some(at)) = (current.error.clone(), current.attempted_at) {
            *current = Part::failed(previous.cloned().unwrap_or_default(), at, error);
        } else if current.attempted_at.is_none()
            && let Some(p) = previous
        {
            *current = p.clone();
        }
    }
    if let Some(d) = &current.dnssec.value
        && d.status == DnssecStatus::Indeterminate
        && previous.is_some_and(|p| p.dnssec.value.is_some())
    {
        let error = PartError {
            label: "indeterminate".into(),
            sentence: format!("DNSSEC could not be told: {}", d.reason),
            retry_at: None,
        };
        current.dnssec.error = Some(error);
    }
    // Findings are read from the delegation: while that is an older one, so are they.
    let asked = current.delegation.attempted_at.is_some() && current.delegation.error.is_none();
    if let (false, Some(p)) = (asked, previous) {
        current.findings.clone_from(&p.findings);
    }
    if asked && let Some(d) = &mut current.delegation.value {
        let before = previous.and_then(|p| p.delegation.value.as_ref()).map(|d| &d.latency);
        d.latency = merge_latency(before, std::mem::take(&mut d.latency));
        d.latency.speak(&d.zone, &mut current.findings);
    }
    if let Some(zone) = &mut current.zone.value
        && let Some(before) = previous.and_then(|p| p.zone.value.as_ref())
    {
        carry_unanswered(before, zone);
    }
    // Of the zone that was read now: an older one says nothing of what was asked.
    let unanswered = current.zone.value.as_ref().map(|z| z.unanswered.clone()).unwrap_or_default();
    keep(previous.map(|p| &p.registration), &mut current.registration);
    keep(previous.map(|p| &p.delegation), &mut current.delegation);
    keep(previous.map(|p| &p.zone), &mut current.zone);
    keep(previous.map(|p| &p.dnssec), &mut current.dnssec);
    if let Some(seen) = &mut current.certificates.value
        && let Some((before, at)) =
            previous.and_then(|p| p.certificates.value.as_ref().zip(p.certificates.observed_at))
    {
        seen.carry_on(before, at, &unanswered);
    }
    keep(previous.map(|p| &p.certificates), &mut current.certificates);
    if let Some(p) = previous
        && current.registration.error.is_none()
        && let Some(at) = current.registration.observed_at
        && let Some(RegistrationState::Registered(old)) = &p.registration.value
        && let Some(RegistrationState::Registered(new)) = &mut current.registration.value
    {
        carry_fields(old, new, at);
    }
    current
}

/// Keeps the last answers to questions that had none this time, so that the next answer is compared with them.
fn carry_unanswered(old: &ZoneSnapshot, new: &mut ZoneSnapshot) {
    for question in &new.unanswered {
        let is_about = |set: &&RrSet| *question == format!("{} {}", set.name, set.rtype);
        if new.rrsets.iter().any(|set| is_about(&set)) {
            continue;
        }
        match old.rrsets.iter().find(is_about) {
            Some(set) => new.rrsets.push(set.clone()),
            None if !old.unanswered.contains(question) || old.absent_before.contains(question) => {
                new.absent_before.push(question.clone());
            }
            None => {}
        }
    }
}

/// Copies what `old` stated and `new`, which was read at `at`, does not, unless the name was registered again in between.
fn carry_fields(old: &Registration, new: &mut Registration, at: Timestamp) {
    if let (Some(a), Some(b)) = (old.created, new.created)
        && !a.agrees_with(&b)
    {
        return;
    }
    let mut carried = Vec::new();
    macro_rules! carry {
        ($($field:ident),*) => {$(
            if new.$field.is_none() && old.$field.is_some() {
                new.$field = old.$field.clone();
                carried.push(stringify!($field));
            }
        )*};
    }
    carry!(created, updated, expires, statuses, nameservers, dnssec, registry_id);
    if new.registrar.is_empty() && !old.registrar.is_empty() {
        new.registrar = old.registrar.clone();
        carried.push("registrar");
    }
    for field in carried {
        if let Some(p) = old.provenance.get(field) {
            new.provenance.insert(field.to_string(), p.clone());
        }
        warn(new, format!("{field} is not stated any more; the last stated value is kept"));
    }
    carry_registrar_expires(old, new, at);
}

fn warn(registration: &mut Registration, words: String) {
    if !registration.warnings.contains(&words) {
        registration.warnings.push(words);
    }
}

/// Seconds that a registrar's date is kept at least after a renewal overtook it: what fails for a while answers again by
/// then, and says whether it has followed.
const OVERTAKEN_KEPT_S: i64 = 3 * DAY;
/// Seconds after the expiration within which a registrar may delete the name (the auto-renew grace period).
const GRACE_S: i64 = 45 * DAY;

/// Until when a registrar's date is kept that a renewal overtook at `since`. A registry moves the date on by itself when it
/// has passed, and the registrar may still delete the name then; before, somebody renewed.
fn kept_until(date: Timestamp, since: Timestamp) -> Timestamp {
    let soon = plus(since, OVERTAKEN_KEPT_S);
    if since < date { soon } else { soon.max(plus(date, GRACE_S)) }
}

/// Copies the registrar's date where the registrar did not state one now. It is believed until the registry's date shows
/// that it is from before a renewal; a registrar that the name has left has no say.
fn carry_registrar_expires(old: &Registration, new: &mut Registration, at: Timestamp) {
    let (Some(date), None) = (old.registrar_expires, new.registrar_expires) else { return };
    if old.registrar.differs_from(&new.registrar) {
        return;
    }
    new.registrar_expires = Some(date);
    if new.registrar_lags() && !new.has("autoRenewPeriod") && !new.is_being_deleted() {
        let moved_on = old.expires.zip(new.expires).is_some_and(|(x, y)| y.is_later_than(&x));
        let is_over = moved_on || old.has("autoRenewPeriod") || plus(date.nominal(), GRACE_S) <= at;
        new.registrar_expires_overtaken = old.registrar_expires_overtaken.or(is_over.then_some(at));
    }
    match new.registrar_expires_overtaken {
        Some(since) if kept_until(date.nominal(), since) <= at => {
            (new.registrar_expires, new.registrar_expires_overtaken) = (None, None);
            return;
        }
        Some(_) => warn(
            new,
            format!(
                "The registrar states no expiration now; its last one, {date}, is older than the renewal, and alerts \
                 follow the registry's"
            ),
        ),
        None if new.differing_registrar_expires().is_some() => {
            warn(new, "registrar_expires is not stated any more; the last stated value is kept".into());
        }
        None => {}
    }
    if let Some(p) = old.provenance.get("registrar_expires") {
        new.provenance.insert("registrar_expires".into(), p.clone());
    }
}
