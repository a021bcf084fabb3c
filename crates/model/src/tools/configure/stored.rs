//! A service that is kept and checked again, over time: `(service, report) -> (service, change)`. Pure.
//!
//! A look that no server answered changes nothing. What worked and no longer does needs a second look before it is an
//! event: a record that is being replaced is gone for a moment.

use super::{RecordState, ServiceReport, ServiceSpec, ServiceState};
use crate::judgement::event::{Change, EventKind, Severity};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// Looks that must agree before a service has drifted.
const LOOKS: u32 = 2;
/// Between checks while a person may be waiting, or a drift is being confirmed.
const SOON: SignedDuration = SignedDuration::from_mins(5);
/// Between looks otherwise.
const USUAL: SignedDuration = SignedDuration::from_hours(1);
/// How long a new service is looked at often.
const NEW: SignedDuration = SignedDuration::from_hours(24);

/// A service of an organisation's domain, and how it stood last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredService {
    /// Identifier, unique in the installation.
    pub id: String,
    /// The domain, A-labels.
    pub domain: String,
    /// What it is.
    pub spec: ServiceSpec,
    /// Its title.
    pub title: String,
    /// Where it stands.
    pub state: ServiceState,
    /// Records that were as expected.
    pub present: u32,
    /// Expected records; 0 before the first look.
    pub total: u32,
    /// The verdict of the last look, in a sentence.
    pub sentence: String,
    /// Why the last look came to nothing; the rest is from the look before.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub error: String,
    /// When it was last seen working.
    pub worked_at: Option<Timestamp>,
    /// Looks since then that did not see it working.
    #[serde(default)]
    pub misses: u32,
    /// When the servers were last asked with a result.
    pub checked_at: Option<Timestamp>,
    /// When it was added.
    pub created_at: Timestamp,
}

impl StoredService {
    /// A service that was not looked at yet.
    pub fn new(id: String, domain: &str, spec: ServiceSpec, now: Timestamp) -> Self {
        StoredService {
            id,
            domain: domain.into(),
            title: spec.service.label().into(),
            spec,
            state: ServiceState::Unknown,
            present: 0,
            total: 0,
            sentence: "Not checked yet.".into(),
            error: String::new(),
            worked_at: None,
            misses: 0,
            checked_at: None,
            created_at: now,
        }
    }

    /// The service after a look, and what is to be recorded as an event.
    pub fn after(mut self, report: &ServiceReport) -> (StoredService, Option<Change>) {
        let now = report.checked_at;
        if report.state == ServiceState::Unknown {
            return (self.failed(&report.sentence), None);
        }
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        self.title.clone_from(&report.title);
        self.present = count(report.present());
        self.total = count(report.records.len());
        self.sentence.clone_from(&report.sentence);
        self.error.clear();
        self.checked_at = Some(now);
        let change = if report.state == ServiceState::Working {
            let kind = match (self.state, self.worked_at) {
                (ServiceState::Drifted, _) => Some(EventKind::ServiceRecovered),
                (_, None) => Some(EventKind::ServiceReady),
                _ => None,
            };
            let old = self.state;
            self.state = ServiceState::Working;
            self.worked_at = Some(now);
            self.misses = 0;
            kind.map(|kind| self.change(kind, Severity::Notice, old, report))
        } else if self.worked_at.is_some() {
            self.misses = self.misses.saturating_add(1);
            let drifted = self.state != ServiceState::Drifted && self.misses >= LOOKS;
            let old = self.state;
            if drifted {
                self.state = ServiceState::Drifted;
            }
            drifted.then(|| self.change(EventKind::ServiceDrifted, Severity::Warning, old, report))
        } else {
            self.state = report.state;
            None
        };
        (self, change)
    }

    /// The service after a look that came to nothing.
    #[must_use]
    pub fn failed(mut self, reason: &str) -> StoredService {
        self.error = reason.to_string();
        self
    }

    /// When it is to be looked at again.
    pub fn next_check(&self, now: Timestamp) -> Timestamp {
        let is_new = self.worked_at.is_none() && now < self.created_at + NEW;
        let confirming = self.misses == 1 && self.state == ServiceState::Working;
        let wait = if is_new || confirming || !self.error.is_empty() { SOON } else { USUAL };
        now.checked_add(wait).unwrap_or(now)
    }

