//! RDAP answers in the shapes that registries' and registrars' servers send, with invented data: what is read of them,
//! and what they come to. What a case does not list must be read as unknown.

use registration::{RdapReading, parse_rdap, read_rdap};
use serde_json::{Value, json};

fn cases(file: &str) -> Vec<Value> {
    serde_json::from_str::<Vec<Value>>(file).unwrap()
}

/// What was read, in the form of a case's `want`: only what is known.
fn read(reading: &RdapReading) -> Value {
    let r = &reading.registration;
    let time = |t: &Option<model::time::StatedTime>| json!(t.as_ref().map(ToString::to_string));
    let dnssec = r.dnssec.as_ref().map(|d| if d.signed { "signed" } else { "unsigned" });
    let ds: Vec<String> = (r.dnssec.iter().flat_map(|d| &d.ds))
        .map(|d| format!("{} {} {} {}", d.key_tag, d.algorithm, d.digest_type, d.digest))
        .collect();
    let mut all = json!({
        "registered": reading.outcome == model::registration::Outcome::Registered,
        "registrar": r.registrar.name, "iana_id": r.registrar.iana_id, "url": r.registrar.url,
        "abuse_email": r.registrar.abuse_email, "abuse_phone": r.registrar.abuse_phone,
        "whois": r.registrar_whois_server, "related": r.registrar_rdap, "registry_id": r.registry_id,
        "created": time(&r.created), "updated": time(&r.updated), "expires": time(&r.expires),
        "registrar_expires": time(&r.registrar_expires),
        "statuses": r.statuses, "nameservers": r.nameservers, "dnssec": dnssec, "ds": ds,
        "org": r.registrant_organization, "redacted": r.redacted, "warned": !reading.warnings.is_empty(),
    });
    let members = all.as_object_mut().unwrap();
    if r.nameservers.as_ref().is_some_and(Vec::is_empty) {
        members.insert("no_servers".into(), true.into());
    }
    members.retain(|_, v| !(v.is_null() || *v == json!(false) || *v == json!([])));
    all
}

#[test]
fn the_shapes_of_servers_are_read() {
    let mut bad = 0;
    let files = [include_str!("rdap/registries.json"), include_str!("rdap/registrars.json")];
    let all: Vec<Value> = files.into_iter().flat_map(cases).collect();
    for c in &all {
        let reading = read_rdap(c["domain"].as_str().unwrap(), &c["answer"]);
        let (got, want) = (read(&reading), &c["want"]);
        let fields: std::collections::BTreeSet<&String> =
            got.as_object().unwrap().keys().chain(want.as_object().unwrap().keys()).collect();
        for f in fields.into_iter().filter(|f| got[f.as_str()] != want[f.as_str()]) {
            println!("{}: {f} is {}, not {} {:?}", c["what"], got[f], want[f], reading.warnings);
            bad += 1;
        }
    }
    assert_eq!(bad, 0, "fields of {} answers", all.len());
}

#[test]
fn what_rdap_answers_come_to() {
    let all = cases(include_str!("rdap/outcomes.json"));
    let mut bad = 0;
    for c in &all {
        let reading = read_rdap(c["domain"].as_str().unwrap(), &c["answer"]);
        let (got, want) = (reading.outcome.as_str(), c["want"]["outcome"].as_str().unwrap());
        if got != want {
            println!("{}: {got}, not {want}", c["what"]);
            bad += 1;
        }
        if got != "registered" {
            assert_eq!(reading.registration, model::registration::Registration::default(), "{}", c["what"]);
        }
    }
    assert_eq!(bad, 0, "of {} answers", all.len());
}

/// The bytes around the object: what servers and the proxies before them add or break.
#[test]
fn bodies_with_something_around_the_object() {
    let body = r#"{"objectClassName":"domain","ldhName":"quarry.test","events":[{"eventAction":"registration","eventDate":"2001-02-03"}],"entities":[{"roles":["registrar"],"vcardArray":["vcard",[["fn",{},"text","Sociét? SA"]]]}]}"#;
    let latin1: Vec<u8> =
        body.bytes().filter(u8::is_ascii).map(|b| if b == b'?' { 0xE9 } else { b }).collect();
    let with = |head: &str, tail: &str| format!("{head}{body}{tail}").into_bytes();
    for (what, bytes) in [
        ("nothing", with("", "")),
        ("a byte order mark", with("\u{feff}", "")),
        ("blank lines", with("\r\n\r\n  ", "\r\n\n")),
        ("a closing comment", with("", "\n<!-- served by node 7 -->\n")),
        ("a NUL", with("", "\0")),
        ("a second object", with("", "{\"errorCode\":404}")),
        ("Latin-1 in a name", latin1),
    ] {
        let reading = parse_rdap("quarry.test", &bytes);
        assert_eq!(reading.outcome.as_str(), "registered", "{what}: {:?}", reading.warnings);
        assert_eq!(reading.registration.created.unwrap().to_string(), "2001-02-03", "{what}");
    }
    for cut in [1, body.len() / 2, body.len() - 1] {
        assert_eq!(parse_rdap("quarry.test", &body.as_bytes()[..cut]).outcome.as_str(), "unknown");
    }
    for other in [
        "",
        "   ",
        "<html><body>quarry.test</body></html>",
        "not found",
        "\u{1f}\u{8b}\u{8}",
        "nul",
        "{",
        "\"",
        "404",
    ] {
        assert_eq!(parse_rdap("quarry.test", other.as_bytes()).outcome.as_str(), "unknown", "{other}");
    }
}
