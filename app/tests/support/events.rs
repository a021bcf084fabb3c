//! The events of the sample, and pages of them.

use super::world;
use model::event::{Change, Event, EventCounts, EventGroup, EventKind, EventPage, EventQuery, Severity};
use model::ids::{EventId, OrgId};
use model::names::DomainName;

pub fn sample() -> Vec<Event> {
    let e =
        |id, domain: &str, hours, kind, severity, field: &str, old: Option<&str>, new: Option<&str>| Event {
            id: EventId(id),
            org: OrgId::BUILT_IN,
            domain: DomainName::trusted(domain),
            at: world::ago(hours),
            change: Change {
                kind,
                severity,
                field: field.into(),
                old: old.map(Into::into),
                new: new.map(Into::into),
                source: "RDAP https://rdap.registry.example/".into(),
                note: String::new(),
                first_seen_at: None,
                status_before: None,
            },
            acknowledged: None,
            cluster: Some("alder-main".into()),
            clusterset: Some("alder-fleet".into()),
            maintenance: None,
        };
    vec![
        e(
            3,
            "alder.example",
            77,
            EventKind::NameserversChanged,
            Severity::Warning,
            "nameservers",
            Some("ns1.quarry-dns.example"),
            Some("ns1.meridian-dns.example, ns3.meridian-dns.example"),
        ),
        e(
            2,
            "tidewater.example",
            50,
            EventKind::StatusRemoved,
            Severity::Critical,
            "statuses",
            Some("clientTransferProhibited"),
            None,
        ),
        e(
            1,
            "alder.example",
            4000,
            EventKind::RegistrarChanged,
            Severity::Warning,
            "registrar",
            Some("Harbor Names Ltd"),
            Some("Lantern Registrar"),
        ),
    ]
}

/// The page that a query selects.
pub fn page(events: &[Event], q: &EventQuery) -> EventPage {
    let found: Vec<_> = events
        .iter()
        .filter(|e| q.domain.as_ref().is_none_or(|d| *d == e.domain))
        .filter(|e| q.at_least.is_none_or(|s| e.change.severity >= s))
        .filter(|e| e.domain.as_str().contains(&q.search))
        .cloned()
        .collect();
    let group = |e: &Event| EventGroup {
        kind: e.change.kind,
        severity: e.change.severity,
        open: e.acknowledged.is_none(),
        count: 1,
    };
    EventPage {
        total: found.len() as u64,
        newest: found.first().map(|e| e.id),
        counts: Some(EventCounts(events.iter().map(group).collect())),
        events: found,
        page: q.page,
        per_page: q.per_page,
    }
}
