//! Hosts between two looks: what is remembered of one that presents no certificate, and the end of what was wrong with one that
//! is no longer looked at. In: the certificates of two observations. Out: carried hosts, and changes.

use super::hosts::{Certificates, Condition, HostCertificate, LastPresented, words};
use crate::judgement::event::{Change, EventKind, Severity};
use jiff::Timestamp;

impl Certificates {
    /// Carries on what the look before, at `at`, knew: what a host presented that presents nothing now, and hosts whose
    /// addresses the name servers did not state (`unanswered`: questions without an answer, `www.example.com A`).
    pub fn carry_on(&mut self, before: &Certificates, at: Timestamp, unanswered: &[String]) {
        for host in self.hosts.iter_mut().filter(|h| h.certificate.is_none()) {
            let known = before.of(&host.host).and_then(|h| h.last_presented(at));
            host.before = known.map(|(h, at)| LastPresented::of(h, at));
        }
        let is_unanswered = |host: &str| {
            unanswered.iter().filter_map(|question| question.split_once(' ')).any(|(name, rtype)| {
                // Others say nothing of addresses; some servers never answer HTTPS or CAA.
                matches!(rtype, "A" | "AAAA" | "CNAME")
                    && name.trim_end_matches('.').eq_ignore_ascii_case(host)
            })
        };
        let missing = before.hosts.iter().filter(|h| self.of(&h.host).is_none() && is_unanswered(&h.host));
        let unread = |h: &HostCertificate| HostCertificate {
            before: h.last_presented(at).map(|(h, at)| LastPresented::of(h, at)),
            ..HostCertificate::failed(&h.host, "its addresses could not be read".into())
        };
        let missing: Vec<_> = missing.map(unread).collect();
        self.hosts.extend(missing);
    }
}

impl LastPresented {
    fn of(host: &HostCertificate, at: Timestamp) -> Box<Self> {
        Box::new(LastPresented { at, host: HostCertificate { before: None, ..host.clone() } })
    }
}

