//! The scan report as it is read: golden files, without colours.

use super::*;
use model::ids::Vantage;
use model::names::DomainName;
use model::observation::PartError;
use model::status::Reason;
use serde_json::json;

fn read(value: serde_json::Value) -> Observation {
    serde_json::from_value(value).unwrap()
}

fn shown(o: &Observation, kind: StatusKind, sentence: &str) -> String {
    let reasons = vec![Reason { kind, rule: model::status::Rule::Other, sentence: sentence.into() }];
    let status = Status { kind, reasons, judge_again_at: None };
    let now = "2026-11-20T14:05:00Z".parse().unwrap();
    anstream::adapter::strip_str(&scan(o, &status, None, now)).to_string()
}

/// A server as it is stored.
fn server(name: &str, address: Option<&str>, health: &str, ms: Option<f64>) -> serde_json::Value {
    json!({
        "name": name, "address": address, "in_parent": true, "in_child": true, "health": health,
        "kind": if ms.is_some() { "answer" } else { "timeout" }, "serial": ms.map(|_| 2_026_112_001_u32),
        "latency_ms": ms, "tcp": null, "recursion": null, "nsid": null,
        "notes": if ms.is_some() { vec![] } else { vec!["no answer in time"] }
    })
}

#[test]
fn columns_stand_below_each_other_whatever_they_hold() {
    let mut o = Observation::empty(DomainName::trusted("xn--mnchen-3ya.example"), Vantage::local());
    let value = json!({
        "value": {
            "zone": "xn--mnchen-3ya.example", "parent": "example", "delegated": true, "parent_ns": [],
            "child_ns": [], "ds": [], "soa": null, "negative_soa": null, "provider": null, "notes": [],
            "servers": [
                server("ns1.dns.example", Some("192.0.2.1"), "authoritative", Some(9.6)),
                server("ns1.dns.example", Some("2001:db8:ffff:eeee:dddd:cccc:bbbb:aaaa"), "slow", Some(1234.0)),
                server("a-longer-name.dns.example", None, "unresolvable", None),
                server("b.dns.example", Some("192.0.2.22"), "dead", None),
            ]
        },
        "source": "authoritative servers"
    });
    o.delegation = serde_json::from_value(value).unwrap();
    let sentence = "rdap.nic.example did not answer within 6 s".into();
    o.registration.error = Some(PartError { label: "timeout".into(), sentence, retry_at: None });
    insta::assert_snapshot!("scan_servers", shown(&o, StatusKind::Warning, "A server does not answer"));
}

#[test]
fn a_mistyped_ending_is_said() {
    let o = read(json!({
        "name": "q7.oi", "vantage": Vantage::local(),
        "delegation": { "value": {
            "zone": "q7.oi", "parent": ".", "delegated": false, "parent_ns": [], "child_ns": [], "ds": [],
            "servers": [], "soa": null, "negative_soa": null, "provider": null, "notes": []
        } }
    }));
    insta::assert_snapshot!("scan_no_such_ending", shown(&o, StatusKind::Unknown, "Nothing is known"));
}