    fn change(
        &self,
        kind: EventKind,
        severity: Severity,
        old: ServiceState,
        report: &ServiceReport,
    ) -> Change {
        let wrong: Vec<String> = report
            .records
            .iter()
            .filter(|r| r.state != RecordState::Present)
            .map(|r| format!("{} {} is {}", r.rtype, r.name, r.state.label().to_lowercase()))
            .collect();
        Change {
            kind,
            severity,
            field: self.title.clone(),
            old: Some(old.label().to_string()),
            new: Some(self.state.label().to_string()),
            source: "authoritative servers".into(),
            note: if wrong.is_empty() { report.sentence.clone() } else { wrong.join("; ") },
            first_seen_at: None,
            status_before: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configure::{FormHints, ProviderForm, RecordCheck, ServiceKind};

    fn spec() -> ServiceSpec {
        ServiceSpec::new(ServiceKind::Proof, "", [("value", "x=1")]).unwrap()
    }

    fn report(state: ServiceState, at: &str) -> ServiceReport {
        let record = RecordCheck {
            rtype: "TXT".into(),
            host: "@".into(),
            name: "a.example".into(),
            value: "x=1".into(),
            ttl: 300,
            hints: FormHints::default(),
            state: if state == ServiceState::Working { RecordState::Present } else { RecordState::Missing },
            live: vec![],
            faults: vec![],
            present_on: 0,
            answered: 2,
        };
        ServiceReport {
            domain: "a.example".into(),
            unicode: "a.example".into(),
            spec: spec(),
            title: "Ownership proof".into(),
            about: String::new(),
            state,
            sentence: "verdict".into(),
            provider: ProviderForm::default(),
            records: vec![record],
            changes: vec![],
            warnings: vec![],
            caches: vec![],
            exports: vec![],
            servers: vec![],
            apply: None,
            no_apply: String::new(),
            checked_at: at.parse().unwrap(),
        }
    }

    fn run(looks: &[(ServiceState, &str)]) -> (StoredService, Vec<Option<EventKind>>) {
        let mut service =
            StoredService::new("1".into(), "a.example", spec(), "2026-11-20T10:00:00Z".parse().unwrap());
        let mut events = Vec::new();
        for (state, at) in looks {
            let (next, change) = service.after(&report(*state, at));
            service = next;
            events.push(change.map(|c| c.kind));
        }
        (service, events)
    }

    #[test]
    fn ready_drift_and_recovery_are_each_told_once() {
        use ServiceState::{NotSetUp, Working};
        let (service, events) = run(&[
            (NotSetUp, "2026-11-20T10:00:00Z"),
            (Working, "2026-11-20T10:05:00Z"),
            (Working, "2026-11-20T11:05:00Z"),
            (NotSetUp, "2026-11-20T12:05:00Z"),
            (NotSetUp, "2026-11-20T12:10:00Z"),
            (NotSetUp, "2026-11-20T13:10:00Z"),
            (Working, "2026-11-20T14:10:00Z"),
        ]);
        use EventKind::{ServiceDrifted, ServiceReady, ServiceRecovered};
        assert_eq!(
            events,
            [None, Some(ServiceReady), None, None, Some(ServiceDrifted), None, Some(ServiceRecovered)]
        );
        assert_eq!((service.state, service.misses), (Working, 0));
    }

    #[test]
    fn one_look_that_misses_it_is_confirmed_soon_and_is_no_event() {
        use ServiceState::{NotSetUp, Working};
        let (service, events) = run(&[(Working, "2026-11-20T10:05:00Z"), (NotSetUp, "2026-11-20T11:05:00Z")]);
        assert_eq!((service.state, events[1]), (Working, None));
        let now = "2026-11-20T11:05:00Z".parse().unwrap();
        assert_eq!(service.next_check(now), "2026-11-20T11:10:00Z".parse().unwrap());
        let (service, events) = run(&[
            (Working, "2026-11-20T10:05:00Z"),
            (NotSetUp, "2026-11-20T11:05:00Z"),
            (Working, "2026-11-20T11:10:00Z"),
        ]);
        assert_eq!(events[1..], [None, None]);
        assert_eq!(service.next_check(now), "2026-11-20T12:05:00Z".parse().unwrap());
    }

    #[test]
    fn servers_that_do_not_answer_change_nothing() {
        use ServiceState::{Unknown, Working};
        let (service, events) = run(&[
            (Working, "2026-11-20T10:05:00Z"),
            (Unknown, "2026-11-20T11:05:00Z"),
            (Unknown, "2026-11-20T12:05:00Z"),
        ]);
        assert_eq!((service.state, service.misses, events[2]), (Working, 0, None));
        assert_eq!(service.error, "verdict");
        assert_eq!(service.checked_at, Some("2026-11-20T10:05:00Z".parse().unwrap()));
    }
}
