//! JavaScript of dnscontrol. `D_EXTEND` adds to a domain that `D` declares elsewhere in the configuration.

use super::{DEFAULT_TTL, absolute, literal, octets, owner_name, remark, words};
use crate::record::Record;
use std::fmt::Write;

/// A `D_EXTEND` block with one call for each record.
pub fn dnscontrol(records: &[Record], domain: &str) -> String {
    let mut text = format!("D_EXTEND({},\n", literal(domain.trim_end_matches('.')));
    for record in records {
        let _ = match call(record) {
            Some(call) => writeln!(text, "  {call},"),
            None => writeln!(text, "  // {}", remark(record)),
        };
    }
    text + ");\n"
}

fn call(record: &Record) -> Option<String> {
    let name = literal(&owner_name(record));
    let target = || literal(&absolute(&record.data));
    let (function, arguments) = match record.kind.as_str() {
        "A" => {
            let address = octets(&record.data).map_or_else(|| record.data.clone(), |a| a.to_string());
            ("A", literal(&address))
        }
        "AAAA" => ("AAAA", literal(&record.data)),
        "CNAME" | "NS" | "PTR" => (record.kind.as_str(), target()),
        "APEXCNAME" => ("ALIAS", target()),
        "MX" => ("MX", format!("{}, {}", record.priority?, target())),
        "SRV" => ("SRV", format!("{}, {}, {}, {}", record.priority?, record.weight?, record.port?, target())),
        "TXT" => ("TXT", literal(&record.text())),
        "CAA" => return caa(record, &name),
        "TLSA" | "SSHFP" | "DS" | "HTTPS" | "SVCB" => (record.kind.as_str(), numbers_then_text(record)?),
        // Redirects are pseudo-records of a few providers, which the owner of the configuration must choose.
        _ => return None,
    };
    Some(format!("{function}({name}, {arguments}, TTL({}))", record.ttl.unwrap_or(DEFAULT_TTL)))
}

fn caa(record: &Record, name: &str) -> Option<String> {
    let words = words(&record.data);
    let [flags, tag, value] = words.as_slice() else { return None };
    let critical = if flags.parse::<u8>().ok()? & 128 == 0 { "" } else { ", CAA_CRITICAL" };
    let ttl = record.ttl.unwrap_or(DEFAULT_TTL);
    Some(format!("CAA({name}, {}, {}{critical}, TTL({ttl}))", literal(tag), literal(value)))
}

/// Numbers as numbers, what follows as strings: `3, 1, 1, "ab…"`; the parameters of HTTPS and SVCB are one string.
fn numbers_then_text(record: &Record) -> Option<String> {
    let words = words(&record.data);
    let count = match record.kind.as_str() {
        "TLSA" | "DS" => 3,
        "SSHFP" => 2,
        _ => 1,
    };
    let (numbers, rest) = words.split_at_checked(count)?;
    if rest.is_empty() || !numbers.iter().all(|number| number.parse::<u32>().is_ok()) {
        return None;
    }
    let mut arguments = numbers.to_vec();
    if matches!(record.kind.as_str(), "HTTPS" | "SVCB") {
        arguments.push(literal(&absolute(&rest[0])));
        arguments.push(literal(&rest[1..].join(" ")));
    } else {
        arguments.push(literal(&rest.concat()));
    }
    Some(arguments.join(", "))
}
