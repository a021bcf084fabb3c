//! An observation as a table of named fields, and two of them side by side: what the History page shows.
//! In: observations. Out: labels and values as people read them. Judging what is an *event* is `diff`, not this.

use crate::base::time::{StatedTime, human_clock, human_date};
use crate::dns::RrSet;
use crate::observation::Observation;
use crate::registration::{Ds, Registration, RegistrationState};
use serde::{Deserialize, Serialize};

/// One field with its values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// Stable key; what two observations are matched by.
    pub key: String,
    /// What people read.
    pub label: String,
    /// Values, each once; empty when the source stated the field as having none.
    pub values: Vec<String>,
}

/// A field of two observations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldDiff {
    /// What people read.
    pub label: String,
    /// Values in the first; `None` when the field was not known there.
    pub old: Option<Vec<String>>,
    /// Values in the second; `None` when the field was not known there.
    pub new: Option<Vec<String>>,
    /// True when both are known and differ.
    pub differs: bool,
}

/// A stated time as people read it: `Jul 6, 2029`, with the clock time where the source gave one.
pub fn stated(t: &StatedTime) -> String {
    match t {
        StatedTime::Instant(at, o) if o.is_zero() => {
            format!("{}, {} UTC", human_date(t.date()), human_clock(*at))
        }
        StatedTime::Instant(..) => format!("{} ({t})", human_date(t.date())),
        StatedTime::Local(d) => format!("{}, {:02}:{:02} local", human_date(t.date()), d.hour(), d.minute()),
        StatedTime::Date(d) => human_date(*d),
    }
}

/// A DS record in one short line: key tag, algorithm, digest type, abridged digest.
pub fn ds_line(ds: &Ds) -> String {
    let d = &ds.digest;
    let digest = match (d.get(..4), d.get(d.len().saturating_sub(4)..)) {
        (Some(a), Some(b)) if d.len() > 12 => format!("{a}…{b}"),
        _ => d.clone(),
    };
    format!("{} {} {} {digest}", ds.key_tag, ds.algorithm, ds.digest_type)
}

/// All fields that are known, in the order they are shown.
pub fn fields(o: &Observation) -> Vec<Field> {
    let mut out = Collector::default();
    if let Some(state) = &o.registration.value {
        let word = match state {
            RegistrationState::Registered(_) => "Registered",
            RegistrationState::Available => "Not registered",
            RegistrationState::Reserved => "Reserved",
        };
        out.one("registered", "Registration", Some(word.to_string()));
        if let Some(r) = state.registration() {
            registration(&mut out, r);
        }
    }
    if let Some(d) = &o.delegation.value {
        out.one("provider", "DNS Provider", d.provider.as_ref().map(|p| p.name.clone()));
        out.many("parent_ns", "NS at the parent", d.parent_ns.iter().map(|n| n.name.clone()));
        out.many("child_ns", "NS in the zone", d.child_ns.iter().cloned());
        let health = d.servers.iter().map(|s| {
            let at = s.address.map_or_else(|| "no address".to_string(), |a| a.to_string());
            format!("{} {at}: {}", s.name, s.health.label())
        });
        out.many("health", "Nameserver health", health);
    }
    if let Some(s) = &o.dnssec.value {
        out.one("dnssec_status", "DNSSEC validation", Some(s.status.label().to_string()));
        out.many("ds", "DS", s.ds.iter().map(ds_line));
    }
    if let Some(z) = &o.zone.value {
        for RrSet { name, rtype, data, .. } in &z.rrsets {
            out.many(&format!("rr {name} {rtype}"), &format!("{name} {rtype}"), data.iter().cloned());
        }
    }
    out.0
}

fn registration(out: &mut Collector, r: &Registration) {
    out.one("registrar", "Registrar", r.registrar.name.clone());
    out.one("iana_id", "Registrar IANA ID", r.registrar.iana_id.clone());
    out.one("created", "Created", r.created.as_ref().map(stated));
    out.one("updated", "Modified", r.updated.as_ref().map(stated));
    out.one("expires", "Expiration", r.expires.as_ref().map(stated));
    out.one(
        "registrar_expires",
        "Expiration (registrar)",
        r.differing_registrar_expires().as_ref().map(stated),
    );
    if let Some(s) = &r.statuses {
        out.many("statuses", "Status Flags", s.iter().map(|s| s.as_str().to_string()));
    }
    if let Some(n) = &r.nameservers {
        out.many("nameservers", "Nameservers", n.iter().cloned());
    }
    if let Some(d) = &r.dnssec {
        let word = if d.signed { "Signed" } else { "Unsigned" };
        out.one("signed", "DNSSEC at the registry", Some(word.to_string()));
        if !d.ds.is_empty() {
            out.many("registry_ds", "DS at the registry", d.ds.iter().map(ds_line));
        }
    }
    out.one("registrant", "Registrant organisation", r.registrant_organization.clone());
}

