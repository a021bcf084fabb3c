//! The JSON form of DNS answers that public resolvers offer to browsers (`application/dns-json`; not an RFC, Google's
//! and Cloudflare's documents describe it). In: the text of an answer. Out: the same [`ResolverAnswer`] the wire form
//! gives, so that one judgement serves both.

use super::resolver_answer::{Carried, ExtendedError, ResolverAnswer};
use crate::dns::{Record, Soa};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

/// Longest answer that is read, bytes.
pub const CAP: usize = 64 * 1024;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Body {
    status: u16,
    #[serde(default, deserialize_with = "or_none")]
    answer: Vec<Row>,
    #[serde(default, deserialize_with = "or_none")]
    authority: Vec<Row>,
    #[serde(default)]
    comment: Value,
    /// Google: `[{"info_code": 22, "extra_text": "..."}]`; Cloudflare puts the same into `Comment` as words.
    #[serde(default, rename = "extended_dns_errors", alias = "EDE", deserialize_with = "or_none")]
    errors: Vec<Value>,
}

/// Some write `null` for a section without records.
fn or_none<'de, T: Deserialize<'de>, D: serde::Deserializer<'de>>(list: D) -> Result<Vec<T>, D::Error> {
    Option::<Vec<T>>::deserialize(list).map(Option::unwrap_or_default)
}

#[derive(Deserialize)]
struct Row {
    name: String,
    #[serde(rename = "type")]
    rtype: u16,
    #[serde(rename = "TTL", default)]
    ttl: u32,
    #[serde(default)]
    data: String,
}

/// Why an answer can't be read, in words a page can show.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// Longer than [`CAP`].
    #[error("the answer is longer than {CAP} bytes")]
    TooLong,
    /// Not the JSON form.
    #[error("the answer is not in the JSON form of DNS: {0}")]
    Format(String),
}

/// Address to fetch for a question: the resolver's URL with name and type.
pub fn url(base: &str, name: &str, rtype: &str) -> String {
    let joint = if base.contains('?') { '&' } else { '?' };
    format!("{base}{joint}name={}&type={}", crate::base::url::percent(name), crate::base::url::percent(rtype))
}

/// Reads an answer.
///
/// # Errors
/// [`JsonError`], in words.
pub fn read(
    resolver: &str,
    text: &str,
    asked_at: Timestamp,
    latency_ms: Option<f64>,
) -> Result<ResolverAnswer, JsonError> {
    if text.len() > CAP {
        return Err(JsonError::TooLong);
    }
    let body: Body = serde_json::from_slice(text.as_bytes()).map_err(|e| JsonError::Format(e.to_string()))?;
    let records: Vec<Record> = body.answer.iter().filter(|r| r.rtype != 46).map(record).collect();
    let mut errors: Vec<ExtendedError> = body.errors.iter().filter_map(error_of).collect();
    if errors.is_empty() {
        errors.extend(comments(&body.comment).iter().filter_map(|c| error_in_words(c)));
    }
    Ok(ResolverAnswer {
        resolver: resolver.into(),
        carried: Some(Carried::Json),
        rcode: Some(rcode(body.status)),
        ttl: records.iter().map(|r| r.ttl).min(),
        soa: body.authority.iter().chain(&body.answer).find_map(soa),
        records,
        errors,
        latency_ms,
        asked_at,
        error: None,
    })
}

/// The answer of a resolver that could not be asked.
pub fn failed(resolver: &str, why: &str, asked_at: Timestamp) -> ResolverAnswer {
    ResolverAnswer {
        resolver: resolver.into(),
        carried: None,
        rcode: None,
        records: Vec::new(),
        ttl: None,
        soa: None,
        errors: Vec::new(),
        latency_ms: None,
        asked_at,
        error: Some(why.into()),
    }
}

fn plain(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    match name.strip_suffix('.') {
        Some("") | None if name == "." || name.is_empty() => ".".into(),
        Some(bare) => bare.into(),
        None => name,
    }
}

