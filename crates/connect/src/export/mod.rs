//! Records in the formats of other programs. All functions are pure; each format says what it cannot hold in a comment
//! instead of leaving it out.

mod bind;
mod dnscontrol;
mod octodns;
mod terraform;

pub use bind::{bind, bind_plan};
pub use dnscontrol::dnscontrol;
pub use octodns::octodns;
pub use terraform::{TerraformProvider, terraform};

use crate::record::Record;
use crate::render::{is_underscore_label, octets};

/// The owner name relative to the zone, `@` at the apex. SRV records get their `_service._protocol` back.
pub fn owner_name(record: &Record) -> String {
    let service =
        record.service.as_deref().filter(|service| record.kind == "SRV" && is_underscore_label(service));
    let (Some(service), Some(protocol)) = (service, record.protocol.as_deref()) else {
        return record.name.clone();
    };
    let labels = format!("{service}._{}", protocol.trim_start_matches('_'));
    if record.name == "@" { labels } else { format!("{labels}.{}", record.name) }
}

/// The value as people type it into a provider's form: numbers before the host name, text without quotes.
pub fn value(record: &Record) -> String {
    let data = if record.kind == "TXT" { record.text() } else { record.data.clone() };
    numbers(record).chain([data]).collect::<Vec<_>>().join(" ")
}

/// RDATA in presentation format: host names absolute, text in strings of at most 255 octets, addresses in full.
/// `None` for the pseudo-types, which no DNS server holds.
pub fn rdata(record: &Record) -> Option<String> {
    let data = match record.kind.as_str() {
        "APEXCNAME" | "REDIR301" | "REDIR302" => return None,
        "A" => octets(&record.data).map_or_else(|| record.data.clone(), |address| address.to_string()),
        "CNAME" | "NS" | "MX" | "SRV" | "PTR" | "DNAME" => absolute(&record.data),
        "TXT" => strings(&record.text()).iter().map(|text| quote(text)).collect::<Vec<_>>().join(" "),
        _ => record.data.clone(),
    };
    Some(numbers(record).chain([data]).collect::<Vec<_>>().join(" "))
}

fn numbers(record: &Record) -> impl Iterator<Item = String> {
    [record.priority, record.weight, record.port].into_iter().flatten().map(|number| number.to_string())
}

/// The name with its final dot.
fn absolute(name: &str) -> String {
    if name.ends_with('.') { name.to_string() } else { format!("{name}.") }
}

/// `owner.example.com` without a final dot.
fn full_name(record: &Record, domain: &str) -> String {
    match owner_name(record).as_str() {
        "@" => domain.to_string(),
        name => match name.strip_suffix('.') {
            Some(absolute) => absolute.to_string(),
            None => format!("{name}.{domain}"),
        },
    }
}

/// Text in pieces that fit a character string.
fn strings(text: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for c in text.chars() {
        if pieces.last().is_some_and(|piece| piece.len() + c.len_utf8() > 255) {
            pieces.push(String::new());
        }
        if let Some(piece) = pieces.last_mut() {
            piece.push(c);
        }
    }
    pieces
}

/// One character string of presentation format (RFC 1035 section 5.1).
pub(crate) fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => {
                quoted.push('\\');
                quoted.push(char::from(byte));
            }
            0x20..0x7f => quoted.push(char::from(byte)),
            other => quoted.push_str(&format!("\\{other:03}")),
        }
    }
    quoted.push('"');
    quoted
}

/// Records of one name and type, in the order of the first of each: what DNS calls an RRset.
struct Set<'a> {
    name: String,
    kind: &'a str,
    records: Vec<&'a Record>,
}

impl Set<'_> {
    /// One TTL for all (RFC 2181 section 5.2): the lowest, or an hour.
    fn ttl(&self) -> u32 {
        self.records.iter().filter_map(|record| record.ttl).min().unwrap_or(DEFAULT_TTL)
    }
}

/// TTL in seconds of records that have none.
const DEFAULT_TTL: u32 = 3600;

fn sets(records: &[Record]) -> Vec<Set<'_>> {
    let mut sets: Vec<Set<'_>> = Vec::new();
    for record in records {
        let name = owner_name(record);
        match sets.iter_mut().find(|set| set.name == name && set.kind == record.kind) {
            Some(set) => set.records.push(record),
            None => sets.push(Set { name, kind: &record.kind, records: vec![record] }),
        }
    }
    sets
}

/// A text for a comment: control characters could end the comment and begin something else.
fn remark(record: &Record) -> String {
    let what = match record.kind.as_str() {
        "APEXCNAME" => "set ALIAS, ANAME or flattened CNAME at the provider",
        "REDIR301" => "set a permanent redirect (301) at the provider",
        "REDIR302" => "set a temporary redirect (302) at the provider",
        _ => "this format does not know the type",
    };
    let text = format!("{} {} {}: {what}", owner_name(record), record.kind, record.data);
    text.chars()
        .map(|c| if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') { ' ' } else { c })
        .collect()
}

/// A string literal of JSON, which is one of JavaScript and of YAML too.
fn literal(text: &str) -> String {
    // The two line separators are line ends to JavaScript before ES2019.
    serde_json::Value::from(text).to_string().replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// Words of presentation format; quotes around a word are taken off.
fn words(data: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted, mut any) = (Vec::new(), String::new(), false, false);
    let mut chars = data.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => (quoted, any) = (!quoted, true),
            '\\' => word.extend(chars.next()),
            c if c.is_whitespace() && !quoted => {
                if any || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                any = false;
            }
            c => word.push(c),
        }
    }
    if any || !word.is_empty() {
        words.push(word);
    }
    words
}
