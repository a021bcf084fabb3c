//! Comparing two observations: the changes people are told about, and the field-by-field table of History.
//!
//! Order, case, formatting and a switch of source are not changes. A part whose last attempt failed is not
//! compared; a field that a source stopped stating is not a change to "none".

use crate::certificate;
use crate::dns::{Delegation, DnssecStatus, RrSet, ZoneSnapshot};
use crate::judgement::event::{Change, EventKind, Severity};
use crate::judgement::{renewal, server_health};
use crate::observation::{Observation, Part};
use crate::registration::{DnssecStated, Ds, Registrar, Registration, RegistrationState};
use std::collections::{BTreeMap, BTreeSet};

/// All changes between two observations of the same name. Both sides of every change come from a part that was
/// read well in both; the first good reading of a part is a baseline.
pub fn diff(previous: &Observation, current: &Observation) -> Vec<Change> {
    let mut out = Vec::new();
    if let Some((a, b)) = comparable(&previous.registration, &current.registration) {
        let source = current.registration.source.clone().unwrap_or_default();
        registration_state(a, b, &source, &mut out);
    }
    nameservers(previous, current, &mut out);
    ds_set(previous, current, &mut out);
    if let Some((a, b)) = comparable(&previous.delegation, &current.delegation) {
        delegation(a, b, previous, &mut out);
    }
    if let Some((a, b)) = comparable(&previous.dnssec, &current.dnssec)
        && a.status != b.status
        && ![a.status, b.status].contains(&DnssecStatus::Indeterminate)
    {
        let severity = if b.status == DnssecStatus::Bogus { Severity::Critical } else { Severity::Notice };
        let (old, new) = (a.status.label().to_string(), b.status.label().to_string());
        let note = if b.status == DnssecStatus::Bogus { b.reason.clone() } else { String::new() };
        let mut c =
            change(EventKind::DnssecStatusChanged, severity, "dnssec_status", Some(old), Some(new), DNS);
        c.note = note;
        out.push(c);
    }
    if let Some((a, b)) = comparable(&previous.zone, &current.zone) {
        let told = out.iter().any(|c| c.kind == EventKind::NameserversChanged);
        records((&a.rrsets, &never_answered(a)), (&b.rrsets, &b.unanswered), &mut out);
        // The zone's own NS set moves with the delegation: one event tells both.
        let apex_ns = format!("{} NS", current.name);
        out.retain(|c| !(told && c.kind == EventKind::RecordChanged && c.field == apex_ns));
    }
    if let (Some((a, b)), Some(x), Some(y)) = (
        comparable(&previous.certificates, &current.certificates),
        previous.certificates.observed_at,
        current.certificates.observed_at,
    ) {
        out.extend(certificate::hosts::changes((a, x), (b, y)));
    }
    // What matters most is said first; within a severity the order above holds.
    out.sort_by_key(|c| std::cmp::Reverse(c.severity));
    out
}

pub(super) const DNS: &str = "authoritative servers";
/// The source of what the parent zone says.
pub(super) const PARENT: &str = "parent zone";

/// Both values, when the current one was read well.
fn comparable<'a, T>(a: &'a Part<T>, b: &'a Part<T>) -> Option<(&'a T, &'a T)> {
    if b.error.is_some() {
        return None;
    }
    a.value.as_ref().zip(b.value.as_ref())
}

pub(super) fn change(
    kind: EventKind,
    severity: Severity,
    field: &str,
    old: Option<String>,
    new: Option<String>,
    source: &str,
) -> Change {
    Change {
        kind,
        severity,
        field: field.into(),
        old,
        new,
        source: source.into(),
        note: String::new(),
        first_seen_at: None,
        status_before: None,
    }
}

fn registration_state(a: &RegistrationState, b: &RegistrationState, source: &str, out: &mut Vec<Change>) {
    use RegistrationState::Registered;
    match (a, b) {
        (Registered(a), Registered(b)) => registration(a, b, source, out),
        (Registered(r), other) => {
            let old = r.registrar.name.clone().unwrap_or_else(|| "registered".into());
            let new = other.outcome().as_str().to_string();
            out.push(change(
                EventKind::Released,
                Severity::Critical,
                "outcome",
                Some(old),
                Some(new),
                source,
            ));
        }
        (before, Registered(r)) => {
            let new = r.registrar.name.clone().unwrap_or_else(|| "registered".into());
            let old = before.outcome().as_str().to_string();
            out.push(change(
                EventKind::Registered,
                Severity::Warning,
                "outcome",
                Some(old),
                Some(new),
                source,
            ));
        }
        (a, b) if a.outcome() != b.outcome() => {
            let (old, new) = (a.outcome().as_str().to_string(), b.outcome().as_str().to_string());
            let kind = EventKind::Released;
            out.push(change(kind, Severity::Notice, "outcome", Some(old), Some(new), source));
        }
        _ => {}
    }
}

