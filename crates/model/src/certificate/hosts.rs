//! The certificates of a domain's own host names as a scan observed them: what the inventory shows, what is judged, and
//! which differences are changes.

use super::{Certificate, TlsObservation, Trust, carried};
use crate::base::time::human_day;
use crate::base::time::{DAY, plus};
use crate::judgement::event::{Change, EventKind, Severity};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Days before the end from which a certificate is a warning: automatic renewal (ACME) happens weeks before.
pub const WARNING_DAYS: i64 = 14;
/// Names of a certificate that are stored; shared certificates list thousands of other people's.
const NAMES_KEPT: usize = 50;

/// The certificates of a domain.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certificates {
    /// By host name; those without an address are left out.
    pub hosts: Vec<HostCertificate>,
}

/// The certificate a host presents on port 443.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostCertificate {
    /// The host name, A-labels.
    pub host: String,
    /// Why no certificate was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The certificate; of several that its addresses present, the one that ends first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<Certificate>,
    /// Whether it is for the host.
    #[serde(default)]
    pub covers_host: bool,
    /// Whether its chain is trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
    /// Different certificates that the addresses present.
    #[serde(default)]
    pub different: usize,
    /// What it presented last, while it presents none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Box<LastPresented>>,
}

/// A host when it last presented a certificate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastPresented {
    /// When.
    pub at: Timestamp,
    /// The host as it was seen then.
    pub host: HostCertificate,
}

/// What a certificate amounts to at an instant, worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// For the host, trusted, and not near its end.
    Good,
    /// Ends within [`WARNING_DAYS`].
    EndsSoon,
    /// The chain is not trusted.
    Untrusted,
    /// Not for the host.
    WrongName,
    /// Past its end.
    Expired,
}

impl Condition {
    /// The words people see.
    pub fn label(self) -> &'static str {
        match self {
            Condition::Good => "Valid",
            Condition::EndsSoon => "Ends soon",
            Condition::Untrusted => "Not trusted",
            Condition::WrongName => "Wrong name",
            Condition::Expired => "Expired",
        }
    }
}

impl HostCertificate {
    /// Sums up the handshakes with a host's addresses.
    pub fn of(host: &str, seen: Vec<TlsObservation>) -> Self {
        let mut leaves: Vec<(Certificate, bool, Option<Trust>)> = Vec::new();
        let mut error = None;
        for tls in seen {
            match tls.chain.into_iter().next() {
                Some(leaf) => leaves.push((leaf, tls.covers_host, tls.trust)),
                None => error = error.or(tls.error),
            }
        }
        leaves.sort_by(|a, b| (a.0.not_after, &a.0.sha256).cmp(&(b.0.not_after, &b.0.sha256)));
        leaves.dedup_by(|a, b| a.0.sha256 == b.0.sha256);
        let different = leaves.len();
        match leaves.into_iter().next() {
            Some((mut leaf, covers_host, trust)) => {
                leaf.names.truncate(NAMES_KEPT);
                let certificate = Some(leaf);
                HostCertificate { certificate, covers_host, trust, different, ..HostCertificate::empty(host) }
            }
            None => HostCertificate::failed(host, error.unwrap_or_else(|| "no address".into())),
        }
    }

    /// A host that presented none.
    pub fn failed(host: &str, error: String) -> Self {
        HostCertificate { error: Some(error), ..HostCertificate::empty(host) }
    }

    fn empty(host: &str) -> Self {
        HostCertificate {
            host: host.into(),
            error: None,
            certificate: None,
            covers_host: false,
            trust: None,
            different: 0,
            before: None,
        }
    }

    /// The host as it last presented a certificate, and when that was; `at`: when this was observed.
    pub(super) fn last_presented(&self, at: Timestamp) -> Option<(&HostCertificate, Timestamp)> {
        match &self.certificate {
            Some(_) => Some((self, at)),
            None => self.before.as_ref().map(|before| (&before.host, before.at)),
        }
    }

    /// What it amounts to at `now`; nothing where none was seen.
    pub fn condition(&self, now: Timestamp) -> Option<Condition> {
        let c = self.certificate.as_ref()?;
        let soon = plus(c.not_after, -WARNING_DAYS * DAY);
        Some(match self.trust {
            _ if c.not_after <= now => Condition::Expired,
            _ if !self.covers_host => Condition::WrongName,
            Some(Trust::Trusted | Trust::Expired) if soon > now => Condition::Good,
            Some(Trust::Trusted | Trust::Expired) => Condition::EndsSoon,
            _ => Condition::Untrusted,
        })
    }

