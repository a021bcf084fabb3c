//! When a reading is right: the rules of the corpus' README.

use model::time::StatedTime;
use registration::WhoisReading;
use serde_json::Value;
use std::collections::BTreeSet;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grade {
    Exact,
    Missing,
    Wrong,
    Unclaimed,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Cell {
    pub exact: u32,
    pub missing: u32,
    pub wrong: u32,
}

impl Cell {
    pub fn share(&self, n: u32) -> f64 {
        100.0 * f64::from(n) / f64::from((self.exact + self.missing + self.wrong).max(1))
    }
}

pub fn grades(case: &Value, reading: &WhoisReading) -> Vec<(&'static str, Grade, String)> {
    let e = &case["expected"];
    let r = &reading.registration;
    let mut out = Vec::new();
    let empty = matches!(case["outcome"].as_str(), Some("available" | "throttled"));
    let absent: Vec<&str> =
        case["absent"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (field, got) in [("created", &r.created), ("updated", &r.updated), ("expires", &r.expires)] {
        out.push(judge(field, &e[field], got.is_some(), empty || absent.contains(&field), || {
            let got = got.unwrap();
            (same_time(e[field].as_str().unwrap(), &got), got.to_string())
        }));
    }
    let name = &r.registrar.name;
    out.push(judge(
        "registrar",
        &e["registrar"],
        name.is_some(),
        empty || absent.contains(&"registrar"),
        || {
            let got = plain_name(name.as_ref().unwrap());
            let alternatives = e["registrar_alt"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let good = alternatives
                .chain(e["registrar"].as_str())
                .any(|w| plain_name(w) == got || letters(w) == letters(name.as_ref().unwrap()));
            (good, name.clone().unwrap())
        },
    ));
    let id = &r.registrar.iana_id;
    out.push(judge("iana_id", &e["registrar_iana_id"], id.is_some(), empty, || {
        (id.as_deref() == e["registrar_iana_id"].as_str(), id.clone().unwrap())
    }));
    out.push(judge(
        "nameservers",
        &e["nameservers"],
        r.nameservers.as_ref().is_some_and(|n| !n.is_empty()),
        empty || absent.contains(&"nameservers"),
        || {
            let want: BTreeSet<&str> = strings(&e["nameservers"]).collect();
            let got: BTreeSet<&str> = r.nameservers.iter().flatten().map(String::as_str).collect();
            (want == got, format!("{got:?}"))
        },
    ));
    out.push(judge(
        "statuses",
        &e["statuses"],
        r.statuses.as_ref().is_some_and(|s| !s.is_empty()),
        empty || absent.contains(&"statuses"),
        || {
            let got: BTreeSet<String> =
                r.statuses.iter().flatten().map(|s| plain_status(s.as_str())).collect();
            let want: BTreeSet<String> = strings(&e["statuses"]).map(plain_status).collect();
            let also: BTreeSet<String> = strings(&e["statuses_also"]).map(plain_status).collect();
            let good = got.difference(&also).eq(want.difference(&also));
            (good, format!("{got:?} for {want:?}"))
        },
    ));
    out.push(judge("dnssec", &e["dnssec"], r.dnssec.is_some(), empty || absent.contains(&"dnssec"), || {
        let got = if r.dnssec.as_ref().unwrap().signed { "signed" } else { "unsigned" };
        (e["dnssec"].as_str() == Some(got), got.into())
    }));
    out
}

fn judge(
    field: &'static str,
    expected: &Value,
    got: bool,
    must_be_absent: bool,
    compare: impl FnOnce() -> (bool, String),
) -> (&'static str, Grade, String) {
    if expected.is_null() {
        let grade = if must_be_absent && got { Grade::Wrong } else { Grade::Unclaimed };
        return (field, grade, "where nothing is stated".into());
    }
    if !got {
        return (field, Grade::Missing, expected.to_string());
    }
    let (good, note) = compare();
    (field, if good { Grade::Exact } else { Grade::Wrong }, format!("{note} for {expected}"))
}

fn strings(v: &Value) -> impl Iterator<Item = &str> {
    v.as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn same_time(want: &str, got: &StatedTime) -> bool {
    let want: StatedTime = want.parse().unwrap();
    match (want, got) {
        (StatedTime::Instant(a, _), StatedTime::Instant(b, _)) => a.as_second() == b.as_second(),
        (StatedTime::Local(a), StatedTime::Local(b)) => a.date() == b.date() && a.hour() == b.hour(),
        (StatedTime::Date(a), StatedTime::Date(b)) => a == *b,
        // More or less precision than stated is not right.
        _ => false,
    }
}

fn letters(s: &str) -> String {
    s.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn without_brackets(s: &str) -> String {
    let mut depth = 0;
    s.chars()
        .filter(|c| {
            if "([".contains(*c) {
                depth += 1;
            }
            let keep = depth == 0;
            if ")]".contains(*c) {
                depth = (depth - 1).max(0);
            }
            keep
        })
        .collect()
}

fn plain_name(s: &str) -> String {
    letters(&without_brackets(s))
}

fn plain_status(s: &str) -> String {
    let mut s = without_brackets(s);
    if let Some(i) = s.find("http") {
        s.truncate(i);
    }
    if let Some(i) = s.find(" - ") {
        s.truncate(i);
    }
    let s = s.trim();
    let s = s
        .strip_prefix(|c: char| c.is_ascii_digit())
        .map_or(s, |_| s.trim_start_matches(|c: char| c.is_ascii_digit()));
    let w = letters(s);
    match w.as_str() {
        "active" => "ok".into(),
        "clientupdtlock" | "updateprohibitedbyregistrar" => "clientupdateprohibited".into(),
        "deleteprohibitedbyregistrar" => "clientdeleteprohibited".into(),
        "transferprohibitedbyregistrar" => "clienttransferprohibited".into(),
        "updateforbidden" | "updateprohibited" => "serverupdateprohibited".into(),
        _ => w,
    }
}