/// The changes of hosts that are no longer looked at although something was wrong with their certificate: nothing else would
/// end what was reported of it.
pub(super) fn left(before: (&Certificates, Timestamp), after: &Certificates) -> Vec<Change> {
    let gone = before.0.hosts.iter().filter(|h| after.of(&h.host).is_none());
    gone.filter_map(|h| {
        let (seen, at) = h.last_presented(before.1)?;
        let condition = seen.condition(at).filter(|c| *c != Condition::Good)?;
        let certificate = seen.certificate.as_ref()?;
        Some(Change {
            kind: EventKind::CertificateChanged,
            severity: Severity::Info,
            field: h.host.clone(),
            old: Some(format!("{} ({})", words(certificate), condition.label().to_lowercase())),
            new: None,
            source: "authoritative servers".into(),
            note: "The zone has no address for this host name any more".into(),
            first_seen_at: None,
            status_before: None,
        })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ids::{EventId, OrgId, Vantage};
    use crate::base::names::DomainName;
    use crate::certificate::hosts::changes;
    use crate::certificate::{Certificate, Trust};
    use crate::judgement::carry::carry_forward;
    use crate::judgement::confirm::{CONFIRM_S, confirm};
    use crate::judgement::ending::endings;
    use crate::judgement::event::Event;
    use crate::observation::{Observation, Part};

    fn at(s: &str) -> Timestamp {
        s.parse().unwrap()
    }

    fn host(name: &str, sha256: &str, ends: &str) -> HostCertificate {
        let certificate = Certificate {
            subject: format!("CN={name}"),
            issuer: "CN=R1, O=Good CA".into(),
            issuer_organisation: Some("Good CA".into()),
            names: vec![name.into()],
            addresses: vec![],
            not_before: at("2026-01-01T00:00:00Z"),
            not_after: at(ends),
            key_type: "ECDSA".into(),
            key_bits: 256,
            serial: "01".into(),
            sha256: sha256.into(),
        };
        HostCertificate {
            certificate: Some(certificate),
            covers_host: true,
            trust: Some(Trust::Trusted),
            different: 1,
            ..HostCertificate::failed(name, String::new())
        }
    }

    fn all(hosts: &[HostCertificate]) -> Certificates {
        Certificates { hosts: hosts.to_vec() }
    }

    const SOON: &str = "2026-11-20T00:00:00Z";

    #[test]
    fn a_host_that_is_no_longer_looked_at_ends_its_alarm() {
        let (good, www) = (host("a.io", "aa", "2027-05-20T00:00:00Z"), host("www.a.io", "bb", SOON));
        let (one, two, three) =
            (at("2026-11-01T00:00:00Z"), at("2026-11-10T00:00:00Z"), at("2026-11-11T00:00:00Z"));
        let both = all(&[good.clone(), www]);
        let alarm = changes((&both, one), (&both, two));
        assert_eq!(alarm.len(), 1);
        let end = changes((&both, two), (&all(std::slice::from_ref(&good)), three));
        assert_eq!(
            end[0].sentence(),
            "The certificate of www.a.io is no longer checked. The zone has no address for this host name any more"
        );
        assert_eq!(end[0].old.as_deref(), Some("Good CA, until Nov 20, 2026 (ends soon)"));
        assert_eq!(end.len(), 1);
        let event = |id, at, change: &Change| Event {
            id: EventId(id),
            org: OrgId::BUILT_IN,
            domain: DomainName::trusted("a.io"),
            at,
            change: change.clone(),
            acknowledged: None,
            cluster: None,
            clusterset: None,
            maintenance: None,
        };
        let events = [event(1, two, &alarm[0]), event(2, three, &end[0])];
        let ended = endings(&events, &[].into());
        assert_eq!(ended[&EventId(2)].of, [EventId(1)]);
        // Nothing was reported of a certificate that was good.
        assert_eq!(changes((&all(&[good]), two), (&all(&[]), three)), []);
    }

    #[test]
    fn the_end_waits_for_a_second_look_and_says_so() {
        let look = |hosts: &[HostCertificate], at| {
            let mut o = Observation::empty(DomainName::trusted("a.io"), Vantage::local());
            o.certificates = Part::good(all(hosts), at, "TLS");
            o
        };
        let step = |stored: &Observation, hosts: &[HostCertificate], at| {
            confirm(stored, carry_forward(Some(stored), look(hosts, at)), |_| Some(at), CONFIRM_S, at)
        };
        let has_www =
            |o: &Observation| o.certificates.value.as_ref().is_some_and(|c| c.of("www.a.io").is_some());
        let (good, www) = (host("a.io", "aa", "2027-05-20T00:00:00Z"), host("www.a.io", "bb", SOON));
        let (one, two) = (at("2026-11-10T06:00:00Z"), at("2026-11-10T06:05:00Z"));
        let stored = look(&[good.clone(), www.clone()], at("2026-11-10T00:00:00Z"));
        let first = step(&stored, std::slice::from_ref(&good), one);
        assert_eq!((first.changes.len(), first.look_again_at), (0, Some(two)));
        assert!(has_www(&first.observation), "it stays until the second look");
        let back = step(&first.observation, &[good.clone(), www], two);
        assert!(back.changes.is_empty() && has_www(&back.observation));
        let second = step(&first.observation, &[good], two);
        assert!(!has_www(&second.observation));
        let confirmed: Vec<_> = second.changes.iter().filter_map(Change::confirmation_sentence).collect();
        assert_eq!(confirmed, ["First seen Nov 10, 2026, 06:00 UTC, and confirmed by a later check."]);
    }

    #[test]
    fn a_host_that_presents_none_for_a_while_is_compared_with_what_it_presented() {
        let www = host("www.a.io", "bb", SOON);
        let (one, two) = (at("2026-11-04T00:00:00Z"), at("2026-11-09T00:00:00Z"));
        let before = all(std::slice::from_ref(&www));
        let mut silent = all(&[HostCertificate::failed("www.a.io", "refused".into())]);
        silent.carry_on(&before, one, &[]);
        assert_eq!(silent.condition(two), None, "it is not judged by what it no longer presents");
        assert_eq!(changes((&before, one), (&silent, two)), []);
        let mut still = all(&[HostCertificate::failed("www.a.io", "refused".into())]);
        still.carry_on(&silent, two, &[]);
        assert_eq!(still, silent, "what it presented last, however long ago");
        let later = at("2026-11-10T00:00:00Z");
        let kinds = |now: &Certificates| -> Vec<EventKind> {
            changes((&still, two), (now, later)).into_iter().map(|c| c.kind).collect()
        };
        assert_eq!(kinds(&before), [EventKind::CertificateEnds], "it came near its end meanwhile");
        assert_eq!(
            kinds(&all(&[host("www.a.io", "cc", "2027-05-20T00:00:00Z")])),
            [EventKind::CertificateChanged]
        );
        assert_eq!(kinds(&all(&[])), [], "it was good when it was last seen");
    }

    #[test]
    fn a_host_stays_while_its_addresses_are_not_known() {
        let before = all(&[host("www.a.io", "bb", SOON)]);
        let now = at("2026-11-10T00:00:00Z");
        let carried = |unanswered: &[&str]| {
            let mut seen = all(&[]);
            seen.carry_on(&before, now, &unanswered.iter().map(ToString::to_string).collect::<Vec<_>>());
            seen
        };
        let later = at("2026-11-21T00:00:00Z");
        for unanswered in [&["www.a.io AAAA"][..], &["www.a.io. CNAME", "b.a.io A"]] {
            let seen = carried(unanswered);
            assert_eq!(seen.condition(later), None, "it is not judged while it is not looked at");
            assert_eq!(changes((&before, now), (&seen, later)), []);
            assert_eq!(changes((&seen, later), (&all(&[]), later)).len(), 1, "its alarm can still end");
        }
        for unanswered in ["a.io AAAA", "www.a.io HTTPS", "www.a.io CAA"] {
            assert_eq!(carried(&[unanswered]), all(&[]), "{unanswered} says nothing of its addresses");
        }
    }

    #[test]
    fn a_host_that_comes_back_with_its_old_certificate_alarms_again() {
        let www = host("www.a.io", "bb", SOON);
        let (one, two) = (at("2026-11-10T00:00:00Z"), at("2026-11-21T00:00:00Z"));
        for (now, severity) in [(one, Severity::Warning), (two, Severity::Critical)] {
            let back = changes((&all(&[]), one), (&all(std::slice::from_ref(&www)), now));
            let seen: Vec<_> = back.iter().map(|c| (c.kind, c.severity)).collect();
            assert_eq!(seen, [(EventKind::CertificateEnds, severity)]);
        }
        let good = host("www.a.io", "bb", "2027-05-20T00:00:00Z");
        assert_eq!(changes((&all(&[]), one), (&all(&[good]), two)), []);
    }
}