fn registration(a: &Registration, b: &Registration, source: &str, out: &mut Vec<Change>) {
    if let (Some(x), Some(y)) = (a.created, b.created)
        && !x.agrees_with(&y)
    {
        let (old, new) = (Some(x.to_string()), Some(y.to_string()));
        out.push(change(EventKind::CreationChanged, Severity::Critical, "created", old, new, source));
    }
    if a.registrar.differs_from(&b.registrar) {
        // One company may have several accreditations: then the ids tell them apart.
        let is_one_name = a.registrar.name == b.registrar.name;
        let name = |r: &Registrar| match (&r.name, &r.iana_id) {
            (Some(name), Some(id)) if is_one_name => Some(format!("{name} (IANA {id})")),
            (Some(name), _) => Some(name.clone()),
            (None, id) => id.as_ref().map(|i| format!("IANA {i}")),
        };
        let (old, new) = (name(&a.registrar), name(&b.registrar));
        out.push(change(EventKind::RegistrarChanged, Severity::Critical, "registrar", old, new, source));
    }
    out.extend(renewal::expiration(a, b, source));
    if let (Some(x), Some(y)) = (a.updated, b.updated)
        && !x.agrees_with(&y)
    {
        let (old, new) = (Some(x.to_string()), Some(y.to_string()));
        out.push(change(EventKind::ModifiedChanged, Severity::Info, "updated", old, new, source));
    }
    statuses(a, b, source, out);
}

fn statuses(a: &Registration, b: &Registration, source: &str, out: &mut Vec<Change>) {
    let (Some(x), Some(y)) = (&a.statuses, &b.statuses) else { return };
    let by = |r: &Registration| r.provenance.get("statuses").map(|p| p.protocol);
    let switched = by(a) != by(b);
    // "ok" only says that nothing else is set; a registry's own words count only within one protocol.
    let kept = |s: &BTreeSet<crate::registration::epp::EppStatus>| -> BTreeSet<String> {
        s.iter()
            .filter(|s| s.as_str() != "ok" && (!switched || s.explained().is_some()))
            .map(|s| s.as_str().to_string())
            .collect()
    };
    let (x, y) = (kept(x), kept(y));
    for gone in x.difference(&y) {
        let severity = match gone.as_str() {
            s if s.ends_with("TransferProhibited") => Severity::Warning,
            s if s.ends_with("Prohibited") => Severity::Notice,
            _ => Severity::Info,
        };
        let kind = EventKind::StatusRemoved;
        out.push(change(kind, severity, "statuses", Some(gone.clone()), None, source));
    }
    for new in y.difference(&x) {
        let severity = match new.as_str() {
            "clientHold" | "serverHold" | "pendingDelete" | "pendingRestore" | "redemptionPeriod"
            | "pendingTransfer" | "inactive" => Severity::Critical,
            "autoRenewPeriod" | "pendingUpdate" | "clientRenewProhibited" | "serverRenewProhibited" => {
                Severity::Warning
            }
            _ => Severity::Info,
        };
        out.push(change(EventKind::StatusAdded, severity, "statuses", None, Some(new.clone()), source));
    }
}

/// A value that two sources state, each with its own part. A change is reported once: by the source that shows it
/// first; the other catching up with what was reported is not another change.
fn report_once<T: PartialEq + Clone>(registry: &Sides<T>, parent: &Sides<T>) -> Option<(T, T, bool)> {
    let differs = |(a, b): &Sides<T>| match (a, b) {
        (Some(a), Some(b)) if a != b => Some((a.clone(), b.clone())),
        _ => None,
    };
    match (differs(registry), differs(parent)) {
        (Some((a, b)), None) if parent.0.as_ref() != Some(&b) => Some((a, b, true)),
        (None, Some((a, b))) if registry.0.as_ref() != Some(&b) => Some((a, b, false)),
        (Some((a, b)), Some(_)) => Some((a, b, true)),
        _ => None,
    }
}

