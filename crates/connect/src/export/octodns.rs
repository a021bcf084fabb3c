//! A zone file of octoDNS (YAML). octoDNS owns a zone as a whole, so this is for all records of a zone.

use super::{Set, absolute, literal, octets, remark, sets, words};
use crate::record::Record;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The zone in the order that octoDNS enforces: by name, the apex (`''`) first. Its apex NS records are left out unless
/// they are given.
pub fn octodns(records: &[Record]) -> String {
    let sets = sets(records);
    let mut text = String::from("---\n");
    for record in records.iter().filter(|record| kind(record).is_none()) {
        let _ = writeln!(text, "# {}", remark(record));
    }
    let mut names: BTreeMap<Vec<Piece>, Vec<&Set<'_>>> = BTreeMap::new();
    for set in &sets {
        let name = if set.name == "@" { "" } else { set.name.as_str() };
        if set.records.iter().any(|record| kind(record).is_some()) {
            names.entry(natural(name)).or_default().push(set);
        }
    }
    for sets in names.values() {
        let name = if sets[0].name == "@" { "" } else { sets[0].name.as_str() };
        let _ = writeln!(text, "{}:", literal(name));
        for set in sets {
            let _ =
                writeln!(text, "- ttl: {}\n  type: {}", set.ttl(), kind(set.records[0]).unwrap_or(set.kind));
            // An alias has one target, everything else a list.
            if matches!(set.kind, "CNAME" | "APEXCNAME" | "DNAME") {
                let _ = writeln!(text, "  value: {}", literal(&absolute(&set.records[0].data)));
                continue;
            }
            text.push_str("  values:\n");
            for record in &set.records {
                let _ = writeln!(text, "  - {}", value(record).unwrap_or_else(|| literal(&record.data)));
            }
        }
    }
    text
}

/// The type in octoDNS, if it has it and the data can be read.
fn kind(record: &Record) -> Option<&str> {
    match record.kind.as_str() {
        // octoDNS takes ALIAS at the apex only.
        "APEXCNAME" => (record.name == "@").then_some("ALIAS"),
        "CNAME" | "DNAME" => Some(record.kind.as_str()),
        _ => value(record).map(|_| record.kind.as_str()),
    }
}

fn value(record: &Record) -> Option<String> {
    let data = record.data.as_str();
    Some(match record.kind.as_str() {
        "A" => literal(&octets(data).map_or_else(|| data.to_string(), |address| address.to_string())),
        "AAAA" => literal(data),
        "NS" | "PTR" => literal(&absolute(data)),
        "TXT" => literal(&presentation(&record.text())),
        "MX" => format!("{{exchange: {}, preference: {}}}", literal(&absolute(data)), record.priority?),
        "SRV" => format!(
            "{{port: {}, priority: {}, target: {}, weight: {}}}",
            record.port?,
            record.priority?,
            literal(&absolute(data)),
            record.weight?
        ),
        "CAA" => fields(data, &["flags"], &["tag", "value"])?,
        "TLSA" => fields(
            data,
            &["certificate_usage", "selector", "matching_type"],
            &["certificate_association_data"],
        )?,
        "SSHFP" => fields(data, &["algorithm", "fingerprint_type"], &["fingerprint"])?,
        "DS" => fields(data, &["key_tag", "algorithm", "digest_type"], &["digest"])?,
        _ => return None,
    })
}

/// Text as octoDNS writes it: presentation format without the quotes and the escapes of quotes, semicolons escaped.
fn presentation(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'\\' | b';' => escaped.extend(['\\', char::from(byte)]),
            0x20..0x7f => escaped.push(char::from(byte)),
            other => escaped.push_str(&format!("\\{other:03}")),
        }
    }
    escaped
}

fn fields(data: &str, numbers: &[&str], texts: &[&str]) -> Option<String> {
    let words = words(data);
    if words.len() != numbers.len() + texts.len() {
        return None;
    }
    let mut shown = Vec::new();
    for (field, word) in numbers.iter().zip(&words) {
        shown.push(format!("{field}: {}", word.parse::<u32>().ok()?));
    }
    for (field, word) in texts.iter().zip(&words[numbers.len()..]) {
        shown.push(format!("{field}: {}", literal(word)));
    }
    // octoDNS refuses keys that are out of order.
    shown.sort();
    Some(format!("{{{}}}", shown.join(", ")))
}

/// A part of a name as octoDNS sorts: digits by their value, the rest by letters.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Piece {
    Text(String),
    Number(u128),
}

fn natural(name: &str) -> Vec<Piece> {
    let mut pieces = vec![Piece::Text(String::new())];
    for c in name.chars() {
        match (pieces.last_mut(), c.to_digit(10)) {
            (Some(Piece::Number(number)), Some(digit)) => {
                *number = number.saturating_mul(10).saturating_add(u128::from(digit));
            }
            (_, Some(digit)) => pieces.push(Piece::Number(u128::from(digit))),
            (Some(Piece::Text(text)), None) => text.push(c),
            (_, None) => pieces.push(Piece::Text(c.to_string())),
        }
    }
    pieces
}