    /// What is wrong with it at `now`, in a sentence.
    pub fn problem(&self, now: Timestamp) -> Option<String> {
        let (condition, c) = (self.condition(now)?, self.certificate.as_ref()?);
        let host = &self.host;
        Some(match condition {
            Condition::Good => return None,
            Condition::EndsSoon => match (c.not_after.as_second() - now.as_second()) / 86_400 {
                0 => format!("The certificate of {host} ends within a day, on {}", human_day(c.not_after)),
                1 => format!("The certificate of {host} ends in 1 day, on {}", human_day(c.not_after)),
                n => format!("The certificate of {host} ends in {n} days, on {}", human_day(c.not_after)),
            },
            Condition::Untrusted => {
                format!("Browsers do not trust the certificate of {host} (issuer: {})", issuer(c))
            }
            Condition::WrongName => {
                let names = c.names.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
                let names = if names.is_empty() { "no host name".to_string() } else { names };
                format!("The certificate {host} presents is for {names}")
            }
            Condition::Expired => {
                format!("The certificate of {host} ended on {}", human_day(c.not_after))
            }
        })
    }
}

/// The issuer's organisation, else its whole name.
pub fn issuer(c: &Certificate) -> &str {
    c.issuer_organisation.as_deref().unwrap_or(&c.issuer)
}

impl Certificates {
    /// The certificate of a host.
    pub fn of(&self, host: &str) -> Option<&HostCertificate> {
        self.hosts.iter().find(|h| h.host == host)
    }

    /// The end of the certificate that is for its host and ends first.
    pub fn first_end(&self) -> Option<Timestamp> {
        let own = self.hosts.iter().filter(|h| h.covers_host);
        own.filter_map(|h| h.certificate.as_ref()).map(|c| c.not_after).min()
    }

    /// The worst condition at `now`; nothing where no host presented a certificate.
    pub fn condition(&self, now: Timestamp) -> Option<Condition> {
        self.hosts.iter().filter_map(|h| h.condition(now)).max()
    }
}

/// The changes between two observations of certificates, each with its instant: another certificate, and the one that
/// was there getting near its end or past it. A host that could not be asked changes nothing; one that is no longer looked at
/// ends what was wrong with its certificate, and one that was not looked at before is reported when its certificate ends soon.
pub fn changes(before: (&Certificates, Timestamp), after: (&Certificates, Timestamp)) -> Vec<Change> {
    let mut out = Vec::new();
    for new in &after.0.hosts {
        let host = &new.host;
        let (Some(b), Some(is)) = (&new.certificate, new.condition(after.1)) else { continue };
        let problem = new.problem(after.1).unwrap_or_default();
        let change = |kind, severity, old, new: String, note| Change {
            kind,
            severity,
            field: host.clone(),
            old,
            new: Some(new),
            source: "TLS".into(),
            note,
            first_seen_at: None,
            status_before: None,
        };
        let severity = |was| match is {
            Condition::Expired => Severity::Critical,
            Condition::Good if was == Condition::Good => Severity::Info,
            Condition::Good => Severity::Notice,
            _ => Severity::Warning,
        };
        let is_ending = matches!(is, Condition::EndsSoon | Condition::Expired);
        let Some(known) = before.0.of(host) else {
            if is_ending {
                out.push(change(
                    EventKind::CertificateEnds,
                    severity(Condition::Good),
                    None,
                    problem,
                    String::new(),
                ));
            }
            continue;
        };
        let Some((old, at)) = known.last_presented(before.1) else { continue };
        let (Some(a), Some(was)) = (&old.certificate, old.condition(at)) else { continue };
        // Behind an address that presents now one, now another, nothing says which is new.
        if a.sha256 != b.sha256 && (was != is || (old.different <= 1 && new.different <= 1)) {
            out.push(change(EventKind::CertificateChanged, severity(was), Some(words(a)), words(b), problem));
        } else if a.sha256 == b.sha256 && was < is && is_ending {
            out.push(change(EventKind::CertificateEnds, severity(was), None, problem, String::new()));
        }
    }
    out.extend(carried::left(before, after.0));
    out
}