fn record(row: &Row) -> Record {
    Record { name: plain(&row.name), rtype: mnemonic(row.rtype), ttl: row.ttl, data: row.data.clone() }
}

fn soa(row: &Row) -> Option<Soa> {
    if row.rtype != 6 {
        return None;
    }
    let mut words = row.data.split_whitespace();
    let (mname, rname) = (plain(words.next()?), plain(words.next()?));
    let mut number = || words.next()?.parse::<u32>().ok();
    let (serial, refresh, retry, expire, minimum) = (number()?, number()?, number()?, number()?, number()?);
    Some(Soa { zone: plain(&row.name), mname, rname, serial, refresh, retry, expire, minimum, ttl: row.ttl })
}

fn error_of(value: &Value) -> Option<ExtendedError> {
    let code = ["info_code", "INFO-CODE", "InfoCode", "code"].iter().find_map(|k| value.get(*k)?.as_u64())?;
    let text = ["extra_text", "EXTRA-TEXT", "ExtraText", "text"].iter().find_map(|k| value.get(*k)?.as_str());
    Some(ExtendedError { code: u16::try_from(code).ok()?, text: text.unwrap_or_default().to_string() })
}

fn comments(value: &Value) -> Vec<String> {
    match value {
        Value::String(s) => vec![s.clone()],
        Value::Array(all) => all.iter().filter_map(|v| v.as_str().map(str::to_string)).collect(),
        _ => Vec::new(),
    }
}

/// `EDE(22): No Reachable Authority ...`
fn error_in_words(comment: &str) -> Option<ExtendedError> {
    let rest = &comment[comment.find("EDE(")? + 4..];
    let (code, text) = rest.split_once(')')?;
    Some(ExtendedError {
        code: code.trim().parse().ok()?,
        text: text.trim_start_matches(':').trim().to_string(),
    })
}

fn rcode(code: u16) -> String {
    match code {
        0 => "NOERROR",
        1 => "FORMERR",
        2 => "SERVFAIL",
        3 => "NXDOMAIN",
        4 => "NOTIMP",
        5 => "REFUSED",
        other => return format!("RCODE{other}"),
    }
    .into()
}

/// Types that can be asked for, by the mnemonics the engine has for them (IANA, DNS parameters): an answer under another
/// name would be none to the question.
const TYPES: [(u16, &str); 40] = [
    (1, "A"),
    (2, "NS"),
    (5, "CNAME"),
    (6, "SOA"),
    (10, "NULL"),
    (12, "PTR"),
    (13, "HINFO"),
    (15, "MX"),
    (16, "TXT"),
    (17, "RP"),
    (18, "AFSDB"),
    (24, "SIG"),
    (25, "KEY"),
    (28, "AAAA"),
    (29, "LOC"),
    (33, "SRV"),
    (35, "NAPTR"),
    (37, "CERT"),
    (39, "DNAME"),
    (43, "DS"),
    (44, "SSHFP"),
    (46, "RRSIG"),
    (47, "NSEC"),
    (48, "DNSKEY"),
    (49, "DHCID"),
    (50, "NSEC3"),
    (51, "NSEC3PARAM"),
    (52, "TLSA"),
    (53, "SMIMEA"),
    (55, "HIP"),
    (59, "CDS"),
    (60, "CDNSKEY"),
    (61, "OPENPGPKEY"),
    (62, "CSYNC"),
    (63, "ZONEMD"),
    (64, "SVCB"),
    (65, "HTTPS"),
    (99, "SPF"),
    (256, "URI"),
    (257, "CAA"),
];

