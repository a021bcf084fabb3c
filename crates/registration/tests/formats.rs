//! Layouts of registries with invented data (`formats.toml`), and the sentences by which servers say that there is no
//! record (`sentences.toml`). What a case does not list must be read as unknown: a field too many is a failure.

mod outward;

use outward::CHANGES;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    what: String,
    domain: String,
    text: String,
    #[serde(default = "registered")]
    outcome: String,
    created: Option<String>,
    updated: Option<String>,
    expires: Option<String>,
    registrar: Option<String>,
    iana_id: Option<String>,
    #[serde(default)]
    nameservers: Vec<String>,
    #[serde(default)]
    statuses: Vec<String>,
    dnssec: Option<String>,
}

fn registered() -> String {
    "registered".into()
}

#[derive(Deserialize)]
struct Cases {
    case: Vec<Case>,
}

fn cases() -> Vec<Case> {
    let files = [
        include_str!("formats.toml"),
        include_str!("data/registries.toml"),
        include_str!("data/older.toml"),
        include_str!("data/rare.toml"),
        include_str!("data/europe.toml"),
        include_str!("data/asia.toml"),
        include_str!("data/elsewhere.toml"),
        include_str!("data/registrars.toml"),
        include_str!("data/west.toml"),
        include_str!("data/east.toml"),
        include_str!("data/resellers.toml"),
        include_str!("data/forms.toml"),
        include_str!("data/odd.toml"),
        include_str!("data/local.toml"),
    ];
    files.iter().flat_map(|f| toml::from_str::<Cases>(f).unwrap().case).collect()
}

#[test]
fn layouts_are_read() {
    let mut bad = 0;
    let cases = cases();
    for c in &cases {
        let r = registration::parse_whois(&c.domain, None, None, c.text.as_bytes());
        let json = registration::reading_to_json(&r);
        let mut check = |field: &str, got: serde_json::Value, want: serde_json::Value| {
            if got != want {
                println!("{}: {field} is {got}, not {want}", c.what);
                bad += 1;
            }
        };
        let mut want = c.statuses.clone();
        want.sort();
        check("outcome", json["outcome"].clone(), c.outcome.clone().into());
        check("created", json["created"].clone(), c.created.clone().into());
        check("updated", json["updated"].clone(), c.updated.clone().into());
        check("expires", json["expires"].clone(), c.expires.clone().into());
        check("registrar", json["registrar"]["name"].clone(), c.registrar.clone().into());
        check("iana_id", json["registrar"]["iana_id"].clone(), c.iana_id.clone().into());
        check("nameservers", json["nameservers"].clone(), c.nameservers.clone().into());
        let mut got: Vec<String> = serde_json::from_value(json["statuses"].clone()).unwrap();
        got.sort();
        check("statuses", got.into(), want.into());
        check("dnssec", json["dnssec"].clone(), c.dnssec.clone().into());
    }
    assert_eq!(bad, 0, "of {} layouts", cases.len());
}

/// The outward form does not matter to any of these layouts either.
#[test]
fn layouts_are_read_in_every_outward_form() {
    let cases = cases();
    let mut bad = 0;
    for (what, change) in CHANGES {
        // Empty fields before a record join its first block; letters of names are others in capitals.
        if ["capitals", "small letters", "empty fields first"].contains(&what) {
            continue;
        }
        for c in cases.iter().filter(|c| what != "capital labels" || c.text.is_ascii()) {
            let read = |text: &str| {
                let reading = registration::parse_whois(&c.domain, None, None, text.as_bytes());
                let mut json = registration::reading_to_json(&reading);
                // Warnings quote the text.
                json["warnings"].take();
                json
            };
            let (before, after) = (read(&c.text), read(&change(&c.text)));
            if before != after {
                println!("{what}: {}: {before} became {after}", c.what);
                bad += 1;
            }
        }
    }
    assert_eq!(bad, 0);
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sentences {
    available: Vec<String>,
    throttled: Vec<String>,
    refused: Vec<String>,
    reserved: Vec<String>,
    registered: Vec<String>,
    unknown: Vec<String>,
}

#[test]
fn sentences_are_understood() {
    let s: Sentences = toml::from_str(include_str!("sentences.toml")).unwrap();
    let groups = [
        ("available", s.available),
        ("throttled", s.throttled),
        ("refused", s.refused),
        ("reserved", s.reserved),
        ("registered", s.registered),
        ("unknown", s.unknown),
    ];
    let mut bad = 0;
    for (want, sentences) in groups {
        for sentence in sentences {
            for name in ["example-name.org", "xn--bcher-kva.example"] {
                let text = sentence.replace('@', name);
                let r = registration::parse_whois(name, None, None, text.as_bytes());
                if r.outcome.as_str() != want {
                    println!("{} instead of {want}: {text:?}", r.outcome.as_str());
                    bad += 1;
                }
                let empty = model::registration::Registration::default();
                if want != "registered" && r.registration != empty {
                    println!("fields where there is no record: {text:?}");
                    bad += 1;
                }
            }
        }
    }
    assert_eq!(bad, 0);
}
