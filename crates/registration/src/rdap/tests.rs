use super::*;
use proptest::prelude::*;
use serde_json::json;

fn full() -> Value {
    json!({
        "objectClassName": "domain",
        "handle": "EX1-TEST",
        "ldhName": "EXAMPLE.TEST.",
        "status": ["client transfer prohibited", "Server Update Prohibited", "auto renew period", "active"],
        "events": [
            {"eventAction": "last changed", "eventDate": "2024-01-02T03:04:05Z"},
            {"eventAction": "registration", "eventDate": "2001-02-03T04:05:06.7Z"},
            {"eventAction": "expiration", "eventDate": "2031-02-03T04:05:06+02:00"},
            {"eventAction": "registrar expiration", "eventDate": "2030-02-03"},
            {"eventAction": "last update of RDAP database", "eventDate": "2026-01-01T00:00:00Z"}
        ],
        "nameservers": [{"ldhName": "NS2.EXAMPLE.TEST."}, {"ldhName": "ns1.example.test"}, "ns3.example.test"],
        "secureDNS": {"dsData": [{"keyTag": "12345", "algorithm": 13, "digestType": 2,
            "digest": "aa BBccddeeff00112233445566778899aabbccddeeff00112233445566778899"}]},
        "entities": [
            {"roles": ["registrant"], "vcardArray": ["vcard", [["org", {}, "text", "Example Ltd"]]]},
            {"roles": ["technical"], "entities": [
                {"roles": ["registrar"], "handle": "999",
                 "publicIds": [{"type": "Other ID", "identifier": "7"}, {"type": "IANA Registrar ID", "identifier": 999}],
                 "vcardArray": ["vcard", [["version", {}, "text", "4.0"], ["fn", {}, "text", "Sample Registrar"],
                    ["url", {}, "uri", "https://registrar.example"], ["tel", {"type": "fax"}, "uri", "tel:+1.1"]]],
                 "entities": [{"roles": "abuse", "vcardArray": ["vcard", [["email", {}, "text", "abuse@registrar.example"],
                    ["tel", {"type": ["voice"]}, "uri", "tel:+1.5555551212"]]]}]}
            ]}
        ],
        "links": [
            {"rel": "self", "href": "https://rdap.test/domain/example.test"},
            {"rel": "related", "type": "text/html", "href": "https://help.test"},
            {"rel": "related", "type": "application/rdap+json", "href": "https://rdap.registrar.example/domain/EXAMPLE.TEST"}
        ],
        "redacted": [{"name": {"type": "Registrant Name"}}]
    })
}

#[test]
fn a_whole_answer() {
    let reading = read_rdap("example.test", &full());
    assert_eq!(reading.outcome, Outcome::Registered);
    insta::assert_json_snapshot!(reading.registration);
    assert!(reading.warnings.is_empty(), "{:?}", reading.warnings);
}

#[test]
fn errors_are_outcomes() {
    for (code, outcome) in [
        (404, Outcome::Available),
        (429, Outcome::Throttled),
        (403, Outcome::Refused),
        (400, Outcome::Unknown),
        (500, Outcome::Unknown),
    ] {
        assert_eq!(read_rdap("a.test", &json!({"errorCode": code, "title": "x"})).outcome, outcome);
    }
    let held = json!({"errorCode": 404, "title": "Reserved", "description": ["This name is reserved by the registry and cannot be registered."]});
    assert_eq!(read_rdap("a.test", &held).outcome, Outcome::Reserved);
    assert_eq!(parse_rdap("a.test", b"<html>").outcome, Outcome::Unknown);
    assert_eq!(parse_rdap("a.test", b"[]").outcome, Outcome::Unknown);
    assert_eq!(parse_rdap("a.test", b"{}").outcome, Outcome::Unknown);
    let other = json!({"objectClassName": "domain", "ldhName": "b.test"});
    assert_eq!(read_rdap("a.test", &other).outcome, Outcome::Unknown);
}

#[test]
fn quirks() {
    let signed = |v: Value| {
        let d = json!({"objectClassName": "domain", "ldhName": "a.test", "secureDNS": v});
        read_rdap("a.test", &d).registration.dnssec.map(|d| d.signed)
    };
    assert_eq!(signed(json!({"keyData": [{"flags": 257}]})), Some(true));
    assert_eq!(signed(json!({"delegationSigned": false})), Some(false));
    assert_eq!(signed(json!({"delegationSigned": "true"})), Some(true));
    assert_eq!(signed(json!({"zoneSigned": true})), None);
    assert_eq!(signed(Value::Null), None);
    let odd = json!({
        "ldhName": "a.test", "status": "active", "events": null, "nameservers": [],
        "entities": {"roles": ["Registrar"], "publicIds": {"type": "IANA Registrar ID", "identifier": "292"},
            "vcardArray": [[["FN", {}, "text", "One Registrar"]]]}
    });
    let r = read_rdap("A.test.", &odd).registration;
    assert_eq!(r.registrar.name.as_deref(), Some("One Registrar"));
    assert_eq!(r.registrar.iana_id.as_deref(), Some("292"));
    assert!(r.has("ok") && r.created.is_none());
    assert_eq!(r.nameservers, Some(vec![]));
}

#[test]
fn idn_answers_are_the_asked_name() {
    let v =
        json!({"objectClassName": "domain", "ldhName": "xn--bcher-kva.test", "unicodeName": "bücher.test"});
    assert_eq!(read_rdap("bücher.test", &v).outcome, Outcome::Registered);
    assert_eq!(read_rdap("XN--BCHER-KVA.test", &v).outcome, Outcome::Registered);
}

#[test]
fn deep_and_broken_json_is_refused_quickly() {
    let deep = "[".repeat(900_000);
    assert_eq!(parse_rdap("a.test", deep.as_bytes()).outcome, Outcome::Unknown);
    let nested = format!("{}{}", "{\"entities\":[".repeat(100), "1".to_string() + &"]}".repeat(100));
    assert_eq!(parse_rdap("a.test", nested.as_bytes()).outcome, Outcome::Unknown);
}

proptest! {
    #[test]
    fn nothing_makes_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = parse_rdap("a.test", &bytes);
    }

    #[test]
    fn any_value_in_any_place(member in "(status|events|entities|nameservers|secureDNS|links|remarks|redacted|handle|errorCode)", pick in 0usize..10) {
        let odd = [json!(null), json!(1), json!("x"), json!([]), json!({}), json!([null, 1, "x", {}, []]), json!([[["fn"]]]),
            json!({"roles": 1, "vcardArray": ["vcard", 1]}), json!([{"eventAction": 1, "eventDate": {}}]), json!(-1)];
        let mut v = full();
        v[member.as_str()] = odd[pick].clone();
        let _ = read_rdap("example.test", &v);
    }
}