fn mnemonic(number: u16) -> String {
    TYPES.iter().find(|(n, _)| *n == number).map_or_else(|| format!("TYPE{number}"), |(_, t)| (*t).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn now() -> Timestamp {
        "2026-11-20T14:05:00Z".parse().unwrap()
    }

    #[test]
    fn an_answer_with_an_alias_reads() {
        let text = r#"{"Status":0,"TC":false,"RD":true,"RA":true,"AD":false,"CD":false,
            "Question":[{"name":"www.alder.example.","type":1}],
            "Answer":[{"name":"WWW.alder.example.","type":5,"TTL":212,"data":"edge.cdn.example."},
                      {"name":"edge.cdn.example.","type":1,"TTL":30,"data":"203.0.113.80"},
                      {"name":"edge.cdn.example.","type":46,"TTL":30,"data":"A 13 ..."}]}"#;
        let a = read("one", text, now(), Some(46.0)).unwrap();
        assert_eq!((a.rcode.as_deref(), a.ttl, a.records.len()), (Some("NOERROR"), Some(30), 2));
        assert_eq!((a.records[0].name.as_str(), a.records[0].rtype.as_str()), ("www.alder.example", "CNAME"));
    }

    #[test]
    fn a_denial_brings_its_soa_and_errors_in_either_form() {
        let text = r#"{"Status":3,"Authority":[{"name":"alder.example","type":6,"TTL":120,
            "data":"ns1.alder.example. hostmaster.alder.example. 7 7200 900 1209600 300"}],
            "Comment":["EDE(15): Blocked (by list)"]}"#;
        let a = read("one", text, now(), None).unwrap();
        assert_eq!(a.soa.as_ref().map(Soa::negative_ttl), Some(120));
        assert_eq!(a.errors, [ExtendedError { code: 15, text: "Blocked (by list)".into() }]);
        let text = r#"{"Status":2,"Comment":"x","extended_dns_errors":[{"info_code":22,"extra_text":"At delegation"}]}"#;
        let a = read("one", text, now(), None).unwrap();
        assert_eq!((a.rcode.as_deref(), a.errors[0].code), (Some("SERVFAIL"), 22));
    }

    #[test]
    fn sections_may_be_null_and_every_type_has_its_mnemonic() {
        let text = r#"{"Status":0,"Answer":null,"Authority":null,"Comment":null,"extended_dns_errors":null}"#;
        let a = read("one", text, now(), None).unwrap();
        assert_eq!((a.rcode.as_deref(), a.records.len(), a.errors.len()), (Some("NOERROR"), 0, 0));
        let text = r#"{"Status":0,"Answer":[{"name":"a.example","type":29,"TTL":1,"data":"x"},
            {"name":"a.example","type":61,"TTL":1,"data":"y"},{"name":"a.example","type":65399,"TTL":1}]}"#;
        let types: Vec<String> =
            read("one", text, now(), None).unwrap().records.into_iter().map(|r| r.rtype).collect();
        assert_eq!(types, ["LOC", "OPENPGPKEY", "TYPE65399"]);
    }

    #[test]
    fn what_is_no_answer_is_said_so() {
        for bad in ["", "[]", "{}", "<html>", "{\"Status\":\"x\"}"] {
            assert!(read("one", bad, now(), None).is_err(), "{bad}");
        }
        assert_eq!(read("one", &" ".repeat(CAP + 1), now(), None), Err(JsonError::TooLong));
        assert_eq!(
            failed("one", "blocked by the browser", now()).error.as_deref(),
            Some("blocked by the browser")
        );
    }

    #[test]
    fn questions_are_escaped() {
        assert_eq!(
            url("https://d.example/resolve", "a.example", "A"),
            "https://d.example/resolve?name=a.example&type=A"
        );
        assert!(url("https://d.example/q?ct=json", "a&b", "A").ends_with("?ct=json&name=a%26b&type=A"));
    }

    proptest! {
        #[test]
        fn reading_never_panics(text in "\\PC{0,120}") {
            let _ = read("x", &text, Timestamp::UNIX_EPOCH, None);
            let _ = error_in_words(&text);
        }
    }
}
