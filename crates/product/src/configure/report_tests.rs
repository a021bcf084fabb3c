//! What a report says of live zones.

use super::super::needed::{Surroundings, needed};
use super::*;
use dns::LiveServer;
use model::configure::ServiceKind;

fn server(name: &str, serial: u32, records: &[(&str, &str, &str)]) -> LiveServer {
    let record = |(name, rtype, data): &(&str, &str, &str)| model::dns::Record {
        name: (*name).into(),
        rtype: (*rtype).into(),
        ttl: 3600,
        data: (*data).into(),
    };
    LiveServer {
        server: name.into(),
        address: Some("192.0.2.53".parse().unwrap()),
        serial: Some(serial),
        records: records.iter().map(record).collect(),
        unanswered: vec![],
        answered: true,
    }
}

fn looked(spec: &ServiceSpec, servers: Vec<LiveServer>) -> ServiceReport {
    let zone = LiveZone { zone: "a.example".into(), servers, soa: None, queries: 0, notes: vec![] };
    let needed = needed(spec, "a.example", &Surroundings::default()).unwrap();
    let expected = connect::services::expected(&needed.records, &needed.request).unwrap();
    let parts = Parts {
        domain: "a.example",
        unicode: "a.example".into(),
        spec,
        needed: &needed,
        expected: &expected,
        zone: &zone,
        row: &Row::default(),
        gateways: &[],
        now: "2026-11-20T14:05:00Z".parse().unwrap(),
    };
    parts.report().unwrap()
}

#[test]
fn what_the_newest_server_has_needs_no_further_change() {
    let spec = ServiceSpec::new(ServiceKind::Proof, "", [("value", "x=1")]).unwrap();
    let new = server("ns1.a.example", 7, &[("a.example", "TXT", "\"x=1\"")]);
    let old = server("ns2.a.example", 6, &[]);
    let r = looked(&spec, vec![old.clone(), new.clone()]);
    assert_eq!((r.state, r.changes.len()), (ServiceState::Partial, 0), "{r:#?}");
    assert_eq!((r.records[0].present_on, r.records[0].answered), (1, 2));
    assert!(r.sentence.contains("older"), "{}", r.sentence);
    let r = looked(&spec, vec![server("ns1.a.example", 6, &[]), old]);
    assert_eq!((r.state, r.changes.len()), (ServiceState::NotSetUp, 1), "{r:#?}");
    let r = looked(&spec, vec![new]);
    assert_eq!(r.state, ServiceState::Working);
}

#[test]
fn a_server_that_left_the_question_open_says_nothing() {
    use model::dns::AnswerKind;
    let spec = ServiceSpec::new(ServiceKind::Proof, "", [("value", "x=1")]).unwrap();
    let mut silent = server("ns1.a.example", 7, &[]);
    silent.unanswered.push(("a.example".into(), "TXT".into(), AnswerKind::Timeout));
    let r = looked(&spec, vec![silent]);
    assert_eq!((r.state, r.records[0].state), (ServiceState::Unknown, RecordState::Unknown), "{r:#?}");
    let r = looked(&spec, vec![]);
    assert_eq!((r.state, r.changes.len()), (ServiceState::Unknown, 0));
}