pub(super) fn words(c: &Certificate) -> String {
    format!("{}, until {}", issuer(c), human_day(c.not_after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: &str) -> Timestamp {
        s.parse().unwrap()
    }

    fn tls(sha256: &str, ends: &str, trust: Trust) -> TlsObservation {
        TlsObservation {
            address: "127.0.0.1".parse().unwrap(),
            error: None,
            version: None,
            alpn: None,
            chain: vec![Certificate {
                subject: "CN=a.example".into(),
                issuer: "CN=R1, O=Good CA".into(),
                issuer_organisation: Some("Good CA".into()),
                names: vec!["a.example".into()],
                addresses: vec![],
                not_before: at("2026-01-01T00:00:00Z"),
                not_after: at(ends),
                key_type: "ECDSA".into(),
                key_bits: 256,
                serial: "01".into(),
                sha256: sha256.into(),
            }],
            covers_host: true,
            trust: Some(trust),
            trust_detail: String::new(),
            ocsp_stapled: false,
        }
    }

    fn one(sha256: &str, ends: &str) -> Certificates {
        let seen = HostCertificate::of("a.example", vec![tls(sha256, ends, Trust::Trusted)]);
        Certificates { hosts: vec![seen] }
    }

    #[test]
    fn time_alone_takes_a_certificate_to_its_end() {
        let c = one("aa", "2026-11-20T00:00:00Z");
        let condition = |t: &str| c.condition(at(t));
        assert_eq!(condition("2026-11-01T00:00:00Z"), Some(Condition::Good));
        assert_eq!(condition("2026-11-06T00:00:00Z"), Some(Condition::EndsSoon));
        assert_eq!(condition("2026-11-20T00:00:00Z"), Some(Condition::Expired));
        let words = c.hosts[0].problem(at("2026-11-18T12:00:00Z")).unwrap();
        assert_eq!(words, "The certificate of a.example ends in 1 day, on Nov 20, 2026");
        let kinds = |a: &str, b: &str| {
            let all = changes((&c, at(a)), (&c, at(b)));
            all.into_iter().map(|c| (c.kind, c.severity)).collect::<Vec<_>>()
        };
        let day = |d: &str| format!("2026-11-{d}T01:00:00Z");
        assert_eq!(kinds(&day("01"), &day("05")), []);
        assert_eq!(kinds(&day("05"), &day("07")), [(EventKind::CertificateEnds, Severity::Warning)]);
        assert_eq!(kinds(&day("07"), &day("12")), [], "once");
        assert_eq!(kinds(&day("12"), &day("21")), [(EventKind::CertificateEnds, Severity::Critical)]);
        assert_eq!(kinds(&day("01"), &day("21")), [(EventKind::CertificateEnds, Severity::Critical)]);
    }

    #[test]
    fn a_renewal_is_a_change_and_a_rotation_is_none() {
        let (old, new) = (one("aa", "2026-11-20T00:00:00Z"), one("bb", "2027-02-20T00:00:00Z"));
        let now = at("2026-11-10T00:00:00Z");
        let renewed = changes((&old, now), (&new, now));
        assert_eq!(renewed.len(), 1);
        assert_eq!((renewed[0].kind, renewed[0].severity), (EventKind::CertificateChanged, Severity::Notice));
        assert_eq!(renewed[0].new.as_deref(), Some("Good CA, until Feb 20, 2027"));
        let both = HostCertificate::of(
            "a.example",
            vec![
                tls("bb", "2027-02-20T00:00:00Z", Trust::Trusted),
                tls("cc", "2027-02-21T00:00:00Z", Trust::Trusted),
            ],
        );
        let rotating = Certificates { hosts: vec![both] };
        assert_eq!(changes((&rotating, now), (&one("dd", "2027-02-22T00:00:00Z"), now)), []);
        let gone = Certificates { hosts: vec![HostCertificate::failed("a.example", "refused".into())] };
        assert_eq!(changes((&old, now), (&gone, now)), []);
    }

    #[test]
    fn of_several_addresses_the_worst_certificate_counts() {
        let mut wrong = tls("ee", "2026-12-24T00:00:00Z", Trust::Trusted);
        wrong.covers_host = false;
        let silent = TlsObservation { chain: vec![], error: Some("refused".into()), ..wrong.clone() };
        let seen = HostCertificate::of(
            "a.example",
            vec![silent.clone(), tls("bb", "2027-02-20T00:00:00Z", Trust::Trusted), wrong],
        );
        assert_eq!((seen.different, seen.covers_host), (2, false));
        assert_eq!(seen.condition(at("2026-11-01T00:00:00Z")), Some(Condition::WrongName));
        let none = HostCertificate::of("a.example", vec![silent]);
        assert_eq!(
            (none.error.as_deref(), none.condition(at("2026-11-01T00:00:00Z"))),
            (Some("refused"), None)
        );
        let own =
            HostCertificate::of("a.example", vec![tls("aa", "2027-02-20T00:00:00Z", Trust::SelfSigned)]);
        assert_eq!(own.condition(at("2026-11-01T00:00:00Z")), Some(Condition::Untrusted));
    }
}
