//! Earlier states of the domains of the sample, and what was answered then.

use super::world;
use model::detail::{RawAnswer, SnapshotMeta};
use model::ids::SnapshotId;
use model::observation::Observation;
use model::registration::{Party, Protocol, RegistrationState};

/// The kept states, newest first.
pub fn states() -> Vec<SnapshotMeta> {
    let meta = |id, hours, summary: &[&str]| SnapshotMeta {
        id: SnapshotId(id),
        at: world::ago(hours),
        summary: summary.iter().map(|s| (*s).to_string()).collect(),
    };
    vec![
        meta(
            3,
            77,
            &[
                "Nameservers went from ns1.quarry-dns.example to ns1.meridian-dns.example",
                "Modified went from May 12, 2026 to Nov 17, 2026",
            ],
        ),
        meta(2, 4400, &["Registrar went from Harbor Names Ltd to Lantern Registrar"]),
        meta(1, 8000, &[]),
    ]
}

/// Sets an observation back to one of the kept states.
pub fn set_back(o: &mut Observation, id: SnapshotId) {
    if let Some(RegistrationState::Registered(r)) = &mut o.registration.value {
        if id.0 < 3 {
            r.nameservers = Some(vec!["ns1.quarry-dns.example".into(), "old-ns.alder.example".into()]);
            r.updated = Some("2026-05-12".parse().unwrap());
        }
        if id.0 < 2 {
            r.registrar.name = Some("Harbor Names Ltd".into());
            r.statuses = Some(["clientDeleteProhibited".into()].into());
            r.dnssec = None;
        }
    }
}

/// The answers of a kept state.
pub fn raw(id: SnapshotId) -> Vec<RawAnswer> {
    let handle = if id.0 < 2 { "D1-EXAMPLE" } else { "D2-EXAMPLE" };
    vec![RawAnswer {
        protocol: Protocol::Rdap,
        party: Party::Registry,
        server: "https://rdap.registry.example/".into(),
        at: world::ago(77),
        body: format!(r#"{{"objectClassName":"domain","ldhName":"alder.example","handle":"{handle}"}}"#),
    }]
}