#[derive(Default)]
struct Collector(Vec<Field>);

impl Collector {
    fn one(&mut self, key: &str, label: &str, value: Option<String>) {
        if let Some(v) = value {
            self.many(key, label, [v]);
        }
    }

    fn many(&mut self, key: &str, label: &str, values: impl IntoIterator<Item = String>) {
        let mut kept = Vec::new();
        for v in values {
            if !kept.contains(&v) {
                kept.push(v);
            }
        }
        self.0.push(Field { key: key.into(), label: label.into(), values: kept });
    }
}

/// Two observations side by side, in the order of [`fields`]; fields only one of them knows are in it too, except
/// records, whose absence in a zone that was read is itself the value.
pub fn compare_fields(a: &Observation, b: &Observation) -> Vec<FieldDiff> {
    let (old, new) = (fields(a), fields(b));
    let mut keys: Vec<(&str, &str)> = new.iter().map(|f| (f.key.as_str(), f.label.as_str())).collect();
    for (i, f) in old.iter().enumerate() {
        if !keys.iter().any(|(k, _)| *k == f.key) {
            let after = old[..i].iter().rev().find_map(|p| keys.iter().position(|(k, _)| *k == p.key));
            keys.insert(after.map_or(0, |p| p + 1), (&f.key, &f.label));
        }
    }
    let zones = (a.zone.value.is_some(), b.zone.value.is_some());
    let of = |list: &[Field], key: &str, zone_read: bool| {
        let found = list.iter().find(|f| f.key == key).map(|f| f.values.clone());
        found.or_else(|| (zone_read && key.starts_with("rr ")).then(Vec::new))
    };
    keys.into_iter()
        .map(|(key, label)| {
            let (old, new) = (of(&old, key, zones.0), of(&new, key, zones.1));
            let differs = match (&old, &new) {
                (Some(x), Some(y)) => sorted(x) != sorted(y),
                _ => false,
            };
            FieldDiff { label: label.to_string(), old, new, differs }
        })
        .collect()
}

fn sorted(v: &[String]) -> Vec<&String> {
    let mut v: Vec<_> = v.iter().collect();
    v.sort();
    v
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ids::Vantage;
    use crate::base::names::DomainName;
    use crate::dns::ZoneSnapshot;
    use crate::observation::Part;
    use jiff::Timestamp;

    fn seen(r: Registration, rrsets: Vec<RrSet>) -> Observation {
        let at: Timestamp = "2026-11-20T14:05:00Z".parse().unwrap();
        let mut o = Observation::empty(DomainName::trusted("alder.example"), Vantage::local());
        o.registration = Part::good(RegistrationState::Registered(Box::new(r)), at, "RDAP");
        o.zone = Part::good(ZoneSnapshot { rrsets, ..ZoneSnapshot::default() }, at, "zone");
        o
    }

    fn a(data: &str) -> RrSet {
        RrSet { name: "www.alder.example".into(), rtype: "A".into(), ttl: 60, data: vec![data.into()] }
    }

    #[test]
    fn order_is_no_difference_and_unknown_is_no_difference() {
        let x = Registration { nameservers: Some(vec!["a".into(), "b".into()]), ..Registration::default() };
        let y = Registration {
            nameservers: Some(vec!["b".into(), "a".into()]),
            created: Some("2011-12-13".parse().unwrap()),
            ..Registration::default()
        };
        let diff = compare_fields(&seen(x, vec![]), &seen(y, vec![]));
        assert!(diff.iter().all(|d| !d.differs), "{diff:?}");
        assert!(diff.iter().any(|d| d.label == "Created" && d.old.is_none()));
    }

    #[test]
    fn a_record_that_came_or_went_differs() {
        let none = seen(Registration::default(), vec![]);
        let some = seen(Registration::default(), vec![a("192.0.2.1")]);
        let came = compare_fields(&none, &some);
        let row = came.iter().find(|d| d.label == "www.alder.example A").unwrap();
        assert!(row.differs && row.old == Some(vec![]) && row.new == Some(vec!["192.0.2.1".into()]));
        let went = compare_fields(&some, &none);
        assert!(went.iter().any(|d| d.differs && d.new == Some(vec![])));
    }

    #[test]
    fn a_digest_is_abridged_only_when_long() {
        let ds = |digest: &str| Ds { key_tag: 1, algorithm: 13, digest_type: 2, digest: digest.into() };
        assert_eq!(ds_line(&ds("E06D44B8F5C34F83")), "1 13 2 E06D…4F83");
        assert_eq!(ds_line(&ds("")), "1 13 2 ");
        assert_eq!(ds_line(&ds("äöüäöüäöüäöü")), "1 13 2 äö…öü");
    }
}
