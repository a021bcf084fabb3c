//! What happened to the expiration of a registration, and when a later date is a renewal: not while the registrar may still
//! delete the name. In: two registrations. Out: one change, or one for the registry's date and one for the registrar's.

use super::diff::change;
use super::event::{Change, EventKind, Severity};
use crate::base::time::DAY;
use crate::registration::Registration;

/// What happened to the expiration, told once: by the registry's date, else by the registrar's.
pub(super) fn expiration(a: &Registration, b: &Registration, source: &str) -> impl Iterator<Item = Change> {
    let registry = registry_date(a, b, source);
    let is_told = registry.as_ref().is_some_and(|c| c.kind == EventKind::Renewed);
    let registrar = registrar_date(a, b, source).filter(|_| !is_told);
    registry.into_iter().chain(registrar)
}

fn registry_date(a: &Registration, b: &Registration, source: &str) -> Option<Change> {
    let (x, y) = a.expires.zip(b.expires)?;
    let date = |kind, severity, note: &str| {
        let c = change(kind, severity, "expires", Some(x.to_string()), Some(y.to_string()), source);
        Change { note: note.into(), ..c }
    };
    let is_renewed = !b.awaits_renewal() && !b.is_being_deleted();
    if y.is_later_than(&x) {
        let note = if is_renewed {
            return Some(date(EventKind::Renewed, Severity::Info, ""));
        } else if b.registrar_expires_overtaken.is_some() && !b.has("autoRenewPeriod") {
            "The registrar has not stated its date since; it says whether the name was renewed"
        } else if b.awaits_renewal() {
            "The registry moved the date on by itself; that does not say anybody paid"
        } else {
            "The name is being deleted: the later date is no renewal"
        };
        return Some(date(EventKind::ExpirationChanged, Severity::Info, note));
    }
    if !x.agrees_with(&y) {
        return Some(date(EventKind::ExpirationChanged, Severity::Warning, ""));
    }
    // What the date of an earlier look did not say by itself is a fact now. Not where the name was transferred: what the
    // registrar that it left had to do is settled otherwise.
    let in_grace = a.has("autoRenewPeriod");
    let is_known = b.statuses.is_some() || !in_grace;
    if !a.awaits_renewal() || !is_renewed || !is_known || a.registrar.differs_from(&b.registrar) {
        return None;
    }
    let note = match b.registrar_expires {
        _ if in_grace => "The auto-renew grace period has ended",
        Some(_) => "The registrar's date has followed",
        None => "The registrar states no date any more; that of the registry stands",
    };
    Some(date(EventKind::Renewed, Severity::Info, note))
}

/// Seconds by which the dates of a registrar's RDAP and WHOIS servers may differ: a switch of source is no change.
const SAME_DAY_S: i64 = DAY;

fn registrar_date(a: &Registration, b: &Registration, source: &str) -> Option<Change> {
    let (x, y) = a.registrar_expires.zip(b.registrar_expires)?;
    let by = |r: &Registration| r.provenance.get("registrar_expires").map(|p| p.protocol);
    let apart_s = y.nominal().as_second().abs_diff(x.nominal().as_second());
    let is_switch = by(a) != by(b) && apart_s <= SAME_DAY_S.unsigned_abs();
    // Dates of two registrars do not compare.
    if x.agrees_with(&y) || is_switch || a.registrar.differs_from(&b.registrar) {
        return None;
    }
    let later = y.is_later_than(&x);
    // It moved with the registry's date, whose change tells it.
    let with_registry = match (a.expires, b.expires) {
        (Some(u), Some(v)) => !u.agrees_with(&v) && v.is_later_than(&u) == later && !b.registrar_lags(),
        _ => false,
    };
    if with_registry {
        return None;
    }
    // Where the registry publishes no date, that of the registrar is all there is.
    let alone = b.expires.is_none() && !b.awaits_renewal() && !b.is_being_deleted();
    let kind = if later && alone { EventKind::Renewed } else { EventKind::ExpirationChanged };
    let severity = if later { Severity::Info } else { Severity::Warning };
    Some(change(kind, severity, "registrar_expires", Some(x.to_string()), Some(y.to_string()), source))
}
