//! One registration from several answers. In: answers with who gave them; out: each field from the first source that
//! states it, with its provenance; what others state differently is kept beside it.

use crate::data::registrars::registrar_name;
use model::registration::{Disagreement, Party, Protocol, Provenance, Registration, same_company};
use model::time::StatedTime;

/// An answer and who gave it.
pub(super) struct Found {
    pub by: Provenance,
    pub registration: Registration,
}

/// Whether two names are one registrar's, of whom these IANA ids were stated: spelling does not count, nor does the name
/// where the ids are the same or where one is the name of record of the other's id.
fn one_registrar(kept: Option<String>, new: Option<String>) -> impl Fn(&str, &str) -> bool {
    let same_id = kept.is_some() && kept == new;
    let of_record = move |id: Option<&str>, name: &str| {
        id.and_then(registrar_name).is_some_and(|record| same_company(record, name))
    };
    let differ = kept.is_some() && new.is_some() && !same_id;
    move |a, b| {
        same_id
            || same_company(a, b)
            || !differ && (of_record(kept.as_deref(), b) || of_record(new.as_deref(), a))
    }
}

/// Merges answers: the registry before the registrar, RDAP before WHOIS.
pub(super) fn merge(mut found: Vec<Found>) -> Registration {
    found.sort_by_key(|f| (f.by.party == Party::Registrar, f.by.protocol == Protocol::Whois));
    let mut out = Registration::default();
    for f in found {
        let Found { by, registration: mut r } = f;
        if by.party == Party::Registrar {
            // What a registrar calls the expiration is its own; the registry's date is the registry's to state.
            r.registrar_expires = r.registrar_expires.or(r.expires);
            r.expires = None;
            // Registrars touch their own record whenever they like.
            r.updated = None;
        }
        let same_name = one_registrar(out.registrar.iana_id.clone(), r.registrar.iana_id.clone());
        let mut m = Merge { out: &mut out, by };
        m.plain("name", |x| &mut x.name, r.name);
        m.plain("registry_id", |x| &mut x.registry_id, r.registry_id);
        m.compared("registrar", |x| &mut x.registrar.name, r.registrar.name, same_name);
        m.plain("registrar.iana_id", |x| &mut x.registrar.iana_id, r.registrar.iana_id);
        m.fill("registrar.url", |x| &mut x.registrar.url, r.registrar.url);
        m.fill("registrar.abuse_email", |x| &mut x.registrar.abuse_email, r.registrar.abuse_email);
        m.fill("registrar.abuse_phone", |x| &mut x.registrar.abuse_phone, r.registrar.abuse_phone);
        m.fill("registrar_whois_server", |x| &mut x.registrar_whois_server, r.registrar_whois_server);
        m.fill("registrar_rdap", |x| &mut x.registrar_rdap, r.registrar_rdap);
        m.time("created", |x| &mut x.created, r.created);
        m.time("updated", |x| &mut x.updated, r.updated);
        m.time("expires", |x| &mut x.expires, r.expires);
        m.time("registrar_expires", |x| &mut x.registrar_expires, r.registrar_expires);
        m.fill("statuses", |x| &mut x.statuses, r.statuses);
        m.hosts(r.nameservers);
        m.fill("registrant_organization", |x| &mut x.registrant_organization, r.registrant_organization);
        if let Some(d) = r.dnssec {
            m.dnssec(d);
        }
        m.fill("redacted", |x| &mut x.redacted, r.redacted);
        out.warnings.extend(r.warnings);
    }
    out
}

struct Merge<'a> {
    out: &'a mut Registration,
    by: Provenance,
}