/// A value before and after.
type Sides<T> = (Option<T>, Option<T>);

fn stated(o: &Observation) -> Option<&Registration> {
    o.registration.value.as_ref().and_then(RegistrationState::registration)
}

/// The current side of a part that failed counts as not known.
fn current_registration(o: &Observation) -> Option<&Registration> {
    if o.registration.error.is_some() { None } else { stated(o) }
}

fn current_delegation(o: &Observation) -> Option<&Delegation> {
    if o.delegation.error.is_some() { None } else { o.delegation.value.as_ref() }
}

fn nameservers(previous: &Observation, current: &Observation, out: &mut Vec<Change>) {
    let of_registry = |r: &Registration| r.nameservers.as_ref().map(|n| normal_set(n.iter()));
    let of_parent = |d: &Delegation| normal_set(d.parent_ns.iter().map(|n| &n.name));
    let registry =
        (stated(previous).and_then(of_registry), current_registration(current).and_then(of_registry));
    let parent =
        (previous.delegation.value.as_ref().map(of_parent), current_delegation(current).map(of_parent));
    // That the parent zone delegates the name no longer, or again, is told although the registry lists the same all the time.
    let began_or_ended = || match (&parent.0, &parent.1) {
        (Some(a), Some(b)) if a.is_empty() != b.is_empty() => Some((a.clone(), b.clone(), false)),
        _ => None,
    };
    if let Some((old, new, by_registry)) = report_once(&registry, &parent).or_else(began_or_ended) {
        let source = if by_registry {
            current.registration.source.clone().unwrap_or_default()
        } else {
            PARENT.to_string()
        };
        let words = |s: &[String]| (!s.is_empty()).then(|| s.join(", "));
        // Delegated again, to the servers that the registry lists.
        let is_back = old.is_empty() && registry.1.as_ref() == Some(&new);
        let severity = if is_back { Severity::Info } else { Severity::Warning };
        let kind = EventKind::NameserversChanged;
        out.push(change(kind, severity, "nameservers", words(&old), words(&new), &source));
    }
}

fn normal_set<S: AsRef<str>>(names: impl Iterator<Item = S>) -> Vec<String> {
    let set: BTreeSet<String> =
        names.map(|n| n.as_ref().trim_end_matches('.').to_ascii_lowercase()).collect();
    set.into_iter().collect()
}

fn ds_set(previous: &Observation, current: &Observation, out: &mut Vec<Change>) {
    let of_registry = |r: &Registration| r.dnssec.as_ref().map(|d| d.signed);
    let of_parent = |d: &Delegation| d.delegated.then_some(!d.ds.is_empty());
    let registry =
        (stated(previous).and_then(of_registry), current_registration(current).and_then(of_registry));
    let parent = (
        previous.delegation.value.as_ref().and_then(of_parent),
        current_delegation(current).and_then(of_parent),
    );
    let word = |signed: bool| if signed { "signed" } else { "unsigned" }.to_string();
    if let Some((old, new, by_registry)) = report_once(&registry, &parent) {
        let source = if by_registry {
            current.registration.source.clone().unwrap_or_default()
        } else {
            PARENT.to_string()
        };
        let severity = if new { Severity::Notice } else { Severity::Warning };
        let kind = EventKind::DnssecChanged;
        out.push(change(kind, severity, "dnssec", Some(word(old)), Some(word(new)), &source));
        return;
    }
    let sets = |r: Option<&Registration>, d: Option<&Delegation>| {
        let of_r = r.and_then(|r| r.dnssec.as_ref()).filter(|d| !d.ds.is_empty()).map(ds_words);
        let of_d = d.filter(|d| !d.ds.is_empty()).map(|d| d.ds.iter().map(ds_word).collect::<BTreeSet<_>>());
        (of_r, of_d)
    };
    let before = sets(stated(previous), previous.delegation.value.as_ref());
    let after = sets(current_registration(current), current_delegation(current));
    if let Some((old, new, by_registry)) = report_once(&(before.0, after.0), &(before.1, after.1)) {
        let text = |s: BTreeSet<String>| Some(s.into_iter().collect::<Vec<_>>().join(", "));
        let source = if by_registry {
            current.registration.source.clone().unwrap_or_default()
        } else {
            PARENT.to_string()
        };
        let kind = EventKind::DnssecChanged;
        out.push(change(kind, Severity::Notice, "ds", text(old), text(new), &source));
    }
}

