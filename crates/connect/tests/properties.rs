//! What holds for every template and every zone.

use connect::{Plan, Record, Request, TemplateRecord, apply, remove};
use proptest::prelude::*;
use serde_json::{Value, json};

const HOSTS: [&str; 5] = ["@", "www", "a", "b.a", "*.a"];
const TEXTS: [&str; 5] =
    ["v=spf1 mx -all", "v=spf1 include:x.example ~all", "token=1", "token=2", "\"token=1\""];

fn zone_record() -> impl Strategy<Value = Record> {
    (0..8_usize, 0..HOSTS.len(), 0..TEXTS.len()).prop_map(|(kind, host, text)| {
        let host = HOSTS[host];
        let mut record = match kind {
            0 => Record::new("A", host, format!("192.0.2.{text}"), Some(300)),
            1 => Record::new("AAAA", host, format!("2001:db8::{text}"), Some(300)),
            2 => Record::new("CNAME", host, format!("t{text}.example"), Some(300)),
            3 => Record::new("NS", host, format!("ns{text}.example"), Some(300)),
            4 => Record::new("TXT", host, TEXTS[text], Some(300)),
            5 => Record::new("CAA", host, "0 issue \"ca.example\"", Some(300)),
            6 => Record::new("SOA", "@", "ns. host. 1 2 3 4 5", Some(300)),
            _ => Record::new("MX", host, format!("mx{text}.example"), Some(300)),
        };
        record.priority = (record.kind == "MX").then_some(10);
        record
    })
}

fn template_record() -> impl Strategy<Value = Value> {
    (0..9_usize, 0..HOSTS.len(), 0..TEXTS.len()).prop_map(|(kind, host, n)| {
        let host = HOSTS[host];
        match kind {
            0 => json!({"type": "A", "host": host, "pointsTo": format!("198.51.100.{n}"), "ttl": 60}),
            1 => json!({"type": "AAAA", "host": host, "pointsTo": "2001:db8::9", "ttl": 60}),
            2 => json!({"type": "CNAME", "host": host, "pointsTo": "@", "ttl": 60}),
            3 => json!({"type": "NS", "host": host, "pointsTo": "ns.example", "ttl": "60"}),
            4 => json!({"type": "MX", "host": host, "pointsTo": "mx.example", "ttl": 60, "priority": n}),
            5 => json!({"type": "SPFM", "host": host, "spfRules": format!("include:s{n}.example mx")}),
            6 => json!({"type": "TXT", "host": host, "data": format!("token={n}"), "ttl": 60,
                "txtConflictMatchingMode": "Prefix", "txtConflictMatchingPrefix": "token="}),
            7 => json!({"type": "REDIR301", "host": host, "target": "https://www.%domain%/"}),
            _ => json!({"type": "CAA", "host": host, "data": "0 issue \"other.example\"", "ttl": 60}),
        }
    })
}

fn request() -> Request {
    let redirects = json!([{"type": "A", "pointsTo": "127.0.0.1", "ttl": 600}]);
    Request {
        domain: "example.com".into(),
        redirect_records: TemplateRecord::list(&redirects).unwrap(),
        ..Request::default()
    }
}

fn sorted(plan: &Plan) -> Vec<String> {
    let mut lines: Vec<String> = plan.records.iter().map(|r| serde_json::to_string(r).unwrap()).collect();
    lines.sort();
    lines
}

/// The widest reach of a record: its host, and for NS also what is below it and delegations above any record.
fn is_in_reach(new: &[Record], old: &Record) -> bool {
    new.iter().any(|new| {
        let below = |name: &str, of: &str| name == of || name.ends_with(&format!(".{of}"));
        new.name == old.name
            || new.kind == "NS" && below(&old.name, &new.name)
            || old.kind == "NS" && below(&new.name, &old.name)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn applying_twice_changes_nothing_more_and_nothing_else_is_touched(
        zone in prop::collection::vec(zone_record(), 0..12),
        records in prop::collection::vec(template_record(), 0..4),
    ) {
        let template = TemplateRecord::list(&Value::Array(records)).unwrap();
        let Ok(first) = apply(&template, &zone, &request()) else { return Ok(()) };
        let second = apply(&template, &first.records, &request()).unwrap();
        prop_assert_eq!(sorted(&first), sorted(&second));
        for gone in &first.delete {
            prop_assert!(is_in_reach(&first.new, gone), "{:?} is out of reach of {:?}", gone, first.new);
            prop_assert!(gone.kind != "SOA" && !(gone.kind == "NS" && gone.name == "@"));
        }
        prop_assert_eq!(first.records.len(), zone.len() + first.new.len() - first.delete.len());
    }

    #[test]
    fn a_merged_spf_record_parses_and_is_the_only_one(
        zone in prop::collection::vec(zone_record(), 0..12),
        rules in prop::collection::vec("(include:[a-z]{1,3}\\.example|mx|a|ip4:192\\.0\\.2\\.[0-9])", 1..14),
    ) {
        let template = TemplateRecord::list(&json!([{"type": "SPFM", "host": "@", "spfRules": rules.join(" ")}])).unwrap();
        let plan = apply(&template, &zone, &request()).unwrap();
        let spf: Vec<_> = plan.records.iter().filter(|r| r.kind == "TXT" && r.name == "@")
            .filter_map(|r| connect::spf::Spf::parse(&r.text())).collect();
        prop_assert_eq!(spf.len(), 1);
        prop_assert!(spf[0].unknown_terms().is_empty());
        let flagged = plan.warnings.iter().any(|w| w.contains("DNS queries"));
        prop_assert_eq!(spf[0].lookups() > connect::spf::MAX_LOOKUPS, flagged);
        for rule in rules {
            prop_assert!(spf[0].to_string().contains(&rule));
        }
    }

    #[test]
    fn removing_takes_out_what_applying_put_in(records in prop::collection::vec(template_record(), 0..4)) {
        let template = TemplateRecord::list(&Value::Array(records)).unwrap();
        let zone = [Record::new("TXT", "@", "v=spf1 ip4:203.0.113.1 -all", Some(300)), Record::new("CAA", "c", "0 issue \";\"", None)];
        let Ok(plan) = apply(&template, &zone, &request()) else { return Ok(()) };
        let gone = remove(&template, &plan.records, &request()).unwrap();
        // What applying replaced does not come back; what it did not touch is still there.
        let kept = zone.iter().filter(|r| plan.records.contains(r) || !plan.delete.contains(r)).count();
        prop_assert!(gone.records.len() <= zone.len() && gone.records.len() >= kept, "{:?}", gone);
    }

    #[test]
    fn no_text_makes_the_engine_panic(text in "\\PC{0,40}", host in "[%@*._a-z -]{0,12}") {
        let template = json!([{"type": "TXT", "host": host, "data": text, "ttl": text},
            {"type": "SRV", "name": text, "target": host, "protocol": "tcp", "service": "x", "ttl": 1, "priority": 1, "weight": 1, "port": 1}]);
        let _ = apply(&TemplateRecord::list(&template).unwrap(), &[], &request());
        let _ = connect::zonefile::parse(&text, "example.com");
        let _ = connect::spf::Spf::parse(&text);
    }
}