impl Merge<'_> {
    /// Takes the value when none is there yet; says whether it was taken.
    fn fill<T>(&mut self, field: &str, slot: fn(&mut Registration) -> &mut Option<T>, value: Option<T>) {
        if let Some(v) = value {
            self.offer(field, slot, v);
        }
    }

    fn offer<T>(
        &mut self,
        field: &str,
        slot: fn(&mut Registration) -> &mut Option<T>,
        value: T,
    ) -> Option<T> {
        let s = slot(self.out);
        if s.is_some() {
            return Some(value);
        }
        *s = Some(value);
        self.out.provenance.insert(field.to_string(), self.by.clone());
        None
    }

    fn disagree(&mut self, field: &str, value: String) {
        let d = Disagreement { field: field.to_string(), value, by: self.by.clone() };
        if !self.out.disagreements.contains(&d) {
            self.out.disagreements.push(d);
        }
    }

    fn plain(
        &mut self,
        field: &str,
        slot: fn(&mut Registration) -> &mut Option<String>,
        value: Option<String>,
    ) {
        self.compared(field, slot, value, str::eq_ignore_ascii_case);
    }

    fn compared(
        &mut self,
        field: &str,
        slot: fn(&mut Registration) -> &mut Option<String>,
        value: Option<String>,
        same: impl Fn(&str, &str) -> bool,
    ) {
        let Some(v) = value else { return };
        if let Some(other) = self.offer(field, slot, v) {
            let kept = slot(self.out).as_deref().unwrap_or_default();
            if !same(kept, &other) {
                self.disagree(field, other);
            }
        }
    }

    fn time(
        &mut self,
        field: &str,
        slot: fn(&mut Registration) -> &mut Option<StatedTime>,
        value: Option<StatedTime>,
    ) {
        let Some(v) = value else { return };
        if let Some(other) = self.offer(field, slot, v) {
            let agrees = slot(self.out).is_some_and(|kept| kept.agrees_with(&other));
            if !agrees {
                self.disagree(field, other.to_string());
            }
        }
    }

    fn hosts(&mut self, value: Option<Vec<String>>) {
        // A list that one source leaves empty is better known to another.
        let empty = self.out.nameservers.as_ref().is_some_and(Vec::is_empty);
        if empty && value.as_ref().is_some_and(|v| !v.is_empty()) && self.by.party == Party::Registry {
            self.out.nameservers = None;
        }
        let Some(v) = value else { return };
        if let Some(other) = self.offer("nameservers", |x| &mut x.nameservers, v) {
            let differs = self.out.nameservers.as_ref().is_some_and(|kept| *kept != other);
            if differs && !other.is_empty() {
                self.disagree("nameservers", other.join(", "));
            }
        }
    }

    fn dnssec(&mut self, value: model::registration::DnssecStated) {
        if let Some(other) = self.offer("dnssec", |x| &mut x.dnssec, value) {
            let kept = self.out.dnssec.as_ref().is_some_and(|k| k.signed != other.signed);
            if kept {
                self.disagree("dnssec", if other.signed { "signed" } else { "unsigned" }.to_string());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(protocol: Protocol, party: Party, r: Registration) -> Found {
        Found { by: Provenance { protocol, party, server: format!("{party:?}.test") }, registration: r }
    }

    fn time(s: &str) -> Option<StatedTime> {
        Some(s.parse().unwrap())
    }

    #[test]
    fn both_expirations_are_kept_and_disagreements_shown() {
        let registry = Registration {
            created: time("2001-02-03T04:05:06Z"),
            expires: time("2031-02-03T04:05:06Z"),
            nameservers: Some(vec!["a.test".into()]),
            ..Registration::default()
        };
        let mut registrar = Registration {
            created: time("2001-02-04T00:00:00Z"),
            updated: time("2020-01-01"),
            expires: time("2030-02-03T04:05:06Z"),
            nameservers: Some(vec!["b.test".into()]),
            ..Registration::default()
        };
        registrar.registrar.name = Some("Sample, Inc.".into());
        let out = merge(vec![
            found(Protocol::Rdap, Party::Registrar, registrar),
            found(Protocol::Rdap, Party::Registry, registry),
        ]);
        assert_eq!(out.expires, time("2031-02-03T04:05:06Z"));
        assert_eq!(out.registrar_expires, time("2030-02-03T04:05:06Z"));
        assert_eq!(out.updated, None);
        assert_eq!(out.provenance["created"].party, Party::Registry);
        assert_eq!(out.provenance["registrar"].party, Party::Registrar);
        let fields: Vec<&str> = out.disagreements.iter().map(|d| d.field.as_str()).collect();
        assert_eq!(fields, ["created", "nameservers"]);
    }

    /// One that is left out because it is the same would look as if the registrar had not stated it.
    #[test]
    fn an_expiration_that_both_state_is_kept_of_both() {
        let stated = || Registration { expires: time("2031-02-03T04:05:06Z"), ..Registration::default() };
        let out = merge(vec![
            found(Protocol::Rdap, Party::Registry, stated()),
            found(Protocol::Rdap, Party::Registrar, stated()),
        ]);
        assert_eq!((out.registrar_expires, out.differing_registrar_expires()), (out.expires, None));
        assert_eq!(out.provenance["registrar_expires"].party, Party::Registrar);
        assert!(out.disagreements.is_empty());
    }

    #[test]
    fn the_same_said_differently_is_no_disagreement() {
        let a = Registration { created: time("2001-02-03T04:05:06Z"), ..Registration::default() };
        let b = Registration {
            created: time("2001-02-03"),
            expires: time("2031-01-01"),
            ..Registration::default()
        };
        let out = merge(vec![
            found(Protocol::Rdap, Party::Registry, a),
            found(Protocol::Whois, Party::Registry, b),
        ]);
        assert!(out.disagreements.is_empty());
        assert_eq!(out.expires, time("2031-01-01"));
        assert_eq!(out.provenance["expires"].protocol, Protocol::Whois);
    }

    #[test]
    fn two_spellings_of_one_registrar_are_no_disagreement() {
        let named = |name: &str, id: Option<&str>| {
            let mut r = Registration::default();
            r.registrar.name = Some(name.into());
            r.registrar.iana_id = id.map(str::to_owned);
            r
        };
        let disagree = |a: Registration, b: Registration| {
            let found =
                vec![found(Protocol::Rdap, Party::Registry, a), found(Protocol::Rdap, Party::Registrar, b)];
            merge(found).disagreements.iter().any(|d| d.field == "registrar")
        };
        assert!(!disagree(named("MARKMONITOR, INC.", None), named("MarkMonitor Inc.", None)));
        assert!(
            !disagree(named("Sample Names", Some("9999")), named("Sample Holding", Some("9999"))),
            "one id"
        );
        assert!(!disagree(named("MM", Some("292")), named("MarkMonitor Inc.", None)), "the name of record");
        assert!(disagree(named("MarkMonitor Inc.", Some("292")), named("Sample Names", None)));
        assert!(disagree(named("MarkMonitor Inc.", Some("292")), named("MM", Some("9999"))), "two ids");
    }
}
