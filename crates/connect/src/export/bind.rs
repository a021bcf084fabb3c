//! Lines of a zone file (RFC 1035 section 5.1), as BIND, NSD and Knot read them.

use super::{DEFAULT_TTL, owner_name, rdata, remark};
use crate::apply::Plan;
use crate::record::Record;
use std::fmt::Write;

/// Records below `$ORIGIN`, to be pasted into the zone file of `domain`.
pub fn bind(records: &[Record], domain: &str) -> String {
    let mut text = format!("$ORIGIN {}.\n", domain.trim_end_matches('.'));
    let width = records.iter().map(|record| owner_name(record).len()).max().unwrap_or_default();
    for record in records {
        line(&mut text, record, width);
    }
    text
}

/// The new records, with those to delete as comments before them.
pub fn bind_plan(plan: &Plan, domain: &str) -> String {
    let mut text = String::new();
    for line in bind(&plan.delete, domain).lines().skip(1) {
        let _ = writeln!(text, "; delete: {}", line.trim_start_matches("; "));
    }
    text + &bind(&plan.new, domain)
}

fn line(text: &mut String, record: &Record, width: usize) {
    let _ = match rdata(record) {
        Some(data) => {
            let (name, ttl) = (owner_name(record), record.ttl.unwrap_or(DEFAULT_TTL));
            writeln!(text, "{name:width$} {ttl:>6} IN {:<6} {data}", record.kind)
        }
        None => writeln!(text, "; {}", remark(record)),
    };
}