fn ds_words(d: &DnssecStated) -> BTreeSet<String> {
    d.ds.iter().map(ds_word).collect()
}

fn ds_word(d: &Ds) -> String {
    format!("{} {} {} {}", d.key_tag, d.algorithm, d.digest_type, d.digest.to_ascii_uppercase())
}

fn delegation(a: &Delegation, b: &Delegation, previous: &Observation, out: &mut Vec<Change>) {
    if let (Some(x), Some(y)) = (&a.provider, &b.provider)
        && x.name != y.name
    {
        let (old, new) = (Some(x.name.clone()), Some(y.name.clone()));
        out.push(change(EventKind::ProviderChanged, Severity::Notice, "provider", old, new, DNS));
    }
    server_health::changes(a, b, previous, out);
}

/// The questions that no look ever had an answer to.
fn never_answered(zone: &ZoneSnapshot) -> Vec<String> {
    zone.unanswered.iter().filter(|u| !zone.absent_before.contains(u)).cloned().collect()
}

fn records(
    (a, unanswered_before): (&[RrSet], &[String]),
    (b, unanswered_now): (&[RrSet], &[String]),
    out: &mut Vec<Change>,
) {
    let index = |s: &[RrSet]| -> BTreeMap<String, Vec<String>> {
        s.iter()
            .map(|r| {
                let mut data = r.data.clone();
                data.sort();
                data.dedup();
                (format!("{} {}", r.name.to_ascii_lowercase(), r.rtype), data)
            })
            .collect()
    };
    let questions = |unanswered: &[String]| -> BTreeSet<String> {
        let key = |u: &String| u.split_once(' ').map(|(n, t)| format!("{} {t}", n.to_ascii_lowercase()));
        unanswered.iter().map(|u| key(u).unwrap_or_else(|| u.clone())).collect()
    };
    let (unknown_before, unknown) = (questions(unanswered_before), questions(unanswered_now));
    let (x, y) = (index(a), index(b));
    let keys: BTreeSet<&String> = x.keys().chain(y.keys()).collect();
    for key in keys {
        let (old, new) = (x.get(key), y.get(key));
        // An answer kept from an earlier look (`carry`) can be compared with; where there is none, nothing is known.
        if old == new || unknown.contains(key) || (old.is_none() && unknown_before.contains(key)) {
            continue;
        }
        let (severity, note) = match record_harm(key, old, new, &y, &unknown) {
            Some(note) => (Severity::Warning, note),
            None => (if new.is_none() { Severity::Notice } else { Severity::Info }, String::new()),
        };
        let words = |data: Option<&Vec<String>>| data.map(|d| d.join(" · "));
        let changed = change(EventKind::RecordChanged, severity, key, words(old), words(new), DNS);
        out.push(Change { note, ..changed });
    }
}

/// What a changed record set breaks, in a sentence; `None` when it may well be intended.
fn record_harm(
    key: &str,
    old: Option<&Vec<String>>,
    new: Option<&Vec<String>>,
    now: &BTreeMap<String, Vec<String>>,
    unknown: &BTreeSet<String>,
) -> Option<String> {
    let (name, rtype) = key.split_once(' ')?;
    let spf = |data: Option<&Vec<String>>| {
        let is_spf = |d: &&String| d.trim_matches('"').to_ascii_lowercase().starts_with("v=spf1");
        data.map_or(0, |d| d.iter().filter(is_spf).count())
    };
    match rtype {
        "MX" if new.is_none() => Some(format!(
            "No MX record is left for {name}: senders deliver to its A or AAAA record instead, or not at all"
        )),
        "TXT" if spf(new) > 1 && spf(old) < 2 => Some(format!(
            "{name} has {} SPF records: receivers must treat this as a permanent error (RFC 7208 section 4.5)",
            spf(new)
        )),
        "A" | "AAAA" | "CNAME" if new.is_none() && name.starts_with("www.") => {
            let mut others = ["A", "AAAA", "CNAME"].into_iter().map(|t| format!("{name} {t}"));
            let gone = others.all(|k| !now.contains_key(&k) && !unknown.contains(&k));
            gone.then(|| format!("{name} no longer has an address"))
        }
        _ => None,
    }
}
